/** The journal in an SQLite file. Every step of an operation is one write transaction, durable before the next begins. */
import { join } from 'node:path';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { JOURNAL_FILE } from '../../files/directories.js';
import { translateSqliteError } from '../../files/sqlite-errors.js';
import { openSqliteFile, type SqliteFile, type SqlValue } from '../../files/sqlite-file.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { derivedUuid, type Ids } from '../../values/ids.js';
import { type Clock, isoTime } from '../../values/time.js';
import { pick } from '../operation/elements.js';
import { notSent, outcomeUnknown } from '../operation/verdicts.js';
import { ApprovalRecord } from './approval-record.js';
import {
  type Begun,
  type Element,
  type Entry,
  isAlwaysNew,
  isOver,
  type OperationKind,
  type OperationRequest,
  type OperationSummary,
  type Overlap,
  type Refused,
} from './journal.js';
import { prepareJournal } from './schema.js';
import { pack, SqliteEntry } from './sqlite-entry.js';

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

interface JournalOptions {
  readonly directory: string;
  readonly target: Target;
  readonly self: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
}

type Identity = Pick<OperationRequest, 'kind' | 'content' | 'origin'>;

type Column = 'origin' | 'content' | 'state' | 'told' | 'holder' | 'resumed' | 'command' | 'notes' | 'body';
type Columns = Readonly<Partial<Record<Column, SqlValue>>>;

const COLUMNS =
  'serial, id, kind, key, origin, content, state, told, holder, held_until, resumed, command, notes, date_begun, date_changed';

const ID_LENGTH = 8;

const LEASE_MS = 15_000;
/** What ends later is from before the clock was set back. Clocks of machines over one home differ by less. */
const MAX_LEFT_MS = 60_000;

const digestBytes = (digest: Sha256): Buffer => Buffer.from(digest, 'hex');
const digestOf = (value: SqlValue | undefined): Sha256 =>
  readBuffer(value as ReadonlyBytes).toString('hex') as Sha256;

/** @throws `ERR_STORE_UNAVAILABLE` with the file and the reason. */
export async function openSqliteJournal(options: JournalOptions): Promise<SqliteJournal> {
  makePrivateDirectory(options.directory, 'ERR_CONFIG_INVALID');
  const file = await openSqliteFile({
    path: join(options.directory, JOURNAL_FILE),
    noun: 'journal',
    create: true,
  });
  try {
    prepareJournal(file);
    return new SqliteJournal(file, options);
  } catch (error) {
    file.close();
    throw error;
  }
}

const PROLONG_EVERY_MS = 5_000;

export class SqliteJournal {
  readonly file: SqliteFile;
  readonly approvals: ApprovalRecord;
  readonly self: string;
  readonly #options: JournalOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #target: number;
  /** Targets that count as the same, as an SQL list. */
  readonly #place: string;

  constructor(file: SqliteFile, options: JournalOptions) {
    const { target } = options;
    this.file = file;
    this.approvals = new ApprovalRecord(file, options.clock);
    this.#options = options;
    this.self = options.self;
    this.#timer = setInterval(() => this.#hold(this.#leaseEnd), PROLONG_EVERY_MS).unref();
    const own = [target.address, target.flywheel ?? ''];
    const find = (): SqlValue | undefined =>
      file.read(() => this.get('SELECT id FROM targets WHERE address = ? AND flywheel = ?', own))?.[0];
    if (find() === undefined)
      file.write(() =>
        this.run('INSERT INTO targets (address, flywheel) VALUES (?, ?) ON CONFLICT DO NOTHING', own),
      );
    this.#target = Number(find());
    const same = `SELECT id FROM targets WHERE (flywheel <> '' AND flywheel = ?2) OR (address = ?1 AND (flywheel = '' OR ?2 = ''))`;
    this.#place = `(${file
      .read(() => this.all(same, own))
      .map(([id]) => Number(id))
      .join(', ')})`;
  }

  /** Prolongs or ends the leases of this process. Never fails: a lease ends by itself, and a later step tells of the file. */
  #hold(untilMs: number): void {
    try {
      if (this.file.read(() => this.get('SELECT 1 FROM operations WHERE holder = ?', [this.self])))
        this.file.write(() =>
          this.run('UPDATE operations SET held_until = ? WHERE holder = ?', [untilMs, this.self]),
        );
    } catch {
      return;
    }
  }

  /** Starts an operation, or takes the existing one of this request. */
  begin(request: OperationRequest): Begun {
    return this.file.write(() => {
      const known = this.#find(request);
      if (known === undefined) return this.#insert(request);
      if (!request.again) return this.#take(known);
      if (known.kind === 'burn') {
        // It has nothing to cancel first, but a repeat of an earlier command with --again means that one.
        const isSame = known.notes['again'] !== undefined && !(isOver(known.state) && known.printed);
        return isSame ? this.#take(known) : this.#insert(request);
      }
      if (!isOver(known.state) || known.state === 'partial')
        return { status: 'unfinished', entry: this.#entry(known) };
      return this.#insert(request);
    });
  }

  /** Takes an operation by its id, also only to print its outcome; `undefined`: unknown id. */
  take(id: string): Begun | undefined {
    return this.file.write(() => {
      const row = this.row('id = ?', [id]);
      if (row === undefined || !isOver(row.state) || row.printed) return row && this.#take(row);
      // The first process prints the outcome and deletes the body.
      if (row.busy) return busy(row);
      const { self } = this;
      this.change(row.serial, { holder: self });
      return { status: 'taken', entry: this.#entry({ ...row, holder: self }) };
    });
  }

  /** Takes the operation of a batch, if it waits or landed in part and no other process works on it. */
  takeBatch(batchId: string): Entry | undefined {
    return this.file.write(() => {
      const names = `kind = 'batch' AND state IN ('waiting', 'partial') AND instr(notes, ?) > 0`;
      const row = this.row(names, [batchId]);
      const begun = row && this.#take(row);
      return begun?.status === 'taken' ? begun.entry : undefined;
    });
  }

  ofBatch(batchId: string): Entry | undefined {
    return this.file.read(() => {
      const row = this.row(`kind = 'batch' AND instr(notes, ?) > 0`, [batchId]);
      return row && this.#entry(row);
    });
  }

  known({ kind, content, origin }: Identity): Entry | undefined {
    return this.file.read(() => {
      const row =
        origin.from === 'user' ? this.#ofKey(kind, origin.key, content) : this.#latest(kind, content);
      return row && this.#entry(row);
    });
  }

  /** When the batch of this content was cancelled, if no operation of this content started since, under any key. */
  dateCancelled({ kind, content }: Identity): string | undefined {
    return this.file.read(() => {
      const of = [kind, digestBytes(content)];
      const latest = this.row('kind = ? AND content = ? ORDER BY serial DESC', of);
      return latest?.state === 'cancelled' ? latest.dateChanged : undefined;
    });
  }

  keyOf({ kind, content, origin }: Identity): string {
    return origin.from === 'user' ? origin.key : this.#derivedKey(kind, content);
  }

  /** Notes elements that landed by requests which are not in the journal. */
  noteLanded(kind: OperationKind, elements: readonly Element[], date: string): void {
    const key = this.#options.ids.uuid();
    this.file.write(() => {
      const content = digestBytes(sha256(key));
      const columns = { origin: 'elsewhere', content, state: 'done', command: '[]', notes: '{}' };
      const { serial } = this.#add(kind, key, date, columns);
      this.claim(serial, elements);
      const digests = elements.map(({ digest }) => digest);
      this.land(serial, digests);
    });
  }

  copyTo(path: string): void {
    try {
      this.run('VACUUM INTO ?', [path]);
    } catch (error) {
      throw translateSqliteError({ path, noun: 'copy of the journal' }, error);
    }
  }

  /** With an unknown or unprinted outcome; oldest first. */
  pending(): readonly OperationSummary[] {
    return this.rows(`(state = 'open' OR told = 0) ORDER BY serial`, []);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#hold(0);
    this.file.close();
  }

  #find({ kind, content, origin }: OperationRequest): OperationSummary | undefined {
    if (origin.from === 'chance') return this.#unprinted(kind, content);
    if (origin.from === 'user') return this.#ofKey(kind, origin.key, content);
    return this.#latest(kind, content) ?? this.#ofKey(kind, this.#derivedKey(kind, content), content);
  }

  #ofKey(kind: OperationKind, key: string, content: Sha256): OperationSummary | undefined {
    const row = this.row('kind = ? AND key = ?', [kind, key]);
    if (row === undefined || row.content === content) return row;
    throw new FlywheelError(
      'ERR_IDEMPOTENCY_KEY_REUSED',
      `The idempotency key was used for another request on ${row.dateBegun}. Nothing was sent.`,
    );
  }

  #latest(kind: OperationKind, content: Sha256): OperationSummary | undefined {
    const of = [kind, digestBytes(content)];
    return this.row(`kind = ? AND content = ? AND origin = 'content' ORDER BY serial DESC`, of);
  }

  /** @throws `ERR_INPUT_INVALID` while another process resumes an unprinted one: the command may mean that one, or another. */
  #unprinted(kind: OperationKind, content: Sha256): OperationSummary | undefined {
    const unprinted = `kind = ? AND content = ? AND origin = 'chance' AND (state = 'open' OR told = 0) ORDER BY serial`;
    const rows = this.rows(unprinted, [kind, digestBytes(content)]);
    const free = rows.find(({ busy }) => !busy);
    const resumed = rows.find((row) => row.resumed);
    if (free === undefined && resumed !== undefined) throw beingResumed(resumed);
    return free;
  }

  /** For a burn: another operation with its type and proof, of unknown or unprinted outcome, under any key. */
  #sameBurn({ kind, elements, again }: OperationRequest): OperationSummary | undefined {
    const [element] = elements;
    if (kind !== 'burn' || element === undefined) return undefined;
    const rows = this.rows(
      `serial IN (SELECT operation FROM elements WHERE target = operations.target AND subject = ? AND (landed = 0 OR landed = 1 AND told = 0)) ORDER BY serial`,
      [digestBytes(element.subject)],
    );
    const others = rows.filter((row) => !(again && row.kind === 'burn'));
    return others.find((row) => !row.busy) ?? others[0];
  }

  #overlaps(request: OperationRequest): readonly Overlap[] {
    const { kind, elements, taken, again } = request;
    if (isAlwaysNew(request)) return [];
    const stays = ({ operation: { state, printed, ...operation } }: Overlap): boolean =>
      (state === 'open' || !printed) && !(kind === 'burn' && operation.kind === 'burn');
    return this.overlaps(pick(elements, taken), null).filter((overlap) => !again || stays(overlap));
  }

  /** The same for every part of the file, so that two machines do not send two parts under two keys. */
  #derivedKey(kind: OperationKind, content: Sha256): string {
    const { address, flywheel } = this.#options.target;
    return derivedUuid('operation', kind, content, flywheel ?? address);
  }

  #inTheWay(request: OperationRequest): Begun | undefined {
    const { elements, taken, again, allowChanged, isKnown = false } = request;
    const same = this.#sameBurn(request);
    if (same?.busy === true && same.kind === 'burn') return busy(same);
    const found = same === undefined ? this.#overlaps(request) : overlapsWith(same, elements);
    const overlaps = found.filter(({ hasLanded }) => !(isKnown && hasLanded));
    // Beside what landed as it is, the changed ones are told also where they are allowed.
    const isLookedFor = !isAlwaysNew(request) && !again && !isKnown && (!allowChanged || overlaps.length > 0);
    const met = new Set(overlaps.map(({ digest }) => digest));
    const left = (taken ?? [...elements.keys()]).filter((at) => !met.has(elements[at]?.digest as Sha256));
    const changes = isLookedFor ? this.changes(elements, left) : [];
    return overlaps.length + changes.length > 0 ? { status: 'refused', overlaps, changes } : undefined;
  }

  #insert(request: OperationRequest): Begun {
    const stop = this.#inTheWay(request);
    if (stop !== undefined) return stop;
    const { kind, content, origin, command, elements, taken, again, allowChanged, before } = request;
    const key =
      origin.from === 'user'
        ? origin.key
        : // A repeat with `--again` gets a new key, even if this journal has lost earlier operations.
          origin.from === 'content' && !again
          ? this.#derivedKey(kind, content)
          : this.#options.ids.uuid();
    const notes = {
      ...request.notes(taken),
      ...(again && { again: before ?? true }),
      ...(allowChanged && { allowChanged }),
    };
    const row = this.#add(kind, key, this.now, {
      ...{ origin: origin.from, content: digestBytes(content), state: 'open', holder: this.self },
      ...{ command: JSON.stringify(command), notes: JSON.stringify(notes), body: pack(request.body()) },
    });
    this.claim(row.serial, pick(elements, taken));
    return { status: 'taken', entry: new SqliteEntry(this, row, true) };
  }

  /** A finished operation needs no lock. */
  #take(row: OperationSummary): Begun {
    if (isOver(row.state)) return { status: 'taken', entry: this.#entry(row) };
    if (row.busy) return busy(row);
    const held = this.change(row.serial, { holder: this.self, resumed: 1 });
    return { status: 'taken', entry: this.#entry(held) };
  }

  #entry(row: OperationSummary): SqliteEntry {
    return new SqliteEntry(this, row, false);
  }

  get now(): string {
    return isoTime(this.#options.clock.nowMs());
  }

  row(where: string, parameters: readonly SqlValue[]): OperationSummary | undefined {
    return this.rows(`${where} LIMIT 1`, parameters)[0];
  }

  rows(where: string, parameters: readonly SqlValue[]): readonly OperationSummary[] {
    return this.all(
      `SELECT ${COLUMNS} FROM operations WHERE target IN ${this.#place} AND ${where}`,
      parameters,
    ).map((row) => this.file.decode(() => this.#toRow(row)));
  }

  /** @param date - when it began */
  #add(kind: OperationKind, key: string, date: string, columns: Columns): OperationSummary {
    const all = {
      ...{ id: sha256(`${kind} ${key}`).slice(0, ID_LENGTH), target: this.#target, kind, key, told: 1 },
      ...{ held_until: this.#leaseEnd, date_begun: date, date_changed: date, ...columns },
    };
    const names = Object.keys(all);
    this.run(
      `INSERT INTO operations (${names.join()}) VALUES (${names.map(() => '?').join()})`,
      Object.values(all),
    );
    return this.#written('kind = ? AND key = ?', [kind, key]);
  }

  /** Dates a new state or holder, and prolongs the lease where this process has it. */
  change(serial: number, changes: Columns): OperationSummary {
    const isDated = 'state' in changes || 'resumed' in changes;
    const columns = Object.entries({ ...changes, ...(isDated && { date_changed: this.now }) });
    const set = columns.map(([column]) => `${column} = ?`).join();
    this.run(`UPDATE operations SET ${set} WHERE serial = ?`, [...columns.map(([, value]) => value), serial]);
    this.run('UPDATE operations SET held_until = ? WHERE serial = ? AND holder = ?', [
      ...[this.#leaseEnd, serial, this.self],
    ]);
    return this.#written('serial = ?', [serial]);
  }

  get #leaseEnd(): number {
    return this.#options.clock.nowMs() + LEASE_MS;
  }

  /**
   * @param holder - who held it when it was read.
   * @throws `ERR_OUTCOME_UNKNOWN` for an operation that another process dropped or took over meanwhile.
   */
  require({ serial, holder }: Pick<OperationSummary, 'serial' | 'holder'>): void {
    const found = this.get('SELECT holder FROM operations WHERE serial = ?', [serial]);
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

  claim(serial: number, elements: readonly Element[]): void {
    for (const { digest, content, subject, kinds } of elements)
      this.run(
        `INSERT INTO elements (target, digest, operation, landed, content, subject, kinds)
         SELECT target, ?, serial, 0, ?, ?, ? FROM operations WHERE serial = ?
         ON CONFLICT DO UPDATE SET landed = 0 WHERE landed < 0`,
        [digestBytes(digest), digestBytes(content), digestBytes(subject), kinds, serial],
      );
  }

  land(serial: number, digests: readonly Sha256[]): void {
    for (const digest of digests)
      this.run(
        `UPDATE elements SET landed = 1 WHERE target IN ${this.#place} AND digest = ? AND operation = ?`,
        [digestBytes(digest), serial],
      );
  }

  /**
   * Elements that other operations landed, or whose subject may still land there; at most one overlap per element.
   * @param serial - of the operation itself. @param from - the first operation whose landings count.
   */
  overlaps(elements: readonly Element[], serial: number | null, from = 0): readonly Overlap[] {
    // A digest covers the subject, which has an index.
    const isMet = 'e.digest = ? AND e.landed = 1 AND o.serial > ? OR e.kinds & ? <> 0 AND e.landed = 0';
    const sql = `SELECT e.landed, o.date_changed, o.id, o.kind, o.state, o.told, o.command, o.notes FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target IN ${this.#place} AND e.subject = ? AND (${isMet}) AND o.serial <> ? ORDER BY o.state = 'open' DESC, o.told, e.landed DESC LIMIT 1`;
    return elements.flatMap(({ digest, subject, kinds }) => {
      const found = this.get(sql, [digestBytes(subject), digestBytes(digest), from, kinds, serial ?? 0]);
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
    return this.file.read(() => this.hasElement(where, [digestBytes(digest), except]));
  }

  /** Elements of which a kind has landed with a content that is neither in this file nor beside theirs in another. */
  changes(elements: readonly Element[], indexes: readonly number[]): Refused['changes'] {
    const contents = new Set(elements.map(({ content }) => content));
    const sql = `SELECT e.content, o.date_changed FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target IN ${this.#place} AND e.subject = ? AND e.kinds & ? <> 0 AND e.landed = 1
         AND NOT EXISTS (SELECT 1 FROM elements s WHERE s.operation = e.operation AND s.content = ?) ORDER BY o.serial DESC`;
    return this.file.read(() =>
      indexes.flatMap((index) => {
        const element = elements[index];
        if (element === undefined) return [];
        const { subject, kinds, content } = element;
        const others = this.all(sql, [digestBytes(subject), kinds, digestBytes(content)]);
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
      Number(this.get(sql, [digestBytes(subject), digestBytes(content), from ?? 0])?.[0] ?? 0);
    return this.file.read(() => new Map(elements.map((element) => [element.content, count(element)])));
  }

  /** Those that any operation landed. @param from - the first operation that counts */
  landed(elements: readonly Element[], from = 0): ReadonlySet<Sha256> {
    const where = `target IN ${this.#place} AND digest = ? AND landed = 1 AND operation >= ?`;
    const hasLanded = ({ digest }: Element): boolean => this.hasElement(where, [digestBytes(digest), from]);
    return this.file.read(() => new Set(elements.filter(hasLanded).map(({ digest }) => digest)));
  }

  hasElement(where: string, parameters: readonly SqlValue[]): boolean {
    return this.get(`SELECT 1 FROM elements WHERE ${where} LIMIT 1`, parameters) !== undefined;
  }

  #toRow(row: readonly SqlValue[]): OperationSummary {
    const [serial, id, kind, key, origin, content, state, told, holder, until, resumed, ...rest] = row;
    const [command, notes, dateBegun, dateChanged] = rest.map(String) as [string, string, string, string];
    const name = typeof holder === 'string' ? holder : null;
    const endsInMs = Number(until) - this.#options.clock.nowMs();
    return {
      ...{ serial: Number(serial), id: String(id), kind: kind as OperationKind, key: String(key) },
      ...{ origin: origin as OperationSummary['origin'], state: state as OperationSummary['state'] },
      ...{ content: digestOf(content), printed: told === 1, resumed: resumed === 1, holder: name },
      busy: name !== null && name !== this.self && endsInMs > 0 && endsInMs <= MAX_LEFT_MS,
      ...{ command: JSON.parse(command), notes: JSON.parse(notes), dateBegun, dateChanged },
    };
  }

  all(sql: string, parameters: readonly SqlValue[]): readonly (readonly SqlValue[])[] {
    return this.file.prepare(sql).all(parameters);
  }

  get(sql: string, parameters: readonly SqlValue[]): readonly SqlValue[] | undefined {
    return this.file.prepare(sql).get(parameters);
  }

  run(sql: string, parameters: readonly SqlValue[]): void {
    this.file.prepare(sql).run(parameters);
  }
}

const busy = ({ holder }: OperationSummary): Begun => ({ status: 'busy', process: holder ?? '' });

const overlapsWith = (operation: OperationSummary, elements: readonly Element[]): readonly Overlap[] =>
  elements.map(({ digest }) => ({ digest, hasLanded: false, date: operation.dateChanged, operation }));

const beingResumed = ({ dateBegun, holder }: OperationSummary): FlywheelError =>
  notSent(
    `The same operation was started ${dateBegun}, and process ${holder?.replace(/-.*/, '') ?? ''} is resuming it.`,
    'Wait for that process. If you run the command again later, everything is sent a second time.',
  );
