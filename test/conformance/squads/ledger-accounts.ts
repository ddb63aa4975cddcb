/** Accounts as the ledger returns them: read from rows of a real database, and watched for in-place changes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import type { AccountState } from '../../../src/chain/account.js';
import { AccountTable, LEDGER } from '../../../src/chain/local/ledger/tables.js';
import type { AccountSource } from '../../../src/chain/local/vm.js';
import { prepareFile, SqliteFile } from '../../../src/files/sqlite-file.js';
import type { Address } from '../../../src/values/address.js';
import { copyBytes, sameBytes } from '../../../src/values/bytes.js';

/** A changed account; `null` if it was removed. */
type Change = readonly [Address, AccountState | null];

let shared: AccountTable | undefined;

/** The ledger's account table; shared, because it stores nothing between calls. */
function table(): AccountTable {
  if (shared !== undefined) return shared;
  const directory = mkdtempSync(join(tmpdir(), 'flywheel-accounts-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'ledger.db');
  const database = new SqliteFile({ path, noun: 'ledger' }, new Database(path));
  // The database lives as long as the process, so nothing has to reach the disk.
  database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
  prepareFile(database, LEDGER, () => undefined);
  shared = new AccountTable(database);
  return shared;
}

/** Writes a state to a row and reads it, as in another process. */
function throughRow(address: Address, state: AccountState): AccountState {
  table().put(new Map([[address, state]]));
  const read = table().get(address);
  if (read === null) throw new Error(`The ledger lost ${address}.`);
  return read;
}

/** A state that was handed out, and a private copy. */
interface Held {
  readonly given: AccountState;
  readonly kept: AccountState;
}

const isUnchanged = ({ given, kept }: Held): boolean =>
  sameBytes(given.data, kept.data) &&
  given.lamports === kept.lamports &&
  given.owner === kept.owner &&
  given.executable === kept.executable;

/** An account source that detects writes to states it handed out. */
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

  /** Stores the same objects, as the ledger does after a commit. */
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

  /** Checks every state handed out since the last call, and restores changed ones. @returns one line for each in-place change. */
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
