/** The durable ledger: one snapshot to read, one commit to write, shared safely with other processes. Runs nothing itself. */
import { hash, randomBytes } from 'node:crypto';
import { isEmptyFile, openSqliteFile, prepareFile, type SqliteFile } from '../../../files/sqlite-file.js';
import { type Address, addressBytes } from '../../../values/address.js';
import { base58Encode } from '../../../values/base58.js';
import type { Clock } from '../../../values/time.js';
import { type AccountState, RENT_EPOCH_EXEMPT, rentExemptLamports } from '../../account.js';
import type { Signature } from '../../chain.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import { ACCOUNT_SIZE, encodeAccount, PROGRAM_CONFIG } from '../../squads/accounts.js';
import { programConfigAddress } from '../../squads/addresses.js';
import { decodeTransaction } from '../../transaction/wire.js';
import { LedgerClock } from './clock.js';
import { LedgerDraft, type LedgerTables } from './draft.js';
import { AccountTable, type KeptTransaction, LEDGER, markText, TransactionTable } from './tables.js';

/** Where a ledger lies and how a new one begins. */
export interface LedgerOptions {
  /** The SQLite file; made when it is not there. */
  readonly path: string;
  readonly clock: Clock;
  /** What a new ledger begins with; an existing one ignores it. */
  readonly genesis: {
    readonly accounts: GenesisAccounts;
    /** Makes the blockhashes deterministic. @default 32 random bytes */
    readonly seed?: Uint8Array;
  };
  /** @default 400 */
  readonly slotMs?: number;
  /** Make the file when it is missing. Where there should be one, a new one would hide the loss. @default true */
  readonly create?: boolean;
}

const GENESIS_SEED_BYTES = 32;
/** Transactions that are read at once. */
const PAGE = 500;

/** One connection to the ledger. Its methods run to their end without a pause, so calls in one process never mix. */
export class Ledger {
  readonly #database: SqliteFile;
  readonly #tables: LedgerTables;
  #knownMark = '';

  constructor(database: SqliteFile, { clock, slotMs }: Pick<LedgerOptions, 'clock' | 'slotMs'>) {
    this.#database = database;
    const ledgerClock = new LedgerClock(database, clock, slotMs);
    this.#tables = {
      accounts: new AccountTable(database),
      clock: ledgerClock,
      transactions: new TransactionTable(database, () => ledgerClock.genesisHash),
    };
  }

  /** Names the newest transaction that this process has seen, for whoever keeps it beside the ledger; `''` before it has looked. */
  get knownMark(): string {
    return this.#knownMark;
  }

  /** Tells this ledger from all others, base58. */
  get genesis(): string {
    return this.read(({ clock }) => base58Encode(clock.genesisHash));
  }

  /** What has landed after a transaction that was known; `null` when it is not in this ledger. */
  landedAfter(mark: string): readonly Signature[] | null {
    return this.read(({ transactions }) => {
      const id = mark === '' ? 0 : transactions.withMark(mark);
      return id === undefined ? null : transactions.signaturesAfter(id);
    });
  }

  /** Transactions that name an address, newest first, from before a place on. */
  *naming(address: Address, before: number | null = null): Iterable<KeptTransaction> {
    // The bytes of an address may stand in data as well.
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

  /** Runs `work` on the ledger as it is now; nobody waits for it. */
  read<Result>(work: (tables: LedgerTables) => Result): Result {
    const result = this.#database.read(() => this.#within(work));
    // A clock that was set back goes on the same way in every process.
    if (this.#tables.clock.isChanged) this.keepSlot();
    return result;
  }

  /**
   * The newest slot, once it is certain that no process takes an earlier one for the newest any more: what has expired by then never
   * lands.
   */
  keepSlot(): number {
    return this.write(({ slot }) => slot);
  }

  /**
   * Runs `work` alone on the ledger and commits all that its draft holds, or nothing.
   * @throws `ERR_STORE_UNAVAILABLE` naming the file and the reason.
   */
  write<Result>(work: (draft: LedgerDraft) => Result): Result {
    const mark = this.#knownMark;
    try {
      return this.#database.write(() =>
        this.#within((tables) => {
          const draft = new LedgerDraft(tables);
          const result = work(draft);
          draft.flush();
          return result;
        }),
      );
    } catch (error) {
      // Only what is committed may be known elsewhere.
      this.#knownMark = mark;
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  /** What the tables remember is good for one call: another process may write before the next. */
  #within<Result>(work: (tables: LedgerTables) => Result): Result {
    this.#tables.clock.forget();
    this.#tables.transactions.forget();
    const result = work(this.#tables);
    this.#knownMark = markText(this.#tables.transactions.tip);
    return result;
  }
}

/**
 * Opens the ledger, making and filling the file when it is new.
 * @throws `ERR_STORE_UNAVAILABLE` naming the file and why it cannot be used.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { path, create = true } = options;
  const inspect = (file: SqliteFile): void => void isEmptyFile(file, LEDGER);
  const database = await openSqliteFile({ path, noun: 'ledger', use: 'power-cut', create, inspect });
  try {
    prepareFile(database, LEDGER, () => {
      const { accounts, seed = randomBytes(GENESIS_SEED_BYTES) } = options.genesis;
      LedgerClock.begin(database, hash('sha256', seed, 'buffer'), options.clock.nowMs());
      new AccountTable(database).put(new Map(accounts));
    });
    return new Ledger(database, options);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Accounts of block 0, each with its address. */
type GenesisAccounts = readonly (readonly [Address, AccountState])[];

/** 500,000,000 SOL: what a treasury never runs out of, and far below a u64. */
const TREASURY_LAMPORTS = 500_000_000n * 1_000_000_000n;
const RESERVED_BYTES = 64;

/** The accounts of a new local chain whose `treasury` is the wallet that funds all others. */
export function localGenesis(treasury: Address): GenesisAccounts {
  const config = encodeAccount(PROGRAM_CONFIG, {
    authority: treasury,
    multisigCreationFeeLamports: 0n,
    treasury,
    reserved: new Uint8Array(RESERVED_BYTES),
  });
  const common = { executable: false, rentEpoch: RENT_EPOCH_EXEMPT };
  return [
    [treasury, { ...common, lamports: TREASURY_LAMPORTS, owner: SYSTEM_PROGRAM, data: new Uint8Array(0) }],
    [
      programConfigAddress().address,
      {
        ...common,
        lamports: rentExemptLamports(ACCOUNT_SIZE.programConfig),
        owner: SQUADS_PROGRAM,
        data: config,
      },
    ],
  ];
}
