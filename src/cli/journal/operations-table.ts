/** The rows of the journal: operations of one target, their answers, what has landed, and on how many days it was used. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { invariant } from '../../errors/flywheel-error.js';
import type { SqliteFile, SqlValue, Statement } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { type Clock, isoTime, utcDay } from '../../values/time.js';
import { ElementsTable } from './elements-table.js';
import type { Element, KeyOrigin, OperationKind, OperationSummary, Processes, Target } from './journal.js';

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

/** Days of use after which the answers of what is long over are let go of; their keys stay. */
const ANSWER_DAYS = 90;
/** The columns of {@link OperationsTable} rows, in their order. */
const COLUMNS =
  'serial, target, id, kind, key, origin, content, run, state, told, holder, resumed, command, notes, date_begun, date_changed';

/** Of what people call an operation; two of one target never have the same. */
const ID_LENGTH = 8;

const pack = (text: string): Buffer => gzipSync(text, { level: 1 });
const unpack = (bytes: ReadonlyBytes): string => gunzipSync(readBuffer(bytes)).toString('utf8');

export class OperationsTable {
  readonly #file: SqliteFile;
  readonly #processes: Processes;
  readonly #clock: Clock;
  readonly #target: number;
  /** All targets that are the same place, as an SQL list. */
  readonly #place: string;
  readonly #statements = new Map<string, Statement>();
  readonly elements: ElementsTable;

  constructor(
    file: SqliteFile,
    { target, processes, clock }: { target: Target; processes: Processes; clock: Clock },
  ) {
    this.#file = file;
    this.#processes = processes;
    this.#clock = clock;
    const { address } = target;
    const flywheel = target.flywheel ?? '';
    const find = (): SqlValue | undefined =>
      file.read(() =>
        this.#get('SELECT id FROM targets WHERE address = ? AND flywheel = ?', [address, flywheel]),
      )?.[0];
    if (find() === undefined)
      file.write(() =>
        this.#run('INSERT INTO targets (address, flywheel) VALUES (?, ?) ON CONFLICT DO NOTHING', [
          address,
          flywheel,
        ]),
      );
    this.#target = Number(find());
    const same = `SELECT id FROM targets WHERE (flywheel <> '' AND flywheel = ?1) OR (address = ?2 AND (flywheel = '' OR ?1 = ''))`;
    const ids = file.read(() => file.prepare(same).all([flywheel, address])).map(([id]) => Number(id));
    this.#place = `(${ids.join(', ')})`;
    this.elements = new ElementsTable(file, this.#place, this.#target);
  }

  /** The first operation of the target that matches, in the order that the condition ends with. */
  row(where: string, parameters: readonly SqlValue[]): Row | undefined {
    return this.rows(`${where} LIMIT 1`, parameters)[0];
  }

  rows(where: string, parameters: readonly SqlValue[]): readonly Row[] {
    return this.#file
      .prepare(`SELECT ${COLUMNS} FROM operations WHERE target IN ${this.#place} AND ${where}`)
      .all([...parameters])
      .map((row) => this.#file.decode(() => this.#toRow(row)));
  }

  /** @returns the row, held by this process. */
  insert(
    fields: Pick<Row, 'kind' | 'key' | 'origin' | 'content' | 'run' | 'command' | 'notes'> & {
      readonly body: string;
    },
  ): Row {
    const { kind, key, origin, content, run, command, notes, body } = fields;
    const now = this.#now();
    this.#run(
      `INSERT INTO operations (id, target, kind, key, origin, content, run, state, told, holder, command, notes, body,
         date_begun, date_changed, days_before)
       VALUES (?, ?, ?, ?, ?, ?, ?, 'open', 1, ?, ?, ?, ?, ?, ?, (SELECT count(*) FROM days))`,
      [
        sha256(`${kind} ${key}`).slice(0, ID_LENGTH),
        this.#target,
        ...[kind, key, origin, Buffer.from(content, 'hex'), run],
        this.#processes.self(),
        JSON.stringify(command),
        JSON.stringify(notes),
        pack(body),
        ...[now, now],
      ],
    );
    const row = this.row('kind = ? AND key = ?', [kind, key]);
    invariant(row !== undefined, 'What was written can be read.');
    return row;
  }

  /** An operation of other hands, over at this time. */
  noteLanded(kind: OperationKind, key: string, elements: readonly Element[], date: string): void {
    this.#run(
      `INSERT INTO operations (id, target, kind, key, origin, content, run, state, told, command, notes, date_begun, date_changed, days_before)
       VALUES (?, ?, ?, ?, 'elsewhere', ?, 0, 'done', 1, '[]', '{}', ?, ?, (SELECT count(*) FROM days))`,
      [
        sha256(`${kind} ${key}`).slice(0, ID_LENGTH),
        this.#target,
        ...[kind, key, Buffer.from(sha256(key), 'hex'), date, date],
      ],
    );
    const serial = this.row('kind = ? AND key = ?', [kind, key])?.serial ?? 0;
    this.elements.claim(serial, elements);
    this.elements.land(
      serial,
      elements.map(({ digest }) => digest),
    );
  }

  change(serial: number, changes: Changes): Row {
    const columns = Object.entries(changes);
    const set = [...columns.map(([column]) => `${column} = ?`), 'date_changed = ?'].join(', ');
    this.#run(`UPDATE operations SET ${set}, days_before = (SELECT count(*) FROM days) WHERE serial = ?`, [
      ...columns.map(([, value]) => value),
      this.#now(),
      serial,
    ]);
    const row = this.row('serial = ?', [serial]);
    invariant(row !== undefined, 'An operation that is held stays in the journal.');
    return row;
  }

  remove(serial: number): void {
    this.elements.drop(serial);
    this.#run('DELETE FROM answers WHERE operation = ?', [serial]);
    this.#run('DELETE FROM operations WHERE serial = ?', [serial]);
  }

  body(serial: number): string | undefined {
    const bytes = this.#get('SELECT body FROM operations WHERE serial = ?', [serial])?.[0];
    return bytes === undefined || bytes === null ? undefined : unpack(bytes as ReadonlyBytes);
  }

  keep(serial: number, name: string, answer: unknown): void {
    this.#run('INSERT OR REPLACE INTO answers (operation, name, answer) VALUES (?, ?, ?)', [
      serial,
      name,
      pack(JSON.stringify(answer)),
    ]);
  }

  answer(serial: number, name: string): unknown {
    const row = this.#get('SELECT answer FROM answers WHERE operation = ? AND name = ?', [serial, name]);
    return row === undefined ? undefined : JSON.parse(unpack(row[0] as ReadonlyBytes));
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
    const [serial, target, id, kind, key, origin, content, run, state, told, holder, resumed, ...rest] = row;
    const [command, notes, begun, changed] = rest;
    return {
      serial: Number(serial),
      id: String(id),
      kind: kind as OperationKind,
      key: String(key),
      origin: origin as Row['origin'],
      content: readBuffer(content as ReadonlyBytes).toString('hex') as Sha256,
      run: Number(run),
      state: state as Row['state'],
      printed: told === 1,
      holder: typeof holder === 'string' ? holder : null,
      resumed: resumed === 1,
      busy: this.#isBusy(holder),
      isHere: Number(target) === this.#target,
      command: JSON.parse(String(command)),
      notes: JSON.parse(String(notes)),
      dateBegun: String(begun),
      dateChanged: String(changed),
    };
  }

  #isBusy(holder: SqlValue | undefined): boolean {
    if (typeof holder !== 'string') return false;
    return holder !== this.#processes.self() && this.#processes.isRunning(holder);
  }

  #now(): string {
    return isoTime(this.#clock.nowMs());
  }

  #get(sql: string, parameters: readonly SqlValue[]): readonly SqlValue[] | undefined {
    return this.#statement(sql).get(parameters);
  }

  #run(sql: string, parameters: readonly SqlValue[]): void {
    this.#statement(sql).run(parameters);
  }

  /** Each is prepared once: the memory of a thousand would be given back late. */
  #statement(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.#file.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
