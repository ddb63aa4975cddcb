/** Landed transactions ⇄ rows: what is kept of each, and how they are found by signature. */
import { hash } from 'node:crypto';
import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import type { Address } from '../../../values/address.js';
import { base58Decode, base58Encode } from '../../../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../../../values/bytes.js';
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

/** A block that a transaction lands in. */
interface BlockPlace {
  readonly slot: number;
  /** Milliseconds since the Unix epoch. */
  readonly timeMs: number;
}

/** A transaction by its number, with a hash over all signatures up to its own. */
interface MarkedPlace {
  readonly id: number;
  readonly mark: ReadonlyBytes;
}

const MARK_DIGITS = 16;

/** Names a transaction with all that came before it, as text that is greater for later ones. */
export const markText = ({ id, mark }: MarkedPlace): string =>
  `${String(id).padStart(MARK_DIGITS, '0')} ${readBuffer(mark).toString('hex')}`;

const markAfter = (mark: ReadonlyBytes, signature: ReadonlyBytes): Uint8Array =>
  hash('sha256', Buffer.concat([readBuffer(mark), readBuffer(signature)]), 'buffer');

const KEPT = ['error', 'logs', 'fee_lamports', 'compute_units', 'token_changes'];
const COLUMNS = ['slot', 'time_ms', 'wire', 'mark', ...KEPT];
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
  readonly #genesisHash: () => ReadonlyBytes;
  #insert: Statement | undefined;
  #tip: MarkedPlace | undefined;

  /** @param genesisHash - what the marks begin with. */
  constructor(database: SqliteFile, genesisHash: () => ReadonlyBytes) {
    this.#database = database;
    this.#genesisHash = genesisHash;
    this.#record = database.prepare(
      `SELECT ${RECORD.join()} FROM transactions WHERE ${SIGNATURE_OF_WIRE} = ?`,
    );
  }

  append(block: BlockPlace, landing: Landing, moved: readonly TokenChange[]): void {
    this.#insert ??= this.#database.prepare(
      `INSERT INTO transactions (${COLUMNS.join()}) VALUES (${COLUMNS.map(() => '?').join()})`,
    );
    const { id, mark } = this.tip;
    this.#tip = { id: id + 1, mark: markAfter(mark, landing.signature) };
    this.#insert.run([
      block.slot,
      block.timeMs,
      landing.wire,
      this.#tip.mark,
      landing.error === null ? null : JSON.stringify(landing.error),
      JSON.stringify(landing.logs),
      landing.feeLamports.toString(),
      Number(landing.computeUnits),
      JSON.stringify(
        moved.map(({ account, mint, before, after }) => [account, mint, `${before}`, `${after}`]),
      ),
    ]);
  }

  /** The newest transaction; number 0 stands for the beginning. */
  get tip(): MarkedPlace {
    this.#tip ??= this.#placeAt('ORDER BY id DESC LIMIT 1', []) ?? { id: 0, mark: this.#genesisHash() };
    return this.#tip;
  }

  /** Number of the transaction with this mark; `undefined` where there is none. */
  withMark(text: string): number | undefined {
    const id = Number.parseInt(text, 10);
    const found = id === 0 ? { id, mark: this.#genesisHash() } : this.#placeAt('WHERE id = ?', [id]);
    return found && markText(found) === text ? id : undefined;
  }

  /** Drops all that is in memory. */
  forget(): void {
    this.#tip = undefined;
  }

  #placeAt(where: string, parameters: readonly SqlValue[]): MarkedPlace | undefined {
    const row = this.#database.prepare(`SELECT id, mark FROM transactions ${where}`).get(parameters);
    return row && { id: Number(row[0]), mark: row[1] as ReadonlyBytes };
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
      .prepare(`SELECT ${RECORD.join()}, ${SIGNATURE_OF_WIRE}, wire, id FROM transactions ${where}`)
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
        'SELECT wire, time_ms FROM transactions ' +
          'WHERE error IS NULL AND time_ms >= ? AND instr(wire, ?) > 0 ORDER BY id DESC',
      )
      .all([sinceMs, bytes]);
    return rows.map(([wire, timeMs]) => ({ wire: wire as Uint8Array, blockTimeMs: Number(timeMs) }));
  }

  /** What landed after the transaction with a number, in its order. */
  signaturesAfter(id: number): readonly Signature[] {
    const rows = this.#database
      .prepare(`SELECT ${SIGNATURE_OF_WIRE} FROM transactions WHERE id > ? ORDER BY id`)
      .all([id]);
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
interface LandedWire {
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
    // No program of this ledger calls the multisig program.
    innerCalls: [],
    tokenChanges: changes.map(([account, mint, before, after]) => ({
      ...{ account, mint, before: BigInt(before), after: BigInt(after) },
    })),
  };
}
