/** Instructions of the system, memo, compute-budget and Lighthouse programs: encoding and decoding. */
import type { Address } from '../values/address.js';
import { readBuffer } from '../values/bytes.js';
import type { Sha256 } from '../values/digest.js';
import { LAMPORTS_PER_SIGNATURE } from './account.js';
import { encode, key, struct, tryDecode, u8, u32, u64 } from './codec.js';
import {
  COMPUTE_BUDGET_PROGRAM,
  LIGHTHOUSE_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  UPGRADEABLE_LOADER,
} from './programs.js';
import {
  type AccountMeta,
  type Call,
  callsIn,
  DEFAULT_INSTRUCTION_COMPUTE_UNITS,
  type Instruction,
  MAX_COMPUTE_UNITS,
  MICRO_LAMPORTS_PER_LAMPORT,
  readonlySigner,
  writableAccount,
  writableSigner,
} from './transaction/message.js';
import type { WireMessage } from './transaction/wire.js';

// Instruction numbers, u32 (solana-system-interface, `SystemInstruction`).
const CREATE_ACCOUNT = 0;
const ASSIGN = 1;
const TRANSFER = 2;
const ALLOCATE = 8;

const createData = struct({ number: u32, lamports: u64, sizeBytes: u64, owner: key });
const amountData = struct({ number: u32, amount: u64 });
const ownerData = struct({ number: u32, owner: key });

const system = (accounts: readonly AccountMeta[], data: Uint8Array): Instruction => ({
  program: SYSTEM_PROGRAM,
  accounts,
  data,
});

/** Creates an account of `sizeBytes` zero bytes owned by the program `owner`; `from` and `account` sign. */
export const createAccount = ({
  from,
  account,
  sizeBytes,
  ...terms
}: {
  readonly from: Address;
  readonly account: Address;
  readonly lamports: bigint;
  readonly sizeBytes: number;
  readonly owner: Address;
}): Instruction =>
  system(
    [writableSigner(from), writableSigner(account)],
    encode(createData, { ...terms, number: CREATE_ACCOUNT, sizeBytes: BigInt(sizeBytes) }),
  );

export const transfer = (input: { from: Address; to: Address; lamports: bigint }): Instruction =>
  system(
    [writableSigner(input.from), writableAccount(input.to)],
    encode(amountData, { number: TRANSFER, amount: input.lamports }),
  );

export const allocate = (account: Address, sizeBytes: number): Instruction =>
  system([writableSigner(account)], encode(amountData, { number: ALLOCATE, amount: BigInt(sizeBytes) }));

export const assign = (account: Address, owner: Address): Instruction =>
  system([writableSigner(account)], encode(ownerData, { number: ASSIGN, owner }));

export const memo = (text: string, signers: readonly Address[]): Instruction => ({
  program: MEMO_PROGRAM,
  accounts: signers.map(readonlySigner),
  data: Buffer.from(text, 'utf8'),
});

/** The memo of a proof on chain: compact JSON `{"type":T,"hash":H}`. */
export const proofMemoText = (type: string, hash: Sha256): string => JSON.stringify({ type, hash });

/** Top-level memos of a message, joined as a node joins them: `[length] text; …`; `null` without memos. */
export function memosOf(message: WireMessage): string | null {
  const memos = callsIn(message)
    .filter(({ program }) => program === MEMO_PROGRAM)
    .map(({ data }) => `[${data.length}] ${readBuffer(data).toString('utf8')}`);
  return memos.length === 0 ? null : memos.join('; ');
}

// Instruction numbers (solana-compute-budget-interface, `ComputeBudgetInstruction`).
const REQUEST_HEAP_FRAME = 1;
const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;
const SET_LOADED_ACCOUNTS_DATA_SIZE_LIMIT = 4;

const limitData = struct({ number: u8, value: u32 });
const priceData = struct({ number: u8, value: u64 });

const budget = (data: Uint8Array): Instruction => ({ program: COMPUTE_BUDGET_PROGRAM, accounts: [], data });
const limitOf =
  (number: number) =>
  (value: number): Instruction =>
    budget(encode(limitData, { number, value }));

export const setComputeUnitLimit = limitOf(SET_COMPUTE_UNIT_LIMIT);
export const setComputeUnitPrice = (microLamports: bigint): Instruction =>
  budget(encode(priceData, { number: SET_COMPUTE_UNIT_PRICE, value: microLamports }));
/** Limits the total size of loaded accounts, programs included. Free of charge. */
export const setLoadedAccountsDataSizeLimit = limitOf(SET_LOADED_ACCOUNTS_DATA_SIZE_LIMIT);
export const requestHeapFrame = limitOf(REQUEST_HEAP_FRAME);

export interface TransactionBudget {
  readonly computeUnits: number;
  /** Bytes, or `null` for the default of 32 KiB. */
  readonly heapBytes: number | null;
  readonly microLamports: bigint;
}

/** What an instruction asks for; nothing, if it is another. Bytes after the value are ignored, as the cluster does. */
export function budgetIn({ program, data }: Pick<Call, 'program' | 'data'>): Partial<TransactionBudget> {
  const [number] = program === COMPUTE_BUDGET_PROGRAM ? data : [];
  const price = number === SET_COMPUTE_UNIT_PRICE ? tryDecode(priceData, data) : undefined;
  if (price !== undefined) return { microLamports: price.value };
  const limit = tryDecode(limitData, data);
  if (number === SET_COMPUTE_UNIT_LIMIT && limit) return { computeUnits: limit.value };
  return number === REQUEST_HEAP_FRAME && limit ? { heapBytes: limit.value } : {};
}

/** Programs of the runtime itself, with a lower default (solana-builtins-default-costs). */
const BUILTINS: readonly (Address | undefined)[] = [
  ...[SYSTEM_PROGRAM, COMPUTE_BUDGET_PROGRAM, UPGRADEABLE_LOADER],
];
const BUILTIN_COMPUTE_UNITS = 3_000;

/** The budget of a transaction with valid compute-budget instructions. */
export function budgetOf(instructions: readonly Pick<Call, 'program' | 'data'>[]): TransactionBudget {
  const builtins = instructions.filter(({ program }) => BUILTINS.includes(program)).length;
  const others = instructions.length - builtins;
  const computeUnits = builtins * BUILTIN_COMPUTE_UNITS + others * DEFAULT_INSTRUCTION_COMPUTE_UNITS;
  const none = { computeUnits, heapBytes: null, microLamports: 0n };
  const asked: TransactionBudget = Object.assign(none, ...instructions.map(budgetIn));
  return { ...asked, computeUnits: Math.min(asked.computeUnits, MAX_COMPUTE_UNITS) };
}

/** In lamports, rounded up. */
export const priorityFee = (computeUnits: number, microLamports: bigint): bigint =>
  (BigInt(computeUnits) * microLamports + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;

/** Fee of a message in lamports: its signatures, plus its compute-unit limit at its price. */
export function feeOf(message: WireMessage): bigint {
  const { computeUnits, microLamports } = budgetOf(callsIn(message));
  return BigInt(message.signers) * LAMPORTS_PER_SIGNATURE + priorityFee(computeUnits, microLamports);
}

/** Number of accounts that an assertion reads; `null` if it writes or calls another program. */
type Reads = number | null;

/** By number, the first data byte (github.com/Jac0xb/lighthouse, `programs/lighthouse/src/instruction.rs` at 4c57947). */
const INSTRUCTIONS: readonly (readonly [string, Reads])[] = [
  ['MemoryWrite', null],
  ['MemoryClose', null],
  ['AssertAccountData', 1],
  ['AssertAccountDataMulti', 1],
  ['AssertAccountDelta', 2],
  ['AssertAccountInfo', 1],
  ['AssertAccountInfoMulti', 1],
  ['AssertMintAccount', 1],
  ['AssertMintAccountMulti', 1],
  ['AssertTokenAccount', 1],
  ['AssertTokenAccountMulti', 1],
  ['AssertStakeAccount', 1],
  ['AssertStakeAccountMulti', 1],
  ['AssertUpgradeableLoaderAccount', 1],
  ['AssertUpgradeableLoaderAccountMulti', 1],
  ['AssertSysvarClock', 0],
  ['AssertMerkleTreeAccount', null],
  ['AssertBubblegumTreeConfigAccount', 1],
];

/** `onlyAsserts`: the instruction only reads, and its account count is the expected one. */
export function decodeLighthouse({ program, accounts, data }: Instruction) {
  if (program !== LIGHTHOUSE_PROGRAM) return undefined;
  const [name, reads] = INSTRUCTIONS[data[0] ?? -1] ?? ['an instruction of an unknown number', null];
  return { name, onlyAsserts: reads !== null && accounts.length === reads };
}
