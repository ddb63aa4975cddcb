/** Accounts as the ledger gives them: read back from rows of a real database, and watched for being changed in place. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import type { AccountState } from '../../../src/chain/account.js';
import { AccountTable, LEDGER } from '../../../src/chain/local/ledger/tables.js';
import type { AccountSource } from '../../../src/chain/local/vm/vm.js';
import { prepareFile, SqliteFile } from '../../../src/files/sqlite-file.js';
import type { Address } from '../../../src/values/address.js';
import { copyBytes, sameBytes } from '../../../src/values/bytes.js';

/** A new account, or `null` for one that is gone. */
type Change = readonly [Address, AccountState | null];

let shared: AccountTable | undefined;

/** The table of a ledger; one a process is enough, as nothing is kept in it. */
function table(): AccountTable {
  if (shared !== undefined) return shared;
  const directory = mkdtempSync(join(tmpdir(), 'flywheel-accounts-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'ledger.db');
  const database = new SqliteFile({ path, noun: 'ledger' }, new Database(path));
  // Nothing of it outlives the process, so nothing has to reach the disk.
  database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
  prepareFile(database, LEDGER, () => undefined);
  shared = new AccountTable(database);
  return shared;
}

/** Writes a state into a row and reads it back, as another process would. */
function throughRow(address: Address, state: AccountState): AccountState {
  table().put(new Map([[address, state]]));
  const read = table().get(address);
  if (read === null) throw new Error(`The ledger lost ${address}.`);
  return read;
}

/** What was given out, and a copy that nobody else has. */
interface Held {
  readonly given: AccountState;
  readonly kept: AccountState;
}

const isUnchanged = ({ given, kept }: Held): boolean =>
  sameBytes(given.data, kept.data) &&
  given.lamports === kept.lamports &&
  given.owner === kept.owner &&
  given.executable === kept.executable &&
  given.rentEpoch === kept.rentEpoch;

/** A source of accounts that knows when somebody has written to a state that it gave out. */
export class LedgerAccounts implements AccountSource {
  readonly #held = new Map<Address, Held>();
  #asked = new Set<Address>();

  constructor(accounts: Iterable<Change> = []) {
    for (const [address, state] of accounts) this.set(address, state);
  }

  get(address: Address): AccountState | null {
    this.#asked.add(address);
    return this.#held.get(address)?.given ?? null;
  }

  set(address: Address, state: AccountState | null): void {
    if (state === null) {
      this.#held.delete(address);
      return;
    }
    this.#hold(address, throughRow(address, state));
  }

  /** Takes the very objects in, as the ledger does with what it has just committed. */
  adopt(changes: Iterable<Change>): void {
    for (const [address, state] of changes) {
      if (state === null) this.#held.delete(address);
      else this.#hold(address, state);
    }
  }

  #hold(address: Address, given: AccountState): void {
    this.#held.set(address, { given, kept: { ...given, data: copyBytes(given.data) } });
  }

  addresses(): readonly Address[] {
    return [...this.#held.keys()];
  }

  /**
   * Looks at every state that was asked for since the last look, and puts right what was changed.
   * @returns one line for each that was changed in place.
   */
  changedInPlace(): readonly string[] {
    const asked = this.#asked;
    this.#asked = new Set();
    const found: string[] = [];
    for (const address of asked) {
      const held = this.#held.get(address);
      if (held === undefined || isUnchanged(held)) continue;
      found.push(`account ${address}: was changed in place`);
      this.set(address, held.kept);
    }
    return found;
  }
}
