/** The chain of blocks: how a block gets its hash, and which blockhashes are still good. */
import { hash } from 'node:crypto';
import type { SqliteFile, SqlValue } from '../../../files/sqlite-file.js';
import { base58Encode } from '../../../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../../../values/bytes.js';
import { BLOCKHASH_LIFETIME_BLOCKS, BLOCKHASH_LIFETIME_MS, type RecentBlockhash } from '../../chain.js';

/** A block; heights stay far below 2^53. */
export interface Block {
  readonly height: number;
  /** 32 bytes. */
  readonly hash: ReadonlyBytes;
  /** Milliseconds since the Unix epoch; never less than that of the block before. */
  readonly timeMs: number;
}

const LIFETIME = Number(BLOCKHASH_LIFETIME_BLOCKS);
const GENESIS_PREFIX = Buffer.from('flywheel genesis');

const sha256 = (parts: readonly ReadonlyBytes[]): Uint8Array =>
  hash('sha256', Buffer.concat(parts.map(readBuffer)), 'buffer');

const textKey = (bytes: ReadonlyBytes): string => readBuffer(bytes).toString('latin1');

function heightBytes(height: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(height));
  return bytes;
}

/** Block 0 of a chain; the same seed gives the same chain. */
export const genesisBlock = (seed: ReadonlyBytes, timeMs: number): Block => ({
  height: 0,
  hash: sha256([GENESIS_PREFIX, seed]),
  timeMs,
});

/** The block after `previous` that holds the transactions with these signatures. */
export function nextBlock(previous: Block, signatures: readonly ReadonlyBytes[], timeMs: number): Block {
  const height = previous.height + 1;
  return { height, hash: sha256([previous.hash, heightBytes(height), ...signatures]), timeMs };
}

const MARK_DIGITS = 16;

/** Names a block with all that came before it, as text that is greater for later ones. */
export const markOf = ({ height, hash }: Block): string =>
  `${String(height).padStart(MARK_DIGITS, '0')} ${readBuffer(hash).toString('hex')}`;

/**
 * The table `blocks`, with the newest in memory.
 *
 * A hash is good for 150 blocks, and for a minute after the next block has come, whichever is longer. The minute is one of
 * block times, which are in the ledger and never go back: what has expired once has expired for every process and for good.
 */
export class BlockTable {
  readonly #database: SqliteFile;
  /** The last 150 blocks. */
  readonly #recent = new Map<string, number>();
  /** The last that was asked about from before those, and the block time at which it is good no more; transactions of one call share it. */
  #older: { readonly key: string; readonly outlivedMs: number | null } | undefined;
  #tip: Block | undefined;
  /** Where to begin to look for the oldest block whose hash is good; proves nothing. */
  #wasOldestGood = 0;

  constructor(database: SqliteFile) {
    this.#database = database;
  }

  /** Block 0. */
  get genesis(): Block {
    const row = this.#database.prepare('SELECT height, hash, time_ms FROM blocks WHERE height = 0').get([]);
    return this.#database.decode(() => toBlock(row as readonly SqlValue[]));
  }

  get tip(): Block {
    this.#tip ??= this.#readTip();
    return this.#tip;
  }

  /** The newest blockhash and the last block that is sure to take a transaction with it. */
  latest(): RecentBlockhash {
    const { height, hash: bytes } = this.tip;
    return {
      blockhash: base58Encode(bytes),
      lastValidBlockHeight: BigInt(height) + BLOCKHASH_LIFETIME_BLOCKS,
    };
  }

  /** Highest `lastValidBlockHeight` of a blockhash that is good no more; of the newest block where that is less. */
  get expiredHeight(): number {
    return Math.min(this.tip.height, this.#oldestGood() + LIFETIME - 1);
  }

  /** Can a transaction with this blockhash land in the next block? */
  isGood(blockhash: ReadonlyBytes): boolean {
    if (this.#recent.size === 0) this.#readRecent();
    const key = textKey(blockhash);
    if (this.#recent.has(key)) return true;
    if (this.#older?.key !== key) this.#older = { key, ...this.#findOlder(blockhash) };
    const { outlivedMs } = this.#older;
    return outlivedMs !== null && this.tip.timeMs < outlivedMs;
  }

  /** The same of the block after those up to a time. */
  wasGood(blockhash: ReadonlyBytes, timeMs: number): boolean {
    if (timeMs >= this.tip.timeMs) return this.isGood(blockhash);
    const tip = this.#database
      .prepare('SELECT height, time_ms FROM blocks WHERE time_ms <= ? ORDER BY height DESC LIMIT 1')
      .get([timeMs]);
    const [tipHeight, tipMs] = (tip ?? [-1, 0]).map(Number) as [number, number];
    const [found] = this.#database
      .prepare('SELECT height FROM blocks WHERE hash = ? AND height <= ?')
      .all([blockhash, tipHeight]);
    if (found === undefined) return false;
    const height = Number(found[0]);
    // It begins to age with the next block.
    const nextMs = this.#timeOf(height + 1) ?? Number.POSITIVE_INFINITY;
    return tipHeight - height < LIFETIME || tipMs - nextMs < BLOCKHASH_LIFETIME_MS;
  }

  /** Of the block with this mark; `undefined` where there is none. */
  heightOf(mark: string): number | undefined {
    const row = this.#database
      .prepare('SELECT height, hash, time_ms FROM blocks WHERE height = ?')
      .get([Number.parseInt(mark, 10)]);
    const block = row && this.#database.decode(() => toBlock(row));
    return block && markOf(block) === mark ? block.height : undefined;
  }

  #timeOf(height: number): number | undefined {
    const row = this.#database.prepare('SELECT time_ms FROM blocks WHERE height = ?').get([height]);
    return row && Number(row[0]);
  }

  /** Adds the next block; where the commit does not follow, {@link forget} it. */
  append(block: Block): void {
    this.#database
      .prepare('INSERT INTO blocks (height, hash, time_ms) VALUES (?, ?, ?)')
      .run([block.height, block.hash, block.timeMs]);
    // What had no next has one now.
    this.#older = undefined;
    this.#tip = block;
    if (this.#recent.size > 0) this.#slide(block);
  }

  /** Drops all that is in memory. */
  forget(): void {
    this.#tip = undefined;
    this.#older = undefined;
    this.#recent.clear();
  }

  #slide(block: Block): void {
    this.#recent.set(textKey(block.hash), block.height);
    // A map keeps its order: the first entry is the oldest block.
    const oldest = this.#recent.keys().next();
    if (this.#recent.size > LIFETIME && oldest.done !== true) this.#recent.delete(oldest.value);
  }

  /** Of the block with this hash before the last 150; `null` where none is good. */
  #findOlder(blockhash: ReadonlyBytes): { readonly outlivedMs: number | null } {
    // Without an index, which every block would pay for: few transactions name one of these, and they are all in one minute.
    const row = this.#database
      .prepare(
        'SELECT (SELECT time_ms FROM blocks AS next WHERE next.height = found.height + 1) FROM blocks AS found ' +
          'WHERE height BETWEEN ? AND ? AND hash = ? ORDER BY height DESC LIMIT 1',
      )
      .get([this.#oldestGood(), this.tip.height - LIFETIME, blockhash]);
    if (row === undefined) return { outlivedMs: null };
    // One without a next that is written was the newest until this call has added to it.
    const [nextMs] = row;
    return {
      outlivedMs: nextMs === null ? Number.POSITIVE_INFINITY : Number(nextMs) + BLOCKHASH_LIFETIME_MS,
    };
  }

  #oldestGood(): number {
    let high = Math.max(0, this.tip.height + 1 - LIFETIME);
    // Time goes on, and what has been outlived stays so: nearly always it is where it was, or a little further.
    let low = this.#isOutlived(this.#wasOldestGood - 1) ? Math.min(this.#wasOldestGood, high) : 0;
    for (let step = 1; low < high; step *= 2) {
      const next = Math.min(low + step, high) - 1;
      if (this.#isOutlived(next)) low = next + 1;
      else {
        high = next;
        break;
      }
    }
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#isOutlived(middle)) low = middle + 1;
      else high = middle;
    }
    this.#wasOldestGood = low;
    return low;
  }

  /** Is the minute over of a block that is not among the last 150? It begins with the next block: until then it was the newest. */
  #isOutlived(height: number): boolean {
    const nextMs = this.#timeOf(height + 1);
    // One that is not written yet has been added just now.
    return nextMs !== undefined && this.tip.timeMs - nextMs >= BLOCKHASH_LIFETIME_MS;
  }

  #readTip(): Block {
    const row = this.#database
      .prepare('SELECT height, hash, time_ms FROM blocks ORDER BY height DESC LIMIT 1')
      .get([]);
    return this.#database.decode(() => toBlock(row as readonly SqlValue[]));
  }

  #readRecent(): void {
    const rows = this.#database
      .prepare('SELECT hash, height FROM blocks WHERE height > ? ORDER BY height')
      .all([this.tip.height - LIFETIME]);
    for (const [bytes, height] of rows) this.#recent.set(textKey(bytes as ReadonlyBytes), Number(height));
  }
}

const toBlock = ([height, bytes, timeMs]: readonly SqlValue[]): Block => ({
  height: Number(height),
  hash: bytes as ReadonlyBytes,
  timeMs: Number(timeMs),
});
