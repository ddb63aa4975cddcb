/** One operation in the journal, locked by this process until its release or verdict. Every call is durable when it returns. */
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
import type { Tables } from './tables.js';

export class SqliteEntry {
  readonly id: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly command: readonly string[];
  readonly dateBegun: string;
  readonly isNew: boolean;
  readonly #table: Tables;
  readonly #serial: number;
  #hasActed = false;
  #row: OperationSummary;

  constructor(table: Tables, row: OperationSummary, isNew: boolean) {
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

  /** The same content is the same operation. */
  get isOnce(): boolean {
    return this.#row.origin === 'content';
  }

  get hasAnswers(): boolean {
    return this.#table.hasAnswers(this.#serial);
  }

  get hasLanded(): boolean {
    return this.#table.hasLanded(this.#serial);
  }

  /** `undefined` once it is over. */
  body(): string | undefined {
    return this.#table.body(this.#serial);
  }

  /** One transaction, unless another process has dropped or taken over what this one held. */
  #write<Result>(change: () => Result): Result {
    return this.#table.file.write(() => {
      this.#table.require(this.#row);
      return change();
    });
  }

  /** Before its request is sent. @throws `ERR_OUTCOME_UNKNOWN` if another process has dropped or taken over what this one held */
  readonly requireHeld = (): void => this.#table.file.read(() => this.#table.require(this.#row));

  note(notes: Notes): void {
    this.#row = this.#write(() => {
      // A finished operation is not locked, so another process may have changed it since.
      const now = this.#table.row('serial = ?', [this.#serial]) ?? this.#row;
      return this.#table.change(this.#serial, { notes: JSON.stringify({ ...now.notes, ...notes }) });
    });
  }

  hasBatchOfAnother(batchId: string): boolean {
    const names = `kind = 'batch' AND serial <> ? AND instr(notes, ?) > 0`;
    return this.#table.row(names, [this.#serial, batchId]) !== undefined;
  }

  keep(name: string, answer: unknown): void {
    this.#write(() => this.#table.keep(this.#serial, name, answer));
    this.#hasActed = true;
  }

  answer(name: string): unknown {
    return this.#table.answer(this.#serial, name);
  }

  /** Those that any operation landed (with `again`: since). */
  landed(elements: readonly Element[]): ReadonlySet<Sha256> {
    return this.#table.landed(elements, this.since);
  }

  /** Elements that other operations landed (with `again`: since), or may still land. */
  elsewhere(elements: readonly Element[]): readonly Overlap[] {
    return this.#table.overlaps(elements, this.#serial, this.since);
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
    return this.#table.file.write(() => {
      const row = this.#table.row('serial = ?', [this.#serial]);
      if (row === undefined || row.state !== this.#row.state || row.busy) return false;
      // Another process may have finished the next stage meanwhile.
      if (JSON.stringify(row.notes) !== JSON.stringify(this.#row.notes)) return false;
      if (this.#table.overlaps(elements, row.serial, this.since).length > 0) return false;
      const noted = JSON.stringify({ ...row.notes, ...notes });
      this.#row = this.#table.change(row.serial, { state: 'open', holder: this.#table.self, notes: noted });
      this.#table.land(this.#serial, landed);
      if (isOver(row.state)) this.#table.unclaim(this.#serial);
      this.#table.claim(this.#serial, elements);
      return true;
    });
  }

  settle({ state, landed, mayLand = false, answers = {} }: Verdict): void {
    this.#write(() => {
      for (const [name, answer] of Object.entries(answers)) this.#table.keep(this.#serial, name, answer);
      this.#row = this.#table.change(this.#serial, { state, told: 0 });
      this.#table.land(this.#serial, landed);
      if (isOver(state) && !mayLand) this.#table.unclaim(this.#serial);
    });
  }

  /** Its outcome has been printed. The body is kept only for a rest. */
  markPrinted(): void {
    const { file } = this.#table;
    // Losing this write in a power cut only prints an outcome twice.
    file.exec('PRAGMA synchronous = NORMAL');
    try {
      file.write(() => {
        if (this.#row.origin === 'chance') return this.#table.remove(this.#serial);
        this.#table.require(this.#row);
        if (this.kind === 'burn') this.#table.unclaim(this.#serial);
        const spent = this.state === 'done' ? { body: null } : {};
        this.#row = this.#table.change(this.#serial, { told: 1, holder: null, ...spent });
      });
    } finally {
      file.exec('PRAGMA synchronous = FULL');
    }
  }

  release(): void {
    this.#row = this.#write(() => this.#table.change(this.#serial, { holder: null }));
  }

  /** Elements that landed stay noted. Does nothing where another process took it over. */
  remove(): void {
    this.#table.file.write(() => {
      const holder = this.#table.row('serial = ?', [this.#serial])?.holder;
      if (holder === this.#row.holder) this.#table.remove(this.#serial);
    });
  }
}
