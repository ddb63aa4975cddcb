/** The elements of operations: which have landed, and which no other operation may take meanwhile. */
import type { SqliteFile, SqlValue } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import type { Sha256 } from '../../values/digest.js';
import type { ChangedElement, Element, Overlap } from './journal.js';

/** A digest as it is stored. */
export const digestBytes = (digest: Sha256): Buffer => Buffer.from(digest, 'hex');

const digestOf = (value: SqlValue | undefined): string => readBuffer(value as ReadonlyBytes).toString('hex');

/** The elements table, limited to the operations of one place. */
export class ElementsTable {
  readonly #file: SqliteFile;
  /** All targets that are the same place, as an SQL list. */
  readonly #place: string;

  constructor(file: SqliteFile, place: string) {
    this.#file = file;
    this.#place = place;
  }

  /** Notes what an operation is made of. */
  claim(serial: number, elements: readonly Element[]): void {
    const insert = this.#file.prepare(
      `INSERT INTO elements (target, digest, operation, landed, content, subject)
       SELECT target, ?, serial, 0, ?, ? FROM operations WHERE serial = ?
       ON CONFLICT DO UPDATE SET landed = 0 WHERE landed < 0`,
    );
    for (const { digest, content, subject } of elements)
      insert.run([digestBytes(digest), digestBytes(content), digestBytes(subject), serial]);
  }

  /** Notes what of an operation has landed. */
  land(serial: number, digests: readonly Sha256[]): void {
    const update = this.#file.prepare(
      `UPDATE elements SET landed = 1 WHERE target IN ${this.#place} AND digest = ? AND operation = ?`,
    );
    for (const digest of digests) update.run([digestBytes(digest), serial]);
  }

  hasLanded(serial: number): boolean {
    return this.#exists('operation = ? AND landed = 1', [serial]);
  }

  /** Lets go of what of an operation has not landed. */
  unclaim(serial: number): void {
    this.#file.prepare('UPDATE elements SET landed = -1 WHERE operation = ? AND landed = 0').run([serial]);
  }

  /** Forgets what an operation of which nothing has landed is made of. */
  drop(serial: number): void {
    this.#file.prepare('DELETE FROM elements WHERE operation = ? AND landed <= 0').run([serial]);
  }

  /**
   * Which of these are in operations other than this one, landed or not; one line a digest.
   * @param from - of those that have landed, the first operation that counts.
   */
  overlaps(digests: readonly Sha256[], serial: number | null, from = 0): readonly Overlap[] {
    if (this.#isEmpty) return [];
    const find = this.#file.prepare(
      `SELECT e.landed, o.date_changed, o.id, o.kind, o.state, o.command, o.notes FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target IN ${this.#place} AND e.digest = ? AND e.landed >= 0 AND o.serial <> ? AND (e.landed = 0 OR o.serial > ?) ORDER BY o.state = 'open' DESC, e.landed DESC LIMIT 1`,
    );
    return digests.flatMap((digest) => {
      const [landed, date, id, kind, state, command, notes] =
        find.get([digestBytes(digest), serial ?? 0, from]) ?? [];
      if (id === undefined) return [];
      const operation = {
        id,
        kind,
        state,
        command: JSON.parse(String(command)),
        notes: JSON.parse(String(notes)),
      };
      return [
        { digest, hasLanded: landed === 1, date: String(date), operation: operation as Overlap['operation'] },
      ];
    });
  }

  /**
   * Elements about something of which another one has landed that is not among them: equal but for its amounts and recipients.
   * What stood beside the other one in its own file, and did not land there, is no change of it.
   * @param taken - numbers of those that are looked at; `null`: all.
   */
  changes(elements: readonly Element[], taken: readonly number[] | null): readonly ChangedElement[] {
    if (this.#isEmpty) return [];
    const contents = new Set(elements.map(({ content }) => content as string));
    const find = this.#file.prepare(
      `SELECT e.content, o.date_changed FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target IN ${this.#place} AND e.subject = ? AND e.landed = 1
         AND NOT EXISTS (SELECT 1 FROM elements s WHERE s.operation = e.operation AND s.content = ?) ORDER BY o.serial DESC`,
    );
    return (taken ?? [...elements.keys()]).flatMap((index) => {
      const element = elements[index];
      if (element === undefined) return [];
      const others = find.all([digestBytes(element.subject), digestBytes(element.content)]);
      const other = others.find(([content]) => !contents.has(digestOf(content)));
      return other === undefined ? [] : [{ index, date: String(other[1]) }];
    });
  }

  /** By content, how many that say the same as these have landed from an operation on, whichever of several equal ones they were. */
  countLanded(elements: readonly Element[], from: number): Map<Sha256, number> {
    const count = this.#file.prepare(
      `SELECT count(DISTINCT digest) FROM elements
       WHERE target IN ${this.#place} AND subject = ? AND content = ? AND landed = 1 AND operation >= ?`,
    );
    return new Map(
      elements.map(({ content, subject }) => [
        content,
        Number(count.get([digestBytes(subject), digestBytes(content), from])?.[0] ?? 0),
      ]),
    );
  }

  /** Which of these no operation from this one on has landed, as numbers from 0. */
  lacking(elements: readonly Element[], from = 0): readonly number[] {
    const landed = this.#file.prepare(
      `SELECT 1 FROM elements WHERE target IN ${this.#place} AND digest = ? AND landed = 1 AND operation >= ? LIMIT 1`,
    );
    return elements.flatMap(({ digest }, at) =>
      landed.get([digestBytes(digest), from]) === undefined ? [at] : [],
    );
  }

  get #isEmpty(): boolean {
    return !this.#exists(`target IN ${this.#place}`, []);
  }

  #exists(where: string, parameters: readonly SqlValue[]): boolean {
    return this.#file.prepare(`SELECT 1 FROM elements WHERE ${where} LIMIT 1`).get(parameters) !== undefined;
  }
}
