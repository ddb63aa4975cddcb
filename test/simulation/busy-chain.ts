/** Others use the chain too: so many blocks pass at once that every blockhash there was is good no more. */
import { BlockTable, nextBlock } from '../../src/chain/local/ledger/block-table.js';
import { openSqliteFile, type SqliteFile } from '../../src/files/sqlite-file.js';
import type { Scheduler } from './scheduler.js';

/** More than a blockhash lives, in both measures. */
const BLOCKS = 152;
const PASSING_MS = 61_000;

export class BusyChain {
  readonly #path: string;
  readonly #scheduler: Scheduler;
  #file: SqliteFile | undefined;

  constructor(path: string, scheduler: Scheduler) {
    this.#path = path;
    this.#scheduler = scheduler;
  }

  async open(): Promise<void> {
    const terms = { noun: 'ledger', readOnly: false, create: false, inspect: () => undefined };
    this.#file = await openSqliteFile({ path: this.#path, ...terms });
  }

  /** Takes a minute, in which nobody else gets to do anything. */
  pass(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#scheduler.jump(PASSING_MS);
    file.write(() => {
      const blocks = new BlockTable(file);
      const timeMs = Math.max(blocks.tip.timeMs + PASSING_MS, this.#scheduler.nowMs);
      for (let count = 0; count < BLOCKS; count += 1)
        blocks.append(nextBlock(blocks.tip, [], count === 0 ? blocks.tip.timeMs : timeMs));
      blocks.flush();
    });
  }

  close(): void {
    this.#file?.close();
  }
}
