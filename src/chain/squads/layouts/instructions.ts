/** The instructions of Squads v4 that this project knows: identifiers and arguments (squads-v4.md, section 7). */
import type { Address } from '../../../values/address.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../../../values/bytes.js';
import { type Member, memberCodec } from './accounts.js';
import {
  blob,
  bool,
  type Codec,
  encode,
  key,
  option,
  struct,
  text,
  tryDecode,
  u8,
  u16,
  u32,
  u64,
  vec,
} from './codec.js';

/** Bytes of the identifier that begins the data of every instruction. */
export const IDENTIFIER_BYTES = 8;

type NoArguments = Readonly<Record<never, never>>;
/** The memo is part of the arguments; the program does not use it. */
interface MemoOnly {
  readonly memo: string | null;
}

/** The arguments of each instruction, by its name. */
export interface ArgumentsByName {
  multisigCreate: NoArguments;
  multisigCreateV2: MemoOnly & {
    readonly configAuthority: Address | null;
    readonly threshold: number;
    readonly members: readonly Member[];
    readonly timeLockSeconds: number;
    readonly rentCollector: Address | null;
  };
  batchCreate: MemoOnly & { readonly vaultIndex: number };
  proposalCreate: { readonly transactionIndex: bigint; readonly draft: boolean };
  /** `message` is a message in its argument form; bytes behind it are accepted. */
  batchAddTransaction: { readonly ephemeralSigners: number; readonly message: ReadonlyBytes };
  proposalActivate: NoArguments;
  proposalApprove: MemoOnly;
  proposalReject: MemoOnly;
  proposalCancel: MemoOnly;
  proposalCancelV2: MemoOnly;
  batchExecuteTransaction: NoArguments;
  vaultTransactionCreate: MemoOnly & {
    readonly vaultIndex: number;
    readonly ephemeralSigners: number;
    readonly message: ReadonlyBytes;
  };
  vaultTransactionExecute: NoArguments;
  vaultBatchTransactionAccountClose: NoArguments;
  batchAccountsClose: NoArguments;
  vaultTransactionAccountsClose: NoArguments;
}

export type InstructionName = keyof ArgumentsByName;
export type InstructionArguments<Name extends InstructionName> = ArgumentsByName[Name];

const none = struct<NoArguments>({});
const memoOnly = struct<MemoOnly>({ memo: option(text) });

const multisigCreateV2 = struct<ArgumentsByName['multisigCreateV2']>({
  configAuthority: option(key),
  threshold: u16,
  members: vec(u32, memberCodec),
  timeLockSeconds: u32,
  rentCollector: option(key),
  memo: option(text),
});
const batchCreate = struct<ArgumentsByName['batchCreate']>({ vaultIndex: u8, memo: option(text) });
const proposalCreate = struct<ArgumentsByName['proposalCreate']>({ transactionIndex: u64, draft: bool });
const batchAddTransaction = struct<ArgumentsByName['batchAddTransaction']>({
  ephemeralSigners: u8,
  message: blob(u32),
});
const vaultTransactionCreate = struct<ArgumentsByName['vaultTransactionCreate']>({
  vaultIndex: u8,
  ephemeralSigners: u8,
  message: blob(u32),
  memo: option(text),
});

/** One instruction: how its data begins, what follows, and its name in logs. */
export interface InstructionLayout<Arguments> {
  readonly logName: string;
  /** First 8 bytes of SHA-256 of `global:<snake_case_name>`. */
  readonly identifier: ReadonlyBytes;
  readonly arguments: Codec<Arguments>;
}

const layout = <Arguments>(
  logName: string,
  identifier: string,
  codec: Codec<Arguments>,
): InstructionLayout<Arguments> => ({
  logName,
  identifier: Buffer.from(identifier, 'hex'),
  arguments: codec,
});

/** Every instruction of section 7, in its order. */
export const INSTRUCTIONS: { readonly [Name in InstructionName]: InstructionLayout<ArgumentsByName[Name]> } =
  {
    multisigCreate: layout('MultisigCreate', '7a4d509f54585ac5', none),
    multisigCreateV2: layout('MultisigCreateV2', '32ddc75d28f58be9', multisigCreateV2),
    batchCreate: layout('BatchCreate', 'c28e8d1137b914f8', batchCreate),
    proposalCreate: layout('ProposalCreate', 'dc3c49e01e6c4f9f', proposalCreate),
    batchAddTransaction: layout('BatchAddTransaction', '5964e0124546364c', batchAddTransaction),
    proposalActivate: layout('ProposalActivate', '0b225cf89a1b336a', none),
    proposalApprove: layout('ProposalApprove', '9025a488bcd82af8', memoOnly),
    proposalReject: layout('ProposalReject', 'f33e869ce66af687', memoOnly),
    proposalCancel: layout('ProposalCancel', '1b2a7fed26a354cb', memoOnly),
    proposalCancelV2: layout('ProposalCancelV2', 'cd29c23ddc8b10f7', memoOnly),
    batchExecuteTransaction: layout('BatchExecuteTransaction', 'ac2cb398157feab4', none),
    vaultTransactionCreate: layout('VaultTransactionCreate', '30fa4ea8d0e2dad3', vaultTransactionCreate),
    vaultTransactionExecute: layout('VaultTransactionExecute', 'c208a15799a419ab', none),
    vaultBatchTransactionAccountClose: layout('VaultBatchTransactionAccountClose', '8612136a814461f7', none),
    batchAccountsClose: layout('BatchAccountsClose', 'dac407af82660bff', none),
    vaultTransactionAccountsClose: layout('VaultTransactionAccountsClose', 'c447bbb00223aaa5', none),
  };

const asText = (identifier: ReadonlyBytes): string => readBuffer(identifier).toString('latin1');

const NAMES: ReadonlyMap<string, InstructionName> = new Map(
  (Object.keys(INSTRUCTIONS) as InstructionName[]).map((name) => [
    asText(INSTRUCTIONS[name].identifier),
    name,
  ]),
);

/** Which instruction the data begins with, or `undefined` when none of these. */
export const instructionName = (data: ReadonlyBytes): InstructionName | undefined =>
  NAMES.get(asText(partOf(data, 0, IDENTIFIER_BYTES)));

/** The data of an instruction. */
export function encodeInstruction<Name extends InstructionName>(
  name: Name,
  values: InstructionArguments<Name>,
): Uint8Array {
  const { identifier, arguments: codec } = INSTRUCTIONS[name];
  return Buffer.concat([readBuffer(identifier), encode(codec, values)]);
}

/** The arguments behind the identifier, or `undefined` when they are malformed; bytes behind them are ignored. */
export function decodeArguments<Name extends InstructionName>(
  name: Name,
  data: ReadonlyBytes,
): InstructionArguments<Name> | undefined {
  const codec = INSTRUCTIONS[name].arguments;
  return tryDecode(codec, data, IDENTIFIER_BYTES);
}
