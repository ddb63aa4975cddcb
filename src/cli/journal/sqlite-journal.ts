/** The journal in an SQLite file: every step of an operation is one write transaction, durable before the next begins. */
import { join } from 'node:path';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { openSqliteFile, type SqliteFile } from '../../files/sqlite-file.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid, type Ids } from '../../values/ids.js';
import type { Clock } from '../../values/time.js';
import { makePrivateDirectory } from '../files/write-file.js';
import {
  type Begun,
  type Entry,
  isOver,
  type Journal,
  type Notes,
  type OperationKind,
  type OperationRequest,
  type OperationState,
  type OperationSummary,
  type Overlap,
  type Processes,
  type Target,
  type Verdict,
} from './journal.js';
import { type Changes, digestBytes, OperationsTable, type Row } from './operations-table.js';
import { prepareJournal } from './schema.js';

export interface JournalOptions {
  /** Made when missing, for the user alone. */
  readonly directory: string;
  readonly target: Target;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
}

/** The file in its directory. */
export const JOURNAL_FILE = 'journal.db';

/** Opens the journal of a target. @throws `ERR_STORE_UNAVAILABLE` naming the file and why it cannot be used. */
export async function openSqliteJournal(options: JournalOptions): Promise<Journal> {
  makePrivateDirectory(options.directory);
  const file = await openSqliteFile({
    path: join(options.directory, JOURNAL_FILE),
    noun: 'journal',
    readOnly: false,
    create: true,
    inspect: () => undefined,
  });
  try {
    prepareJournal(file);
    return new SqliteJournal(file, options);
  } catch (error) {
    file.close();
    throw error;
  }
}

class SqliteJournal implements Journal {
  readonly #file: SqliteFile;
  readonly #options: JournalOptions;
  readonly #table: OperationsTable;

  constructor(file: SqliteFile, options: JournalOptions) {
    this.#file = file;
    this.#options = options;
    this.#table = new OperationsTable(file, options);
  }

  begin(request: OperationRequest): Begun {
    return this.#file.write(() => {
      this.#table.noteDay();
      const known = this.#find(request);
      if (known === undefined) return this.#insert(request, 0);
      const isVoid = known.state === 'void' && known.origin === 'content';
      if (!request.again) return isVoid ? this.#insert(request, known.run + 1) : this.#take(known);
      if (!isOver(known.state) || known.state === 'partial') return { status: 'unfinished', entry: known };
      return this.#insert(request, known.run + 1);
    });
  }

  take(id: string): Begun | undefined {
    return this.#file.write(() => {
      const row = this.#table.row('id = ?', [id]);
      return row && this.#take(row);
    });
  }

  takeBatch(batchId: string): Entry | undefined {
    return this.#file.write(() => {
      const names = `kind = 'batch' AND state IN ('waiting', 'partial') AND instr(notes, ?) > 0`;
      const row = this.#table.row(names, [batchId]);
      const begun = row && this.#take(row);
      return begun?.status === 'taken' ? begun.entry : undefined;
    });
  }

  pending(): readonly OperationSummary[] {
    return this.#table.rows(`(state = 'open' OR told = 0) ORDER BY serial`, []);
  }

  close(): void {
    this.#file.close();
  }

  /** The operation that a request is, if there is one. */
  #find({ kind, content, origin }: OperationRequest): Row | undefined {
    if (origin.from === 'chance') return this.#untold(kind, content);
    if (origin.from === 'user') return this.#ofKey(kind, origin.key, content);
    return this.#latest(kind, content) ?? this.#ofKey(kind, this.#derivedKey(kind, content, 0), content);
  }

  /** @throws `ERR_IDEMPOTENCY_KEY_REUSED` */
  #ofKey(kind: OperationKind, key: string, content: Sha256): Row | undefined {
    const row = this.#table.row('kind = ? AND key = ?', [kind, key]);
    if (row === undefined || row.content === content) return row;
    throw new FlywheelError(
      'ERR_IDEMPOTENCY_KEY_REUSED',
      `The idempotency key was used for something else on ${row.dateBegun}; nothing was sent.`,
    );
  }

  #latest(kind: OperationKind, content: Sha256): Row | undefined {
    const of = [kind, digestBytes(content)];
    return this.#table.row(`kind = ? AND content = ? AND origin = 'content' ORDER BY run DESC`, of);
  }

  /** One that was left in the middle, or whose outcome nobody has seen. */
  #untold(kind: OperationKind, content: Sha256): Row | undefined {
    const untold = `kind = ? AND content = ? AND origin = 'chance' AND (state = 'open' OR told = 0) ORDER BY serial`;
    return this.#table.rows(untold, [kind, digestBytes(content)]).find(({ busy }) => !busy);
  }

  #derivedKey(kind: OperationKind, content: Sha256, run: number): string {
    const { place, profile } = this.#options.target;
    return derivedUuid('operation', kind, content, place, profile, String(run));
  }

  #insert(request: OperationRequest, run: number): Begun {
    const { kind, content, origin, command, elements, again } = request;
    const overlaps = this.#table
      .overlaps(elements, null)
      .filter(({ operation }) => !again || operation.state === 'open');
    if (overlaps.length > 0) return { status: 'overlap', overlaps };
    const key =
      origin.from === 'user'
        ? origin.key
        : origin.from === 'content'
          ? this.#derivedKey(kind, content, run)
          : this.#options.ids.uuid();
    const given = { notes: request.notes(), body: request.body() };
    const row = this.#table.insert({ kind, key, origin: origin.from, content, run, command, ...given });
    this.#table.claim(row.serial, elements);
    return { status: 'taken', entry: new SqliteEntry(this.#file, this.#table, row, this.#self, true) };
  }

  /** Holds an operation, unless another process does; what has its verdict needs no holding. */
  #take(row: Row): Begun {
    if (isOver(row.state))
      return { status: 'taken', entry: new SqliteEntry(this.#file, this.#table, row, this.#self, false) };
    if (row.busy) return { status: 'busy', process: row.holder ?? '', since: row.dateChanged };
    const held = this.#table.change(row.serial, { holder: this.#self });
    return { status: 'taken', entry: new SqliteEntry(this.#file, this.#table, held, this.#self, false) };
  }

  get #self(): string {
    return this.#options.processes.self();
  }
}

class SqliteEntry implements Entry {
  readonly id: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly run: number;
  readonly command: readonly string[];
  readonly dateBegun: string;
  readonly isNew: boolean;
  /** Whoever has the entry is not another process. */
  readonly busy = false;
  readonly #file: SqliteFile;
  readonly #table: OperationsTable;
  readonly #self: string;
  #hasActed = false;
  #row: Row;

  constructor(file: SqliteFile, table: OperationsTable, row: Row, self: string, isNew: boolean) {
    this.#file = file;
    this.#table = table;
    this.#self = self;
    this.#row = row;
    this.isNew = isNew;
    this.id = row.id;
    this.kind = row.kind;
    this.key = row.key;
    this.run = row.run;
    this.command = row.command;
    this.dateBegun = row.dateBegun;
  }

  get state(): OperationState {
    return this.#row.state;
  }

  get hasActed(): boolean {
    return this.#hasActed;
  }

  get told(): boolean {
    return this.#row.told;
  }

  get dateChanged(): string {
    return this.#row.dateChanged;
  }

  get notes(): Notes {
    return this.#row.notes;
  }

  body(): string | undefined {
    return this.#table.body(this.#row.serial);
  }

  note(notes: Notes): void {
    this.#change({ notes: JSON.stringify({ ...this.#row.notes, ...notes }) });
  }

  keep(name: string, answer: unknown): void {
    this.#file.write(() => this.#table.keep(this.#row.serial, name, answer));
    this.#hasActed = true;
  }

  answer(name: string): unknown {
    const answer = this.#table.answer(this.#row.serial, name);
    if (answer !== undefined || !isOver(this.state) || this.#table.hasAnswers(this.#row.serial))
      return answer;
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `This was done on ${this.dateChanged}, and what came of it is no longer kept here. Nothing was sent.`,
      { hint: 'Do it once more with --again.' },
    );
  }

  elsewhere(elements: readonly Sha256[]): readonly Overlap[] {
    return this.#table.overlaps(elements, this.#row.serial);
  }

  reopen(elements: readonly Sha256[], notes: Notes): boolean {
    return this.#file.write(() => {
      const row = this.#table.row('serial = ?', [this.#row.serial]);
      if (row === undefined || row.state !== this.#row.state || row.busy) return false;
      if (this.#table.overlaps(elements, row.serial).length > 0) return false;
      const noted = JSON.stringify({ ...row.notes, ...notes });
      this.#row = this.#table.change(row.serial, { state: 'open', holder: this.#self, notes: noted });
      this.#table.claim(this.#row.serial, elements);
      return true;
    });
  }

  settle({ state, landed, mayLand = false, answers = {} }: Verdict): void {
    this.#file.write(() => {
      for (const [name, answer] of Object.entries(answers)) this.#table.keep(this.#row.serial, name, answer);
      this.#row = this.#table.change(this.#row.serial, { state, told: 0 });
      this.#table.land(this.#row.serial, landed);
      if (isOver(state) && !mayLand) this.#table.unclaim(this.#row.serial);
    });
  }

  tell(): void {
    // Losing this to a power cut only tells an outcome twice.
    this.#file.exec('PRAGMA synchronous = NORMAL');
    try {
      this.#file.write(() => {
        if (this.#row.origin === 'chance') this.#table.remove(this.#row.serial);
        else this.#row = this.#table.change(this.#row.serial, { told: 1, holder: null, ...this.#spent() });
      });
    } finally {
      this.#file.exec('PRAGMA synchronous = FULL');
    }
  }

  /** What was asked for is needed for what is left of it, and for telling what came of it. */
  #spent(): Changes {
    return isOver(this.state) && this.state !== 'partial' ? { body: null } : {};
  }

  release(): void {
    this.#change({ holder: null });
  }

  remove(): void {
    this.#file.write(() => this.#table.remove(this.#row.serial));
  }

  #change(changes: Changes): void {
    this.#row = this.#file.write(() => this.#table.change(this.#row.serial, changes));
  }
}
