/** Many rows by one statement, which halves what a row costs; rows that are inserted are collected before. */
import type { SqliteFile, SqlValue, Statement } from '../../../files/sqlite-file.js';
import { piecesOf } from '../../../values/pieces.js';

/** Statements that differ in how many rows they are about, each compiled once. */
export class SizedStatements {
  readonly #database: SqliteFile;
  readonly #sqlOf: (count: number) => string;
  readonly #statements = new Map<number, Statement>();

  constructor(database: SqliteFile, sqlOf: (count: number) => string) {
    this.#database = database;
    this.#sqlOf = sqlOf;
  }

  of(count: number): Statement {
    const known = this.#statements.get(count);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(this.#sqlOf(count));
    this.#statements.set(count, statement);
    return statement;
  }
}

/** Rows that wait to be written; nothing reaches the table before {@link flush}. */
export class RowWriter {
  readonly #statements: SizedStatements;
  #rows: (readonly SqlValue[])[] = [];

  constructor(database: SqliteFile, table: string, columns: readonly string[]) {
    const insert = `INSERT INTO ${table} (${columns.join()}) VALUES `;
    const row = `(${Array(columns.length).fill('?').join()})`;
    this.#statements = new SizedStatements(database, (count) => insert + Array(count).fill(row).join());
  }

  /** Takes a row with its values in the order of the columns; it is written by {@link flush}. */
  add(row: readonly SqlValue[]): void {
    this.#rows.push(row);
  }

  flush(): void {
    const rows = this.#rows;
    this.#rows = [];
    for (const piece of piecesOf(rows)) this.#statements.of(piece.length).run(piece.flat());
  }

  discard(): void {
    this.#rows = [];
  }
}
