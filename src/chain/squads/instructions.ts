/**
 * The Squads v4 instructions that this project knows: accounts with their rights, and arguments (docs/squads-v4.md, section 7).
 * The client builds instructions from this table, and the native program loads accounts by it.
 */
import { hash } from 'node:crypto';
import type { Address } from '../../values/address.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import {
  blob,
  bool,
  type Codec,
  type CodecValue,
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
} from '../codec.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../programs.js';
import type { AccountMeta, Instruction } from '../transaction/message.js';
import {
  type AccountLayout,
  BATCH,
  MULTISIG,
  memberCodec,
  PROGRAM_CONFIG,
  PROPOSAL,
  VAULT_BATCH_TRANSACTION,
  VAULT_TRANSACTION,
} from './accounts.js';

export interface AccountRule<Value = unknown> {
  /** The kinds of section 4, step 3; `closed` is a *state* that the instruction closes. */
  readonly kind: 'state' | 'closed' | 'new' | 'raw' | 'systemProgram';
  readonly signer: boolean;
  readonly writable: boolean;
  /** `null` where the program does not read the data. */
  readonly layout: AccountLayout<Value> | null;
}

const account =
  (kind: AccountRule['kind'], writable: boolean) =>
  <Value>(layout: AccountLayout<Value>): AccountRule<Value> => ({ kind, signer: false, writable, layout });
const plain = (signer: boolean, writable: boolean): AccountRule<undefined> => ({
  kind: 'raw',
  signer,
  writable,
  layout: null,
});

const read = account('state', false);
const written = account('state', true);
const closed = account('closed', true);
const fresh = account('new', true);
const signer = plain(true, false);
const writableSigner = plain(true, true);
const writable = plain(false, true);
const systemProgram: AccountRule<undefined> = { ...plain(false, false), kind: 'systemProgram' };

const none = struct({});
/** Part of the arguments; the program ignores it. */
const memo = option(text);

// Accounts that several instructions name alike.
const rentPaid = { rentPayer: writableSigner, systemProgram };
const created = { creator: signer, ...rentPaid };
const vote = { multisig: read(MULTISIG), member: writableSigner, proposal: written(PROPOSAL) };
const reclaimed = { rentCollector: writable, systemProgram };

export const INSTRUCTIONS = {
  multisigCreate: { accounts: { nothing: plain(false, false) }, arguments: none },
  multisigCreateV2: {
    accounts: {
      programConfig: read(PROGRAM_CONFIG),
      treasury: writable,
      multisig: fresh(MULTISIG),
      createKey: signer,
      creator: writableSigner,
      systemProgram,
    },
    arguments: struct({
      configAuthority: option(key),
      threshold: u16,
      members: vec(u32, memberCodec),
      timeLockSeconds: u32,
      rentCollector: option(key),
      memo,
    }),
  },
  batchCreate: {
    accounts: { multisig: written(MULTISIG), batch: fresh(BATCH), ...created },
    arguments: struct({ vaultIndex: u8, memo }),
  },
  proposalCreate: {
    accounts: { multisig: read(MULTISIG), proposal: fresh(PROPOSAL), ...created },
    arguments: struct({ transactionIndex: u64, draft: bool }),
  },
  batchAddTransaction: {
    accounts: {
      multisig: read(MULTISIG),
      proposal: read(PROPOSAL),
      batch: written(BATCH),
      transaction: fresh(VAULT_BATCH_TRANSACTION),
      member: signer,
      ...rentPaid,
    },
    /** `message` is in argument form; trailing bytes are accepted. */
    arguments: struct({ ephemeralSigners: u8, message: blob(u32) }),
  },
  proposalActivate: { accounts: vote, arguments: none },
  proposalApprove: { accounts: vote, arguments: struct({ memo }) },
  proposalReject: { accounts: vote, arguments: struct({ memo }) },
  proposalCancel: { accounts: vote, arguments: struct({ memo }) },
  proposalCancelV2: { accounts: { ...vote, systemProgram }, arguments: struct({ memo }) },
  batchExecuteTransaction: {
    accounts: {
      multisig: read(MULTISIG),
      member: signer,
      proposal: written(PROPOSAL),
      batch: written(BATCH),
      transaction: read(VAULT_BATCH_TRANSACTION),
    },
    arguments: none,
  },
  vaultTransactionCreate: {
    accounts: { multisig: written(MULTISIG), transaction: fresh(VAULT_TRANSACTION), ...created },
    arguments: struct({ vaultIndex: u8, ephemeralSigners: u8, message: blob(u32), memo }),
  },
  vaultTransactionExecute: {
    accounts: {
      multisig: read(MULTISIG),
      proposal: written(PROPOSAL),
      transaction: read(VAULT_TRANSACTION),
      member: signer,
    },
    arguments: none,
  },
  vaultBatchTransactionAccountClose: {
    accounts: {
      multisig: read(MULTISIG),
      proposal: read(PROPOSAL),
      batch: written(BATCH),
      transaction: closed(VAULT_BATCH_TRANSACTION),
      ...reclaimed,
    },
    arguments: none,
  },
  batchAccountsClose: {
    accounts: { multisig: read(MULTISIG), proposal: writable, batch: closed(BATCH), ...reclaimed },
    arguments: none,
  },
  vaultTransactionAccountsClose: {
    accounts: {
      ...{ multisig: read(MULTISIG), proposal: writable, transaction: closed(VAULT_TRANSACTION) },
      ...reclaimed,
    },
    arguments: none,
  },
} as const satisfies Readonly<
  Record<string, { accounts: Readonly<Record<string, AccountRule>>; arguments: Codec<unknown> }>
>;

type Table = typeof INSTRUCTIONS;
export type InstructionName = keyof Table;
export type ArgumentsOf<Name extends InstructionName> = CodecValue<Table[Name]['arguments']>;
export type AccountValues<Name extends InstructionName> = {
  readonly [Key in keyof Table[Name]['accounts']]: Table[Name]['accounts'][Key] extends AccountRule<
    infer Value
  >
    ? Value
    : never;
};

export const IDENTIFIER_BYTES = 8;

/** Anchor's spelling: `batchCreate` → `batch_create`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** First 8 bytes of SHA-256 of `global:<snake_case_name>`, in hexadecimal. */
export const identifierOf = (name: string): string =>
  hash('sha256', `global:${snakeCase(name)}`, 'hex').slice(0, 2 * IDENTIFIER_BYTES);

const NAMES: ReadonlyMap<string, InstructionName> = new Map(
  (Object.keys(INSTRUCTIONS) as InstructionName[]).map((name) => [identifierOf(name), name]),
);

export const identifierIn = (data: ReadonlyBytes): string =>
  readBuffer(partOf(data, 0, IDENTIFIER_BYTES)).toString('hex');

export const instructionName = (data: ReadonlyBytes): InstructionName | undefined =>
  NAMES.get(identifierIn(data));

const argumentsCodec = <Name extends InstructionName>(name: Name) =>
  INSTRUCTIONS[name].arguments as unknown as Codec<ArgumentsOf<Name>>;

const encodeInstruction = <Name extends InstructionName>(name: Name, values: ArgumentsOf<Name>): Uint8Array =>
  Buffer.concat([Buffer.from(identifierOf(name), 'hex'), encode(argumentsCodec(name), values)]);

/** The arguments after the identifier, or `undefined` if malformed; trailing bytes are ignored. */
export const decodeArguments = <Name extends InstructionName>(
  name: Name,
  data: ReadonlyBytes,
): ArgumentsOf<Name> | undefined => tryDecode(argumentsCodec(name), data, IDENTIFIER_BYTES);

/** Accounts and arguments by their names; the rest of the input is ignored. */
export type Given<Name extends InstructionName> = ArgumentsOf<Name> & {
  readonly [Role in Exclude<keyof AccountValues<Name>, 'systemProgram'>]: Address;
};

/** @param remaining - accounts after the listed ones, such as those of an executed message. */
export const squadsInstruction = <Name extends InstructionName>(
  name: Name,
  given: Given<Name>,
  remaining: readonly AccountMeta[] = [],
): Instruction => {
  const accounts = { ...given, systemProgram: SYSTEM_PROGRAM } as unknown as Record<string, Address>;
  const listed = Object.entries<AccountRule>(INSTRUCTIONS[name].accounts);
  return {
    program: SQUADS_PROGRAM,
    accounts: [
      ...listed.map(([role, { signer, writable }]) => ({
        address: accounts[role] as Address,
        signer,
        writable,
      })),
      ...remaining,
    ],
    data: encodeInstruction(name, given),
  };
};
