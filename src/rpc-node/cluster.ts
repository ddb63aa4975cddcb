/**
 * The cluster: slots go by, what was sent gets into blocks, blocks become confirmed and final. What is in a block is in the
 * durable ledger at once, but for the blocks of a fork that will come to nothing.
 */
import type { AccountState } from '../chain/account.js';
import type { Signature } from '../chain/chain.js';
import { ADDRESS_LOOKUP_TABLE_PROGRAM } from '../chain/programs.js';
import { type Address, addressBytes } from '../values/address.js';
import { base58Encode } from '../values/base58.js';
import { readBuffer, sameBytes } from '../values/bytes.js';
import { AccountVersions } from './account-versions.js';
import { Announcer } from './announcer.js';
import { Blockhashes } from './blockhashes.js';
import { Fork } from './fork.js';
import { type Advance, type Commitment, type Landed, landedOf } from './landed.js';
import type { AccountSource, LedgerNews, NodeLedger, Run } from './node-ledger.js';
import { Pending, type PendingTransaction } from './pending.js';
import { RecentRuns } from './recent-runs.js';
import type { Timeline } from './timeline.js';

/** How the cluster comes to agree. */
export interface ClusterTerms {
  /** Slots after which a block is confirmed. */
  readonly confirmedAfter: number;
  /** Slots after which it is final. */
  readonly finalizedAfter: number;
  /** From 0 up to 1, the same for the same seed. */
  readonly random: () => number;
}

/** Slots between two tries of the node to get a transaction into a block: two seconds of a cluster. */
const RETRY_SLOTS = 5;

/** Slots that programs take for recent (solana-slot-hashes, `MAX_ENTRIES`). */
const MAX_RECENT_SLOTS = 512;
const LOOKUP_TABLES = readBuffer(addressBytes(ADDRESS_LOOKUP_TABLE_PROGRAM));

/** One cluster on one ledger. Whoever reads it calls {@link refresh} first. */
export class Cluster {
  readonly ledger: NodeLedger;
  readonly timeline: Timeline;
  readonly terms: ClusterTerms;
  readonly blockhashes: Blockhashes;
  readonly recent = new RecentRuns();
  readonly #pending = new Pending();
  readonly #accounts: AccountVersions;
  readonly #announcer: Announcer;
  /** The ledger's own height up to which it has been read. */
  #height: number;
  #slot: number;
  /** What was there at the start is final. */
  readonly #rootAtStart: number;
  #fork: Fork | null = null;
  #forks = 0;

  /** @param slot - what it begins with. @param announce - hears of all that is new at each level. */
  constructor(
    ledger: NodeLedger,
    timeline: Timeline,
    terms: ClusterTerms,
    options: { readonly slot: number; readonly announce: (advance: Advance) => void },
  ) {
    this.ledger = ledger;
    this.timeline = timeline;
    this.terms = terms;
    const { accounts, height } = ledger.snapshot();
    this.#accounts = new AccountVersions(accounts);
    this.#height = height;
    this.#slot = options.slot;
    this.#rootAtStart = this.#slot;
    this.blockhashes = new Blockhashes(ledger.genesisHash, timeline);
    this.blockhashes.grow(this.#slot, 0);
    this.#announcer = new Announcer(options.announce, (commitment) => this.slotOf(commitment));
  }

  /** The newest slot with a block at a level. */
  slotOf(commitment: Commitment): number {
    const { confirmedAfter, finalizedAfter } = this.terms;
    const lag = { processed: 0, confirmed: confirmedAfter, finalized: finalizedAfter }[commitment];
    if (lag === 0) return this.#slot;
    return Math.max(this.#rootAtStart, this.timeline.atOrBefore(this.#slot - lag));
  }

  /** Is something in no block yet, or in one that will not last? */
  get isBusy(): boolean {
    return this.#fork !== null || this.#pending.size > 0;
  }

  /** An account at the end of a slot. */
  accountAt(address: Address, slot: number): AccountState | null {
    const forked = this.#fork?.get(address, slot);
    if (forked !== undefined) return forked;
    return this.#accounts.get(address, slot) ?? this.ledger.builtIn(address);
  }

  /** All addresses with an account at some time. */
  addresses(): ReadonlySet<Address> {
    return new Set([...this.#accounts.addresses(), ...(this.#fork?.changed() ?? [])]);
  }

  /** A transaction in a block of a slot up to this one. */
  find(signature: Signature, slot: number): Landed | null {
    const found = this.#fork?.find(signature) ?? this.#kept(signature);
    return found === null || found.slot > slot ? null : found;
  }

  /** Transactions in blocks of the fork, newest first. */
  forked(): readonly Landed[] {
    return this.#fork?.landed() ?? [];
  }

  /** Tries a transaction out on a state of a slot; nothing is kept. */
  run(
    wire: Uint8Array,
    source: AccountSource,
    slot: number,
    options: { readonly verifySignatures: boolean },
  ): Run {
    this.#tellSlots([wire], slot);
    return this.ledger.run(wire, source, this.timeline.startMs(slot), options);
  }

  /** Takes a transaction; it is tried in the next slot at the earliest. */
  submit(transaction: PendingTransaction): void {
    const due = this.#slot + 1 + transaction.fate.lateSlots;
    this.#pending.add(transaction, due);
    if (transaction.fate.isTwice) this.#pending.add(transaction, due + 1);
  }

  /** Goes on to a slot, and puts into its block what is due. */
  advanceTo(slot: number): void {
    this.#catchUp();
    this.#slot = Math.max(this.#slot, slot);
    this.blockhashes.grow(this.#slot, this.#fork?.id ?? 0);
    if (this.#fork !== null && this.#slot >= this.#fork.untilSlot) this.#leaveFork(this.#fork);
    this.#fillBlock();
    this.#announcer.announce();
  }

  /** Sees what others have written to the ledger. */
  refresh(): void {
    if (this.#catchUp()) this.#announcer.announce();
  }

  /** May the block of a slot take a transaction with this blockhash? */
  isGoodBlockhash(blockhash: string, bytes: Uint8Array, slot: number): boolean {
    if (this.blockhashes.isGood(blockhash, slot)) return true;
    return this.ledger.isGoodBlockhash(bytes, this.timeline.startMs(slot));
  }

  #kept(signature: Signature): Landed | null {
    const kept = this.ledger.find(signature);
    return kept && landedOf(kept, this.timeline, this.recent.runOf(signature));
  }

  #fillBlock(): void {
    const due = this.#pending.takeDue(this.#slot);
    if (due.length === 0) return;
    try {
      this.#fillWith(shuffled(due, this.terms.random));
    } catch (error) {
      // A ledger that another process holds for too long: nothing is in it, and the next slot tries again.
      for (const each of due) this.#pending.add(each, this.#slot + 1);
      throw error;
    }
  }

  #fillWith(due: readonly PendingTransaction[]): void {
    for (const each of due) if (each.fate.isHeld) this.#retry(each);
    const free = due.filter((each) => !each.fate.isHeld);
    if (free.length === 0) return;
    const forkSlots = Math.max(...free.map(({ fate }) => fate.forkSlots));
    if (this.#fork === null && forkSlots > 0) this.#beginFork(forkSlots);
    if (this.#fork === null) this.#land(free);
    else for (const each of free) this.#landOnFork(this.#fork, each);
  }

  #land(transactions: readonly PendingTransaction[]): void {
    const wires = transactions.map(({ wire }) => wire);
    this.#tellSlots(wires, this.#slot);
    const runs = this.ledger.land(wires, this.timeline.startMs(this.#slot), (blockhash, blockMs) =>
      this.blockhashes.isGood(base58Encode(blockhash), this.timeline.slotOfBlock(blockMs)),
    );
    for (const [at, run] of runs.entries()) {
      const transaction = transactions[at] as PendingTransaction;
      if (run?.landed === true) this.recent.keepRun(transaction.signature, run);
      if (run?.landed === false) this.#retry(transaction);
    }
    this.#catchUp();
  }

  #landOnFork(fork: Fork, transaction: PendingTransaction): void {
    const { signature, wire, blockhash } = transaction;
    if (this.find(signature, this.#slot) !== null) return;
    const timeMs = this.timeline.startMs(this.#slot);
    const source = { get: (address: Address) => this.accountAt(address, this.#slot) };
    const run = this.blockhashes.isGood(blockhash, this.#slot)
      ? this.run(wire, source, this.#slot, { verifySignatures: true })
      : null;
    if (run?.landed !== true) {
      this.#retry(transaction);
      return;
    }
    const { error, logs, feeLamports, computeUnits } = run;
    const where = { slot: this.#slot, timeMs, place: null };
    const landed = { signature, wire, error, logs, feeLamports, computeUnits, run, ...where };
    fork.add(transaction, landed, run);
    this.#announcer.add(landed, changedBy(run));
  }

  /** Making a lookup table takes a recent slot; all else does not ask, and is not made to wait for the list. */
  #tellSlots(wires: readonly Uint8Array[], slot: number): void {
    const named = wires.some((wire) => readBuffer(wire).includes(LOOKUP_TABLES));
    if (named) this.ledger.setRecentSlots(this.blockhashes.recent(slot, MAX_RECENT_SLOTS));
  }

  /** Tries again later what may still get into a block. */
  #retry(transaction: PendingTransaction): void {
    const isGood = this.blockhashes.isGood(transaction.blockhash, this.#slot);
    if (transaction.isRetried && isGood) this.#pending.add(transaction, this.#slot + RETRY_SLOTS);
  }

  /** @param slots - fewer where the fork would become final else. */
  #beginFork(slots: number): void {
    const length = Math.min(slots, this.terms.finalizedAfter - 1);
    if (length < 1) return;
    this.#forks += 1;
    this.#fork = new Fork(this.#forks, this.#slot, this.#slot + length);
    this.blockhashes.replaceFrom(this.#slot, this.#forks);
  }

  #leaveFork(fork: Fork): void {
    this.#fork = null;
    this.blockhashes.replaceFrom(fork.fromSlot, 0);
    this.#announcer.takeBack(fork.landed(), new Set(fork.changed()), this.#slot);
    for (const transaction of fork.sent()) {
      if (transaction.fate.isLost) continue;
      this.#pending.add({ ...transaction, fate: { ...transaction.fate, forkSlots: 0 } }, this.#slot);
    }
  }

  /** @returns whether there was anything new. */
  #catchUp(): boolean {
    const news = this.ledger.news(this.#height, ({ wire, signature }) =>
      this.recent.runOf(signature) === null ? this.#namedBy(wire) : [],
    );
    if (news === null) return false;
    this.#height = news.height;
    const foreign = new Map<Address, number>();
    for (const kept of news.transactions) {
      const run = this.recent.runOf(kept.signature);
      const landed = landedOf(kept, this.timeline, run);
      const changed = run === null ? this.#namedBy(kept.wire) : changedBy(run);
      if (run === null) for (const address of changed) foreign.set(address, landed.slot);
      else this.#apply(run, landed.slot);
      this.recent.add(landed);
      this.#announcer.add(landed, changed);
    }
    this.#readAgain(foreign, news);
    this.#slot = Math.max(this.#slot, this.timeline.slotOfBlock(news.timeMs));
    this.blockhashes.grow(this.#slot, this.#fork?.id ?? 0);
    return true;
  }

  #namedBy(wire: Uint8Array): readonly Address[] {
    const source = { get: (address: Address) => this.accountAt(address, this.#slot) };
    return this.ledger.named(wire, source).map(({ address }) => address);
  }

  #apply(run: Run, slot: number): void {
    for (const { address, before, after } of run.accounts)
      if (after !== before) this.#accounts.set(address, slot, after);
  }

  /** Accounts that others may have changed; of several changes at once only the last is seen. */
  #readAgain(foreign: ReadonlyMap<Address, number>, { states }: LedgerNews): void {
    for (const [address, slot] of foreign) {
      const state = states.get(address) ?? null;
      const known = this.#accounts.get(address, Number.POSITIVE_INFINITY) ?? null;
      if (!isSame(known, state)) this.#accounts.set(address, slot, state);
    }
  }
}

const changedBy = ({ accounts }: Run): readonly Address[] =>
  accounts.filter(({ before, after }) => before !== after).map(({ address }) => address);

function isSame(left: AccountState | null, right: AccountState | null): boolean {
  if (left === null || right === null) return left === right;
  return left.lamports === right.lamports && left.owner === right.owner && sameBytes(left.data, right.data);
}

/** Those that are to change places do so among all. */
function shuffled(
  transactions: readonly PendingTransaction[],
  random: () => number,
): readonly PendingTransaction[] {
  const order = [...transactions];
  for (const [at, { fate }] of transactions.entries()) {
    if (!fate.isShuffled) continue;
    const other = Math.floor(random() * order.length);
    [order[at], order[other]] = [order[other] as PendingTransaction, order[at] as PendingTransaction];
  }
  return order;
}
