/** Queries of the journal's tables for one target: operations, answers, and elements that landed or are taken. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { invariant } from '../../errors/flywheel-error.js';
import type { SqliteFile, SqlValue } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { type Clock, isoTime } from '../../values/time.js';
import { outcomeUnknown } from '../operation/verdicts.js';
import type { Element, OperationKind, OperationSummary, Overlap, Processes, Refused } from './journal.js';

/**
 * Where operations go. Two targets are the same if their projects are the same, or, while a project is unknown, their
 * addresses. API keys and profiles are not part of it, so changing them changes nothing.
 */
interface Target {
  /** `embedded:` and the id of the ledger, or the address of an API. */
  readonly address: string;
  /** Multisig and mint; `null`: unknown. */
  readonly flywheel: string | null;
}

type Changes = Readonly<
  Partial<Record<'state' | 'told' | 'holder' | 'resumed' | 'notes' | 'body', SqlValue>>
>;

type Inserted = Pick<
  OperationSummary,
  'kind' | 'key' | 'origin' | 'content' | 'state' | 'holder' | 'command' | 'notes'
> & { readonly body: string | null; readonly date: string };

const COLUMNS =
  'serial, id, kind, key, origin, content, state, told, holder, held_until, resumed, command, notes, date_begun, date_changed';

const ID_LENGTH = 8;

const LEASE_MS = 15_000;

const pack = (text: string): Buffer => gzipSync(text, { level: 1 });
const unpack = (bytes: SqlValue | undefined): string =>
  gunzipSync(readBuffer(bytes as ReadonlyBytes)).toString('utf8');

export const digestBytes = (digest: Sha256): Buffer => Buffer.from(digest, 'hex');
const digestOf = (value: SqlValue | undefined): Sha256 =>
  readBuffer(value as ReadonlyBytes).toString('hex') as Sha256;

export class Tables {
  readonly file: SqliteFile;
  readonly #processes: Processes;
  readonly #clock: Clock;
  readonly #target: number;
  /** Targets that count as the same, as an SQL list. */
  readonly #place: string;

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
    this.#place = `(${file
      .read(() => this.#all(same, own))
      .map(([id]) => Number(id))
      .join(', ')})`;
  }

  get self(): string {
    return this.#processes.self();
  }

  get now(): string {
    return isoTime(this.#clock.nowMs());
  }

  row(where: string, parameters: readonly SqlValue[]): OperationSummary | undefined {
    return this.rows(`${where} LIMIT 1`, parameters)[0];
  }

  rows(where: string, parameters: readonly SqlValue[]): readonly OperationSummary[] {
    return this.#all(
      `SELECT ${COLUMNS} FROM operations WHERE target IN ${this.#place} AND ${where}`,
      parameters,
    ).map((row) => this.file.decode(() => this.#toRow(row)));
  }

  insert({
    kind,
    key,
    origin,
    content,
    state,
    holder,
    command,
    notes,
    body,
    date,
  }: Inserted): OperationSummary {
    this.#run(
      `INSERT INTO operations (id, target, kind, key, origin, content, state, told, holder, held_until, command, notes, body, date_begun, date_changed)
       VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)`,
      [
        ...[sha256(`${kind} ${key}`).slice(0, ID_LENGTH), this.#target, kind, key, origin],
        ...[
          digestBytes(content),
          state,
          holder,
          this.#leaseEnd,
          JSON.stringify(command),
          JSON.stringify(notes),
        ],
        ...[body && pack(body), date, date],
      ],
    );
    return this.#written('kind = ? AND key = ?', [kind, key]);
  }

  change(serial: number, changes: Changes): OperationSummary {
    const columns = Object.entries({ ...changes, held_until: this.#leaseEnd });
    const set = [...columns.map(([column]) => `${column} = ?`), 'date_changed = ?'].join(', ');
    this.#run(`UPDATE operations SET ${set} WHERE serial = ?`, [
      ...columns.map(([, value]) => value),
      ...[this.now, serial],
    ]);
    return this.#written('serial = ?', [serial]);
  }

  /** Prolongs the leases of this process. */
  prolong(): void {
    this.file.write(() =>
      this.#run('UPDATE operations SET held_until = ? WHERE holder = ?', [this.#leaseEnd, this.self]),
    );
  }

  get #leaseEnd(): number {
    return this.#clock.nowMs() + LEASE_MS;
  }

  /**
   * @param holder - who held it when it was read.
   * @throws `ERR_OUTCOME_UNKNOWN` for an operation that another process dropped or took over meanwhile.
   */
  require({ serial, holder }: Pick<OperationSummary, 'serial' | 'holder'>): void {
    const found = this.#get('SELECT holder FROM operations WHERE serial = ?', [serial]);
    if (found !== undefined && (holder !== this.self || found[0] === holder)) return;
    const [what, hint] =
      found === undefined
        ? ['dropped', 'Check what landed before you send it again: `flywheel history`']
        : ['took over', 'See how it stands: `flywheel pending`'];
    throw outcomeUnknown(
      `Another process ${what} this operation while it was running. Its requests may have been executed.`,
      hint,
      { keyUnused: false },
    );
  }

  #written(where: string, parameters: readonly SqlValue[]): OperationSummary {
    const row = this.row(where, parameters);
    invariant(row !== undefined, 'What was written can be read, and an operation that is held stays.');
    return row;
  }

  remove(serial: number): void {
    this.#run('DELETE FROM elements WHERE operation = ? AND landed <= 0', [serial]);
    this.#run('DELETE FROM answers WHERE operation = ?', [serial]);
    this.#run('DELETE FROM operations WHERE serial = ?', [serial]);
  }

  body(serial: number): string | undefined {
    const bytes = this.#get('SELECT body FROM operations WHERE serial = ?', [serial])?.[0];
    return bytes == null ? undefined : unpack(bytes);
  }

  keep(serial: number, name: string, answer: unknown): void {
    const packed = pack(JSON.stringify(answer));
    this.#run('INSERT OR REPLACE INTO answers (operation, name, answer) VALUES (?, ?, ?)', [
      ...[serial, name, packed],
    ]);
  }

  answer(serial: number, name: string): unknown {
    const row = this.#get('SELECT answer FROM answers WHERE operation = ? AND name = ?', [serial, name]);
    return row === undefined ? undefined : JSON.parse(unpack(row[0]));
  }

  hasAnswers(serial: number): boolean {
    return this.#get('SELECT 1 FROM answers WHERE operation = ? LIMIT 1', [serial]) !== undefined;
  }

  claim(serial: number, elements: readonly Element[]): void {
    for (const { digest, content, subject } of elements)
      this.#run(
        `INSERT INTO elements (target, digest, operation, landed, content, subject)
         SELECT target, ?, serial, 0, ?, ? FROM operations WHERE serial = ?
         ON CONFLICT DO UPDATE SET landed = 0 WHERE landed < 0`,
        [digestBytes(digest), digestBytes(content), digestBytes(subject), serial],
      );
  }

  land(serial: number, digests: readonly Sha256[]): void {
    for (const digest of digests)
      this.#run(
        `UPDATE elements SET landed = 1 WHERE target IN ${this.#place} AND digest = ? AND operation = ?`,
        [digestBytes(digest), serial],
      );
  }

  hasLanded(serial: number): boolean {
    return this.#hasElement('operation = ? AND landed = 1', [serial]);
  }

  unclaim(serial: number): void {
    this.#run('UPDATE elements SET landed = -1 WHERE operation = ? AND landed = 0', [serial]);
  }

  /**
   * Elements that other operations landed, or whose subject may still land there; at most one overlap per element.
   * @param serial - of the operation itself. @param from - the first operation whose landings count.
   */
  overlaps(elements: readonly Element[], serial: number | null, from = 0): readonly Overlap[] {
    if (this.#isEmpty) return [];
    const isMet = 'e.digest = ? AND e.landed = 1 AND o.serial > ? OR e.subject = ? AND e.landed = 0';
    const sql = `SELECT e.landed, o.date_changed, o.id, o.kind, o.state, o.told, o.command, o.notes FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target IN ${this.#place} AND (${isMet}) AND o.serial <> ? ORDER BY o.state = 'open' DESC, o.told, e.landed DESC LIMIT 1`;
    return elements.flatMap(({ digest, subject }) => {
      const found = this.#get(sql, [digestBytes(digest), from, digestBytes(subject), serial ?? 0]);
      if (found === undefined) return [];
      const [landed, date, id, kind, state, told, ...texts] = found;
      const [command, notes] = texts.map((text) => JSON.parse(String(text)));
      const operation = { id, kind, state, printed: told === 1, command, notes } as Overlap['operation'];
      return { digest, hasLanded: landed === 1, date: String(date), operation };
    });
  }

  /** @param except - the id of an operation to leave out. */
  isOpen({ digest }: Element, except = ''): boolean {
    const own = `SELECT serial FROM operations WHERE id = ?`;
    const where = `target IN ${this.#place} AND digest = ? AND landed = 0 AND operation NOT IN (${own})`;
    return this.file.read(() => this.#hasElement(where, [digestBytes(digest), except]));
  }

  /** Elements whose subject landed with another content that is neither in this file nor beside this content in another. */
  changes(elements: readonly Element[], indexes: readonly number[]): Refused['changes'] {
    if (this.#isEmpty) return [];
    const contents = new Set(elements.map(({ content }) => content));
    const sql = `SELECT e.content, o.date_changed FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target IN ${this.#place} AND e.subject = ? AND e.landed = 1
         AND NOT EXISTS (SELECT 1 FROM elements s WHERE s.operation = e.operation AND s.content = ?) ORDER BY o.serial DESC`;
    return this.file.read(() =>
      indexes.flatMap((index) => {
        const element = elements[index];
        if (element === undefined) return [];
        const others = this.#all(sql, [digestBytes(element.subject), digestBytes(element.content)]);
        const other = others.find(([content]) => !contents.has(digestOf(content)));
        return other === undefined ? [] : { index, date: String(other[1]) };
      }),
    );
  }

  /**
   * Landed elements by content. @param from - the first operation that counts; `null`: all do, and what one sent again counts
   * again.
   */
  countLanded(elements: readonly Element[], from: number | null): ReadonlyMap<Sha256, number> {
    const sql = `SELECT count(${from === null ? '*' : 'DISTINCT digest'}) FROM elements
       WHERE target IN ${this.#place} AND subject = ? AND content = ? AND landed = 1 AND operation >= ?`;
    const count = ({ subject, content }: Element): number =>
      Number(this.#get(sql, [digestBytes(subject), digestBytes(content), from ?? 0])?.[0] ?? 0);
    return this.file.read(() => new Map(elements.map((element) => [element.content, count(element)])));
  }

  /** Those that any operation landed. @param from - the first operation that counts */
  landed(elements: readonly Element[], from = 0): ReadonlySet<Sha256> {
    const where = `target IN ${this.#place} AND digest = ? AND landed = 1 AND operation >= ?`;
    const hasLanded = ({ digest }: Element): boolean => this.#hasElement(where, [digestBytes(digest), from]);
    return this.file.read(() => new Set(elements.filter(hasLanded).map(({ digest }) => digest)));
  }

  get #isEmpty(): boolean {
    return !this.#hasElement(`target IN ${this.#place}`, []);
  }

  #hasElement(where: string, parameters: readonly SqlValue[]): boolean {
    return this.#get(`SELECT 1 FROM elements WHERE ${where} LIMIT 1`, parameters) !== undefined;
  }

  #toRow(row: readonly SqlValue[]): OperationSummary {
    const [serial, id, kind, key, origin, content, state, told, holder, until, resumed, ...rest] = row;
    const [command, notes, dateBegun, dateChanged] = rest.map(String) as [string, string, string, string];
    const name = typeof holder === 'string' ? holder : null;
    const isHeld = (): boolean => Number(until) > this.#clock.nowMs();
    return {
      ...{ serial: Number(serial), id: String(id), kind: kind as OperationKind, key: String(key) },
      ...{ origin: origin as OperationSummary['origin'], state: state as OperationSummary['state'] },
      ...{ content: digestOf(content), printed: told === 1, resumed: resumed === 1, holder: name },
      busy: name !== null && name !== this.self && (this.#processes.isRunning(name) ?? isHeld()),
      ...{ command: JSON.parse(command), notes: JSON.parse(notes), dateBegun, dateChanged },
    };
  }

  #all(sql: string, parameters: readonly SqlValue[]): readonly (readonly SqlValue[])[] {
    return this.file.prepare(sql).all(parameters);
  }

  #get(sql: string, parameters: readonly SqlValue[]): readonly SqlValue[] | undefined {
    return this.file.prepare(sql).get(parameters);
  }

  #run(sql: string, parameters: readonly SqlValue[]): void {
    this.file.prepare(sql).run(parameters);
  }
}
