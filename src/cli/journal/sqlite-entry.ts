/** One operation in the journal's file, as the process that holds it sees and changes it. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { SqliteFile } from '../../files/sqlite-file.js';
import type { Sha256 } from '../../values/digest.js';
import {
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
  readonly run: number;
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

  get hasAnswers(): boolean {
    return this.#table.hasAnswers(this.#row.serial);
  }

  get hasLanded(): boolean {
    return this.#table.hasLanded(this.#row.serial);
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

  lacking(elements: readonly Sha256[]): readonly Sha256[] {
    const known = this.#table.overlaps(elements, null);
    const landed = new Set(known.filter(({ hasLanded }) => hasLanded).map(({ digest }) => digest));
    return elements.filter((digest) => !landed.has(digest));
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

  markPrinted(): void {
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
