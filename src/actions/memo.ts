/** MEMO: writes a text on chain, signed by the vault. */
import * as z from 'zod';
import { MEMO_PROGRAM } from '../chain/programs.js';
import { memo } from '../chain/small-programs.js';
import type { Address } from '../values/address.js';
import { readBuffer } from '../values/bytes.js';
import { escapeHidden, wholeText } from '../values/text.js';
import { type ActionKind, type AnyInstruction, type InstructionKind, unknownInstruction } from './action.js';
import { differs } from './amounts.js';

const schema = z.strictObject({
  action: z.literal('MEMO'),
  message: z.string('expected a message').min(1, 'expected a message').meta({
    description: 'Text. The whole pipeline must fit one transaction of 1,232 bytes.',
  }),
});
type MemoSource = z.infer<typeof schema>;

interface MemoContent {
  readonly action: 'MEMO';
  readonly message: string;
}

interface MemoInstruction {
  readonly kind: 'memo';
  readonly text: string;
  readonly signers: readonly Address[];
}

const memoInstruction: InstructionKind<MemoInstruction> = {
  kind: 'memo',
  matches: ({ program }) => program === MEMO_PROGRAM,
  decode: ({ program, accounts, data }) => {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readBuffer(data));
      return { kind: 'memo', text, signers: accounts.map(({ address }) => address) };
    } catch {
      return unknownInstruction(program, 'the memo is not UTF-8 text');
    }
  },
  problem: ({ signers }, { vault }) =>
    differs(
      'the memo is signed by',
      signers.find((signer) => signer !== vault),
      vault,
    ),
  cost: { computeUnits: 8_000, measuredUnits: 4_000, trace: 1, heapShare: 1 / 25 },
};

export const isMemo = (decoded: AnyInstruction | undefined): decoded is MemoInstruction =>
  decoded?.kind === 'memo';

export const isSignedBy = ({ signers }: MemoInstruction, signer: Address): boolean =>
  signers.length === 1 && signers[0] === signer;

export const memoAction = {
  schema,
  usage: null,
  content: ({ message }: MemoSource): MemoContent => ({ action: 'MEMO', message: wholeText(message) }),
  warning: () => undefined,
  recipients: () => [],
  instructions: ({ message }, { vault }) => [memo(message, [vault])],
  changes: () => [],
  kinds: [memoInstruction],
  read: ([first], vault) => {
    if (!isMemo(first)) return undefined;
    if (!isSignedBy(first, vault)) return 'a memo is not signed by the vault alone';
    return { action: { action: 'MEMO', message: first.text }, length: 1 };
  },
  text: ({ message }) => `memo ${escapeHidden(JSON.stringify(message))}`,
} satisfies ActionKind<MemoSource, MemoContent>;
