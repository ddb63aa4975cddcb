/**
 * The files, tables and columns of a data directory that the simulator and the torture tests read. A schema change needs changes
 * in this file only.
 */
import bs58 from 'bs58';
import Database from 'libsql';

export const FILES = { store: 'store.db', ledger: 'ledger.db', journal: 'journal.db' } as const;

type Row = readonly unknown[];

class Tables {
  readonly #path: string;
  readonly #isReadOnly: boolean;
  #database: Database.Database | undefined;

  constructor(path: string, isReadOnly = true) {
    this.#path = path;
    this.#isReadOnly = isReadOnly;
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  /** SQLite's integrity check: `ok`, or the damage. */
  integrity(): string {
    return this.rows('PRAGMA integrity_check').join();
  }

  protected rows(sql: string, ...parameters: readonly unknown[]): readonly Row[] {
    return this.#open().prepare(sql).raw().all(parameters) as readonly Row[];
  }

  protected count(sql: string): number {
    return Number(this.rows(sql)[0]?.[0]);
  }

  protected within(begin: string, work: () => void): void {
    const database = this.#open();
    database.exec(begin);
    try {
      work();
      database.exec('COMMIT');
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
  }

  protected run(sql: string, ...parameters: readonly unknown[]): void {
    this.#open().prepare(sql).run(parameters);
  }

  #open(): Database.Database {
    this.#database ??= new Database(this.#path, { readonly: this.#isReadOnly });
    return this.#database;
  }
}

export interface LedgerTransaction {
  readonly id: number;
  readonly wire: Buffer;
  readonly logs: string;
  readonly hasFailed: boolean;
  readonly timeMs: number;
}

export interface LedgerAccount {
  readonly address: Buffer;
  readonly lamports: bigint;
  readonly data: Buffer;
}

const bytes = (value: unknown): Buffer => Buffer.from(value as ArrayBuffer);
const ACCOUNTS = 'SELECT address, lamports, data FROM accounts';
const toAccount = ([address, lamports, data]: Row): LedgerAccount => ({
  address: bytes(address),
  lamports: BigInt(String(lamports)),
  data: bytes(data),
});

export class LedgerTables extends Tables {
  /** Reads everything in one snapshot, despite concurrent writers. */
  atOnce(read: () => void): void {
    this.within('BEGIN', read);
  }

  write(work: () => void): void {
    this.within('BEGIN IMMEDIATE', work);
  }

  lastId(): number {
    return this.count('SELECT coalesce(max(id), 0) FROM transactions');
  }

  transactionsAfter(id: number): readonly LedgerTransaction[] {
    return this.rows(
      'SELECT id, wire, logs, error, time_ms FROM transactions WHERE id > ? ORDER BY id',
      id,
    ).map(([own, wire, logs, error, timeMs]) => ({
      id: Number(own),
      wire: bytes(wire),
      logs: String(logs),
      hasFailed: error !== null,
      timeMs: Number(timeMs),
    }));
  }

  /** Lamports of all accounts plus all fees taken; constant since the ledger began. */
  lamports(): bigint {
    const all = this.rows('SELECT lamports FROM accounts UNION ALL SELECT fee_lamports FROM transactions');
    return all.reduce((sum, [amount]) => sum + BigInt(String(amount)), 0n);
  }

  account(address: Uint8Array): LedgerAccount | undefined {
    return this.rows(`${ACCOUNTS} WHERE address = ?`, address).map(toAccount)[0];
  }

  accountsOf(owner: Uint8Array): readonly LedgerAccount[] {
    return this.rows(`${ACCOUNTS} WHERE owner = ?`, owner).map(toAccount);
  }

  accountsFrom(sizeBytes: number): readonly LedgerAccount[] {
    return this.rows(`${ACCOUNTS} WHERE length(data) >= ?`, sizeBytes).map(toAccount);
  }

  setData(address: Uint8Array, data: Uint8Array): void {
    this.run('UPDATE accounts SET data = ? WHERE address = ?', data, address);
  }

  /** Advances slots for every process, whatever its clock says. */
  passSlots(count: number): void {
    const [[value] = []] = this.rows("SELECT value FROM meta WHERE name = 'clock'");
    const { slot, newest, ...rest } = JSON.parse(bytes(value).toString());
    const passed = JSON.stringify({ ...rest, slot: slot + count, newest: newest + count });
    this.run("UPDATE meta SET value = ? WHERE name = 'clock'", Buffer.from(passed));
  }
}

export interface StoredBatch {
  readonly id: string;
  /** Index on chain; a batch that was never created may share it with one that was. */
  readonly index: bigint;
  readonly pipelines: string;
  /** First day on which it counts against the caps; empty: none. */
  readonly heldFrom: string;
  /** The batch's accounts are closed, or never existed. */
  readonly isOver: boolean;
  readonly isCancelled: boolean;
  readonly isExecuted: boolean;
  /** Pipelines that landed, from its result; 0 without a result. */
  readonly successful: number;
}

export interface Usage {
  readonly day: string;
  readonly kind: 'burn' | 'airdrop';
  readonly amount: bigint;
}

export class StoreTables extends Tables {
  /** Deletes stored requests, as happens after thirty days. */
  forgetRequests(): void {
    this.run("DELETE FROM requests WHERE status = 'done'");
  }

  batches(): readonly StoredBatch[] {
    return this.rows(
      `SELECT id, batch_index, (SELECT group_concat(proof_hash, ' ') FROM (SELECT proof_hash FROM pipelines WHERE batch_id = id ORDER BY position)),
         held_from, date_closed, date_cancelled, status, execute_result FROM batches ORDER BY ordinal`,
    ).map(([id, index, pipelines, heldFrom, closed, cancelled, status, result]) => ({
      id: String(id),
      index: BigInt(String(index)),
      pipelines: String(pipelines),
      heldFrom: String(heldFrom ?? ''),
      isOver: closed !== null,
      isCancelled: cancelled !== null,
      isExecuted: status === 'EXECUTED',
      successful: result === null ? 0 : Number(JSON.parse(String(result)).totalSuccessful),
    }));
  }

  /** Day for which a burn was accepted, by its transaction. */
  dayOfBurn(wire: Buffer): string | undefined {
    const signature = bs58.encode(wire.subarray(1, 65));
    const [row] = this.rows('SELECT day FROM burns WHERE signature = ?', signature);
    return row === undefined ? undefined : String(row[0]);
  }

  usage(): readonly Usage[] {
    return this.rows('SELECT day, kind, landed FROM daily_usage').map(([day, kind, landed]) => ({
      day: String(day),
      kind: kind === 'burn' ? 'burn' : 'airdrop',
      amount: BigInt(String(landed)),
    }));
  }

  token(mint: string): { readonly supply: bigint; readonly decimals: number } {
    const [row] = this.rows('SELECT supply, decimals FROM projects WHERE mint_address = ?', mint);
    return { supply: BigInt(String(row?.[0])), decimals: Number(row?.[1]) };
  }

  /** Usage of a cap on a day: landed amounts, and amounts that may still land. */
  used(kind: Usage['kind'], day: string): bigint {
    const landed = this.rows('SELECT landed FROM daily_usage WHERE kind = ? AND day = ?', kind, day);
    const pending = this.rows("SELECT amount FROM burns WHERE status = 'PENDING' AND day <= ?", day);
    const held = this.rows(
      `SELECT ${kind}_left FROM batches WHERE held_from <= ? AND (held_to IS NULL OR held_to >= ?)`,
      day,
      day,
    );
    const rows = [...landed, ...(kind === 'burn' ? pending : []), ...held];
    return rows.reduce((sum, [amount]) => sum + BigInt(String(amount)), 0n);
  }

  /** Of all batches, oldest first; `CANCELLED` for a cancelled batch. */
  batchStatuses(): readonly string[] {
    return this.rows('SELECT status, date_cancelled FROM batches ORDER BY rowid').map(
      ([status, cancelled]) => (cancelled === null ? String(status) : 'CANCELLED'),
    );
  }

  costs(): Readonly<Record<'operator' | 'vault', bigint>> {
    const rows = this.rows('SELECT operator_lamports, vault_lamports FROM batch_costs');
    const sum = (at: number) => rows.reduce((total, row) => total + BigInt(String(row[at])), 0n);
    return { operator: sum(0), vault: sum(1) };
  }

  /** Burns with an unknown outcome in the store. */
  pendingBurns(): number {
    return this.count("SELECT count(*) FROM burns WHERE status = 'PENDING'");
  }

  pending(): readonly string[] {
    return this.rows(
      "SELECT 'burn', proof_type, sequence FROM burns WHERE status = 'PENDING' UNION ALL SELECT phase || ' of ' || b.id || ' ' || b.status, first + position, coalesce(b.date_closed, 'not closed') || ', cancelled ' || coalesce(b.date_cancelled, 'never') FROM batch_transactions AS t JOIN batches b ON b.id = batch_id WHERE t.status = 'PENDING' AND b.date_closed IS NULL",
    ).map(String);
  }
}

export class JournalTables extends Tables {
  /** Operations of the command line that are unfinished or unreported. */
  openOperations(): readonly string[] {
    return this.rows("SELECT id FROM operations WHERE state = 'open' OR told = 0").map(([id]) => String(id));
  }
}

/** Queries of the store that find a row from a certain moment on. */
export const MOMENTS = {
  taken: "select 1 from requests where status = 'running'",
  burnedInPart: "select 1 from burns where status = 'FINAL'",
  opened: "select 1 from batch_transactions where phase = 'SETUP' and status = 'LANDED'",
  setUpInPart: "select 1 from batch_transactions where phase = 'SETUP' and status = 'LANDED' and first > 0",
  answered: "select 1 from requests where status = 'done'",
  approved: "select 1 from batch_transactions where phase = 'EXECUTE' and status = 'PENDING'",
} as const;

/** Statements of a manual PostgreSQL session that lock rows the servers need. */
export const HOLDING_STATEMENTS = [
  'update daily_usage set landed = landed',
  "update requests set value = value where status = 'running'",
  'update batches set status = status',
  'lock table burns in share row exclusive mode',
  'select count(*) from burns',
] as const;
