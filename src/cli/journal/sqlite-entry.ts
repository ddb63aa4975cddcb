/** One operation in the journal's file, as the process that holds it sees and changes it. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { SqliteFile } from '../../files/sqlite-file.js';
import type { Sha256 } from '../../values/digest.js';
import {
  type Element,
  type Entry,
  isOver,
  type Notes,
  type OperationKind,
  type OperationState,
  type Overlap,
  type Verdict,
} from './journal.js';
import type { Changes, OperationsTable, Row } from './operations-table.js';

/** An operation that was taken. */
export class SqliteEntry implements Entry {
  readonly id: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly command: readonly string[];
  readonly dateBegun: string;
  readonly isNew: boolean;
  /** No other process has another process. */
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
    this.command = row.command;
    this.dateBegun = row.dateBegun;
  }

  get state(): OperationState {
    return this.#row.state;
  }

  get hasActed(): boolean {
    return this.#hasActed;
  }

  get hasAnswers(): boolean {
    return this.#table.hasAnswers(this.#row.serial);
  }

  get hasLanded(): boolean {
    return this.#table.elements.hasLanded(this.#row.serial);
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

  body(): string | undefined {
    return this.#table.body(this.#row.serial);
  }

  note(notes: Notes): void {
    this.#row = this.#file.write(() => {
      // What ended before is held by nobody: another process may have noted something since.
      const now = this.#table.row('serial = ?', [this.#row.serial]) ?? this.#row;
      return this.#table.change(this.#row.serial, { notes: JSON.stringify({ ...now.notes, ...notes }) });
    });
  }

  hasBatchOfAnother(batchId: string): boolean {
    const names = `kind = 'batch' AND serial <> ? AND instr(notes, ?) > 0`;
    return this.#table.row(names, [this.#row.serial, batchId]) !== undefined;
  }

  keep(name: string, answer: unknown): void {
    this.#file.write(() => this.#table.keep(this.#row.serial, name, answer));
    this.#hasActed = true;
  }

  answer(name: string): unknown {
    const answer = this.#table.answer(this.#row.serial, name);
    const isKept = !isOver(this.state) || this.state === 'partial';
    if (answer !== undefined || isKept || this.#table.hasAnswers(this.#row.serial)) return answer;
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `This was done on ${this.dateChanged}, but its result is no longer stored on this machine. Nothing was sent.`,
      { hint: 'To run it again as a new operation, add --again.' },
    );
  }

  lacking(elements: readonly Element[]): readonly number[] {
    return this.#table.elements.lacking(elements, this.#from);
  }

  elsewhere(elements: readonly Sha256[]): readonly Overlap[] {
    return this.#table.elements.overlaps(elements, this.#row.serial, this.#from);
  }

  /** What is done once more has not landed by what was done before. */
  get #from(): number {
    return this.#row.notes['again'] === true ? this.#row.serial : 0;
  }

  reopen(elements: readonly Element[], notes: Notes, landed: readonly Sha256[] = []): boolean {
    return this.#file.write(() => {
      const row = this.#table.row('serial = ?', [this.#row.serial]);
      if (row === undefined || row.state !== this.#row.state || row.busy) return false;
      // Another process may have brought a next step of it to its end meanwhile.
      if (JSON.stringify(row.notes) !== JSON.stringify(this.#row.notes)) return false;
      const digests = elements.map(({ digest }) => digest);
      if (this.#table.elements.overlaps(digests, row.serial, this.#from).length > 0) return false;
      const noted = JSON.stringify({ ...row.notes, ...notes });
      this.#row = this.#table.change(row.serial, { state: 'open', holder: this.#self, notes: noted });
      this.#table.elements.land(this.#row.serial, landed);
      if (isOver(row.state)) this.#table.elements.unclaim(this.#row.serial);
      this.#table.elements.claim(this.#row.serial, elements);
      return true;
    });
  }

  settle({ state, landed, mayLand = false, answers = {} }: Verdict): void {
    this.#file.write(() => {
      for (const [name, answer] of Object.entries(answers)) this.#table.keep(this.#row.serial, name, answer);
      this.#row = this.#table.change(this.#row.serial, { state, told: 0 });
      this.#table.elements.land(this.#row.serial, landed);
      if (isOver(state) && !mayLand) this.#table.elements.unclaim(this.#row.serial);
    });
  }

  markPrinted(): void {
    // Losing this to a power cut only tells an outcome twice.
    this.#file.exec('PRAGMA synchronous = NORMAL');
    try {
      this.#file.write(() => {
        if (this.#row.origin === 'chance') this.#table.remove(this.#row.serial);
        else this.#markTold();
      });
    } finally {
      this.#file.exec('PRAGMA synchronous = FULL');
    }
  }

  /** What was asked for is needed for what is left of it, and for telling what came of it. */
  #markTold(): void {
    const isSpent = this.state === 'done';
    if (this.kind === 'burn') this.#table.elements.unclaim(this.#row.serial);
    const spent: Changes = isSpent ? { body: null } : {};
    this.#row = this.#table.change(this.#row.serial, { told: 1, holder: null, ...spent });
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
