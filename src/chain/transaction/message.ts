/**
 * Compiled messages: instructions with one shared account list. Transactions and Squads accounts both contain a message; this
 * module compiles messages and provides the shared codecs.
 */
import type { Address } from '../../values/address.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import { blob, type Codec, type CodecValue, key, struct, u8, vec } from '../codec.js';

/** @param count - encoding of counts. @param dataLength - encoding of the data length. */
export const instructionsCodec = (count: Codec<number>, dataLength = count) =>
  vec(
    count,
    struct({
      /** Index of the program: static keys, then writable, then readonly looked-up keys. */
      programIndex: u8,
      /** One index per byte, in the same order. */
      accountIndexes: blob(count),
      data: blob(dataLength),
    }),
  );

export const lookupsCodec = (count: Codec<number>) =>
  vec(count, struct({ table: key, writableIndexes: blob(count), readonlyIndexes: blob(count) }));

export type CompiledInstruction = CodecValue<ReturnType<typeof instructionsCodec>>[number];
export type Lookup = CodecValue<ReturnType<typeof lookupsCodec>>[number];

export interface Message {
  /** Number of signing keys; they come first. */
  readonly signers: number;
  /** Numbers of writable keys among the signers and among the others; these come first in their group. */
  readonly writableSigners: number;
  readonly writableNonSigners: number;
  /** Writable signers, readonly signers, writable non-signers, readonly non-signers. */
  readonly staticKeys: readonly Address[];
  readonly instructions: readonly CompiledInstruction[];
  readonly lookups: readonly Lookup[];
}

/** Number of accounts that the message takes from lookup tables with these rights. */
export const lookedUp = (
  { lookups }: Pick<Message, 'lookups'>,
  rights: 'writableIndexes' | 'readonlyIndexes',
): number => lookups.reduce((sum, { [rights]: indexes }) => sum + indexes.length, 0);

export const isSigner = ({ signers }: Message, index: number): boolean => index < signers;

export const isWritable = (message: Message, index: number): boolean =>
  index < message.writableSigners ||
  (index >= message.signers && index - message.signers < message.writableNonSigners);

export const staticAccounts = (message: Message): readonly AccountMeta[] =>
  message.staticKeys.map((address, index) => ({
    address,
    signer: isSigner(message, index),
    writable: isWritable(message, index),
  }));

/**
 * Instructions with accounts in place of indexes; `undefined` when an index is out of range.
 * @param accounts - in index order.
 */
export function instructionsOf(
  { instructions }: Pick<Message, 'instructions'>,
  accounts: readonly AccountMeta[],
): readonly Instruction[] | undefined {
  const resolved: Instruction[] = [];
  for (const { programIndex, accountIndexes, data } of instructions) {
    const program = accounts[programIndex]?.address;
    const metas = Array.from(accountIndexes, (index) => accounts[index]);
    if (program === undefined || !metas.every((meta) => meta !== undefined)) return undefined;
    resolved.push({ program, accounts: metas, data });
  }
  return resolved;
}

/** An instruction with addresses only; `undefined` stands for one from an unknown lookup table. */
export interface Call<Named = Address | undefined> {
  readonly program: Named;
  readonly accounts: readonly Named[];
  readonly data: ReadonlyBytes;
}

/** Instructions with addresses only, of the static keys and these addresses of lookup tables. */
export function callsIn(
  { staticKeys, instructions }: Message,
  tableAddresses: readonly Address[] = [],
): readonly Call[] {
  const keys = [...staticKeys, ...tableAddresses];
  return instructions.map(({ programIndex, accountIndexes, data }) => ({
    program: keys[programIndex],
    accounts: Array.from(accountIndexes, (index) => keys[index]),
    data,
  }));
}

/**
 * Rights of an account as two bits, so that the union of two uses is `a & b`: 2 = not a signer, 1 = not writable. Ascending
 * numbers are the key order of a message.
 */
const WRITABLE_SIGNER = 0;
const NOT_SIGNER = 2;
const NOT_WRITABLE = 1;
const READONLY = NOT_SIGNER | NOT_WRITABLE;

function collectRoles(payer: Address, instructions: readonly Instruction[]): Map<Address, number> {
  const roles = new Map<Address, number>().set(payer, WRITABLE_SIGNER);
  for (const { program, accounts } of instructions) {
    if (!roles.has(program)) roles.set(program, READONLY);
    for (const { address, signer, writable } of accounts) {
      const role = (signer ? 0 : NOT_SIGNER) | (writable ? 0 : NOT_WRITABLE);
      roles.set(address, (roles.get(address) ?? READONLY) & role);
    }
  }
  return roles;
}

/**
 * Compiles instructions for `payer`; in a Squads message the payer is the vault. Key order is that of `CompiledKeys` of
 * web3.js: by rights (the union over all uses), then by first use, with the payer first and each program before its accounts.
 */
export function compile(payer: Address, instructions: readonly Instruction[]): Message {
  const places = collectRoles(payer, instructions);
  const groups: [Address[], Address[], Address[], Address[]] = [[], [], [], []];
  for (const [key, role] of places) groups[role]?.push(key);
  const staticKeys = groups.flat();
  // Reuses the map: the index of a key replaces its role.
  for (const [index, key] of staticKeys.entries()) places.set(key, index);
  const placeOf = (address: Address): number => places.get(address) ?? 0;
  return {
    signers: groups[0].length + groups[1].length,
    writableSigners: groups[0].length,
    writableNonSigners: groups[2].length,
    staticKeys,
    instructions: instructions.map(({ program, accounts, data }) => ({
      programIndex: placeOf(program),
      accountIndexes: Uint8Array.from(accounts, ({ address }) => placeOf(address)),
      data,
    })),
    lookups: [],
  };
}

export interface AccountMeta {
  readonly address: Address;
  readonly signer: boolean;
  readonly writable: boolean;
}

export interface Instruction {
  readonly program: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: ReadonlyBytes;
}

const named =
  (rights: Omit<AccountMeta, 'address'>) =>
  (address: Address): AccountMeta => ({ address, ...rights });

export const readonlyAccount = named({ signer: false, writable: false });
export const writableAccount = named({ signer: false, writable: true });
export const readonlySigner = named({ signer: true, writable: false });
export const writableSigner = named({ signer: true, writable: true });

/**
 * Maximum size of a signed wire transaction: the IPv6 minimum MTU of 1280 less 48 of headers (solana-packet,
 * `PACKET_DATA_SIZE`).
 */
export const TRANSACTION_SIZE_LIMIT_BYTES = 1_232;
/** Distinct accounts that a transaction may lock (agave, `MAX_TX_ACCOUNT_LOCKS`; measured, squads-v4.md section 10). */
export const MAX_TRANSACTION_ACCOUNTS = 64;
/** Instructions of a transaction, inner calls included (agave, `MAX_INSTRUCTION_TRACE_LENGTH`). */
export const MAX_INSTRUCTION_TRACE = 64;
/** Highest compute-unit limit (agave, `MAX_COMPUTE_UNIT_LIMIT`). */
export const MAX_COMPUTE_UNITS = 1_400_000;
export const DEFAULT_INSTRUCTION_COMPUTE_UNITS = 200_000;
export const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;
