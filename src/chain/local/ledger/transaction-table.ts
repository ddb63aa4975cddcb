/** Landed transactions ⇄ rows: what is kept of each, and how they are found by signature. */

import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import type { Address } from '../../../values/address.js';
import { base58Decode, base58Encode } from '../../../values/base58.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import type { Signature, TokenChange, TransactionError, TransactionRecord } from '../../chain.js';
import { SIGNATURE_BYTES } from '../../transaction/wire.js';
import { SIGNATURE_OF_WIRE } from './schema.js';

/** What a transaction did that lands now. */
export interface Landing {
  /** 64 bytes: the first signature of the wire bytes, where it is kept. */
  readonly signature: ReadonlyBytes;
  readonly wire: ReadonlyBytes;
  readonly error: TransactionError | null;
  readonly changes: ReadonlyMap<Address, AccountState | null>;
  readonly logs: readonly string[];
  readonly feeLamports: bigint;
  readonly computeUnits: bigint;
}

const KEPT = ['error', 'logs', 'fee_lamports', 'compute_units', 'token_changes'];
const COLUMNS = ['slot', 'position', 'wire', ...KEPT];
/** What a record is made of. */
const RECORD = ['slot', 'time_ms', ...KEPT];

/** The bytes of a signature, or `undefined` for text that is none. */
function signatureBytes(signature: Signature): Uint8Array | undefined {
  const bytes = base58Decode(signature);
  return bytes?.length === SIGNATURE_BYTES ? bytes : undefined;
}

/** The table `transactions`. */
export class TransactionTable {
  readonly #database: SqliteFile;
  readonly #record: Statement;
  #insert: Statement | undefined;

  constructor(database: SqliteFile) {
    this.#database = database;
    this.#record = database.prepare(
      `SELECT ${RECORD.join()} FROM transactions JOIN blocks ON height = slot WHERE ${SIGNATURE_OF_WIRE} = ?`,
    );
  }

  append(slot: number, position: number, landing: Landing, moved: readonly TokenChange[]): void {
    this.#insert ??= this.#database.prepare(
      `INSERT INTO transactions (${COLUMNS.join()}) VALUES (${COLUMNS.map(() => '?').join()})`,
    );
    this.#insert.run([
      slot,
      position,
      landing.wire,
      landing.error === null ? null : JSON.stringify(landing.error),
      JSON.stringify(landing.logs),
      landing.feeLamports.toString(),
      Number(landing.computeUnits),
      JSON.stringify(
        moved.map(({ account, mint, before, after }) => [account, mint, `${before}`, `${after}`]),
      ),
    ]);
  }

  hasLanded(signature: ReadonlyBytes): boolean {
    return this.#record.get([signature]) !== undefined;
  }

  /** What became of transactions, in order; `null` when one has not landed, as also for text that is no signature. */
  records(signatures: readonly Signature[]): readonly (TransactionRecord | null)[] {
    return this.#database.decode(() =>
      signatures.map((signature) => {
        const bytes = signatureBytes(signature);
        const row = bytes && this.#record.get([bytes]);
        return row === undefined ? null : toRecord(signature, row);
      }),
    );
  }

  /** A landed transaction with its bytes. */
  kept(signature: Signature): KeptTransaction | null {
    const bytes = signatureBytes(signature);
    if (bytes === undefined) return null;
    return this.#kept(`WHERE ${SIGNATURE_OF_WIRE} = ?`, [bytes])[0] ?? null;
  }

  /** Transactions that hold these bytes somewhere, newest first, from before a place on. */
  holding(bytes: ReadonlyBytes, before: number, limit: number): readonly KeptTransaction[] {
    return this.#kept('WHERE id < ? AND instr(wire, ?) > 0 ORDER BY id DESC LIMIT ?', [before, bytes, limit]);
  }

  #kept(where: string, parameters: readonly SqlValue[]): readonly KeptTransaction[] {
    const rows = this.#database
      .prepare(
        `SELECT ${RECORD.join()}, ${SIGNATURE_OF_WIRE}, wire, id ` +
          `FROM transactions JOIN blocks ON height = slot ${where}`,
      )
      .all(parameters);
    return this.#database.decode(() =>
      rows.map((row) => ({
        ...toRecord(base58Encode(row[RECORD.length] as ReadonlyBytes), row),
        wire: row[RECORD.length + 1] as Uint8Array,
        place: Number(row[RECORD.length + 2]),
      })),
    );
  }

  /** Transactions that succeeded in blocks from a time on and hold these bytes somewhere, newest first. */
  succeededWith(bytes: ReadonlyBytes, sinceMs: number): readonly LandedWire[] {
    const rows = this.#database
      .prepare(
        'SELECT wire, time_ms FROM transactions JOIN blocks ON height = slot ' +
          'WHERE error IS NULL AND time_ms >= ? AND instr(wire, ?) > 0 ORDER BY id DESC',
      )
      .all([sinceMs, bytes]);
    return rows.map(([wire, timeMs]) => ({ wire: wire as Uint8Array, blockTimeMs: Number(timeMs) }));
  }

  /** What landed in blocks above a height, in its order; looks at no others. */
  signaturesAbove(height: number): readonly Signature[] {
    const rows = this.#database
      .prepare(
        `SELECT ${SIGNATURE_OF_WIRE} FROM transactions WHERE id > ` +
          'coalesce((SELECT id FROM transactions WHERE slot <= ? ORDER BY id DESC LIMIT 1), 0) ORDER BY id',
      )
      .all([height]);
    return rows.map(([signature]) => base58Encode(signature as ReadonlyBytes));
  }

  /** The bytes of a landed transaction. */
  wire(signature: Signature): Uint8Array | null {
    const bytes = signatureBytes(signature);
    if (bytes === undefined) return null;
    const row = this.#database
      .prepare(`SELECT wire FROM transactions WHERE ${SIGNATURE_OF_WIRE} = ?`)
      .get([bytes]);
    return row === undefined ? null : (row[0] as Uint8Array);
  }
}

/** A landed transaction with its bytes, and its place in the order of all. */
export interface KeptTransaction extends TransactionRecord {
  readonly wire: Uint8Array;
  readonly place: number;
}

/** A landed transaction and the time of its block. */
export interface LandedWire {
  readonly wire: Uint8Array;
  readonly blockTimeMs: number;
}

function toRecord(signature: Signature, row: readonly SqlValue[]): TransactionRecord {
  const [slot, timeMs, error, logs, feeLamports, computeUnits, moved] = row;
  const changes = JSON.parse(moved as string) as readonly [Address, Address, string, string][];
  return {
    signature,
    slot: BigInt(slot as number),
    blockTimeMs: Number(timeMs),
    error: error === null ? null : (JSON.parse(error as string) as TransactionError),
    logs: JSON.parse(logs as string) as readonly string[],
    feeLamports: BigInt(feeLamports as string),
    computeUnits: BigInt(computeUnits as number),
    tokenChanges: changes.map(([account, mint, before, after]) => ({
      ...{ account, mint, before: BigInt(before), after: BigInt(after) },
    })),
  };
}
