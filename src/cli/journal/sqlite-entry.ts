/** One operation in the journal, locked by this process until its release or verdict. Every call is durable when it returns. */
import { gunzipSync, gzipSync } from 'node:zlib';
import type { SqlValue } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import type { Sha256 } from '../../values/digest.js';
import {
  type Element,
  isOver,
  type Notes,
  type OperationKind,
  type OperationSummary,
  type Overlap,
  type Verdict,
} from './journal.js';
import type { SqliteJournal } from './sqlite-journal.js';

export const pack = (text: string): Buffer => gzipSync(text, { level: 1 });
const unpack = (bytes: SqlValue | undefined): string =>
  gunzipSync(readBuffer(bytes as ReadonlyBytes)).toString('utf8');

export class SqliteEntry {
  readonly id: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly command: readonly string[];
  readonly dateBegun: string;
  readonly isNew: boolean;
  readonly #journal: SqliteJournal;
  readonly #serial: number;
  #hasActed = false;
  #row: OperationSummary;

  constructor(journal: SqliteJournal, row: OperationSummary, isNew: boolean) {
    this.#journal = journal;
    this.#row = row;
    this.#serial = row.serial;
    this.isNew = isNew;
    this.id = row.id;
    this.kind = row.kind;
    this.key = row.key;
    this.command = row.command;
    this.dateBegun = row.dateBegun;
  }

  get state(): OperationSummary['state'] {
    return this.#row.state;
  }

  get printed(): boolean {
    return this.#row.printed;
  }

  get dateChanged(): string {
    return this.#row.dateChanged;
  }

  get notes(): Notes {
    return this.#row.notes;
  }

  /** This process stored an answer. */
  get hasActed(): boolean {
    return this.#hasActed;
  }

  get hasAnswers(): boolean {
    return this.#get('SELECT 1 FROM answers WHERE operation = ? LIMIT 1') !== undefined;
  }

  /** Multisig and mint of its project; `null` if the service did not name it. */
  get flywheel(): string | null {
    const sql = 'SELECT flywheel FROM targets WHERE id = (SELECT target FROM operations WHERE serial = ?)';
    return String(this.#get(sql)?.[0] ?? '') || null;
  }

  get hasLanded(): boolean {
    return this.#get('SELECT 1 FROM elements WHERE operation = ? AND landed = 1 LIMIT 1') !== undefined;
  }

  /** `undefined` once it is over. */
  body(): string | undefined {
    const bytes = this.#get('SELECT body FROM operations WHERE serial = ?')?.[0];
    return bytes == null ? undefined : unpack(bytes);
  }

  #get(sql: string, ...more: readonly SqlValue[]): readonly SqlValue[] | undefined {
    return this.#journal.get(sql, [this.#serial, ...more]);
  }

  /** One transaction, unless another process has dropped or taken over what this one held. */
  #write<Result>(change: () => Result): Result {
    return this.#journal.file.write(() => {
      this.#journal.require(this.#row);
      return change();
    });
  }

  /** Before its request is sent. @throws `ERR_OUTCOME_UNKNOWN` if another process has dropped or taken over what this one held */
  readonly requireHeld = (): void => this.#journal.file.read(() => this.#journal.require(this.#row));

  note(notes: Notes): void {
    this.#row = this.#write(() => {
      // A finished operation is not locked, so another process may have changed it since.
      const now = this.#journal.row('serial = ?', [this.#serial]) ?? this.#row;
      return this.#journal.change(this.#serial, { notes: JSON.stringify({ ...now.notes, ...notes }) });
    });
  }

  keep(name: string, answer: unknown): void {
    this.#write(() => this.#keep(name, answer));
    this.#hasActed = true;
  }

  #keep(name: string, answer: unknown): void {
    const sql = 'INSERT OR REPLACE INTO answers (operation, name, answer) VALUES (?, ?, ?)';
    this.#journal.run(sql, [this.#serial, name, pack(JSON.stringify(answer))]);
  }

  answer(name: string): unknown {
    const row = this.#get('SELECT answer FROM answers WHERE operation = ? AND name = ?', name);
    return row === undefined ? undefined : JSON.parse(unpack(row[0]));
  }

  /** Those that any operation landed (with `again`: since). */
  landed(elements: readonly Element[]): ReadonlySet<Sha256> {
    return this.#journal.landed(elements, this.since);
  }

  /** Elements that other operations landed (with `again`: since), or may still land. */
  elsewhere(elements: readonly Element[]): readonly Overlap[] {
    return this.#journal.overlaps(elements, this.#serial, this.since);
  }

  /** `undefined` also once it was cancelled: the file is no longer repeated. */
  get #again(): unknown {
    return this.state === 'cancelled' ? undefined : this.#row.notes['again'];
  }

  /** With `again`: true if the journal has the service's count of landed elements. */
  get isToldApart(): boolean {
    return this.#again !== true;
  }

  get before(): readonly number[] {
    const counts = this.#again;
    return Array.isArray(counts) ? counts : [];
  }

  /** Only landings from this operation on count; 0 without `again`. */
  get since(): number {
    return this.#again === undefined ? 0 : this.#serial;
  }

  /** Reopens the operation for a next stage. @returns false when another process was faster with it, or with an element. */
  reopen(elements: readonly Element[], notes: Notes, landed: readonly Sha256[] = []): boolean {
    return this.#journal.file.write(() => {
      const row = this.#journal.row('serial = ?', [this.#serial]);
      if (row === undefined || row.state !== this.#row.state || row.busy) return false;
      // Another process may have finished the next stage meanwhile.
      if (JSON.stringify(row.notes) !== JSON.stringify(this.#row.notes)) return false;
      if (this.#journal.overlaps(elements, row.serial, this.since).length > 0) return false;
      const noted = JSON.stringify({ ...row.notes, ...notes });
      this.#row = this.#journal.change(row.serial, {
        state: 'open',
        holder: this.#journal.self,
        notes: noted,
      });
      this.#journal.land(this.#serial, landed);
      if (isOver(row.state)) this.#unclaim();
      this.#journal.claim(this.#serial, elements);
      return true;
    });
  }

  settle({ state, landed, mayLand = false, answers = {} }: Verdict): void {
    this.#write(() => {
      for (const [name, answer] of Object.entries(answers)) this.#keep(name, answer);
      this.#row = this.#journal.change(this.#serial, { state, told: 0 });
      this.#journal.land(this.#serial, landed);
      if (isOver(state) && !mayLand) this.#unclaim();
    });
  }

  /** Its outcome has been printed. The body is kept only for a rest. */
  markPrinted(): void {
    const { file } = this.#journal;
    // Losing this write in a power cut only prints an outcome twice.
    file.exec('PRAGMA synchronous = NORMAL');
    try {
      file.write(() => {
        this.#journal.require(this.#row);
        if (this.#row.origin === 'chance') return this.#remove();
        if (this.kind === 'burn') this.#unclaim();
        const spent = this.state === 'done' ? { body: null } : {};
        // A repeat may print it first; the process that did it still holds it, and prints it too.
        const freed = this.#row.holder === this.#journal.self ? { holder: null } : {};
        this.#row = this.#journal.change(this.#serial, { told: 1, ...freed, ...spent });
      });
    } finally {
      file.exec('PRAGMA synchronous = FULL');
    }
  }

  release(): void {
    this.#row = this.#write(() => this.#journal.change(this.#serial, { holder: null }));
  }

  /** Elements that landed stay noted. Does nothing where another process took it over. */
  remove(): void {
    this.#journal.file.write(() => {
      const holder = this.#journal.row('serial = ?', [this.#serial])?.holder;
      if (holder === this.#row.holder) this.#remove();
    });
  }

  #remove(): void {
    for (const rows of ['elements WHERE landed <= 0 AND', 'answers WHERE'])
      this.#journal.run(`DELETE FROM ${rows} operation = ?`, [this.#serial]);
    this.#journal.run('DELETE FROM operations WHERE serial = ?', [this.#serial]);
  }

  /** What has not landed may no longer land. */
  #unclaim(): void {
    this.#journal.run('UPDATE elements SET landed = -1 WHERE operation = ? AND landed = 0', [this.#serial]);
  }
}
