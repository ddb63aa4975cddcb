/** The rows of the journal: operations of one target, their answers, what has landed, and on how many days it was used. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { invariant } from '../../errors/flywheel-error.js';
import type { SqliteFile, SqlValue, Statement } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { type Clock, isoTime, utcDay } from '../../values/time.js';
import { digestBytes, ElementsTable } from './elements-table.js';
import type { KeyOrigin, OperationKind, OperationSummary, Processes, Target } from './journal.js';

/** An operation as it stands. */
export interface Row extends OperationSummary {
  readonly serial: number;
  readonly run: number;
  readonly origin: KeyOrigin['from'];
  readonly content: Sha256;
  readonly holder: string | null;
  /** Somebody has gone on with what another process left. */
  readonly resumed: boolean;
}

/** Columns that change. */
export type Changes = Readonly<
  Partial<Record<'state' | 'told' | 'holder' | 'resumed' | 'notes' | 'body', SqlValue>>
>;

/** What an operation begins with. */
type Inserted = Pick<Row, 'kind' | 'key' | 'content' | 'run' | 'state' | 'holder' | 'command' | 'notes'> & {
  readonly origin: Row['origin'] | 'elsewhere';
  readonly body: string | null;
  readonly date: string;
};

/** Days of use after which the answers of what is long over are let go of; their keys stay. */
const ANSWER_DAYS = 90;
/** The columns of {@link OperationsTable} rows, in their order. */
const COLUMNS =
  'serial, id, kind, key, origin, content, run, state, told, holder, resumed, command, notes, date_begun, date_changed';

/** Of what people call an operation; two of one target never have the same. */
const ID_LENGTH = 8;

const pack = (text: string): Buffer => gzipSync(text, { level: 1 });
const unpack = (bytes: SqlValue | undefined): string =>
  gunzipSync(readBuffer(bytes as ReadonlyBytes)).toString('utf8');

export class OperationsTable {
  readonly file: SqliteFile;
  readonly elements: ElementsTable;
  readonly #processes: Processes;
  readonly #clock: Clock;
  readonly #target: number;
  /** All targets that are the same place, as an SQL list. */
  readonly #place: string;
  readonly #statements = new Map<string, Statement>();

  constructor(
    file: SqliteFile,
    { target, processes, clock }: { target: Target; processes: Processes; clock: Clock },
  ) {
    this.file = file;
    this.#processes = processes;
    this.#clock = clock;
    const own = [target.address, target.flywheel ?? ''];
    const find = (): SqlValue | undefined =>
      file.read(() => this.#get('SELECT id FROM targets WHERE address = ? AND flywheel = ?', own))?.[0];
    if (find() === undefined)
      file.write(() =>
        this.#run('INSERT INTO targets (address, flywheel) VALUES (?, ?) ON CONFLICT DO NOTHING', own),
      );
    this.#target = Number(find());
    const same = `SELECT id FROM targets WHERE (flywheel <> '' AND flywheel = ?2) OR (address = ?1 AND (flywheel = '' OR ?2 = ''))`;
    const ids = file.read(() => file.prepare(same).all(own)).map(([id]) => Number(id));
    this.#place = `(${ids.join(', ')})`;
    this.elements = new ElementsTable(file, this.#place);
  }

  /** The name of this process. */
  get self(): string {
    return this.#processes.self();
  }

  get now(): string {
    return isoTime(this.#clock.nowMs());
  }

  /** The first operation of the target that matches, in the order that the condition ends with. */
  row(where: string, parameters: readonly SqlValue[]): Row | undefined {
    return this.rows(`${where} LIMIT 1`, parameters)[0];
  }

  rows(where: string, parameters: readonly SqlValue[]): readonly Row[] {
    return this.file
      .prepare(`SELECT ${COLUMNS} FROM operations WHERE target IN ${this.#place} AND ${where}`)
      .all([...parameters])
      .map((row) => this.file.decode(() => this.#toRow(row)));
  }

  insert({ kind, key, origin, content, run, state, holder, command, notes, body, date }: Inserted): Row {
    this.#run(
      `INSERT INTO operations (id, target, kind, key, origin, content, run, state, told, holder, command, notes, body,
         date_begun, date_changed, days_before)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, (SELECT count(*) FROM days))`,
      [
        ...[sha256(`${kind} ${key}`).slice(0, ID_LENGTH), this.#target, kind, key, origin],
        ...[digestBytes(content), run, state, holder, JSON.stringify(command), JSON.stringify(notes)],
        ...[body && pack(body), date, date],
      ],
    );
    return this.#written('kind = ? AND key = ?', [kind, key]);
  }

  change(serial: number, changes: Changes): Row {
    const columns = Object.entries(changes);
    const set = [...columns.map(([column]) => `${column} = ?`), 'date_changed = ?'].join(', ');
    this.#run(`UPDATE operations SET ${set}, days_before = (SELECT count(*) FROM days) WHERE serial = ?`, [
      ...columns.map(([, value]) => value),
      ...[this.now, serial],
    ]);
    return this.#written('serial = ?', [serial]);
  }

  #written(where: string, parameters: readonly SqlValue[]): Row {
    const row = this.row(where, parameters);
    invariant(row !== undefined, 'What was written can be read, and an operation that is held stays.');
    return row;
  }

  remove(serial: number): void {
    this.elements.drop(serial);
    this.#run('DELETE FROM answers WHERE operation = ?', [serial]);
    this.#run('DELETE FROM operations WHERE serial = ?', [serial]);
  }

  body(serial: number): string | undefined {
    const bytes = this.#get('SELECT body FROM operations WHERE serial = ?', [serial])?.[0];
    return bytes == null ? undefined : unpack(bytes);
  }

  keep(serial: number, name: string, answer: unknown): void {
    this.#run('INSERT OR REPLACE INTO answers (operation, name, answer) VALUES (?, ?, ?)', [
      ...[serial, name, pack(JSON.stringify(answer))],
    ]);
  }

  answer(serial: number, name: string): unknown {
    const row = this.#get('SELECT answer FROM answers WHERE operation = ? AND name = ?', [serial, name]);
    return row === undefined ? undefined : JSON.parse(unpack(row[0]));
  }

  hasAnswers(serial: number): boolean {
    return this.#get('SELECT 1 FROM answers WHERE operation = ? LIMIT 1', [serial]) !== undefined;
  }

  /** Counts the day, and lets go of answers that their days of use have outlived. Keys stay. */
  noteDay(): void {
    const day = utcDay(this.#clock.nowMs());
    if (this.#get('SELECT 1 FROM days WHERE day = ?', [day]) !== undefined) return;
    this.#run('INSERT INTO days (day) VALUES (?)', [day]);
    this.#run(
      `DELETE FROM answers WHERE operation IN (SELECT serial FROM operations WHERE state IN ('done', 'cancelled')
         AND told = 1 AND days_before + ? <= (SELECT count(*) FROM days))`,
      [ANSWER_DAYS],
    );
  }

  #toRow(row: readonly SqlValue[]): Row {
    const [serial, id, kind, key, origin, content, run, state, told, holder, resumed, ...rest] = row;
    const [command, notes, dateBegun, dateChanged] = rest.map(String) as [string, string, string, string];
    const name = typeof holder === 'string' ? holder : null;
    return {
      ...{ serial: Number(serial), id: String(id), kind: kind as OperationKind, key: String(key) },
      ...{ origin: origin as Row['origin'], run: Number(run), state: state as Row['state'] },
      content: readBuffer(content as ReadonlyBytes).toString('hex') as Sha256,
      ...{ printed: told === 1, resumed: resumed === 1, holder: name },
      busy: name !== null && name !== this.self && this.#processes.isRunning(name),
      ...{ command: JSON.parse(command), notes: JSON.parse(notes), dateBegun, dateChanged },
    };
  }

  #get(sql: string, parameters: readonly SqlValue[]): readonly SqlValue[] | undefined {
    return this.#statement(sql).get(parameters);
  }

  #run(sql: string, parameters: readonly SqlValue[]): void {
    this.#statement(sql).run(parameters);
  }

  /** Each is prepared once: the memory of a thousand would be given back late. */
  #statement(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.file.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
