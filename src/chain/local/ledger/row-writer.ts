/** Collects rows of one table and inserts many by one statement, which halves what a row costs. */
import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import { piecesOf } from '../../../values/pieces.js';

/** Rows that wait to be written; nothing reaches the table before {@link flush}. */
export class RowWriter {
  readonly #database: SqliteFile;
  readonly #insert: string;
  readonly #row: string;
  #rows: (readonly SqlValue[])[] = [];
  /** By how many rows they insert. */
  readonly #statements = new Map<number, Statement>();

  constructor(database: SqliteFile, table: string, columns: readonly string[]) {
    this.#database = database;
    this.#insert = `INSERT INTO ${table} (${columns.join()}) VALUES `;
    this.#row = `(${Array(columns.length).fill('?').join()})`;
  }

  /** Takes a row with its values in the order of the columns; it is written by {@link flush}. */
  add(row: readonly SqlValue[]): void {
    this.#rows.push(row);
  }

  flush(): void {
    const rows = this.#rows;
    this.#rows = [];
    for (const piece of piecesOf(rows)) this.#statement(piece.length).run(piece.flat());
  }

  discard(): void {
    this.#rows = [];
  }

  #statement(count: number): Statement {
    const known = this.#statements.get(count);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(this.#insert + Array(count).fill(this.#row).join());
    this.#statements.set(count, statement);
    return statement;
  }
}
