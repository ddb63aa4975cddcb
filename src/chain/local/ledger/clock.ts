/** The clock of the ledger: slots from time, and from slots block heights, blockhashes and block times. */
import { hash } from 'node:crypto';
import type { SqliteFile } from '../../../files/sqlite-file.js';
import { base58Encode } from '../../../values/base58.js';
import { type ReadonlyBytes, readBuffer, sameBytes } from '../../../values/bytes.js';
import type { Clock } from '../../../values/time.js';
import { BLOCKHASH_LIFETIME_BLOCKS, type RecentBlockhash } from '../../chain.js';

/** The slot in which a ledger begins, so that no slot equals its block height. */
export const FIRST_SLOT = 1_000;
/** With it, 150 slots are a minute. */
const SLOT_MS = 400;
/** Slots by which the newest may be ahead of the time and is waited for; by more, the clock was set back. */
const WAITED_SLOTS = 2;
const LIFETIME = Number(BLOCKHASH_LIFETIME_BLOCKS);
const HASH_BYTES = 16;
const NUMBER_BYTES = 8;

/** A slot and the time at which it begins; the newest slot that was certainly seen, and the time of its block. */
interface Kept {
  readonly slot: number;
  readonly ms: number;
  readonly newest: number;
  readonly newestMs: number;
}

/**
 * Every slot has a block, also an empty one. A slot is never shown after a later one: where the clock was set back, the slots
 * go on from the newest.
 */
export class LedgerClock {
  readonly slotMs: number;
  readonly #database: SqliteFile;
  readonly #clock: Clock;
  /** As the file has it, and changed where the clock was set back. */
  #kept: Kept | undefined;
  #isChanged = false;
  /** The newest slot that this process has seen. */
  #seen = 0;
  #genesis: ReadonlyBytes | undefined;

  constructor(database: SqliteFile, clock: Clock, slotMs = SLOT_MS) {
    this.#database = database;
    this.#clock = clock;
    this.slotMs = slotMs;
  }

  /** What a new ledger begins with. */
  static begin(database: SqliteFile, genesisHash: ReadonlyBytes, timeMs: number): void {
    const insert = database.prepare('INSERT INTO meta VALUES (?, ?)');
    insert.run(['genesis_hash', genesisHash]);
    const ms = Math.floor(timeMs);
    insert.run(['clock', textOf({ slot: FIRST_SLOT, ms, newest: FIRST_SLOT, newestMs: ms })]);
  }

  /** 32 bytes that tell this ledger from all others. */
  get genesisHash(): ReadonlyBytes {
    this.#genesis ??= this.#database.decode(() => this.#meta('genesis_hash'));
    return this.#genesis;
  }

  /** The newest slot. */
  slot(): number {
    const { slot, ms, newest, newestMs } = this.#read();
    const nowMs = Math.floor(this.#clock.nowMs());
    const byTime = slot + Math.floor((nowMs - ms) / this.slotMs);
    this.#seen = Math.max(this.#seen, newest);
    if (byTime < this.#seen - WAITED_SLOTS) {
      this.#kept = { slot: this.#seen, ms: nowMs, newest, newestMs };
      this.#isChanged = true;
    }
    this.#seen = Math.max(this.#seen, byTime);
    return this.#seen;
  }

  heightOf(slot: number): number {
    return slot - FIRST_SLOT;
  }

  /** Time of the block of a slot, in ms since the Unix epoch: when the slot begins, and never before that of an earlier block. */
  timeMs(slot: number): number {
    const { slot: from, ms, newest, newestMs } = this.#read();
    const startMs = ms + (slot - from) * this.slotMs;
    return slot < newest ? Math.min(startMs, newestMs) : Math.max(startMs, newestMs);
  }

  /**
   * 32 bytes that tell of themselves which slot they are of: half a hash, the slot and a number.
   * @param number - tells hashes of one slot apart: what is signed again after something has landed is another transaction.
   */
  blockhash(slot: number, number = 0): Uint8Array {
    const place = Buffer.alloc(2 * NUMBER_BYTES);
    place.writeBigUInt64LE(BigInt(slot), 0);
    place.writeBigUInt64LE(BigInt(number), NUMBER_BYTES);
    const digest = hash('sha256', Buffer.concat([readBuffer(this.genesisHash), place]), 'buffer');
    return Buffer.concat([digest.subarray(0, HASH_BYTES), place]);
  }

  /** The newest blockhash, and the last block that takes a transaction with it. */
  latest(number: number): RecentBlockhash {
    const slot = this.slot();
    return {
      blockhash: base58Encode(this.blockhash(slot, number)),
      lastValidBlockHeight: BigInt(this.heightOf(slot)) + BLOCKHASH_LIFETIME_BLOCKS,
    };
  }

  /** May the block of a slot take a transaction with this blockhash? */
  isGood(blockhash: ReadonlyBytes, slot: number): boolean {
    if (blockhash.length !== HASH_BYTES + 2 * NUMBER_BYTES) return false;
    const bytes = readBuffer(blockhash);
    const born = Number(bytes.readBigUInt64LE(HASH_BYTES));
    if (born > slot || slot - born > LIFETIME) return false;
    return sameBytes(bytes, this.blockhash(born, Number(bytes.readBigUInt64LE(HASH_BYTES + NUMBER_BYTES))));
  }

  /** Does {@link save} have anything to write? */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Has it in the file that a slot was seen, so that no other process takes an earlier one for the newest. */
  save(): void {
    const newest = this.slot();
    const kept = { ...this.#read(), newest, newestMs: this.timeMs(newest) };
    this.#database.prepare('REPLACE INTO meta VALUES (?, ?)').run(['clock', textOf(kept)]);
    this.#kept = kept;
    this.#isChanged = false;
  }

  /** Drops what was read of the file. */
  forget(): void {
    this.#kept = undefined;
    this.#isChanged = false;
  }

  #read(): Kept {
    this.#kept ??= this.#database.decode(
      () => JSON.parse(readBuffer(this.#meta('clock')).toString('utf8')) as Kept,
    );
    return this.#kept;
  }

  #meta(name: string): ReadonlyBytes {
    const [value] = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get([name]) ?? [];
    return value as ReadonlyBytes;
  }
}

const textOf = (kept: Kept): Uint8Array => Buffer.from(JSON.stringify(kept));
