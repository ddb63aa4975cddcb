/**
 * The databases of a data directory as those see them who check the program from outside: which files, tables and columns there
 * are. Whoever changes a schema changes this file and nothing else of the simulator and the torture.
 */
import Database from 'libsql';

/** Files of a data directory. */
export const FILES = { store: 'store.db', ledger: 'ledger.db', journal: 'journal.db' } as const;

type Row = readonly unknown[];

/** A database that is opened at the first look. */
class Tables {
  readonly #path: string;
  readonly #isReadOnly: boolean;
  #database: Database.Database | undefined;

  constructor(path: string, isReadOnly = true) {
    this.#path = path;
    this.#isReadOnly = isReadOnly;
  }

  /** Lets go of the file; the next look opens it again. */
  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  /** What SQLite says of the file: `ok`, or what is wrong with it. */
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

/** A transaction as the ledger has it. */
export interface LedgerTransaction {
  readonly id: number;
  readonly wire: Buffer;
  readonly logs: string;
  readonly hasFailed: boolean;
  readonly fee: bigint;
  /** Time of its block. */
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
  /** Reads all of it as it is at one time, whoever writes meanwhile. */
  atOnce(read: () => void): void {
    this.within('BEGIN', read);
  }

  /** Writes all of it or nothing. */
  write(work: () => void): void {
    this.within('BEGIN IMMEDIATE', work);
  }

  /** Number of the newest transaction. */
  lastId(): number {
    return this.count('SELECT coalesce(max(id), 0) FROM transactions');
  }

  /** Transactions that came after the one with this number. */
  transactionsAfter(id: number): readonly LedgerTransaction[] {
    return this.rows(
      'SELECT id, wire, logs, error, fee_lamports, time_ms FROM transactions WHERE id > ? ORDER BY id',
      id,
    ).map(([own, wire, logs, error, fee, timeMs]) => ({
      id: Number(own),
      wire: bytes(wire),
      logs: String(logs),
      hasFailed: error !== null,
      fee: BigInt(String(fee)),
      timeMs: Number(timeMs),
    }));
  }

  /** Lamports of all accounts, and of all fees that were taken: as many as there were when the ledger began. */
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

  /** Accounts with at least so many bytes. */
  accountsFrom(sizeBytes: number): readonly LedgerAccount[] {
    return this.rows(`${ACCOUNTS} WHERE length(data) >= ?`, sizeBytes).map(toAccount);
  }

  setData(address: Uint8Array, data: Uint8Array): void {
    this.run('UPDATE accounts SET data = ? WHERE address = ?', data, address);
  }

  /** Lets slots go by for every process, whatever its clock says. */
  passSlots(count: number): void {
    const [[value] = []] = this.rows("SELECT value FROM meta WHERE name = 'clock'");
    const { slot, newest, ...rest } = JSON.parse(bytes(value).toString());
    const passed = JSON.stringify({ ...rest, slot: slot + count, newest: newest + count });
    this.run("UPDATE meta SET value = ? WHERE name = 'clock'", Buffer.from(passed));
  }
}

/** A batch as the store has it. */
export interface StoredBatch {
  readonly id: string;
  /** Of the batch on chain; one that never came to be may share it with the one that did. */
  readonly index: bigint;
  /** The hashes of the proofs of its pipelines, in their order. */
  readonly pipelines: string;
  /** Its accounts are closed, or never were. */
  readonly isOver: boolean;
  readonly isCancelled: boolean;
  readonly isExecuted: boolean;
  /** Pipelines that landed, as its verdict says; 0 while it has none. */
  readonly successful: number;
}

/** What counts as used of a cap on a day. */
export interface Usage {
  readonly day: string;
  readonly kind: 'burn' | 'airdrop';
  readonly amount: bigint;
}

export class StoreTables extends Tables {
  /** As after thirty days of use: what was asked for is not known any more. */
  forgetRequests(): void {
    this.run("DELETE FROM requests WHERE status = 'done'");
  }

  batches(): readonly StoredBatch[] {
    return this.rows(
      `SELECT id, batch_index, (SELECT group_concat(proof_hash, ' ') FROM (SELECT proof_hash FROM pipelines WHERE batch_id = id ORDER BY position)),
         date_closed, date_cancelled, status, execute_result FROM batches ORDER BY ordinal`,
    ).map(([id, index, pipelines, closed, cancelled, status, result]) => ({
      id: String(id),
      index: BigInt(String(index)),
      pipelines: String(pipelines),
      isOver: closed !== null,
      isCancelled: cancelled !== null,
      isExecuted: status === 'EXECUTED',
      successful: result === null ? 0 : Number(JSON.parse(String(result)).totalSuccessful),
    }));
  }

  usage(): readonly Usage[] {
    return this.rows('SELECT day, kind, landed FROM daily_usage').map(([day, kind, landed]) => ({
      day: String(day),
      kind: kind === 'burn' ? 'burn' : 'airdrop',
      amount: BigInt(String(landed)),
    }));
  }

  /** What a token was registered with. */
  token(mint: string): { readonly supply: bigint; readonly decimals: number } {
    const [row] = this.rows('SELECT supply, decimals FROM tokens WHERE mint_address = ?', mint);
    return { supply: BigInt(String(row?.[0])), decimals: Number(row?.[1]) };
  }

  /** What counts against a cap on a day: what has landed, and what may still land. */
  used(kind: Usage['kind'], day: string): bigint {
    const landed = this.rows('SELECT landed FROM daily_usage WHERE kind = ? AND day = ?', kind, day);
    const pending = this.rows("SELECT amount FROM burns WHERE status = 'PENDING' AND day <= ?", day);
    const held = this.rows(
      'SELECT amount FROM usage_holds WHERE kind = ? AND from_day <= ? AND (to_day IS NULL OR to_day >= ?)',
      kind,
      day,
      day,
    );
    const rows = [...landed, ...(kind === 'burn' ? pending : []), ...held];
    return rows.reduce((sum, [amount]) => sum + BigInt(String(amount)), 0n);
  }

  /** Of all batches, oldest first; `CANCELLED` for one that was. */
  batchStatuses(): readonly string[] {
    return this.rows('SELECT status, date_cancelled FROM batches ORDER BY rowid').map(
      ([status, cancelled]) => (cancelled === null ? String(status) : 'CANCELLED'),
    );
  }

  /** What the batches have cost operator and vault. */
  costs(): Readonly<Record<'operator' | 'vault', bigint>> {
    const rows = this.rows('SELECT operator_lamports, vault_lamports FROM batch_costs');
    const sum = (at: number) => rows.reduce((total, row) => total + BigInt(String(row[at])), 0n);
    return { operator: sum(0), vault: sum(1) };
  }

  /** How many burns there are whose end it does not know yet. */
  pendingBurns(): number {
    return this.count("SELECT count(*) FROM burns WHERE status = 'PENDING'");
  }

  /** What nobody knows the outcome of. */
  pending(): readonly string[] {
    return this.rows(
      "SELECT 'burn', proof_type, sequence FROM burns WHERE status = 'PENDING' UNION ALL SELECT 'bundle ' || phase || ' of ' || b.id || ' ' || b.status, bundles.ordinal, coalesce(b.date_closed, 'not closed') || ', cancelled ' || coalesce(b.date_cancelled, 'never') FROM bundles JOIN batches b ON b.id = batch_id WHERE bundles.status = 'PENDING' AND b.date_closed IS NULL",
    ).map(String);
  }

  /** Number of the newest transaction of the ledger that it knows. */
  knownTransactions(): number {
    return this.count('SELECT CAST(ledger_mark AS INTEGER) FROM progress');
  }
}

export class JournalTables extends Tables {
  /** Operations of the command line that are not over, or of which nobody was told. */
  openOperations(): readonly string[] {
    return this.rows("SELECT id FROM operations WHERE state = 'open' OR told = 0").map(([id]) => String(id));
  }
}

/** Queries of the store that find something from a moment on. */
export const MOMENTS = {
  taken: "select 1 from requests where status = 'running'",
  burnedInPart: "select 1 from burns where status = 'FINAL'",
  opened: "select 1 from bundles where phase = 'SETUP' and status = 'LANDED'",
  setUpInPart: "select 1 from bundles where phase = 'SETUP' and status = 'LANDED' and first > 0",
  answered: "select 1 from requests where status = 'done'",
  approved: "select 1 from bundles where phase = 'EXECUTE' and status = 'PENDING'",
} as const;

/** Statements by which somebody who looks at a PostgreSQL by hand holds rows that servers want. */
export const HOLDING_STATEMENTS = [
  'update daily_usage set landed = landed',
  "update requests set value = value where status = 'running'",
  'update batches set status = status',
  'lock table burns in share row exclusive mode',
  'select count(*) from burns',
] as const;
