/** A recorded transaction with changeable accounts and instructions, which runs without signatures. */
import { createHash } from 'node:crypto';
import {
  AddressLookupTableAccount,
  ComputeBudgetProgram,
  PublicKey,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { createRun, type Run } from './adapter.js';
import {
  type Account,
  accountsOf,
  type Clock,
  clockOf,
  readVectors,
  transactionOf,
  type Vector,
} from './vector.js';

export const SQUADS_PROGRAM = 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf';
export const SYSTEM_PROGRAM = '11111111111111111111111111111111';
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const MAX_UNITS = 1_400_000;
const NO_BLOCKHASH = '11111111111111111111111111111111';

export interface Meta {
  readonly address: string;
  readonly signer: boolean;
  readonly writable: boolean;
}

interface Instruction {
  readonly program: string;
  readonly accounts: readonly Meta[];
  readonly data: Uint8Array;
}

export interface FixtureEnd {
  /** Error number, name of a runtime error, or `ok`; or the accounts whose input was overwritten. */
  readonly end: number | string;
  readonly logs: readonly string[];
  get(address: string): Account | null;
}

/** An address outside all vectors. */
export const addressNamed = (name: string): string =>
  new PublicKey(createHash('sha256').update(name).digest()).toBase58();

const wallet = (lamports: bigint): Account => ({
  lamports,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(0),
  executable: false,
});

/** A separate fee payer, so that accounts sign or are writable only as the instruction says. */
const PAYER = addressNamed('payer');

let run: Run | undefined;

export class Fixture {
  readonly accounts: Map<string, Account | null>;
  readonly #instructions: Instruction[];
  readonly #clock: Clock;
  readonly #position: number;

  constructor(vector: Vector) {
    this.accounts = new Map(accountsOf(vector));
    this.#clock = clockOf(vector);
    const { message } = VersionedTransaction.deserialize(transactionOf(vector));
    const addressLookupTableAccounts = message.addressTableLookups.map(({ accountKey }) => {
      const state = AddressLookupTableAccount.deserialize(this.#dataOf(accountKey.toBase58()));
      return new AddressLookupTableAccount({ key: accountKey, state });
    });
    const keys = message.getAccountKeys({ addressLookupTableAccounts });
    const addressAt = (index: number): string => keys.get(index)?.toBase58() ?? '';
    this.#instructions = message.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
      program: addressAt(programIdIndex),
      accounts: accountKeyIndexes.map((index) => ({
        address: addressAt(index),
        signer: message.isAccountSigner(index),
        writable: message.isAccountWritable(index),
      })),
      data,
    }));
    this.#position = this.#instructions.findIndex(({ program }) => program === SQUADS_PROGRAM);
  }

  get instruction(): Instruction {
    const found = this.#instructions[this.#position];
    if (found === undefined) throw new Error('The fixture has no Squads instruction.');
    return found;
  }

  set instruction(changed: Instruction) {
    this.#instructions[this.#position] = changed;
  }

  account(index: number): Meta {
    const meta = this.instruction.accounts[index];
    if (meta === undefined) throw new Error(`The instruction has no account ${index}.`);
    return meta;
  }

  /**
   * Replaces the address in one place, or its permissions in all places: a transaction has one set of permissions for an address.
   */
  setAccount(index: number, change: Partial<Meta>): void {
    const { address } = this.account(index);
    const { address: other, ...rights } = change;
    const accounts = this.instruction.accounts.map((meta, at) => ({
      ...meta,
      ...(meta.address === address ? rights : {}),
      ...(at === index && other !== undefined ? { address: other } : {}),
    }));
    this.instruction = { ...this.instruction, accounts };
  }

  state(index: number): Account {
    return this.accounts.get(this.account(index).address) ?? wallet(0n);
  }

  setState(index: number, change: Partial<Account>): void {
    this.accounts.set(this.account(index).address, { ...this.state(index), ...change });
  }

  run(): FixtureEnd {
    run ??= createRun();
    const accounts = new Map(this.accounts).set(PAYER, wallet(10_000_000_000n));
    const options = { clock: this.#clock, verifySignatures: false };
    const { result, changes, logs, spoiled } = run(this.#transaction(), accounts, options);
    const end =
      result === 'ok'
        ? 'ok'
        : 'transaction' in result
          ? result.transaction
          : 'custom' in result
            ? result.custom
            : result.error;
    return {
      end: spoiled.length > 0 ? spoiled.join() : end,
      logs,
      get: (address) => {
        const changed = changes.get(address);
        return changed === undefined ? (accounts.get(address) ?? null) : changed;
      },
    };
  }

  #transaction(): Uint8Array {
    const instructions = this.#instructions.map(
      ({ program, accounts, data }) =>
        new TransactionInstruction({
          programId: new PublicKey(program),
          keys: accounts.map(({ address, signer, writable }) => ({
            pubkey: new PublicKey(address),
            isSigner: signer,
            isWritable: writable,
          })),
          data: Buffer.from(data),
        }),
    );
    const asks = instructions.some(({ programId }) => programId.equals(ComputeBudgetProgram.programId));
    const units = asks ? [] : [ComputeBudgetProgram.setComputeUnitLimit({ units: MAX_UNITS })];
    const message = new TransactionMessage({
      payerKey: new PublicKey(PAYER),
      recentBlockhash: NO_BLOCKHASH,
      instructions: [...units, ...instructions],
    });
    return new VersionedTransaction(message.compileToLegacyMessage()).serialize();
  }

  #dataOf(address: string): Uint8Array {
    return this.accounts.get(address)?.data ?? new Uint8Array(0);
  }
}

let vectors: ReadonlyMap<string, Vector> | undefined;

export function fixtureOf(name: string): Fixture {
  vectors ??= new Map(readVectors().map((vector) => [vector.name, vector]));
  const vector = vectors.get(name);
  if (vector === undefined) throw new Error(`There is no vector ${name}.`);
  return new Fixture(vector);
}
