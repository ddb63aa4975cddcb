/** The files that the demo works with; the reader can look at them, change them and use them again. */
import { join } from 'node:path';
import { generateKeypair } from '../../chain/transaction/signer.js';
import { writeFileAtomic } from '../../files/write-file.js';
import { addressFromBytes } from '../../values/address.js';

/** Tokens of one burn, in whole tokens. */
const SINGLE_BURN = 12.5;

const BURNS = [
  {
    type: 'PRODUCT_BUY',
    proof: { orderId: 'A-1002', cents: 4_999 },
    burnAmount: 4.999,
    persistOnchain: true,
  },
  {
    type: 'PRODUCT_BUY',
    proof: { orderId: 'A-1003', cents: 1_250 },
    burnAmount: 1.25,
    persistOnchain: false,
  },
  { type: 'WATCH_AD', proof: { viewId: 'v-77', seconds: 30 }, burnAmount: 0.3, persistOnchain: true },
  { type: 'WATCH_AD', proof: { viewId: 'v-78', seconds: 15 }, burnAmount: 0.15, persistOnchain: false },
] as const;

type Action =
  | { readonly action: 'BURN'; readonly amount: number | string }
  | { readonly action: 'AIRDROP'; readonly toAddress: string; readonly amount: number | string }
  | { readonly action: 'MEMO'; readonly message: string };

/** Paths of the demo's files, and what they ask for in whole tokens. */
export interface DemoFiles {
  readonly proof: string;
  readonly burns: string;
  readonly pipelines: string;
  readonly approval: string;
  readonly signed: string;
  readonly singleBurn: number;
  readonly burnAmounts: readonly number[];
  readonly pipelineBurns: readonly number[];
  readonly airdrops: readonly number[];
  readonly pipelineCount: number;
}

const freshAddress = (): string => addressFromBytes(generateKeypair().slice(32));

/** Seven pipelines: burns, airdrops and memos, alone and together. */
function pipelinesFor(winners: readonly [string, string, string]) {
  const burn = (amount: number): Action => ({ action: 'BURN', amount });
  const airdrop = (toAddress: string, amount: number): Action => ({ action: 'AIRDROP', toAddress, amount });
  const memo = (message: string): Action => ({ action: 'MEMO', message });
  const buy = (orderId: string, actions: readonly Action[]) => ({
    type: 'PRODUCT_BUY',
    payload: { orderId },
    actions,
  });
  const watch = (viewId: string, actions: readonly Action[]) => ({
    type: 'WATCH_AD',
    payload: { viewId },
    actions,
  });
  const [first, second, third] = winners;
  return [
    buy('B-2001', [burn(10)]),
    buy('B-2002', [burn(5.5), memo('5.5 tokens less')]),
    buy('B-2003', [burn(2), airdrop(first, 3)]),
    watch('w-1', [airdrop(second, 1.25)]),
    watch('w-2', [airdrop(third, 0.5), memo('thank you for watching')]),
    watch('w-3', [memo('nothing but a note')]),
    buy('B-2004', [burn(1), airdrop(first, 1), memo('both at once')]),
  ];
}

/** Writes the input files into a folder. */
export function writeDemoFiles(folder: string): DemoFiles {
  const at = (name: string): string => join(folder, name);
  const pipelines = pipelinesFor([freshAddress(), freshAddress(), freshAddress()]);
  const actions = pipelines.flatMap((pipeline) => pipeline.actions);
  const amounts = (kind: 'BURN' | 'AIRDROP'): readonly number[] =>
    actions.flatMap((action) => (action.action === kind ? [Number(action.amount)] : []));
  const files: DemoFiles = {
    proof: at('proof.json'),
    burns: at('burns.json'),
    pipelines: at('pipelines.json'),
    approval: at('approval.json'),
    signed: at('signed.json'),
    singleBurn: SINGLE_BURN,
    burnAmounts: BURNS.map((burn) => burn.burnAmount),
    pipelineBurns: amounts('BURN'),
    airdrops: amounts('AIRDROP'),
    pipelineCount: pipelines.length,
  };
  const write = (file: string, value: unknown): void =>
    writeFileAtomic(file, `${JSON.stringify(value, null, 2)}\n`, 'ERR_INPUT_INVALID');
  write(files.proof, { orderId: 'A-1001', customer: 'c-42', cents: 12_500 });
  write(files.burns, BURNS);
  write(files.pipelines, { pipelines });
  return files;
}
