/** Writes all that a store holds as lines, in one state, while others go on with it. */
import { STORE_VERSION } from '../migrations/index.js';
import type { Store, StoreTransaction } from '../store.js';
import {
  type ExportEnd,
  type ExportHeader,
  FORMAT,
  FORMAT_VERSION,
  LineDigest,
  rowLine,
  type TableDigest,
  tableLine,
} from './format.js';
import type { Cells } from './rows.js';
import { MOVED_TABLES, type MovedTable } from './tables.js';

/** What a data directory says of its one flywheel beside the store; a database keeps it with the flywheel. */
export interface ProjectPlace {
  /** Of the project. */
  readonly name: string;
  /** JSON. */
  readonly place: string;
}

export interface ExportTerms {
  /** Takes the place of what the store itself says. @default the store's own */
  readonly place?: ProjectPlace;
  /** Hears how many rows are written, now and then. */
  readonly onRows?: (written: number, all: number) => void;
}

/** Text that is written at once. */
const PIECE_LENGTH = 64 * 1_024;

/** Writes in larger pieces, and counts what it writes. */
class LineWriter {
  readonly #write: (text: string) => Promise<void>;
  readonly #digest = new LineDigest();
  #waiting: string[] = [];
  #length = 0;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  async add(line: string): Promise<void> {
    this.#digest.add(line);
    this.#waiting.push(line, '\n');
    this.#length += line.length + 1;
    if (this.#length >= PIECE_LENGTH) await this.flush();
  }

  async flush(): Promise<void> {
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#length = 0;
    if (text !== '') await this.#write(text);
  }

  digest = (): ReturnType<LineDigest['end']> => this.#digest.end();
}

function placed(table: MovedTable, cells: Cells, place: ProjectPlace | undefined): Cells {
  if (place === undefined || table.name !== 'flywheels') return cells;
  return Object.keys(table.columns).map((column, index) =>
    column === 'name' || column === 'place' ? place[column] : (cells[index] ?? null),
  );
}

async function headerOf(tx: StoreTransaction): Promise<ExportHeader> {
  const tables = [];
  for (const table of MOVED_TABLES) tables.push({ name: table.name, rows: await tx.rows.count(table) });
  return {
    format: FORMAT,
    formatVersion: FORMAT_VERSION,
    storeVersion: STORE_VERSION,
    ...(await tx.rows.progress()),
    tables,
  };
}

/**
 * Reads everything in one snapshot; servers and commands go on meanwhile.
 * @param write - what is written together is text of whole lines; the next comes when it is done.
 */
export async function exportStore(
  store: Pick<Store, 'read'>,
  write: (text: string) => Promise<void>,
  { place, onRows = () => undefined }: ExportTerms = {},
): Promise<ExportEnd> {
  const lines = new LineWriter(write);
  const end = await store.read(async (tx): Promise<ExportEnd> => {
    await tx.rows.bePatient();
    const header = await headerOf(tx);
    await lines.add(JSON.stringify(header));
    const all = header.tables.reduce((sum, { rows }) => sum + rows, 0);
    let written = 0;
    const tables: TableDigest[] = [];
    for (const table of MOVED_TABLES) {
      await lines.add(tableLine(table));
      const digest = new LineDigest();
      const before = written;
      for await (const page of tx.rows.pages(table)) {
        for (const cells of page) {
          const line = rowLine(placed(table, cells, place));
          digest.add(line);
          await lines.add(line);
        }
        written += page.length;
        onRows(written, all);
      }
      tables.push({ name: table.name, rows: written - before, sha256: digest.end() });
    }
    return { tables, sha256: lines.digest() };
  });
  await lines.flush();
  await write(`${JSON.stringify(end)}\n`);
  return end;
}
