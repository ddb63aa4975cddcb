/** The elements of operations: which have landed, and which no other operation may take meanwhile. */
import type { SqliteFile, SqlValue } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import type { Sha256 } from '../../values/digest.js';
import type { Elements, OperationKind, OperationState, Overlap, Verdict } from './journal.js';

/** A digest as it is stored. */
export const digestBytes = (digest: Sha256): Buffer => Buffer.from(digest, 'hex');

/** Those of one target. */
export class ElementsTable {
  readonly #file: SqliteFile;
  readonly #target: number;

  constructor(file: SqliteFile, target: number) {
    this.#file = file;
    this.#target = target;
  }

  /** Notes what an operation is made of. */
  claim(serial: number, digests: Elements): void {
    if (!Array.isArray(digests)) {
      // In the order of the table, so that its pages are filled one after the other.
      this.#run(
        `INSERT OR IGNORE INTO elements (target, digest, operation, landed)
         SELECT ?, digest, ?, 0 FROM temp.spool_digests ORDER BY digest`,
        [this.#target, serial],
      );
      return;
    }
    const insert = this.#file.prepare(
      'INSERT OR IGNORE INTO elements (target, digest, operation, landed) VALUES (?, ?, ?, 0)',
    );
    for (const digest of digests) insert.run([this.#target, digestBytes(digest), serial]);
  }

  /** Notes what of an operation has landed. */
  land(serial: number, landed: Verdict['landed']): void {
    if ('allBut' in landed) {
      this.#run('UPDATE elements SET landed = 1 WHERE operation = ? AND landed = 0', [serial]);
      this.#mark(serial, landed.allBut, 0);
    } else {
      this.#mark(serial, landed, 1);
    }
  }

  #mark(serial: number, digests: readonly Sha256[], landed: 0 | 1): void {
    const update = this.#file.prepare(
      'UPDATE elements SET landed = ? WHERE target = ? AND digest = ? AND operation = ?',
    );
    for (const digest of digests) update.run([landed, this.#target, digestBytes(digest), serial]);
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
  overlaps(digests: Elements, serial: number | null): readonly Overlap[] {
    if (this.#get('SELECT 1 FROM elements WHERE target = ? LIMIT 1', [this.#target]) === undefined) return [];
    const find = this.#file.prepare(
      `SELECT e.landed, o.date_changed, o.id, o.kind, o.state, o.command, o.notes FROM elements e JOIN operations o ON o.serial = e.operation
       WHERE e.target = ? AND e.digest = ? AND o.serial <> ? ORDER BY o.state = 'open' DESC, e.landed DESC LIMIT 1`,
    );
    const met = Array.isArray(digests) ? (digests as readonly Sha256[]) : this.#spooledInTable();
    return met.flatMap((digest) => {
      const [landed, date, id, kind, state, command, notes] =
        find.get([this.#target, digestBytes(digest), serial ?? 0]) ?? [];
      if (id === undefined) return [];
      const operation = {
        id: String(id),
        kind: kind as OperationKind,
        state: state as OperationState,
        command: JSON.parse(String(command)),
        notes: JSON.parse(String(notes)),
      };
      return [{ digest, hasLanded: landed === 1, date: String(date), operation }];
    });
  }

  /** Elements of the spool that any operation has, in the order of the spool. */
  #spooledInTable(): readonly Sha256[] {
    const rows = this.#file
      .prepare(
        `SELECT s.digest FROM temp.spool_digests s
         WHERE EXISTS (SELECT 1 FROM elements e WHERE e.target = ? AND e.digest = s.digest) ORDER BY s.element`,
      )
      .all([this.#target]);
    return rows.map(([digest]) => readBuffer(digest as ReadonlyBytes).toString('hex') as Sha256);
  }

  /** Which of these no operation has landed, as numbers from 0. */
  lacking(digests: Elements): readonly number[] {
    if (!Array.isArray(digests)) {
      const rows = this.#file
        .prepare(
          `SELECT s.element FROM temp.spool_digests s WHERE NOT EXISTS
             (SELECT 1 FROM elements e WHERE e.target = ? AND e.digest = s.digest AND e.landed = 1) ORDER BY s.element`,
        )
        .all([this.#target]);
      return rows.map(([element]) => Number(element));
    }
    const list: readonly Sha256[] = digests;
    const landed = this.#file.prepare(
      'SELECT 1 FROM elements WHERE target = ? AND digest = ? AND landed = 1 LIMIT 1',
    );
    return list.flatMap((digest, at) =>
      landed.get([this.#target, digestBytes(digest)]) === undefined ? [at] : [],
    );
  }

  #get(sql: string, parameters: readonly SqlValue[]): readonly SqlValue[] | undefined {
    return this.#file.prepare(sql).get(parameters);
  }

  #run(sql: string, parameters: readonly SqlValue[]): void {
    this.#file.prepare(sql).run(parameters);
  }
}
