/** The recorded Squads vectors: their form on disk, and reading a folder of them (squads-v4.md, section 11). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AccountState } from '../../../src/chain/account.js';
import type { TransactionError } from '../../../src/chain/chain.js';
import { address } from '../../../src/values/address.js';

export interface VectorAccount {
  readonly lamports: string;
  readonly owner: string;
  readonly executable: boolean;
  readonly rentEpoch: string;
  readonly data: string;
}

export type VectorResult =
  | 'ok'
  | { readonly instruction: number; readonly custom: number; readonly name?: string }
  | { readonly instruction: number; readonly error: string }
  | { readonly transaction: string; readonly accountIndex?: number };

export interface Vector {
  readonly name: string;
  readonly clock: { readonly slot: string; readonly epoch: string; readonly unixTimestamp: string };
  readonly transaction: string;
  readonly pre: Readonly<Record<string, VectorAccount | null>>;
  readonly post: Readonly<Record<string, VectorAccount | null>>;
  readonly result: VectorResult;
  readonly logs: readonly string[];
  readonly computeUnits?: string | number;
}

interface VectorSequence {
  readonly name: string;
  readonly steps: readonly Vector[];
}

/** What depends on the real program's metering; it runs on the real binary alone. */
export const METERED_FILE = 'metering.json';

/** Every vector of a file, sequences step by step. */
export const readVectorFile = (file: string): readonly Vector[] =>
  (JSON.parse(readFileSync(file, 'utf8')) as (Vector | VectorSequence)[]).flatMap((entry) =>
    'steps' in entry
      ? entry.steps.map((step, index) => ({ ...step, name: `${entry.name}[${index}] ${step.name}` }))
      : [entry],
  );

/** Every vector of a folder, in the order of its files' names. */
export const readVectors = (folder: string, options: { readonly metered: boolean }): readonly Vector[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.json') && (options.metered || file !== METERED_FILE))
    .sort()
    .flatMap((file) => readVectorFile(join(folder, file)));

export const toState = (account: VectorAccount | null): AccountState | null =>
  account === null
    ? null
    : {
        lamports: BigInt(account.lamports),
        owner: address(account.owner),
        data: Uint8Array.from(Buffer.from(account.data, 'base64')),
        executable: account.executable,
        rentEpoch: BigInt(account.rentEpoch),
      };

export const fromState = (state: AccountState | null): VectorAccount | null =>
  state === null
    ? null
    : {
        lamports: String(state.lamports),
        owner: state.owner,
        executable: state.executable,
        rentEpoch: String(state.rentEpoch),
        data: Buffer.from(state.data).toString('base64'),
      };

/** A transaction's end in the vectors' words; names of numbers are left out. */
export function toResult(error: TransactionError | null): VectorResult {
  if (error === null) return 'ok';
  if (error.kind === 'transaction') {
    return error.accountIndex === undefined
      ? { transaction: error.error }
      : { transaction: error.error, accountIndex: error.accountIndex };
  }
  return 'custom' in error
    ? { instruction: error.index, custom: error.custom }
    : { instruction: error.index, error: error.error };
}
