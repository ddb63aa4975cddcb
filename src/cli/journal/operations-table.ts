/** The rows of the journal: operations of one target, their answers, what has landed, and on how many days it was used. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { invariant } from '../../errors/flywheel-error.js';
import type { SqliteFile, SqlValue } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { type Clock, isoTime, utcDay } from '../../values/time.js';
import type { KeyOrigin, OperationKind, OperationSummary, Overlap, Processes, Target } from './journal.js';

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
  'serial, id, kind, key, origin, content, run, state, told, holder, resumed, command, notes, date_begun, date_changed';

/** Of what people call an operation; two of one target never have the same. */
const ID_LENGTH = 8;

const pack = (text: string): Buffer => gzipSync(text, { level: 1 });
const unpack = (bytes: ReadonlyBytes): string => gunzipSync(readBuffer(bytes)).toString('utf8');

/** A digest as it is stored. */
export const digestBytes = (digest: Sha256): Buffer => Buffer.from(digest, 'hex');

export class OperationsTable {
  readonly #file: SqliteFile;
  readonly #processes: Processes;
  readonly #clock: Clock;
  readonly #target: number;

  constructor(
    file: SqliteFile,
    { target, processes, clock }: { target: Target; processes: Processes; clock: Clock },
  ) {
    this.#file = file;
    this.#processes = processes;
    this.#clock = clock;
    const { place, profile } = target;
    const find = (): SqlValue | undefined =>
      this.#get('SELECT id FROM targets WHERE place = ? AND profile = ?', [place, profile])?.[0];
    if (find() === undefined)
      this.#run('INSERT INTO targets (place, profile) VALUES (?, ?) ON CONFLICT DO NOTHING', [
        place,
        profile,
      ]);
    this.#target = Number(find());
  }

  /** The first operation of the target that matches, in the order that the condition ends with. */
  row(where: string, parameters: readonly SqlValue[]): Row | undefined {
    return this.rows(`${where} LIMIT 1`, parameters)[0];
  }

  rows(where: string, parameters: readonly SqlValue[]): readonly Row[] {
    return this.#file
      .prepare(`SELECT ${COLUMNS} FROM operations WHERE target = ? AND ${where}`)
      .all([this.#target, ...parameters])
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
        ...[kind, key, origin, digestBytes(content), run],
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
    this.unclaim(serial);
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

  /** Notes what an operation is made of. */
  claim(serial: number, digests: readonly Sha256[]): void {
    const insert = this.#file.prepare(
      'INSERT OR IGNORE INTO elements (target, digest, operation, landed) VALUES (?, ?, ?, 0)',
    );
    for (const digest of digests) insert.run([this.#target, digestBytes(digest), serial]);
  }

  /** Notes what of an operation has landed. */
  land(serial: number, digests: readonly Sha256[]): void {
    const update = this.#file.prepare(
      'UPDATE elements SET landed = 1 WHERE target = ? AND digest = ? AND operation = ?',
    );
    for (const digest of digests) update.run([this.#target, digestBytes(digest), serial]);
  }

  hasLanded(serial: number): boolean {
    const landed = 'SELECT 1 FROM elements WHERE operation = ? AND landed = 1 LIMIT 1';
    return this.#get(landed, [serial]) !== undefined;
  }

  /** Lets go of what of an operation has not landed. */
  unclaim(serial: number): void {
    this.#run('DELETE FROM elements WHERE operation = ? AND landed = 0', [serial]);
  }

  /** Which of these are in operations other than this one, landed or not; one line a digest. */
  overlaps(digests: readonly Sha256[], serial: number | null): readonly Overlap[] {
    if (this.#get('SELECT 1 FROM elements WHERE target = ? LIMIT 1', [this.#target]) === undefined) return [];
    const find = this.#file.prepare(
      `SELECT e.landed, o.date_changed, o.id, o.state, o.command, o.notes FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target = ? AND e.digest = ? AND o.serial <> ? ORDER BY o.state = 'open' DESC, e.landed DESC LIMIT 1`,
    );
    return digests.flatMap((digest) => {
      const [landed, date, id, state, command, notes] =
        find.get([this.#target, digestBytes(digest), serial ?? 0]) ?? [];
      if (id === undefined) return [];
      const operation = {
        id: String(id),
        state: state as Row['state'],
        command: JSON.parse(String(command)),
        notes: JSON.parse(String(notes)),
      };
      return [{ digest, hasLanded: landed === 1, date: String(date), operation }];
    });
  }

  /** Counts the day, and lets go of answers that their days of use have outlived. Keys stay. */
  noteDay(): void {
    const day = utcDay(this.#clock.nowMs());
    if (this.#get('SELECT 1 FROM days WHERE day = ?', [day]) !== undefined) return;
    this.#run('INSERT INTO days (day) VALUES (?)', [day]);
    this.#run(
      `DELETE FROM answers WHERE operation IN (SELECT serial FROM operations WHERE state IN ('done', 'failed', 'void')
         AND told = 1 AND days_before + ? <= (SELECT count(*) FROM days))`,
      [ANSWER_DAYS],
    );
  }

  #toRow(row: readonly SqlValue[]): Row {
    const [serial, id, kind, key, origin, content, run, state, told, holder, resumed, ...rest] = row;
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
    return this.#file.prepare(sql).get(parameters);
  }

  #run(sql: string, parameters: readonly SqlValue[]): void {
    this.#file.prepare(sql).run(parameters);
  }
}
