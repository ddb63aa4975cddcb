/**
 * A message: instructions whose accounts stand in one list, by their rights. Transactions carry one and Squads stores one; this is
 * what both have in common, compiled in one way, and read and written by one codec.
 */
import type { Address } from '../../values/address.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import { blob, type Codec, key, struct, u8, vec } from '../codec.js';

/** An instruction of a message. */
export interface CompiledInstruction {
  /** Position of the program in the index space: static keys, then writable, then readonly looked-up keys. */
  readonly programIndex: number;
  /** One index a byte, in the same space. */
  readonly accountIndexes: ReadonlyBytes;
  readonly data: ReadonlyBytes;
}

/** Accounts that are taken from a table. */
export interface Lookup {
  readonly table: Address;
  readonly writableIndexes: ReadonlyBytes;
  readonly readonlyIndexes: ReadonlyBytes;
}

export interface Message {
  /** Keys that must sign; they come first. */
  readonly signers: number;
  /** How many of the signers, the first ones, are writable; and of the others. */
  readonly writableSigners: number;
  readonly writableNonSigners: number;
  /** Writable signers, readonly signers, writable non-signers, readonly non-signers. */
  readonly staticKeys: readonly Address[];
  readonly instructions: readonly CompiledInstruction[];
  readonly lookups: readonly Lookup[];
}

/** @param count - how a number of things is written, @param dataLength - and the length of the data. */
export const instructionsCodec = (
  count: Codec<number>,
  dataLength = count,
): Codec<readonly CompiledInstruction[]> =>
  vec(count, struct({ programIndex: u8, accountIndexes: blob(count), data: blob(dataLength) }));

export const lookupsCodec = (count: Codec<number>): Codec<readonly Lookup[]> =>
  vec(count, struct({ table: key, writableIndexes: blob(count), readonlyIndexes: blob(count) }));

/** Does static key `index` sign? */
export const isSigner = ({ signers }: Message, index: number): boolean => index < signers;

/** Does the header let static key `index` be written? */
export const isWritable = (message: Message, index: number): boolean =>
  index < message.writableSigners ||
  (index >= message.signers && index - message.signers < message.writableNonSigners);

/** The static keys with the rights that the message gives them. */
export const staticAccounts = (message: Message): readonly AccountMeta[] =>
  message.staticKeys.map((address, index) => ({
    address,
    signer: isSigner(message, index),
    writable: isWritable(message, index),
  }));

/**
 * The instructions of a message with accounts in the place of indexes; `undefined` when an index points nowhere.
 * @param accounts - in the order of the index space.
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

/**
 * Rights of an account as two bits, so that the union of two uses is `a & b`: 2 = does not sign, 1 = is not written.
 * Sorted by this number, accounts stand in the order of a message.
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
 * The message in which `payer`, of a Squads message the vault, runs these instructions. Its keys are in the order of
 * `CompiledKeys` of web3.js: by their rights, which are the union over all uses; within each as first met, the payer before all,
 * and of an instruction its program before its accounts.
 */
export function compile(payer: Address, instructions: readonly Instruction[]): Message {
  const places = collectRoles(payer, instructions);
  const groups: [Address[], Address[], Address[], Address[]] = [[], [], [], []];
  for (const [key, role] of places) groups[role]?.push(key);
  const staticKeys = groups.flat();
  // The keys are all there already: writing their places over their roles spares a second table.
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

/** Account roles, as instruction builders write them. */
export const readonlyAccount = (address: Address): AccountMeta => ({
  address,
  signer: false,
  writable: false,
});
export const writableAccount = (address: Address): AccountMeta => ({
  address,
  signer: false,
  writable: true,
});
export const readonlySigner = (address: Address): AccountMeta => ({ address, signer: true, writable: false });
export const writableSigner = (address: Address): AccountMeta => ({ address, signer: true, writable: true });

/** Bytes of a signed wire transaction: the IPv6 minimum MTU of 1280 less 48 of headers (solana-packet, `PACKET_DATA_SIZE`). */
export const TRANSACTION_SIZE_LIMIT_BYTES = 1_232;
/** Distinct accounts a transaction may lock (agave, `MAX_TX_ACCOUNT_LOCKS`; measured, squads-v4.md section 10). */
export const MAX_TRANSACTION_ACCOUNTS = 64;
/** Instructions a transaction may run, every inner call counted (agave, `MAX_INSTRUCTION_TRACE_LENGTH`). */
export const MAX_INSTRUCTION_TRACE = 64;
/** Most compute units that a transaction may ask for (agave, `MAX_COMPUTE_UNIT_LIMIT`). */
export const MAX_COMPUTE_UNITS = 1_400_000;
/** Compute units an instruction of a non-builtin program has when no limit is set. */
export const DEFAULT_INSTRUCTION_COMPUTE_UNITS = 200_000;
/** Micro-lamports in a lamport; the price of a compute unit is given in them. */
export const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;
