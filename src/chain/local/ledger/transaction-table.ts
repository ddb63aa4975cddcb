/** Landed transactions ⇄ rows: what is kept of each, and how they are found by signature. */

import type { SqliteFile, SqlValue } from '../../../files/sqlite-file.js';
import type { Address } from '../../../values/address.js';
import { base58Decode, base58Encode } from '../../../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../../../values/bytes.js';
import { piecesOf } from '../../../values/pieces.js';
import type { AccountState } from '../../account.js';
import type { Signature, Sought, TokenChange, TransactionError, TransactionRecord } from '../../chain.js';
import { SIGNATURE_BYTES } from '../../transaction/wire.js';
import { packLogs, unpackLogs } from './log-text.js';
import { RowWriter, SizedStatements } from './row-writer.js';
import { SIGNATURE_OF_WIRE, signatureIn } from './schema.js';

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

/** What is looked up; where its wire bytes are at hand, the signature need not be made bytes of, which takes as long as all else. */
type Named = Pick<Sought, 'signature' | 'bytes'>;

/** The bytes of a signature, or `undefined` for text that is none. */
function signatureBytes(signature: Signature): Uint8Array | undefined {
  const bytes = base58Decode(signature);
  return bytes?.length === SIGNATURE_BYTES ? bytes : undefined;
}

/** Rows by signature: the signature, then these columns. */
class LookUp {
  readonly #statements: SizedStatements;

  constructor(database: SqliteFile, from: string, columns: readonly string[]) {
    const select = `SELECT ${[SIGNATURE_OF_WIRE, ...columns].join()} FROM ${from} WHERE ${SIGNATURE_OF_WIRE} IN`;
    this.#statements = new SizedStatements(
      database,
      (count) => `${select} (${Array(count).fill('?').join()})`,
    );
  }

  /** Those that are there, in no order. */
  rows(signatures: readonly ReadonlyBytes[]): readonly (readonly SqlValue[])[] {
    return [...piecesOf(signatures)].flatMap((piece) => this.#statements.of(piece.length).all(piece));
  }
}

/** The table `transactions`. */
export class TransactionTable {
  readonly #database: SqliteFile;
  readonly #writer: RowWriter;
  readonly #among: LookUp;
  readonly #records: LookUp;

  constructor(database: SqliteFile) {
    this.#database = database;
    this.#writer = new RowWriter(database, 'transactions', COLUMNS);
    this.#among = new LookUp(database, 'transactions', []);
    this.#records = new LookUp(database, 'transactions JOIN blocks ON height = slot', RECORD);
  }

  /** Adds a row, in memory: {@link flush} writes it. */
  append(slot: number, position: number, landing: Landing, moved: readonly TokenChange[]): void {
    this.#writer.add([
      slot,
      position,
      landing.wire,
      landing.error === null ? null : JSON.stringify(landing.error),
      packLogs(landing.logs),
      landing.feeLamports.toString(),
      Number(landing.computeUnits),
      JSON.stringify(
        moved.map(({ account, mint, before, after }) => [account, mint, `${before}`, `${after}`]),
      ),
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
    const landed = new SignatureSet();
    for (const [signature] of this.#among.rows(signatures)) landed.add(signature as ReadonlyBytes);
    return landed;
  }

  /** What became of transactions, in order; `null` when one has not landed, as also for text that is no signature. */
  records(sought: readonly Named[]): readonly (TransactionRecord | null)[] {
    const named = sought.map(({ signature, bytes }) => ({
      signature,
      bytes: bytes === undefined ? signatureBytes(signature) : signatureIn(bytes),
    }));
    const rows = this.#records.rows(named.flatMap(({ bytes }) => bytes ?? []));
    const found = new Map(rows.map((row) => [textKey(row[0] as ReadonlyBytes), row]));
    return this.#database.decode(() =>
      named.map(({ signature, bytes }) => {
        const row = bytes && found.get(textKey(bytes));
        return row === undefined ? null : toRecord(signature, row.slice(1));
      }),
    );
  }

  /** What landed in blocks above a height, in its order. */
  above(height: number): readonly KeptTransaction[] {
    return this.#kept('WHERE slot > ? ORDER BY id', [height]);
  }

  /** A landed transaction with its bytes. */
  kept(signature: Signature): KeptTransaction | null {
    const bytes = signatureBytes(signature);
    if (bytes === undefined) return null;
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
    logs: unpackLogs(logs as string),
    feeLamports: BigInt(feeLamports as string),
    computeUnits: BigInt(computeUnits as number),
    tokenChanges: changes.map(([account, mint, before, after]) => ({
      ...{ account, mint, before: BigInt(before), after: BigInt(after) },
    })),
  };
}
