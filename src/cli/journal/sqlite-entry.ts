/** One operation in the journal's file, held by this process until it is released or has its verdict. Everything is on disk when a call returns. */
import type { Sha256 } from '../../values/digest.js';
import {
  type Element,
  isOver,
  type Notes,
  type OperationKind,
  type OperationState,
  type OperationSummary,
  type Overlap,
  type Verdict,
} from './journal.js';
import type { Changes, Row, Tables } from './tables.js';

export class SqliteEntry implements OperationSummary {
  readonly id: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly command: readonly string[];
  readonly dateBegun: string;
  /** Begun by this very call. */
  readonly isNew: boolean;
  /** Only another process can make it so. */
  readonly busy = false;
  readonly #table: Tables;
  readonly #serial: number;
  #hasActed = false;
  #row: Row;

  constructor(table: Tables, row: Row, isNew: boolean) {
    this.#table = table;
    this.#row = row;
    this.#serial = row.serial;
    this.isNew = isNew;
    this.id = row.id;
    this.kind = row.kind;
    this.key = row.key;
    this.command = row.command;
    this.dateBegun = row.dateBegun;
  }

  get state(): OperationState {
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

  /** An answer was stored since it was taken. */
  get hasActed(): boolean {
    return this.#hasActed;
  }

  /** Answers of it are stored, from whenever. */
  get hasAnswers(): boolean {
    return this.#table.hasAnswers(this.#serial);
  }

  get hasLanded(): boolean {
    return this.#table.hasLanded(this.#serial);
  }

  /** What it was begun with; `undefined` once it is over. */
  body(): string | undefined {
    return this.#table.body(this.#serial);
  }

  note(notes: Notes): void {
    this.#row = this.#table.file.write(() => {
      // What ended before is held by nobody: another process may have noted something since.
      const now = this.#table.row('serial = ?', [this.#serial]) ?? this.#row;
      return this.#table.change(this.#serial, { notes: JSON.stringify({ ...now.notes, ...notes }) });
    });
  }

  /** Does another operation name this batch? */
  hasBatchOfAnother(batchId: string): boolean {
    const names = `kind = 'batch' AND serial <> ? AND instr(notes, ?) > 0`;
    return this.#table.row(names, [this.#serial, batchId]) !== undefined;
  }

  /** Stores an answer of the service under a name. */
  keep(name: string, answer: unknown): void {
    this.#table.file.write(() => this.#table.keep(this.#serial, name, answer));
    this.#hasActed = true;
  }

  answer(name: string): unknown {
    return this.#table.answer(this.#serial, name);
  }

  /** Which of these have not landed, by it or by any other operation (of what is done once more: since), as numbers from 0. */
  lacking(elements: readonly Element[]): readonly number[] {
    return this.#table.lacking(elements, this.since);
  }

  /** Which of these have landed by other operations (of what is done once more: since), or may land yet. */
  elsewhere(elements: readonly Sha256[]): readonly Overlap[] {
    return this.#table.overlaps(elements, this.#serial, this.since);
  }

  /** Can what its service has done since it was begun be told from what had landed before? */
  get isToldApart(): boolean {
    return this.#row.notes['again'] !== true;
  }

  /** How often its service had landed each element of the file before; empty of what is done the first time. */
  get before(): readonly number[] {
    const counts = this.#row.notes['again'];
    return Array.isArray(counts) ? counts : [];
  }

  /** The first operation whose landings count for it; 0 unless it does something once more. */
  get since(): number {
    return this.#row.notes['again'] === undefined ? 0 : this.#serial;
  }

  /**
   * Takes up an operation that is not open, for a next step of it with these elements, and notes that.
   * @param landed - what of it has landed so far. @default what is noted
   * @returns false when another process was faster, with this operation or with one of the elements.
   */
  reopen(elements: readonly Element[], notes: Notes, landed: readonly Sha256[] = []): boolean {
    return this.#table.file.write(() => {
      const row = this.#table.row('serial = ?', [this.#serial]);
      if (row === undefined || row.state !== this.#row.state || row.busy) return false;
      // Another process may have brought a next step of it to its end meanwhile.
      if (JSON.stringify(row.notes) !== JSON.stringify(this.#row.notes)) return false;
      const digests = elements.map(({ digest }) => digest);
      if (this.#table.overlaps(digests, row.serial, this.since).length > 0) return false;
      const noted = JSON.stringify({ ...row.notes, ...notes });
      this.#row = this.#table.change(row.serial, { state: 'open', holder: this.#table.self, notes: noted });
      this.#table.land(this.#serial, landed);
      if (isOver(row.state)) this.#table.unclaim(this.#serial);
      this.#table.claim(this.#serial, elements);
      return true;
    });
  }

  settle({ state, landed, mayLand = false, answers = {} }: Verdict): void {
    this.#table.file.write(() => {
      for (const [name, answer] of Object.entries(answers)) this.#table.keep(this.#serial, name, answer);
      this.#row = this.#table.change(this.#serial, { state, told: 0 });
      this.#table.land(this.#serial, landed);
      if (isOver(state) && !mayLand) this.#table.unclaim(this.#serial);
    });
  }

  /** Its outcome has left this process: what was asked for is needed only for what is left of it. */
  markPrinted(): void {
    const { file } = this.#table;
    // Losing this to a power cut only tells an outcome twice.
    file.exec('PRAGMA synchronous = NORMAL');
    try {
      file.write(() => {
        if (this.#row.origin === 'chance') return this.#table.remove(this.#serial);
        if (this.kind === 'burn') this.#table.unclaim(this.#serial);
        const spent: Changes = this.state === 'done' ? { body: null } : {};
        this.#row = this.#table.change(this.#serial, { told: 1, holder: null, ...spent });
      });
    } finally {
      file.exec('PRAGMA synchronous = FULL');
    }
  }

  /** Lets go of it as it stands. */
  release(): void {
    this.#row = this.#table.file.write(() => this.#table.change(this.#serial, { holder: null }));
  }

  /** Forgets it: nothing was done, or nobody wants to know. What has landed cannot be forgotten. */
  remove(): void {
    this.#table.file.write(() => this.#table.remove(this.#serial));
  }
}
