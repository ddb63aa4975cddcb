/** Landed transactions ⇄ rows: what is kept of each, and how they are found by signature. */

import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import type { Address } from '../../../values/address.js';
import { base58Decode, base58Encode } from '../../../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import type { Signature, TransactionError, TransactionRecord } from '../../chain.js';
import { SIGNATURE_BYTES } from '../../transaction/wire.js';
import { packLogs, unpackLogs } from './log-text.js';
import { RowWriter } from './row-writer.js';
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

const COLUMNS = ['slot', 'position', 'wire', 'error', 'logs', 'fee_lamports', 'compute_units'];
/** Signatures looked up by one statement. */
const LOOK_UP_CHUNK = 32;

const textKey = (signature: ReadonlyBytes): string => readBuffer(signature).toString('latin1');

/** Signatures as a set; bytes with the same content count as the same. */
export class SignatureSet {
  readonly #keys = new Set<string>();

  has(signature: ReadonlyBytes): boolean {
    return this.#keys.has(textKey(signature));
  }

  add(signature: ReadonlyBytes): void {
    this.#keys.add(textKey(signature));
  }
}

/** The table `transactions`. */
export class TransactionTable {
  readonly #database: SqliteFile;
  readonly #writer: RowWriter;
  #among: Statement | undefined;
  #record: Statement | undefined;

  constructor(database: SqliteFile) {
    this.#database = database;
    this.#writer = new RowWriter(database, 'transactions', COLUMNS);
  }

  /** Adds a row, in memory: {@link flush} writes it. */
  append(slot: number, position: number, landing: Landing): void {
    this.#writer.add([
      slot,
      position,
      landing.wire,
      landing.error === null ? null : JSON.stringify(landing.error),
      packLogs(landing.logs),
      landing.feeLamports.toString(),
      Number(landing.computeUnits),
    ]);
  }

  /** Writes the added rows. */
  flush(): void {
    this.#writer.flush();
  }

  /** Drops the added rows. */
  forget(): void {
    this.#writer.discard();
  }

  /** Which of these have landed. */
  landedAmong(signatures: readonly ReadonlyBytes[]): SignatureSet {
    this.#among ??= this.#database.prepare(
      `SELECT ${SIGNATURE_OF_WIRE} FROM transactions WHERE ${SIGNATURE_OF_WIRE} IN (${Array(LOOK_UP_CHUNK).fill('?').join()})`,
    );
    const landed = new SignatureSet();
    for (let at = 0; at < signatures.length; at += LOOK_UP_CHUNK) {
      const chunk: SqlValue[] = signatures.slice(at, at + LOOK_UP_CHUNK);
      while (chunk.length < LOOK_UP_CHUNK) chunk.push(null);
      for (const [signature] of this.#among.all(chunk)) landed.add(signature as ReadonlyBytes);
    }
    return landed;
  }

  /** What became of a signature; `null` when it has not landed, as also for text that is no signature. */
  record(signature: Signature): TransactionRecord | null {
    const bytes = base58Decode(signature);
    if (bytes?.length !== SIGNATURE_BYTES) return null;
    this.#record ??= this.#database.prepare(
      'SELECT slot, time_ms, error, logs, fee_lamports, compute_units ' +
        `FROM transactions JOIN blocks ON height = slot WHERE ${SIGNATURE_OF_WIRE} = ?`,
    );
    const row = this.#record.get([bytes]);
    return row === undefined ? null : this.#database.decode(() => toRecord(signature, row));
  }

  /** What landed in blocks above a height, in its order. */
  above(height: number): readonly KeptTransaction[] {
    return this.#kept('WHERE slot > ? ORDER BY id', [height]);
  }

  /** A landed transaction with its bytes. */
  kept(signature: Signature): KeptTransaction | null {
    const bytes = base58Decode(signature);
    if (bytes?.length !== SIGNATURE_BYTES) return null;
    return this.#kept(`WHERE ${SIGNATURE_OF_WIRE} = ?`, [bytes])[0] ?? null;
  }

  /** Transactions that hold one of these byte strings somewhere, newest first, from before a place on. */
  holding(needles: readonly ReadonlyBytes[], before: number, limit: number): readonly KeptTransaction[] {
    const found = needles.map(() => 'instr(wire, ?) > 0').join(' OR ');
    return this.#kept(`WHERE id < ? AND (${found}) ORDER BY id DESC LIMIT ?`, [before, ...needles, limit]);
  }

  /** How many have landed. */
  get count(): number {
    return this.#database.number('SELECT max(id) FROM transactions');
  }

  #kept(where: string, parameters: readonly SqlValue[]): readonly KeptTransaction[] {
    const rows = this.#database
      .prepare(
        `SELECT slot, time_ms, error, logs, fee_lamports, compute_units, ${SIGNATURE_OF_WIRE}, wire, id ` +
          `FROM transactions JOIN blocks ON height = slot ${where}`,
      )
      .all(parameters);
    return this.#database.decode(() =>
      rows.map((row) => ({
        ...toRecord(base58Encode(row[6] as ReadonlyBytes), row),
        wire: row[7] as Uint8Array,
        place: Number(row[8]),
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

  /** The bytes of all transactions in blocks above a height, in their order. */
  wiresAbove(height: number): readonly Uint8Array[] {
    const rows = this.#database
      .prepare('SELECT wire FROM transactions WHERE slot > ? ORDER BY id')
      .all([height]);
    return rows.map(([wire]) => wire as Uint8Array);
  }

  /** The bytes of a landed transaction. */
  wire(signature: Signature): Uint8Array | null {
    const bytes = base58Decode(signature);
    if (bytes?.length !== SIGNATURE_BYTES) return null;
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
  const [slot, timeMs, error, logs, feeLamports, computeUnits] = row;
  return {
    signature,
    slot: BigInt(slot as number),
    blockTimeMs: Number(timeMs),
    error: error === null ? null : (JSON.parse(error as string) as TransactionError),
    logs: unpackLogs(logs as string),
    feeLamports: BigInt(feeLamports as string),
    computeUnits: BigInt(computeUnits as number),
  };
}
