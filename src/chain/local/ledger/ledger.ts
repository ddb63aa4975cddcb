/** The durable ledger: one snapshot to read, one commit to write, shared safely with other processes. Runs nothing itself. */
import { randomBytes } from 'node:crypto';
import { openSqliteFile, type SqliteFile } from '../../../files/sqlite-file.js';
import { base58Encode } from '../../../values/base58.js';
import { readBuffer } from '../../../values/bytes.js';
import type { Clock } from '../../../values/time.js';
import type { Signature } from '../../chain.js';
import { AccountTable } from './account-table.js';
import { type Block, BlockTable, genesisBlock, markOf } from './block-table.js';
import { LedgerDraft, type LedgerTables } from './draft.js';
import type { GenesisAccounts } from './genesis.js';
import { isEmptyLedger, prepareSchema } from './schema.js';
import { TransactionTable } from './transaction-table.js';

/** Where a ledger lies and how a new one begins. */
export interface LedgerOptions {
  /** The SQLite file; made when it is not there. */
  readonly path: string;
  readonly clock: Clock;
  /** What a new ledger begins with; an existing one ignores it. */
  readonly genesis: {
    readonly accounts: GenesisAccounts;
    /** Makes the hashes of the blocks deterministic. @default 32 random bytes */
    readonly seed?: Uint8Array;
  };
  /** Refuses every write, and does not make a file. @default false */
  readonly readOnly?: boolean;
  /** Make the file when it is missing. Where there should be one, a new one would hide the loss. @default true */
  readonly create?: boolean;
}

const GENESIS_SEED_BYTES = 32;

/** One connection to the ledger. Its methods run to their end without a pause, so calls in one process never mix. */
export class Ledger {
  readonly #database: SqliteFile;
  readonly #tables: LedgerTables;
  readonly #clock: Clock;
  readonly #dataVersion: () => number;
  #knownTip: Block | undefined;
  /** The version that the tables' memory belongs to; SQLite changes it when another connection has committed. */
  #seenVersion: number | undefined;

  constructor(database: SqliteFile, tables: LedgerTables, { clock }: Pick<LedgerOptions, 'clock'>) {
    this.#database = database;
    this.#tables = tables;
    this.#clock = clock;
    const statement = database.prepare('PRAGMA data_version');
    this.#dataVersion = () => Number(statement.get([])?.[0]);
  }

  /** Names the newest block that this process has seen, for whoever keeps it beside the ledger; `''` before it has seen one. */
  get knownMark(): string {
    return this.#knownTip === undefined ? '' : markOf(this.#knownTip);
  }

  /** Hash of the first block, base58. */
  get genesis(): string {
    return this.read(({ blocks }) => base58Encode(blocks.genesis.hash));
  }

  /** What has landed after a block that was known; `null` when that is no block of this ledger. */
  landedAfter(mark: string): readonly Signature[] | null {
    return this.read(({ blocks, transactions }) => {
      const height = mark === '' ? 0 : blocks.heightOf(mark);
      return height === undefined ? null : transactions.signaturesAbove(height);
    });
  }

  /** Runs `work` on the ledger as it is now; nobody waits for it. */
  read<Result>(work: (tables: LedgerTables) => Result): Result {
    const [result, tip] = this.#database.read(() => {
      this.#refresh();
      return [work(this.#tables), this.#tables.blocks.tip] as const;
    });
    this.#knownTip = tip;
    return result;
  }

  /** What was kept under a name beside the chain itself, or `null`. */
  note(name: string): string | null {
    const [value] = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get([name]) ?? [];
    return value === undefined ? null : readBuffer(value as Uint8Array).toString('utf8');
  }

  /** Keeps text under a name, in the place of what was there. */
  keepNote(name: string, text: string): void {
    this.#database.write(() =>
      this.#database.prepare('REPLACE INTO meta VALUES (?, ?)').run([name, Buffer.from(text)]),
    );
  }

  /**
   * Runs `work` alone on the ledger and commits all that its draft holds, or nothing.
   *
   * Whatever goes wrong, the memory of the tables is dropped: nothing is believed that is not in the file.
   * @throws `ERR_STORE_UNAVAILABLE` naming the file and the reason.
   */
  write<Result>(work: (draft: LedgerDraft) => Result): Result {
    try {
      const [result, changes, tip] = this.#database.write(() => {
        this.#refresh();
        const draft = new LedgerDraft(this.#tables, this.#clock.nowMs());
        const result = work(draft);
        const changes = draft.flush();
        return [result, changes, this.#tables.blocks.tip] as const;
      });
      this.#tables.accounts.adopt(changes);
      // Only what is committed may be known elsewhere.
      this.#knownTip = tip;
      return result;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  close(): void {
    this.#forget();
    this.#database.close();
  }

  #refresh(): void {
    const version = this.#dataVersion();
    if (version === this.#seenVersion) return;
    this.#forget();
    this.#seenVersion = version;
  }

  #forget(): void {
    this.#seenVersion = undefined;
    this.#tables.accounts.forget();
    this.#tables.blocks.forget();
  }
}

/**
 * Opens the ledger, making and filling the file when it is new.
 * @throws `ERR_STORE_UNAVAILABLE` naming the file and why it cannot be used.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { readOnly = false, create = !readOnly } = options;
  const inspect = (file: SqliteFile): void => void isEmptyLedger(file);
  const database = await openSqliteFile({
    path: options.path,
    noun: 'ledger',
    use: readOnly ? 'reader' : 'power-cut',
    create,
    inspect,
  });
  try {
    prepareSchema(database, () => {
      const { accounts, seed = randomBytes(GENESIS_SEED_BYTES) } = options.genesis;
      const genesis = genesisBlock(seed, options.clock.nowMs());
      new BlockTable(database).append(genesis);
      new AccountTable(database).put(new Map(accounts));
      database.prepare('INSERT INTO meta VALUES (?, ?)').run(['genesis_hash', genesis.hash]);
    });
    const tables = {
      accounts: new AccountTable(database),
      blocks: new BlockTable(database),
      transactions: new TransactionTable(database),
    };
    return new Ledger(database, tables, options);
  } catch (error) {
    database.close();
    throw error;
  }
}
