/** The recorded Squads vectors: file format and reader (squads-v4.md, section 11). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface VectorAccount {
  readonly lamports: string;
  readonly owner: string;
  readonly executable: boolean;
  readonly data: string;
}

/** The result of a transaction; the name of an error number is optional. */
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

/** Vectors have numbers and bytes as text. */
export interface Account {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

export const VECTORS = 'test/conformance/vectors/squads';

/** Depends on the real program's metering, so it runs on the real program only. */
export const METERED_FILE = 'metering.json';

/** Every vector of a file; sequences step by step. */
export const readVectorFile = (file: string): readonly Vector[] =>
  (JSON.parse(readFileSync(file, 'utf8')) as (Vector | VectorSequence)[]).flatMap((entry) =>
    'steps' in entry
      ? entry.steps.map((step, index) => ({ ...step, name: `${entry.name}[${index}] ${step.name}` }))
      : [entry],
  );

/** All vectors that need no metering. */
export const readVectors = (): readonly Vector[] =>
  readdirSync(VECTORS)
    .filter((file) => file !== METERED_FILE)
    .flatMap((file) => readVectorFile(join(VECTORS, file)));

export const toAccount = (account: VectorAccount | null): Account | null =>
  account === null
    ? null
    : {
        lamports: BigInt(account.lamports),
        owner: account.owner,
        data: Uint8Array.from(Buffer.from(account.data, 'base64')),
        executable: account.executable,
      };

/** By base58 address; `null` for a missing account. */
export type Accounts = ReadonlyMap<string, Account | null>;

export const accountsOf = ({ pre }: Pick<Vector, 'pre'>): Accounts =>
  new Map(Object.entries(pre).map(([address, account]) => [address, toAccount(account)]));

export interface Clock {
  readonly slot: bigint;
  readonly epoch: bigint;
  readonly unixTimestamp: bigint;
}

export const clockOf = ({ clock }: Pick<Vector, 'clock'>): Clock => ({
  slot: BigInt(clock.slot),
  epoch: BigInt(clock.epoch),
  unixTimestamp: BigInt(clock.unixTimestamp),
});

export const transactionOf = ({ transaction }: Pick<Vector, 'transaction'>): Uint8Array =>
  Uint8Array.from(Buffer.from(transaction, 'base64'));
