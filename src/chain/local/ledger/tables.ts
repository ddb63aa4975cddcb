/** The tables of the ledger: accounts and landed transactions ⇄ rows. */

import { hash } from 'node:crypto';
import type { FileFormat, SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import {
  ADDRESS_LENGTH_BYTES,
  type Address,
  addressBytes,
  addressFromBytes,
} from '../../../values/address.js';
import { base58Decode, base58Encode, partOf, type ReadonlyBytes, readBuffer } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import type { Balance, Signature, TokenChange, TransactionError, TransactionRecord } from '../../chain.js';
import { SIGNATURE_BYTES } from '../../transaction/wire.js';
import type { ExecutionResult, InnerCall } from '../runtime/execution.js';

/** The first signature of a row. The text must equal the expression of the index, otherwise SQLite does not use the index. */
const SIGNATURE_OF_WIRE = `substr(wire, 2, ${SIGNATURE_BYTES})`;
// Rows are stored in landing order: ordered by random signatures, rows of a kilobyte would rewrite one page per transaction.
// The first signature follows the signature count in `wire`; the count always takes one byte.
const TABLES = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE accounts (
  address BLOB PRIMARY KEY, lamports TEXT NOT NULL, owner BLOB NOT NULL, data BLOB NOT NULL,
  executable INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE transactions (
  id INTEGER PRIMARY KEY, slot INTEGER NOT NULL, time_ms INTEGER NOT NULL, wire BLOB NOT NULL,
  mark BLOB NOT NULL, error TEXT, logs TEXT NOT NULL, fee_lamports TEXT NOT NULL, compute_units INTEGER NOT NULL,
  balances TEXT NOT NULL, token_changes TEXT NOT NULL, table_addresses BLOB NOT NULL, inner_calls TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX transactions_by_signature ON transactions (${SIGNATURE_OF_WIRE});
`;

export const LEDGER: FileFormat = {
  // "FLYL"
  applicationId: 0x46_4c_59_4c,
  tables: TABLES,
  kind: 'a ledger',
  hints: {
    otherBuild: 'Use another --data-dir, or delete this one and its keys: `flywheel local reset`',
    otherFile: 'Run `flywheel local init` with an empty data directory, or use another --data-dir.',
  },
};

const ACCOUNT_COLUMNS = 'lamports, owner, data, executable';

export class AccountTable {
  readonly #select: Statement;

  constructor(private readonly database: SqliteFile) {
    this.#select = database.prepare(`SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE address = ?`);
  }

  get(address: Address): AccountState | null {
    const row = this.#select.get([addressBytes(address)]);
    return row === undefined ? null : this.database.decode(() => toState(row));
  }

  all(): readonly (readonly [Address, AccountState])[] {
    const rows = this.database.prepare(`SELECT ${ACCOUNT_COLUMNS}, address FROM accounts`).all([]);
    return this.database.decode(() =>
      rows.map((row) => [addressFromBytes(row[4] as ReadonlyBytes), toState(row)] as const),
    );
  }

  put(changes: ReadonlyMap<Address, AccountState | null>): void {
    const remove = this.database.prepare('DELETE FROM accounts WHERE address = ?');
    const replace = this.database.prepare('REPLACE INTO accounts VALUES (?, ?, ?, ?, ?)');
    for (const [address, state] of changes) {
      const key = addressBytes(address);
      if (state === null) {
        remove.run([key]);
        continue;
      }
      const { lamports, owner, data, executable } = state;
      const isProgram = executable ? 1 : 0;
      replace.run([key, `${lamports}`, addressBytes(owner), data, isProgram]);
    }
  }
}

function toState(row: readonly SqlValue[]): AccountState {
  const [lamports, owner, data, executable] = row;
  return {
    lamports: BigInt(lamports as string),
    owner: addressFromBytes(owner as ReadonlyBytes),
    data: data as ReadonlyBytes,
    executable: executable === 1,
  };
}

export interface NewTransaction extends Omit<ExecutionResult, 'landed'> {
  /** 64 bytes: the first signature of the wire bytes. */
  readonly signature: ReadonlyBytes;
  readonly wire: ReadonlyBytes;
  readonly accounts: readonly Address[];
  /** The addresses that come from lookup tables, 32 bytes each. */
  readonly tableAddresses: ReadonlyBytes;
}

/** A transaction in its block, with what it changed. */
interface AppendedTransaction extends NewTransaction {
  readonly slot: number;
  readonly timeMs: number;
  readonly balances: readonly Balance[];
  readonly tokenChanges: readonly TokenChange[];
}

/** A transaction number, and a hash chain over all signatures up to this transaction. */
interface MarkedPlace {
  readonly id: number;
  readonly mark: ReadonlyBytes;
}

const MARK_DIGITS = 16;

/** Text form of a mark. Marks of later transactions sort higher. */
export const markText = ({ id, mark }: MarkedPlace): string =>
  `${String(id).padStart(MARK_DIGITS, '0')} ${readBuffer(mark).toString('hex')}`;

const digits = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? inner.toString() : inner));

const TRANSACTION_COLUMNS =
  'slot, time_ms, wire, error, logs, fee_lamports, compute_units, balances, token_changes, table_addresses, inner_calls';

export class TransactionTable {
  readonly #one: Statement;
  readonly #insert: Statement;
  #tip: MarkedPlace | undefined;

  constructor(
    private readonly database: SqliteFile,
    private readonly genesisHash: () => ReadonlyBytes,
  ) {
    this.#one = database.prepare(
      `SELECT ${TRANSACTION_COLUMNS}, id FROM transactions WHERE ${SIGNATURE_OF_WIRE} = ?`,
    );
    this.#insert = database.prepare(
      `INSERT INTO transactions (${TRANSACTION_COLUMNS}, mark) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  append({ balances, tokenChanges, ...landing }: AppendedTransaction): void {
    const { id, mark } = this.tip;
    const both = Buffer.concat([readBuffer(mark), readBuffer(landing.signature)]);
    this.#tip = { id: id + 1, mark: hash('sha256', both, 'buffer') };
    this.#insert.run([
      landing.slot,
      landing.timeMs,
      landing.wire,
      landing.error === null ? null : JSON.stringify(landing.error),
      JSON.stringify(landing.logs),
      landing.feeLamports.toString(),
      Number(landing.computeUnits),
      digits(balances.map(({ before, after }) => [before, after])),
      digits(tokenChanges.map(({ account, mint, before, after }) => [account, mint, before, after])),
      landing.tableAddresses,
      JSON.stringify(
        landing.innerCalls.map(({ within, program, accounts, data }) => [
          ...[within, program, accounts],
          readBuffer(data).toString('base64'),
        ]),
      ),
      this.#tip.mark,
    ]);
  }

  /** The newest transaction; id 0 in an empty ledger. */
  get tip(): MarkedPlace {
    this.#tip ??= this.#placeAt('ORDER BY id DESC LIMIT 1', []) ?? { id: 0, mark: this.genesisHash() };
    return this.#tip;
  }

  /** Number of the transaction with this mark; `undefined` if the mark does not match this ledger. */
  withMark(text: string): number | undefined {
    const id = Number.parseInt(text, 10);
    const found = id === 0 ? { id, mark: this.genesisHash() } : this.#placeAt('WHERE id = ?', [id]);
    return found && markText(found) === text ? id : undefined;
  }

  forget(): void {
    this.#tip = undefined;
  }

  #placeAt(where: string, parameters: readonly SqlValue[]): MarkedPlace | undefined {
    const row = this.database.prepare(`SELECT id, mark FROM transactions ${where}`).get(parameters);
    return row && { id: Number(row[0]), mark: row[1] as ReadonlyBytes };
  }

  hasLanded(signature: ReadonlyBytes): boolean {
    return this.#one.get([signature]) !== undefined;
  }

  /** A landed transaction; `null` if it has not landed or the text is not a signature. */
  kept(signature: Signature): KeptTransaction | null {
    const bytes = base58Decode(signature);
    const row = bytes?.length === SIGNATURE_BYTES ? this.#one.get([bytes]) : undefined;
    return row === undefined ? null : this.database.decode(() => toKept(row));
  }

  holding(bytes: ReadonlyBytes, before: number, limit: number): readonly KeptTransaction[] {
    const rows = this.database
      .prepare(
        `SELECT ${TRANSACTION_COLUMNS}, id FROM transactions WHERE id < ? AND (instr(wire, ?) > 0 OR instr(table_addresses, ?) > 0)
         ORDER BY id DESC LIMIT ?`,
      )
      .all([before, bytes, bytes, limit]);
    return this.database.decode(() => rows.map(toKept));
  }

  signaturesAfter(id: number): readonly Signature[] {
    const rows = this.database
      .prepare(`SELECT ${SIGNATURE_OF_WIRE} FROM transactions WHERE id > ? ORDER BY id`)
      .all([id]);
    return rows.map(([signature]) => base58Encode(signature as ReadonlyBytes));
  }
}

export interface KeptTransaction extends TransactionRecord {
  readonly wire: Uint8Array;
  readonly tableAddresses: readonly Address[];
  readonly innerCalls: readonly InnerCall[];
  readonly place: number;
}

const addressesOf = (bytes: ReadonlyBytes): readonly Address[] =>
  Array.from({ length: bytes.length / ADDRESS_LENGTH_BYTES }, (_, at) =>
    addressFromBytes(partOf(bytes, at * ADDRESS_LENGTH_BYTES, (at + 1) * ADDRESS_LENGTH_BYTES)),
  );

function toKept(row: readonly SqlValue[]): KeptTransaction {
  const [slot, timeMs, bytes, error, logs, feeLamports, computeUnits, ...more] = row;
  const [balances, moved, tableAddresses, calls, place] = more;
  const lamports = JSON.parse(balances as string) as readonly [string, string][];
  const changes = JSON.parse(moved as string) as readonly [Address, Address, string | null, string][];
  const wire = bytes as Uint8Array;
  return {
    signature: base58Encode(wire.subarray(1, 1 + SIGNATURE_BYTES)),
    wire,
    place: Number(place),
    slot: BigInt(slot as number),
    blockTimeMs: Number(timeMs),
    error: error === null ? null : (JSON.parse(error as string) as TransactionError),
    logs: JSON.parse(logs as string) as readonly string[],
    feeLamports: BigInt(feeLamports as string),
    computeUnits: BigInt(computeUnits as number),
    balances: lamports.map(([before, after]) => ({ before: BigInt(before), after: BigInt(after) })),
    tableAddresses: addressesOf(tableAddresses as ReadonlyBytes),
    innerCalls: (JSON.parse(calls as string) as readonly [number, Address, Address[], string][]).map(
      ([within, program, accounts, data]) => ({
        ...{ within, program, accounts, data: Buffer.from(data, 'base64') },
      }),
    ),
    tokenChanges: changes.map(([account, mint, before, after]) => ({
      ...{ account, mint, before: before === null ? null : BigInt(before), after: BigInt(after) },
    })),
  };
}
