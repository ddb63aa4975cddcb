/**
 * A cluster with slots of any length, by clock or on demand, commitment levels that lag behind, and transactions that are late,
 * dropped, repeated or on a dropped fork.
 */
import { createHash } from 'node:crypto';
import type { AccountState } from '../../src/chain/account.js';
import { FIRST_SLOT } from '../../src/chain/local/ledger/clock.js';
import type { KeptTransaction } from '../../src/chain/local/ledger/tables.js';
import { resolveAccounts } from '../../src/chain/local/runtime/resolve.js';
import type { AccountMeta } from '../../src/chain/transaction/message.js';
import { decodeTransaction } from '../../src/chain/transaction/wire.js';
import { Cluster, type ClusterParts, type Level } from '../../src/rpc-node/cluster.js';
import type { Address } from '../../src/values/address.js';
import { base58Encode, sameBytes } from '../../src/values/bytes.js';
import type { HandClock } from '../support/chain.js';
import { AccountVersions } from './account-versions.js';
import { type Fate, type Faults, seededRandom } from './faults.js';

export interface SlotTerms {
  /** By clock, or one slot for each transaction and each {@link TestCluster.advance}. @default on demand */
  readonly pace?: 'clock' | 'on-demand';
  /** @default 400 */
  readonly slotMs?: number;
  /** Slots until a block is confirmed. @default 2, on demand 0 */
  readonly confirmedAfter?: number;
  /** Slots until a block is final. @default 31, on demand 0 */
  readonly finalizedAfter?: number;
}

/** Slots between two attempts to put a transaction into a block. */
const RETRY_SLOTS = 5;
const MAX_SETTLE_SLOTS = 2_000;

interface SentTransaction {
  readonly signature: string;
  readonly wire: Uint8Array;
  readonly blockhash: string;
  /** Whether the node may resend the transaction. */
  readonly isRetried: boolean;
}

/** Blocks from a slot on, in ledger and memory, that the cluster drops in a later slot. */
interface Fork {
  readonly id: number;
  readonly fromSlot: number;
  readonly untilSlot: number;
  readonly accounts: AccountVersions;
  readonly landed: KeptTransaction[];
  readonly sent: SentTransaction[];
}

export class TestCluster extends Cluster {
  readonly #faults: Faults;
  readonly #random: () => number;
  readonly #lags: Readonly<Record<Level, number>>;
  readonly #clock: HandClock | null;
  readonly #accounts: AccountVersions;
  readonly #fates = new Map<string, Fate>();
  readonly #forkedHashes = new Map<number, string>();
  #waiting: { readonly transaction: SentTransaction; readonly dueSlot: number }[] = [];
  #slot: number;
  readonly #rootAtStart: number;
  #fork: Fork | null = null;
  #forks = 0;
  #read: number;
  #lagSlots = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param clock - the ledger's clock, which advances with the slots on demand. */
  constructor(
    parts: ClusterParts,
    { confirmedAfter, finalizedAfter }: Pick<SlotTerms, 'confirmedAfter' | 'finalizedAfter'>,
    { faults, seed, clock }: { faults: Faults; seed: number; clock: HandClock | null },
  ) {
    super(parts);
    this.#clock = clock;
    this.#faults = faults;
    this.#random = seededRandom(seed, 'order');
    const [confirmed, finalized] = clock === null ? [2, 31] : [0, 0];
    this.#lags = {
      processed: 0,
      confirmed: confirmedAfter ?? confirmed,
      finalized: finalizedAfter ?? finalized,
    };
    this.#accounts = new AccountVersions(super.accounts(0));
    this.#read = this.transactionCount();
    this.#slot = this.newestSlot();
    this.#rootAtStart = this.#slot;
  }

  /** Block time of the newest slot, in ms since the Unix epoch. */
  nowMs(): number {
    return this.timeMs(this.#slot);
  }

  advance(slots = 1): void {
    for (let passed = 0; passed < slots; passed += 1) this.#goTo(this.#slot + 1);
  }

  /** Advances slots until no transaction waits and everything is final. */
  settle(): void {
    const isBusy = (): boolean => this.#fork !== null || this.#waiting.length > 0;
    for (let slots = 0; slots < MAX_SETTLE_SLOTS && (isBusy() || slots === 0); slots += 1) this.advance();
    this.advance(this.#lags.finalized);
  }

  /** Runs `work` against the state of some slots ago, as a lagging node. */
  behind<Result>(slots: number, work: () => Result): Result {
    this.refresh();
    this.#lagSlots = slots;
    try {
      return work();
    } finally {
      this.#lagSlots = 0;
    }
  }

  override slotOf(commitment: Level): number {
    const slot = Math.max(this.#rootAtStart, this.#slot - this.#lags[commitment]);
    return Math.max(FIRST_SLOT, slot - this.#lagSlots);
  }

  override blockhashOf(slot: number): string {
    return this.#forkedHashes.get(slot) ?? super.blockhashOf(slot);
  }

  override isGoodBlockhash(blockhash: string, slot: number): boolean {
    const forked = [...this.#forkedHashes].find(([, hash]) => hash === blockhash);
    return forked === undefined ? super.isGoodBlockhash(blockhash, slot) : forked[0] <= slot;
  }

  override accountAt(address: Address, slot: number): AccountState | null {
    const forked = this.#fork?.accounts.get(address, slot);
    if (forked !== undefined) return forked;
    return this.#accounts.get(address, slot) ?? this.builtIn(address);
  }

  override *accounts(slot: number): Generator<readonly [Address, AccountState]> {
    const forked = this.#fork?.accounts.addresses() ?? [];
    for (const address of new Set([...this.#accounts.addresses(), ...forked])) {
      const state = this.accountAt(address, slot);
      if (state !== null) yield [address, state];
    }
  }

  override find(signature: string, slot: number): KeptTransaction | null {
    const forked = this.#fork?.landed.find((landed) => landed.signature === signature);
    if (forked === undefined) return super.find(signature, slot);
    return forked.slot <= slot ? forked : null;
  }

  override *past(address: Address, before: number | null): Iterable<KeptTransaction> {
    const isNamed = ({ wire }: KeptTransaction): boolean =>
      this.#named(wire).some((named) => named.address === address);
    if (before === null) yield* [...(this.#fork?.landed ?? [])].reverse().filter(isNamed);
    yield* super.past(address, before);
  }

  override submit(wire: Uint8Array, isRetried: boolean): void {
    const { signatures, message } = decodeTransaction(wire);
    const [signature, blockhash] = [...signatures.slice(0, 1), message.blockhash].map(base58Encode) as [
      string,
      string,
    ];
    const transaction = { signature, wire, blockhash, isRetried };
    const fate = this.#faults.forTransaction(signature);
    if (fate === null) return;
    this.#fates.set(transaction.signature, fate);
    // By the clock, and final at once: it lands in the newest block, as on `flywheel local rpc`.
    const isAtOnce = this.#clock === null && this.#lags.finalized === 0;
    const dueSlot = this.#slot + (isAtOnce ? 0 : 1) + fate.lateSlots;
    this.#enqueue(transaction, dueSlot);
    if (fate.isTwice) this.#enqueue(transaction, dueSlot + 1);
    if (this.#clock !== null) this.advance();
    else if (isAtOnce) this.#goTo(this.newestSlot());
  }

  /** Follows the clock, where slots pass by it. */
  follow(onFailure: (error: unknown) => void): void {
    if (this.#clock !== null) return;
    this.#timer = setInterval(() => {
      try {
        this.#goTo(this.newestSlot());
      } catch (error) {
        onFailure(error);
      }
    }, this.slotMs);
  }

  override close(): void {
    clearInterval(this.#timer);
    super.close();
  }

  refresh(): void {
    const count = this.transactionCount();
    if (count === this.#read) return;
    this.#read = count;
    this.#tell(this.newestSlot());
    const now = new Map(super.accounts(0));
    for (const address of new Set([...now.keys(), ...this.#accounts.addresses()])) {
      const state = now.get(address) ?? null;
      const known = this.#accounts.get(address, Number.POSITIVE_INFINITY) ?? null;
      if (!isSame(known, state)) this.#accounts.set(address, this.#slot, state);
    }
  }

  #goTo(slot: number): void {
    this.refresh();
    // Other processes on the ledger, with their own clocks, may have advanced its slots.
    while (this.#clock !== null && this.newestSlot() < slot) this.#clock.timeMs += this.slotMs;
    this.#tell(Math.max(this.#slot, this.newestSlot()));
    if (this.#fork !== null && this.#slot >= this.#fork.untilSlot) this.#leaveFork(this.#fork);
    const due = this.#waiting.filter(({ dueSlot }) => dueSlot <= this.#slot);
    this.#waiting = this.#waiting.filter(({ dueSlot }) => dueSlot > this.#slot);
    try {
      this.#fillBlock(this.#shuffled(due.map(({ transaction }) => transaction)));
    } catch (error) {
      // Another process has locked the ledger for too long.
      for (const { transaction } of due) this.#enqueue(transaction, this.#slot + 1);
      throw error;
    }
    this.refresh();
  }

  #tell(slot: number): void {
    this.#slot = slot;
    if (this.#fork !== null) this.#nameFork(this.#fork);
  }

  #fillBlock(transactions: readonly SentTransaction[]): void {
    const isHeld = ({ signature }: SentTransaction): boolean => this.#fates.get(signature)?.isHeld === true;
    for (const each of transactions.filter(isHeld)) this.#retry(each);
    const free = transactions.filter((each) => !isHeld(each));
    if (free.length === 0) return;
    const forkSlots = Math.max(...free.map(({ signature }) => this.#fates.get(signature)?.forkSlots ?? 0));
    if (this.#fork === null && forkSlots > 0) this.#beginFork(forkSlots);
    for (const each of free) {
      if (this.#fork !== null) this.#landOnFork(this.#fork, each);
      else if (!this.land(each.wire)) this.#retry(each);
    }
  }

  #landOnFork(fork: Fork, transaction: SentTransaction): void {
    const { signature, wire, blockhash } = transaction;
    if (this.find(signature, this.#slot) !== null) return;
    const source = { get: (address: Address) => this.accountAt(address, this.#slot) };
    const run = this.isGoodBlockhash(blockhash, this.#slot) ? this.run(wire, source, true) : null;
    if (run?.landed !== true) {
      this.#retry(transaction);
      return;
    }
    fork.sent.push(transaction);
    const balances = this.#named(wire).map(({ address }) => {
      const before = source.get(address)?.lamports ?? 0n;
      const after = run.changes.get(address);
      return { before, after: after === undefined ? before : (after?.lamports ?? 0n) };
    });
    const { error, logs, feeLamports, computeUnits, innerCalls } = run;
    fork.landed.push({
      ...{ error, logs, feeLamports, computeUnits, innerCalls, balances, signature, wire },
      ...{ place: Number.MAX_SAFE_INTEGER, slot: BigInt(this.#slot), blockTimeMs: this.nowMs() },
      tableAddresses: this.#named(wire)
        .slice(decodeTransaction(wire).message.staticKeys.length)
        .map(({ address }) => address),
    });
    for (const [address, after] of run.changes) fork.accounts.set(address, this.#slot, after);
  }

  #named(wire: Uint8Array): readonly AccountMeta[] {
    const source = { get: (address: Address) => this.accountAt(address, this.#slot) };
    return resolveAccounts(decodeTransaction(wire).message, source);
  }

  /** @param slots - shortened if the fork would become final. */
  #beginFork(slots: number): void {
    const length = Math.min(slots, this.#lags.finalized - 1);
    if (length < 1) return;
    this.#forks += 1;
    const [fromSlot, untilSlot] = [this.#slot, this.#slot + length];
    const accounts = new AccountVersions();
    this.#fork = { id: this.#forks, fromSlot, untilSlot, accounts, landed: [], sent: [] };
    this.#nameFork(this.#fork);
  }

  /** Blocks of a fork have their own hashes. */
  #nameFork({ id, fromSlot }: Fork): void {
    for (let slot = fromSlot; slot <= this.#slot; slot += 1)
      if (!this.#forkedHashes.has(slot)) this.#forkedHashes.set(slot, forkedHash(id, slot));
  }

  #leaveFork(fork: Fork): void {
    this.#fork = null;
    this.#forkedHashes.clear();
    for (const transaction of fork.sent) {
      const fate = this.#fates.get(transaction.signature);
      if (fate === undefined || fate.isLost) continue;
      this.#fates.set(transaction.signature, { ...fate, forkSlots: 0 });
      this.#enqueue(transaction, this.#slot);
    }
  }

  #enqueue(transaction: SentTransaction, dueSlot: number): void {
    this.#waiting.push({ transaction, dueSlot });
  }

  /** Retries later if the transaction can still land. */
  #retry(transaction: SentTransaction): void {
    if (transaction.isRetried && this.isGoodBlockhash(transaction.blockhash, this.#slot))
      this.#enqueue(transaction, this.#slot + RETRY_SLOTS);
  }

  /** Transactions with `reorder` change positions among all. */
  #shuffled(transactions: readonly SentTransaction[]): readonly SentTransaction[] {
    const order = [...transactions];
    for (const [at, { signature }] of transactions.entries()) {
      if (this.#fates.get(signature)?.isShuffled !== true) continue;
      const other = Math.floor(this.#random() * order.length);
      [order[at], order[other]] = [order[other] as SentTransaction, order[at] as SentTransaction];
    }
    return order;
  }
}

const forkedHash = (fork: number, slot: number): string =>
  base58Encode(createHash('sha256').update(`fork ${fork} ${slot}`).digest());

function isSame(left: AccountState | null, right: AccountState | null): boolean {
  if (left === null || right === null) return left === right;
  return left.lamports === right.lamports && left.owner === right.owner && sameBytes(left.data, right.data);
}
