/** The clock of the ledger: time → slots → block heights, blockhashes and block times. */
import { hash } from 'node:crypto';
import type { SqliteFile } from '../../../files/sqlite-file.js';
import { base58Encode, type ReadonlyBytes, readBuffer, sameBytes } from '../../../values/bytes.js';
import type { Clock } from '../../../values/time.js';
import { BLOCKHASH_LIFETIME_BLOCKS, type RecentBlockhash } from '../../chain.js';

/** First slot of a ledger, so that no slot equals its block height. */
export const FIRST_SLOT = 1_000;
export const heightOf = (slot: number): number => slot - FIRST_SLOT;
const SLOT_MS = 400;
/**
 * If the newest slot is ahead of the time by at most this many slots, the clock waits; beyond that, the system clock was set
 * back.
 */
const WAITED_SLOTS = 2;
const LIFETIME = Number(BLOCKHASH_LIFETIME_BLOCKS);
const HASH_BYTES = 16;
const NUMBER_BYTES = 8;

/** `slot` began at `ms`; `newest` is the newest slot that was saved, `newestMs` its block time. */
interface Kept {
  readonly slot: number;
  readonly ms: number;
  readonly newest: number;
  readonly newestMs: number;
}

/**
 * Every slot has a block, even an empty one. Slots never go backwards: if the system clock is set back, counting continues from
 * the newest slot.
 */
export class LedgerClock {
  /** As in the file, plus an unsaved correction after the system clock was set back. */
  #kept: Kept | undefined;
  #isChanged = false;
  #seen = 0;
  #genesis: ReadonlyBytes | undefined;

  constructor(
    private readonly database: SqliteFile,
    private readonly clock: Clock,
    readonly slotMs = SLOT_MS,
  ) {}

  static begin(database: SqliteFile, genesisHash: ReadonlyBytes, timeMs: number): void {
    const insert = database.prepare('INSERT INTO meta VALUES (?, ?)');
    insert.run(['genesis_hash', genesisHash]);
    const ms = Math.floor(timeMs);
    insert.run(['clock', textOf({ slot: FIRST_SLOT, ms, newest: FIRST_SLOT, newestMs: ms })]);
  }

  get genesisHash(): ReadonlyBytes {
    this.#genesis ??= this.database.decode(() => this.#meta('genesis_hash'));
    return this.#genesis;
  }

  slot(): number {
    const { slot, ms, newest, newestMs } = this.#read();
    const nowMs = Math.floor(this.clock.nowMs());
    const byTime = slot + Math.floor((nowMs - ms) / this.slotMs);
    this.#seen = Math.max(this.#seen, newest);
    if (byTime < this.#seen - WAITED_SLOTS) {
      this.#kept = { slot: this.#seen, ms: nowMs, newest, newestMs };
      this.#isChanged = true;
    }
    this.#seen = Math.max(this.#seen, byTime);
    return this.#seen;
  }

  /** Block time of a slot in ms since the Unix epoch: the start of the slot, never before the time of an earlier block. */
  timeMs(slot: number): number {
    const { slot: from, ms, newest, newestMs } = this.#read();
    const startMs = ms + (slot - from) * this.slotMs;
    return slot < newest ? Math.min(startMs, newestMs) : Math.max(startMs, newestMs);
  }

  /**
   * 32 bytes: half a hash, the slot, a number. The slot makes the age of a blockhash readable.
   * @param number - tells blockhashes of one slot apart, so that signing again after another landing gives another transaction.
   */
  blockhash(slot: number, number = 0): Uint8Array {
    const place = Buffer.alloc(2 * NUMBER_BYTES);
    place.writeBigUInt64LE(BigInt(slot), 0);
    place.writeBigUInt64LE(BigInt(number), NUMBER_BYTES);
    const digest = hash('sha256', Buffer.concat([readBuffer(this.genesisHash), place]), 'buffer');
    return Buffer.concat([digest.subarray(0, HASH_BYTES), place]);
  }

  latest(number: number): RecentBlockhash {
    const slot = this.slot();
    return {
      blockhash: base58Encode(this.blockhash(slot, number)),
      lastValidBlockHeight: BigInt(heightOf(slot)) + BLOCKHASH_LIFETIME_BLOCKS,
    };
  }

  isGood(blockhash: ReadonlyBytes, slot: number): boolean {
    if (blockhash.length !== HASH_BYTES + 2 * NUMBER_BYTES) return false;
    const bytes = readBuffer(blockhash);
    const born = Number(bytes.readBigUInt64LE(HASH_BYTES));
    if (born > slot || slot - born > LIFETIME) return false;
    return sameBytes(bytes, this.blockhash(born, Number(bytes.readBigUInt64LE(HASH_BYTES + NUMBER_BYTES))));
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Saves the newest slot, so that no other process takes an earlier slot for the newest. */
  save(): void {
    const newest = this.slot();
    const kept = { ...this.#read(), newest, newestMs: this.timeMs(newest) };
    this.database.prepare('REPLACE INTO meta VALUES (?, ?)').run(['clock', textOf(kept)]);
    this.#kept = kept;
    this.#isChanged = false;
  }

  forget(): void {
    this.#kept = undefined;
    this.#isChanged = false;
  }

  #read(): Kept {
    this.#kept ??= this.database.decode(
      () => JSON.parse(readBuffer(this.#meta('clock')).toString('utf8')) as Kept,
    );
    return this.#kept;
  }

  #meta(name: string): ReadonlyBytes {
    const [value] = this.database.prepare('SELECT value FROM meta WHERE name = ?').get([name]) ?? [];
    return value as ReadonlyBytes;
  }
}

const textOf = (kept: Kept): Uint8Array => Buffer.from(JSON.stringify(kept));
