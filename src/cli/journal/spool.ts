/**
 * The elements of a request while its file is read, in tables of the journal's connection that are gone with it: SQLite keeps
 * them in a file without a name, so that neither memory nor anything left behind grows with their number.
 */
import { createHash, type Hash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { translateSqliteError } from '../../files/sqlite-errors.js';
import type { SqliteFile, Statement } from '../../files/sqlite-file.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Sha256, sha256 } from '../../values/digest.js';

const TABLES = `
PRAGMA temp_store = FILE;
DROP TABLE IF EXISTS temp.spool_seen; DROP TABLE IF EXISTS temp.spool_digests; DROP TABLE IF EXISTS temp.spool_parts;
CREATE TEMP TABLE spool_seen (text BLOB PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TEMP TABLE spool_digests (element INTEGER PRIMARY KEY, digest BLOB NOT NULL);
CREATE TEMP TABLE spool_parts (part INTEGER PRIMARY KEY, body BLOB NOT NULL);
PRAGMA temp.cache_size = -2000;
`;

/** How many elements equal one before them, and the first two that do. */
export interface EqualElements {
  readonly count: number;
  readonly first: readonly [number, number];
}

/** Elements that stand together, and their digests. */
export interface SpoolPart {
  readonly items: readonly unknown[];
  readonly digests: readonly Sha256[];
}

/** As a part is stored. */
export const packPart = (part: SpoolPart): Buffer => gzipSync(JSON.stringify(part), { level: 1 });
export const unpackPart = (bytes: ReadonlyBytes): SpoolPart =>
  JSON.parse(gunzipSync(readBuffer(bytes)).toString('utf8')) as SpoolPart;

/** It is not the journal that has no room: the other disk may be the one to free. */
const ofTemporaryFile = (error: unknown): unknown =>
  isFlywheelError(error, 'ERR_STORE_UNAVAILABLE') && error.cause !== undefined
    ? translateSqliteError(
        { noun: 'temporary file', path: '(in SQLITE_TMPDIR, TMPDIR or /var/tmp)' },
        error.cause,
      )
    : error;

/** All elements of a request, in parts. */
export class Spool {
  readonly #file: SqliteFile;
  readonly #see: Statement;
  readonly #addDigest: Statement;
  readonly #addPart: Statement;
  readonly #readPart: Statement;
  readonly #content: Hash = createHash('sha256');
  readonly #counts: number[] = [];
  #length = 0;
  #equal: EqualElements | undefined;

  constructor(file: SqliteFile) {
    this.#file = file;
    file.exec(TABLES);
    this.#see = file.prepare(
      `INSERT INTO temp.spool_seen (text, first, count) VALUES (?, ?, 0)
       ON CONFLICT (text) DO UPDATE SET count = count + 1 RETURNING count, first`,
    );
    this.#addDigest = file.prepare('INSERT INTO temp.spool_digests (element, digest) VALUES (?, ?)');
    this.#addPart = file.prepare('INSERT INTO temp.spool_parts (part, body) VALUES (?, ?)');
    this.#readPart = file.prepare('SELECT body FROM temp.spool_parts WHERE part = ?');
  }

  /** Elements in all. */
  get length(): number {
    return this.#length;
  }

  /** Elements of each part. */
  get counts(): readonly number[] {
    return this.#counts;
  }

  get equal(): EqualElements | undefined {
    return this.#equal;
  }

  /**
   * Adds elements as the next part.
   * @param texts - one each, which tell unlike elements apart; alike ones are numbered.
   */
  add(items: readonly unknown[], texts: readonly string[]): void {
    try {
      // Without the lock of a write: only tables of this connection change.
      this.#file.read(() => {
        const digests = texts.map((text, at) => this.#digestOf(text, this.#length + at));
        this.#addPart.run([this.#counts.length, packPart({ items, digests })]);
      });
    } catch (error) {
      throw ofTemporaryFile(error);
    }
    this.#counts.push(items.length);
    this.#length += items.length;
  }

  #digestOf(text: string, element: number): Sha256 {
    const [count, first] = this.#see.get([Buffer.from(sha256(text), 'hex'), element]) ?? [];
    if (Number(count) > 0)
      this.#equal = {
        count: (this.#equal?.count ?? 0) + 1,
        first: this.#equal?.first ?? [Number(first), element],
      };
    const digest = sha256(`${text} ${count}`);
    this.#addDigest.run([element, Buffer.from(digest, 'hex')]);
    this.#content.update(element === 0 ? digest : ` ${digest}`);
    return digest;
  }

  /** The digest of the whole list, as that of the digests between blanks. */
  get content(): Sha256 {
    return this.#content.copy().digest('hex') as Sha256;
  }

  part(part: number): SpoolPart {
    const row = this.#readPart.get([part]);
    return unpackPart(row?.[0] as ReadonlyBytes);
  }
}
