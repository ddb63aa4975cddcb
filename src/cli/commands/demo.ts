/** `flywheel demo`: everything at work on the embedded engine, with commands and files that can be used again. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeypair } from '../../chain/transaction/signer.js';
import type { Batch, ExecuteBatchResult, InitBatchResult } from '../../contract/schemas/batch.js';
import type { BurnBatchResult, BurnResult } from '../../contract/schemas/burn.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { writeFileAtomic } from '../../files/write-file.js';
import { addressFromBytes } from '../../values/address.js';
import { formatTokenAmount, parseTokenAmount, tokenAmountFromNumber } from '../../values/token-amount.js';
import { defineCommand, type Session } from '../command.js';
import type { LocalInitResult, LocalStatusResult, OutputStream } from '../context.js';
import { safeText } from '../output/safe-text.js';
import { wrapText } from '../output/table.js';
import { shellLine } from '../shell-line.js';
import { countText, grouped, tokensText } from '../views/unit.js';

/** What its token is called. */
const SYMBOL = 'DEMO';
/** Whole tokens. */
const SINGLE_BURN = 12.5;

const PROOF = { orderId: 'A-1001', customer: 'c-42', cents: 12_500 };

const BURNS = [
  ['PRODUCT_BUY', { orderId: 'A-1002', cents: 4_999 }, 4.999, true],
  ['PRODUCT_BUY', { orderId: 'A-1003', cents: 1_250 }, 1.25, false],
  ['WATCH_AD', { viewId: 'v-77', seconds: 30 }, 0.3, true],
  ['WATCH_AD', { viewId: 'v-78', seconds: 15 }, 0.15, false],
].map(([type, proof, burnAmount, persistOnchain]) => ({ type, proof, burnAmount, persistOnchain }));

interface Action {
  readonly action: 'BURN' | 'AIRDROP' | 'MEMO';
  readonly amount?: number;
  readonly toAddress?: string;
  readonly message?: string;
}

/** Seven pipelines: burns, airdrops and memos, alone and together. */
function somePipelines() {
  const someone = (): string => addressFromBytes(generateKeypair().slice(32));
  const [first, second, third] = [someone(), someone(), someone()];
  const burn = (amount: number): Action => ({ action: 'BURN', amount });
  const airdrop = (toAddress: string, amount: number): Action => ({ action: 'AIRDROP', toAddress, amount });
  const memo = (message: string): Action => ({ action: 'MEMO', message });
  const buy = (orderId: string, ...actions: readonly Action[]) => ({
    ...{ type: 'PRODUCT_BUY', payload: { orderId }, actions },
  });
  const watch = (viewId: string, ...actions: readonly Action[]) => ({
    ...{ type: 'WATCH_AD', payload: { viewId }, actions },
  });
  return [
    buy('B-2001', burn(10)),
    buy('B-2002', burn(5.5), memo('5.5 tokens less')),
    buy('B-2003', burn(2), airdrop(first, 3)),
    watch('w-1', airdrop(second, 1.25)),
    watch('w-2', airdrop(third, 0.5), memo('thank you for watching')),
    watch('w-3', memo('nothing but a note')),
    buy('B-2004', burn(1), airdrop(first, 1), memo('both at once')),
  ];
}

/** Whole tokens as decimal text. */
type Balances = Readonly<Record<'supply' | 'burned' | 'vault' | 'burnWallet', string>>;

const balancesOf = ({ supply, burned, balances }: LocalStatusResult): Balances => ({
  ...{ supply, burned, vault: balances.vault.tokens, burnWallet: balances.burnWallet.tokens },
});

/** Columns of the streams that the commands see. */
const COLUMNS = 100;

function buffer(): OutputStream & { readonly text: () => string } {
  const parts: string[] = [];
  return {
    write: (text) => void parts.push(text),
    flush: async () => null,
    ...{ isTTY: false, columns: COLUMNS, closed: false },
    text: () => parts.join(''),
  };
}

/**
 * Runs words just as a shell would, but for variables that would lead them elsewhere, and reads the JSON that they print.
 * @throws `ERR_INTERNAL` with what the command said when it does not exit with 0.
 */
async function runCommand<Value>({ context, cli }: Session, words: readonly string[]): Promise<Value> {
  const [stdout, stderr] = [buffer(), buffer()];
  const env = Object.fromEntries(
    Object.entries(context.env).filter(
      ([name]) => !name.startsWith('FLYWHEEL_') || name === 'FLYWHEEL_DEBUG',
    ),
  );
  const exit = await cli.run({ ...context, io: { ...context.io, stdout, stderr }, env }, words);
  if (exit === 0) return JSON.parse(stdout.text()) as Value;
  throw new FlywheelError(
    'ERR_INTERNAL',
    `${shellLine(['flywheel', ...words])} ended with exit code ${exit}: ${safeText(stderr.text()).trim()}`,
    { exit },
  );
}

/** Says to the reader what is done, and what came of it. */
interface Teller {
  say(text: string, indent?: string): void;
  step(text: string, line: string): void;
}

/** Of what is said of a step. */
const INDENT = '   ';

function createTeller({ output, settings }: Session): Teller {
  const { style } = output;
  const isHuman = output.mode === 'human';
  const tell = (text: string): void => {
    if (isHuman) output.text(`${text}\n`);
    else if (!settings.quiet) output.show(text);
  };
  const wrapped = (text: string, indent = ''): readonly string[] =>
    wrapText(text, isHuman ? style.width - indent.length : Number.POSITIVE_INFINITY);
  let steps = 0;
  return {
    say: (text, indent = '') => {
      for (const line of wrapped(text, indent)) tell(`${indent}${line}`);
    },
    step: (text, line) => {
      steps += 1;
      tell('');
      for (const part of wrapped(`${steps}. ${text}`)) tell(style.bold(part));
      tell(style.good(`${INDENT}$ ${line}`));
    },
  };
}

/** Holds the balances against what the files asked for, to the last base unit. @throws `ERR_INTERNAL` */
function checkStory(
  decimals: number,
  before: Balances,
  after: Balances,
  { burned, airdropped }: Readonly<Record<'burned' | 'airdropped', readonly number[]>>,
): void {
  const units = (text: string): bigint => (Number(text) === 0 ? 0n : parseTokenAmount(text, decimals));
  const sum = (amounts: readonly number[]): bigint =>
    amounts.reduce((total, amount) => total + tokenAmountFromNumber(amount, decimals), 0n);
  const change = (name: keyof Balances): bigint => units(before[name]) - units(after[name]);
  const fromWallet = sum([SINGLE_BURN, ...BURNS.map(({ burnAmount }) => Number(burnAmount))]);
  const burnedByBatch = sum(burned);
  const facts = [
    ['burned', -change('burned'), fromWallet + burnedByBatch],
    ['taken from the supply', change('supply'), fromWallet + burnedByBatch],
    ['taken from the burn wallet', change('burnWallet'), fromWallet],
    ['taken from the vault', change('vault'), burnedByBatch + sum(airdropped)],
  ] as const;
  for (const [what, actual, expected] of facts) {
    if (actual === expected) continue;
    const [was, wanted] = [actual, expected].map((amount) =>
      formatTokenAmount(amount < 0n ? -amount : amount, decimals),
    );
    throw new FlywheelError(
      'ERR_INTERNAL',
      `The demo does not add up: ${was} were ${what}, expected ${wanted}.`,
    );
  }
}

async function run(session: Session): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'flywheel-demo-'));
  const dataDir = join(folder, 'data');
  const { say, step } = createTeller(session);
  say(`Everything runs on this machine, in ${folder}. No network, no account.`);
  const commands: string[] = [];
  const perform = <Value>(what: string, ...words: readonly string[]): Promise<Value> => {
    const line = [...words, '--local', '--data-dir', dataDir];
    commands.push(shellLine(['flywheel', ...line]));
    step(what, shellLine(['flywheel', ...line]));
    return runCommand<Value>(session, line);
  };
  const detail = (text: string): void => say(text, INDENT);
  const file = (name: string): string => join(folder, `${name}.json`);
  const write = (name: string, value: unknown): void =>
    writeFileAtomic(file(name), `${JSON.stringify(value, null, 2)}\n`, 'ERR_INPUT_INVALID');
  const pipelines = somePipelines();
  write('proof', PROOF);
  write('burns', BURNS);
  write('pipelines', { pipelines });
  const balances = async (what: string): Promise<Balances> => {
    const found = balancesOf(await perform(what, 'local', 'status'));
    const { burnWallet, ...others } = found;
    const shown = Object.entries({ ...others, 'burn wallet': burnWallet });
    detail(shown.map(([name, amount]) => `${name} ${tokensText(amount, SYMBOL)}`).join(', '));
    return found;
  };

  const local = await perform<LocalInitResult>(
    'Set up a token, a funded vault, a multisig of owner and operator, and an API key.',
    ...['local', 'init', '--name', 'Demo Token', '--symbol', SYMBOL],
  );
  detail(`mint ${local.mintAddress}, multisig ${local.multisig}`);
  const before = await balances('Show the balances.');
  const burn = await perform<BurnResult>(
    'A customer bought something: burn tokens and record the proof on chain.',
    ...['burn', '--type', 'PRODUCT_BUY', '--proof', `@${file('proof')}`],
    ...['--amount', String(SINGLE_BURN), '--persist-onchain'],
  );
  detail(`transaction ${burn.txHash}`);
  const burnt = await perform<BurnBatchResult>('Burn for each entry of a file.', 'burn-batch', file('burns'));
  detail(`${countText(burnt.success.length, 'burn')} succeeded, ${burnt.errors.length} failed`);
  const { batch } = await perform<InitBatchResult>(
    `Set up a batch with ${pipelines.length} pipelines of burns, airdrops and memos.`,
    ...['batch', 'init', file('pipelines'), '--out', file('approval')],
  );
  detail(`batch ${batch.id} is ${batch.status}`);
  await perform(
    'Approve as the owner. The batch is read back from the chain and must equal the file.',
    ...['batch', 'approve', file('approval'), '--keypair', local.owner.keypair],
    ...['--expect', file('pipelines'), '--yes', '--out', file('signed')],
  );
  const { result } = await perform<ExecuteBatchResult>(
    'Execute. The operator approves too, and each pipeline runs as one transaction.',
    ...['batch', 'execute', batch.id, '--signed-tx', `@${file('signed')}`],
  );
  for (const { txHashes } of result.successfulExecutions)
    for (const hash of txHashes) detail(`transaction ${hash}`);
  const final = await perform<Batch>('Show the batch.', 'batch', 'status', batch.id);
  const done = `${result.totalSuccessful} of ${countText(result.total, 'transaction')}`;
  detail(`batch ${final.id} is ${final.status}: ${done}`);
  const after = await balances('Show the balances again.');

  const amounts = (name: string): readonly number[] =>
    pipelines.flatMap(({ actions }) =>
      actions.flatMap(({ action, amount = [] }) => (action === name ? amount : [])),
    );
  checkStory(local.decimals, before, after, { burned: amounts('BURN'), airdropped: amounts('AIRDROP') });
  if (final.status !== 'EXECUTED' || result.totalSuccessful !== pipelines.length)
    throw new FlywheelError('ERR_INTERNAL', `The demo's batch is ${final.status}, not EXECUTED.`);
  say('');
  say(
    `Burned ${grouped(before.burned)} before, ${tokensText(after.burned, SYMBOL)} after; vault ${grouped(before.vault)} before, ${tokensText(after.vault, SYMBOL)} after.`,
  );
  say(
    `The batch ${final.id} is ${final.status}. The files are in ${folder}. You can run the commands above again.`,
  );
  const report = { folder, dataDir, commands, before, after, batch: final, result };
  if (session.output.mode !== 'human') session.output.result(report, () => []);
}

export const commands = {
  demo: defineCommand({
    run,
    details: ['Uses a temporary directory, and leaves everything there.'],
    uses: [],
    output: [
      '{ "folder", "dataDir", "commands", "before", "after", "batch", "result" }; progress is on standard error',
    ],
    examples: ['flywheel demo', 'flywheel demo --json'],
  }),
};
