/**
 * Accounts ⇄ rows, with what was read kept in memory; when that is stale is decided by the ledger. Reading each time takes a
 * twelfth more processor time of a batch of a hundred pipelines.
 */

import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import { type Address, addressBytes, addressFromBytes } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';

/** New states by address; `null` for an account that ceased to exist. */
export type AccountChanges = ReadonlyMap<Address, AccountState | null>;

/** Accounts kept in memory at most; then it starts over. Those in use come back at the next look. */
const CACHE_LIMIT = 4_096;
/** Accounts with more data than this are read each time they are asked for. */
const CACHED_DATA_LIMIT_BYTES = 65_536;

/** The table `accounts`. The same object is given for an account until it changes, so the VM sees what it has already. */
export class AccountTable {
  readonly #database: SqliteFile;
  readonly #known = new Map<Address, AccountState | null>();
  readonly #select: Statement;
  #insert: Statement | undefined;
  #delete: Statement | undefined;

  constructor(database: SqliteFile) {
    this.#database = database;
    this.#select = database.prepare(
      'SELECT lamports, owner, data, executable, rent_epoch FROM accounts WHERE address = ?',
    );
  }

  get(address: Address): AccountState | null {
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    const row = this.#select.get([addressBytes(address)]);
    const state = row === undefined ? null : this.#database.decode(() => toState(row));
    this.#keep(address, state);
    return state;
  }

  /** Every account there is; memory is neither asked nor filled. */
  all(): readonly (readonly [Address, AccountState])[] {
    const rows = this.#database
      .prepare('SELECT lamports, owner, data, executable, rent_epoch, address FROM accounts')
      .all([]);
    return this.#database.decode(() =>
      rows.map((row) => [addressFromBytes(row[5] as ReadonlyBytes), toState(row)] as const),
    );
  }

  /** Writes rows; memory learns of them only through {@link adopt}, once they are committed. */
  put(changes: AccountChanges): void {
    for (const [address, state] of changes) {
      if (state === null) this.#remove(address);
      else this.#replace(address, state);
    }
  }

  /** Takes committed states for what the table holds. */
  adopt(changes: AccountChanges): void {
    for (const [address, state] of changes) this.#keep(address, state);
  }

  forget(): void {
    this.#known.clear();
  }

  #replace(address: Address, state: AccountState): void {
    this.#insert ??= this.#database.prepare('REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?)');
    const { lamports, owner, data, executable, rentEpoch } = state;
    this.#insert.run([
      addressBytes(address),
      lamports.toString(),
      addressBytes(owner),
      data,
      executable ? 1 : 0,
      rentEpoch.toString(),
    ]);
  }

  #remove(address: Address): void {
    this.#delete ??= this.#database.prepare('DELETE FROM accounts WHERE address = ?');
    this.#delete.run([addressBytes(address)]);
  }

  #keep(address: Address, state: AccountState | null): void {
    if (this.#known.size >= CACHE_LIMIT) this.#known.clear();
    if (state !== null && state.data.length > CACHED_DATA_LIMIT_BYTES) this.#known.delete(address);
    else this.#known.set(address, state);
  }
}

function toState(row: readonly SqlValue[]): AccountState {
  const [lamports, owner, data, executable, rentEpoch] = row;
  return {
    lamports: BigInt(lamports as string),
    owner: addressFromBytes(owner as ReadonlyBytes),
    data: data as ReadonlyBytes,
    executable: executable === 1,
    rentEpoch: BigInt(rentEpoch as string),
  };
}
