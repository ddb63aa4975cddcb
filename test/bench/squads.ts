/** How much the native Squads program costs beside bare LiteSVM: ratios within one run, with the bound each must keep. */

import { readFileSync } from 'node:fs';
import type { AccountState } from '../../src/chain/account.js';
import type { ExecutionResult } from '../../src/chain/local/runtime/execution.js';
import { Runtime } from '../../src/chain/local/runtime/runtime.js';
import { loadNative, type NativeSvm } from '../../src/chain/local/vm/native.js';
import { SYSTEM_PROGRAM, TOKEN_PROGRAM } from '../../src/chain/programs.js';
import { MINT_SIZE_BYTES } from '../../src/chain/tokens/accounts.js';
import { burnChecked } from '../../src/chain/tokens/instructions.js';
import { createKeypairSigner, generateKeypair } from '../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../src/chain/transaction/wire.js';
import { type Address, addressBytes } from '../../src/values/address.js';
import { copyBytes, type ReadonlyBytes } from '../../src/values/bytes.js';
import {
  clockOf,
  readVectors,
  toAccount,
  transactionOf,
  VECTORS,
  type Vector,
  type VectorAccount,
} from '../conformance/squads/vector.js';
import { REAL_SQUADS } from '../support/real-squads.js';
import { signTransaction } from '../support/sign.js';
import type { BenchRatio } from './ratio.js';

const ROUNDS = 30;
const RUNS_A_ROUND = 200;
const SEQUENCE_RUNS_A_ROUND = 2;
const NO_BLOCKHASH = '11111111111111111111111111111111';
const MANY_TOKENS = 1n << 60n;
const SUPPLY_OFFSET = 36;
const AMOUNT_OFFSET = 64;
const OWNER_OFFSET = 32;
const DECIMALS_OFFSET = 44;

/**
 * How much longer one work takes than another: both in turns, and of each the fastest round, which is the least disturbed by
 * whatever else the machine does.
 */
function ratioOf(work: () => void, base: () => void, runs: number): number {
  const fastest = { work: Number.POSITIVE_INFINITY, base: Number.POSITIVE_INFINITY };
  const milliseconds = (repeated: () => void): number => {
    const start = performance.now();
    for (let run = 0; run < runs; run += 1) repeated();
    return performance.now() - start;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    fastest.work = Math.min(fastest.work, milliseconds(work));
    fastest.base = Math.min(fastest.base, milliseconds(base));
  }
  return fastest.work / fastest.base;
}

const findVector = (name: string, folder = VECTORS): readonly Vector[] =>
  readVectors(folder, { metered: false }).filter((vector) => vector.name.startsWith(name));

function burnVector(): Vector {
  const [vector] = findVector('batch-execute-transaction/ok-burn-checked');
  if (vector === undefined) throw new Error('The vector to measure with is not there.');
  return vector;
}

const toState = (account: VectorAccount | null): AccountState | null =>
  toAccount(account) as AccountState | null;

/** A mint or token account with more tokens than any measurement burns. */
function withTokens(state: AccountState | null): AccountState | null {
  if (state?.owner !== TOKEN_PROGRAM) return state;
  const data = Buffer.from(state.data);
  data.writeBigUInt64LE(MANY_TOKENS, data.length === MINT_SIZE_BYTES ? SUPPLY_OFFSET : AMOUNT_OFFSET);
  return { ...state, data };
}

/** Keeps what transactions change, as a ledger would. */
class Accounts {
  readonly #states = new Map<Address, AccountState | null>();

  constructor(readonly vector: Vector) {
    for (const [address, account] of Object.entries(vector.pre)) {
      this.#states.set(address as Address, withTokens(toState(account)));
    }
  }

  get(address: Address): AccountState | null {
    return this.#states.get(address) ?? null;
  }

  /** Commits a burn but leaves proposal and batch as they were, so that it can run again. */
  commit({ changes, error }: ExecutionResult): void {
    if (error !== null) throw new Error(`The measured transaction failed: ${JSON.stringify(error)}`);
    for (const [address, state] of changes) {
      if (state?.owner === TOKEN_PROGRAM || state?.owner === SYSTEM_PROGRAM) this.#states.set(address, state);
    }
  }
}

/** One burn of the vector's vault by batchExecuteTransaction, over and over. */
function nativeExecute(runtime: Runtime): () => void {
  const vector = burnVector();
  const accounts = new Accounts(vector);
  const bytes = transactionOf(vector);
  const clock = clockOf(vector);
  return () => accounts.commit(runtime.execute(bytes, accounts, clock));
}

/** The accounts of a signer who burns: a wallet, and the vector's mint and token account made over to it. */
function plainBurn(svm: NativeSvm): Uint8Array {
  const { Account } = loadNative();
  const signer = createKeypairSigner(generateKeypair());
  const put = (address: Address, data: ReadonlyBytes, owner: Address, lamports: bigint) =>
    svm.setAccount(addressBytes(address), new Account(lamports, data, addressBytes(owner), false, 0n));
  put(signer.address, new Uint8Array(0), SYSTEM_PROGRAM, 1_000_000_000_000n);
  const tokens = Object.entries(burnVector().pre).flatMap(([address, account]) => {
    const state = withTokens(toState(account));
    return state?.owner === TOKEN_PROGRAM ? [{ address: address as Address, ...state }] : [];
  });
  const mint = tokens.find(({ data }) => data.length === MINT_SIZE_BYTES);
  const account = tokens.find(({ data }) => data.length !== MINT_SIZE_BYTES);
  if (account === undefined || mint === undefined) throw new Error('The vector has no token account.');
  const made = copyBytes(account.data);
  made.set(addressBytes(signer.address), OWNER_OFFSET);
  put(account.address, made, TOKEN_PROGRAM, account.lamports);
  put(mint.address, mint.data, TOKEN_PROGRAM, mint.lamports);
  const burn = burnChecked({
    tokenProgram: TOKEN_PROGRAM,
    account: account.address,
    mint: mint.address,
    owner: signer.address,
    amount: 1n,
    decimals: mint.data[DECIMALS_OFFSET] ?? 0,
  });
  const message = compileLegacyMessage({
    payer: signer.address,
    blockhash: NO_BLOCKHASH,
    instructions: [burn],
  });
  return signTransaction(message, [signer]).bytes;
}

function plainBurning(): () => void {
  const { LiteSvm, FailedTransactionMetadata } = loadNative();
  const svm = new LiteSvm();
  svm.setBlockhashCheck(false);
  svm.setTransactionHistory(0n);
  const burn = plainBurn(svm);
  return () => {
    const outcome = svm.sendVersionedTransaction(burn);
    if (outcome instanceof FailedTransactionMetadata) throw new Error('The plain burn failed.');
  };
}

const replaying = (runtime: Runtime, steps: readonly Vector[]) => (): void => {
  for (const step of steps) {
    const states = new Map(Object.entries(step.pre).map(([address, account]) => [address, toState(account)]));
    runtime.execute(transactionOf(step), { get: (address) => states.get(address) ?? null }, clockOf(step));
  }
};

/** Measures; with SQUADS_PROGRAM, the real program too. */
export async function benchSquads(): Promise<BenchRatio[]> {
  const native = new Runtime();
  const ratios: BenchRatio[] = [
    {
      name: 'native batchExecuteTransaction with one burn : the same burn in LiteSVM',
      ratio: ratioOf(nativeExecute(native), plainBurning(), RUNS_A_ROUND),
      target: 2.5,
    },
  ];
  if (REAL_SQUADS !== undefined) {
    const steps = findVector('sequences/nine-airdrops');
    const real = new Runtime({ squadsProgram: readFileSync(REAL_SQUADS) });
    ratios.push({
      name: 'sequence of nine transactions: native : the real program',
      ratio: ratioOf(replaying(native, steps), replaying(real, steps), SEQUENCE_RUNS_A_ROUND),
      target: 1.5,
    });
  }
  return ratios;
}
