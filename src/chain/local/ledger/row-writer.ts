/** Collects rows of one table and inserts many by one statement, which halves what a row costs. */
import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';

/** Rows inserted by one statement; fewer go one by one. */
const ROWS_PER_STATEMENT = 32;

/** Rows that wait to be written; nothing reaches the table before {@link flush}. */
export class RowWriter {
  readonly #database: SqliteFile;
  readonly #insert: string;
  readonly #width: number;
  #values: SqlValue[] = [];
  #one: Statement | undefined;
  #many: Statement | undefined;

  constructor(database: SqliteFile, table: string, columns: readonly string[]) {
    this.#database = database;
    this.#insert = `INSERT INTO ${table} (${columns.join()}) VALUES `;
    this.#width = columns.length;
  }

  /** Takes a row with its values in the order of the columns; it is written by {@link flush}. */
  add(row: readonly SqlValue[]): void {
    this.#values.push(...row);
  }

  flush(): void {
    const values = this.#values;
    this.#values = [];
    const step = ROWS_PER_STATEMENT * this.#width;
    let at = 0;
    for (; at + step <= values.length; at += step) {
      this.#many ??= this.#prepare(ROWS_PER_STATEMENT);
      this.#many.run(values.slice(at, at + step));
    }
    for (; at < values.length; at += this.#width) {
      this.#one ??= this.#prepare(1);
      this.#one.run(values.slice(at, at + this.#width));
    }
  }

  discard(): void {
    this.#values = [];
  }

  #prepare(rows: number): Statement {
    const row = `(${Array(this.#width).fill('?').join()})`;
    return this.#database.prepare(this.#insert + Array(rows).fill(row).join());
  }
}
