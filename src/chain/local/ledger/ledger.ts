/** The durable ledger: snapshots for reads, one commit per write, safe across processes. Runs no programs. */
import { randomBytes } from 'node:crypto';
import { isEmptyFile, openSqliteFile, prepareFile, type SqliteFile } from '../../../files/sqlite-file.js';
import { type Address, addressBytes } from '../../../values/address.js';
import { base58Encode } from '../../../values/bytes.js';
import type { Clock } from '../../../values/time.js';
import { type AccountState, EMPTY_ACCOUNT, rentExemptLamports } from '../../account.js';
import type { Signature } from '../../chain.js';
import { SQUADS_PROGRAM } from '../../programs.js';
import { ACCOUNT_SIZE, encodeAccount, PROGRAM_CONFIG } from '../../squads/accounts.js';
import { programConfigAddress } from '../../squads/addresses.js';
import { decodeTransaction } from '../../transaction/wire.js';
import { LedgerClock } from './clock.js';
import { LedgerDraft, type LedgerTables } from './draft.js';
import { AccountTable, type KeptTransaction, LEDGER, markText, TransactionTable } from './tables.js';

export interface LedgerOptions {
  readonly path: string;
  readonly clock: Clock;
  /** First content of a new ledger; ignored for an existing one. */
  readonly genesis: { readonly accounts: GenesisAccounts };
  readonly slotMs?: number;
  /** `false` where a ledger must exist already: a new one would hide the loss. @default true */
  readonly create?: boolean;
}

const GENESIS_HASH_BYTES = 32;
const PAGE = 500;

/** One connection to the ledger. Methods run synchronously, so calls of one process never interleave. */
export class Ledger {
  readonly #tables: LedgerTables;
  #knownMark = '';

  constructor(
    private readonly database: SqliteFile,
    { clock, slotMs }: Pick<LedgerOptions, 'clock' | 'slotMs'>,
  ) {
    const ledgerClock = new LedgerClock(database, clock, slotMs);
    this.#tables = {
      accounts: new AccountTable(database),
      clock: ledgerClock,
      transactions: new TransactionTable(database, () => ledgerClock.genesisHash),
    };
  }

  /**
   * Mark of the newest transaction that this process has seen, for comparison with a copy outside the ledger; `''` before the
   * first read.
   * @throws `ERR_STORE_UNAVAILABLE` if the file was removed or replaced
   */
  get knownMark(): string {
    this.database.requireSame();
    return this.#knownMark;
  }

  get genesis(): string {
    return this.read(({ clock }) => base58Encode(clock.genesisHash));
  }

  /** Signatures that landed after a known transaction; `null` if this ledger does not contain that transaction. */
  landedAfter(mark: string): readonly Signature[] | null {
    return this.read(({ transactions }) => {
      const id = mark === '' ? 0 : transactions.withMark(mark);
      return id === undefined ? null : transactions.signaturesAfter(id);
    });
  }

  *naming(address: Address, before: number | null = null): Iterable<KeptTransaction> {
    // The SQL search also matches the bytes of the address inside instruction data.
    const isNamed = ({ wire, tableAddresses }: KeptTransaction): boolean =>
      tableAddresses.includes(address) || decodeTransaction(wire).message.staticKeys.includes(address);
    for (let place = before ?? Number.MAX_SAFE_INTEGER; ; ) {
      const page = this.read(({ transactions }) => transactions.holding(addressBytes(address), place, PAGE));
      yield* page.filter(isNamed);
      const last = page.at(-1);
      if (page.length < PAGE || last === undefined) return;
      place = last.place;
    }
  }

  /** Runs `work` on a snapshot of the ledger, without a lock. */
  read<Result>(work: (tables: LedgerTables) => Result): Result {
    const result = this.database.read(() => this.#within(work));
    // After the system clock was set back, every process must continue from the same slot.
    if (this.#tables.clock.isChanged) this.keepSlot();
    return result;
  }

  /**
   * Saves the newest slot, then returns it: no process takes an earlier slot for the newest any more, so a transaction that has
   * expired by this slot never lands.
   */
  keepSlot(): number {
    return this.write(({ slot }) => slot);
  }

  /**
   * Runs `work` with the write lock and commits all changes of its draft, or nothing.
   * @throws `ERR_STORE_UNAVAILABLE` naming the file and the reason.
   */
  write<Result>(work: (draft: LedgerDraft) => Result): Result {
    const mark = this.#knownMark;
    try {
      return this.database.write(() =>
        this.#within((tables) => {
          const draft = new LedgerDraft(tables);
          const result = work(draft);
          draft.flush();
          return result;
        }),
      );
    } catch (error) {
      // The mark must refer to committed transactions only.
      this.#knownMark = mark;
      throw error;
    }
  }

  close(): void {
    this.database.close();
  }

  /** Cached values are valid for one call: another process may write before the next. */
  #within<Result>(work: (tables: LedgerTables) => Result): Result {
    this.#tables.clock.forget();
    this.#tables.transactions.forget();
    const result = work(this.#tables);
    this.#knownMark = markText(this.#tables.transactions.tip);
    return result;
  }
}

/**
 * Opens the ledger; creates and fills a new file.
 * @throws `ERR_STORE_UNAVAILABLE` naming the file and why it cannot be used.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { path, create = true } = options;
  const inspect = (file: SqliteFile): void => void isEmptyFile(file, LEDGER);
  const database = await openSqliteFile({ path, noun: 'ledger', use: 'power-cut', create, inspect });
  try {
    prepareFile(database, LEDGER, () => {
      LedgerClock.begin(database, randomBytes(GENESIS_HASH_BYTES), options.clock.nowMs());
      new AccountTable(database).put(new Map(options.genesis.accounts));
    });
    return new Ledger(database, options);
  } catch (error) {
    database.close();
    throw error;
  }
}

type GenesisAccounts = readonly (readonly [Address, AccountState])[];

const TREASURY_LAMPORTS = 500_000_000n * 1_000_000_000n;
const RESERVED_BYTES = 64;

export function localGenesis(treasury: Address): GenesisAccounts {
  const config = encodeAccount(PROGRAM_CONFIG, {
    authority: treasury,
    multisigCreationFeeLamports: 0n,
    treasury,
    reserved: new Uint8Array(RESERVED_BYTES),
  });
  const lamports = rentExemptLamports(ACCOUNT_SIZE.programConfig);
  return [
    [treasury, { ...EMPTY_ACCOUNT, lamports: TREASURY_LAMPORTS }],
    [programConfigAddress().address, { lamports, owner: SQUADS_PROGRAM, data: config, executable: false }],
  ];
}
