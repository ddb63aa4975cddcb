/** Accounts ⇄ rows. */
import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import { type Address, addressBytes, addressFromBytes } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';

const COLUMNS = 'lamports, owner, data, executable, rent_epoch';

/** The table `accounts`. */
export class AccountTable {
  readonly #database: SqliteFile;
  readonly #select: Statement;

  constructor(database: SqliteFile) {
    this.#database = database;
    this.#select = database.prepare(`SELECT ${COLUMNS} FROM accounts WHERE address = ?`);
  }

  get(address: Address): AccountState | null {
    const row = this.#select.get([addressBytes(address)]);
    return row === undefined ? null : this.#database.decode(() => toState(row));
  }

  /** Every account there is. */
  all(): readonly (readonly [Address, AccountState])[] {
    const rows = this.#database.prepare(`SELECT ${COLUMNS}, address FROM accounts`).all([]);
    return this.#database.decode(() =>
      rows.map((row) => [addressFromBytes(row[5] as ReadonlyBytes), toState(row)] as const),
    );
  }

  /** Writes new states; `null` for an account that ceased to exist. */
  put(changes: ReadonlyMap<Address, AccountState | null>): void {
    const remove = this.#database.prepare('DELETE FROM accounts WHERE address = ?');
    const replace = this.#database.prepare('REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?)');
    for (const [address, state] of changes) {
      const key = addressBytes(address);
      if (state === null) {
        remove.run([key]);
        continue;
      }
      const { lamports, owner, data, executable, rentEpoch } = state;
      const isProgram = executable ? 1 : 0;
      replace.run([key, `${lamports}`, addressBytes(owner), data, isProgram, `${rentEpoch}`]);
    }
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
