/**
 * A cluster as the engine's chain. The answer to a send proves nothing. A transaction has landed when it is confirmed. It can
 * never land when the finalized block height is above its last valid height, its blockhash is no longer valid, and each node of
 * the quorum answers, in a state at least that new, that it knows an older transaction and not this one.
 */
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Clock } from '../../values/time.js';
import { type AccountState, type Rent, rentFromEmpty } from '../account.js';
import {
  BLOCKHASH_LIFETIME_BLOCKS,
  type Chain,
  type Commitment,
  DEFAULT_MAX_PRIORITY_FEE_LAMPORTS,
  type Past,
  type PastTransaction,
  type PriorityFees,
  type RecentBlockhash,
  type Rejection,
  type Signature,
  type Sought,
  type Trace,
  type TransactionRecord,
} from '../chain.js';
import { feeOf } from '../small-programs.js';
import { decodeTransaction } from '../transaction/wire.js';
import { chunks, MAX_SIGNATURES_PER_CALL, traceExpired } from './expiry.js';
import { NodePool, type NodePoolOptions, type Voice } from './node-pool.js';
import { createOutgoing } from './outgoing.js';
import * as questions from './questions.js';
import { hasLanded, SIGNATURES_PER_PAGE, type Status, sameStatus } from './questions.js';

const POLL_MS = 500;
/** Lifetime of the cached finalized state; an older one only proves less. */
const FINALIZED_FOR_MS = 5_000;
const RENT_FOR_MS = 600_000;
/** About an hour: farther behind is no node that is used. */
const MAX_AHEAD_BLOCKS = 9_000n;
const MAX_BLOCK_TIMES = 64;
const PRICE_FOR_MS = 10_000;
/** Price without any answer: 200 lamports for the 20,000 compute units of a burn. */
const DEFAULT_MICRO_LAMPORTS = 10_000n;
const MAX_PRICES = 64;
/** Limit of a node (agave, `MAX_MULTIPLE_ACCOUNTS`). */
const MAX_ACCOUNTS_PER_CALL = 100;
const NO_DETAILS = { wire: null, blockTimeMs: 0, logs: [], feeLamports: 0n, computeUnits: 0n };

interface ClusterOptions extends NodePoolOptions {
  /** @default 500 */
  readonly pollMs?: number;
  /** A transaction counts as landed from this commitment on. @default confirmed */
  readonly commitment?: Commitment;
  readonly maxPriorityFeeLamports?: bigint;
}

type Finalized = { readonly blockHeight: bigint; readonly slot: number };

/** The status of one transaction at each node of the quorum. */
type Heard = readonly Voice<Status | null>[];

const FORGOTTEN: Trace = { kind: 'open', isOver: true };

const openAfter = (heard: Heard): Trace => ({
  kind: 'open',
  ...(heard.every(({ value }) => value !== null && value.error === null) && { ranWell: true }),
  progress: {
    slot: Math.max(...heard.map(({ slot = 0 }) => slot)),
    isRun: heard.some(({ value }) => value !== null),
  },
});

type Listed = Omit<PastTransaction, 'isAgreed'>;

/**
 * The cluster behind the nodes; no request before the first call.
 *
 * Every method throws `ERR_UNAVAILABLE` when no node answers in time, `ERR_RESPONSE_INVALID` for impossible answers, and
 * `ERR_CHAIN_MISMATCH` when nodes of the quorum disagree or belong to different clusters.
 */
export class ClusterChain implements Chain {
  readonly pollMs: number;
  readonly fees: PriorityFees;
  readonly #pool: NodePool;
  readonly #clock: Clock;
  readonly #commitment: Commitment;
  readonly #outgoing: ReturnType<typeof createOutgoing>;
  #finalized: Finalized = { blockHeight: 0n, slot: 0 };
  #finalizedMs = Number.NEGATIVE_INFINITY;
  /** Newest slot of which accounts were read, or in which a transaction of this process landed; later reads depend on it. */
  #seenSlot = 0;
  #rent: { readonly rent: Rent; readonly askedMs: number } | undefined;
  readonly #blockTimes = new Map<number, number>();

  constructor(options: ClusterOptions) {
    const { clock, maxPriorityFeeLamports = DEFAULT_MAX_PRIORITY_FEE_LAMPORTS } = options;
    this.#pool = new NodePool({ ...options, onBehind: () => this.#forgetSlots() });
    this.#clock = clock;
    this.#commitment = options.commitment ?? 'confirmed';
    this.pollMs = options.pollMs ?? POLL_MS;
    this.#outgoing = createOutgoing(this.#pool, clock);
    this.fees = createRecentFees(this.#pool, clock, maxPriorityFeeLamports);
  }

  async genesisHash(): Promise<string> {
    return (await this.#pool.agreed(questions.genesis)).value;
  }

  /**
   * Reads a state at least as new as every one read before and every transaction seen to land: a node behind would return outdated
   * accounts. Each call of 100 accounts reads a state at least as new as the one before.
   */
  async getAccounts(
    addresses: readonly Address[],
    commitment?: Commitment,
  ): Promise<readonly (AccountState | null)[]> {
    const finalized = await this.#lastFinalized();
    let floor = commitment === 'finalized' ? finalized.slot : this.#newestSlot;
    const states: (AccountState | null)[] = [];
    for (const chunk of chunks(addresses, MAX_ACCOUNTS_PER_CALL)) {
      const question = questions.accounts(chunk, commitment);
      const { value, slot = 0 }: Voice<typeof states> = await this.#pool.agreed(question, floor);
      floor = slot;
      states.push(...value);
    }
    this.#seenSlot = Math.max(this.#seenSlot, floor);
    return states;
  }

  /**
   * With a quorum, no node alone says how long a blockhash lives: told too low, a transaction in flight would pass for expired. A
   * node that knows a blockhash and is asked for its newest one afterwards names a height that is no lower.
   */
  async latestBlockhash(): Promise<RecentBlockhash> {
    const newest = await this.#pool.one(questions.latestBlockhash);
    const { blockhash, lastValidBlockHeight } = newest;
    const expired = await this.expiredHeight();
    // What is signed with it would stay open for as long. Told too low, nothing may prove later that it never landed.
    if (lastValidBlockHeight <= expired || lastValidBlockHeight > expired + MAX_AHEAD_BLOCKS)
      throw disagreeing('disagree about the block height');
    if (this.#pool.quorum === 1) return newest;
    const { value: isKnown, slot } = await this.#pool.agreed(questions.validity(blockhash));
    if (!isKnown) throw disagreeing(`do not know the blockhash ${blockhash}, which one of them gave`);
    const voices = await this.#pool.ask(questions.latestBlockhash, { minContextSlot: slot });
    const heights = voices.map(({ value }) => value.lastValidBlockHeight).sort((a, b) => Number(a - b));
    const [lowest, highest] = [heights[0] as bigint, heights.at(-1) as bigint];
    if (highest - lowest > BLOCKHASH_LIFETIME_BLOCKS) throw disagreeing('disagree about the block height');
    return { blockhash, lastValidBlockHeight: highest };
  }

  async isBlockhashValid(blockhash: string): Promise<boolean> {
    return (await this.#pool.agreed(questions.validity(blockhash))).value;
  }

  async lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]> {
    const records: (TransactionRecord | null)[] = [];
    for (const chunk of chunks(signatures, MAX_SIGNATURES_PER_CALL)) {
      const { value } = await this.#pool.agreed(questions.statuses(chunk));
      for (const [at, signature] of chunk.entries()) {
        const status = value[at];
        records.push(hasLanded(status) ? await this.#record(signature, status) : null);
      }
    }
    return records;
  }

  /**
   * The union of the histories of all queried nodes: one node cannot hide a transaction that another reports, nor move it or let
   * it fail, and an invented one has not landed for the others. All pages of a list come from the same node.
   */
  async history(account: Address, past: Past): ReturnType<Chain['history']> {
    const { limit = Number.POSITIVE_INFINITY, sinceSlot = 0 } = past;
    const first = questions.past(account, undefined, limit);
    // A node that is behind hides the newest transactions, such as those that closed accounts which were read before.
    await this.#lastFinalized();
    const minContextSlot = Math.max(sinceSlot, this.#newestSlot);
    const voices = await this.#pool.ask(first, { minContextSlot });
    const found = new Map<Signature, { readonly entry: Listed; readonly tellers: number }>();
    for (const voice of voices) {
      const listed = await this.#listOf(voice, account, { ...past, limit, sinceSlot: minContextSlot });
      // A node that lists a transaction twice is one teller.
      for (const entry of new Map(listed.map((one) => [one.signature, one])).values()) {
        const { signature, slot, failed } = entry;
        const { entry: told, tellers } = found.get(signature) ?? { entry, tellers: 0 };
        // Some nodes store no memos.
        const memo = told.memo ?? entry.memo;
        if (told.slot !== slot || told.failed !== failed || memo !== (entry.memo ?? memo))
          throw disagreeing(`disagree about the transaction ${signature}`);
        found.set(signature, { entry: { ...told, memo }, tellers: tellers + 1 });
      }
    }
    const listing = [...found.values()]
      .map(({ entry, tellers }) => ({ ...entry, isAgreed: tellers === voices.length }))
      .toSorted((left, right) => right.slot - left.slot);
    return Object.assign(listing, {
      nodes: voices
        .map(({ node }) => node.host)
        .sort()
        .join(' '),
    });
  }

  /** Cached for a while. @throws `ERR_CHAIN_MISMATCH` when nodes differ */
  async rent(): Promise<Rent> {
    const nowMs = this.#clock.nowMs();
    if (this.#rent !== undefined && nowMs - this.#rent.askedMs < RENT_FOR_MS) return this.#rent.rent;
    const voices = await this.#pool.ask(questions.rent);
    const [{ value: rent }] = voices as readonly [(typeof voices)[number]];
    if (voices.some(({ value }) => value !== rent)) throw disagreeing('disagree about the rent');
    this.#rent = { rent: rentFromEmpty(rent), askedMs: nowMs };
    return this.#rent.rent;
  }

  /** A transaction may still land in the block of its last valid height, so expiry needs one more block. */
  async expiredHeight(sinceSlot = 0): Promise<bigint> {
    const { blockHeight } = await this.#lastFinalized(sinceSlot);
    return blockHeight - 1n;
  }

  async trace(sought: readonly Sought[]): Promise<readonly Trace[]> {
    // One state for all: other questions may forget it meanwhile, or learn an older one.
    const finalized = await this.#lastFinalized();
    const { slot: minContextSlot } = finalized;
    const traces: Trace[] = [];
    for (const chunk of chunks(sought, MAX_SIGNATURES_PER_CALL)) {
      const question = questions.statuses(chunk.map(({ signature }) => signature));
      // Only nodes that have seen the finalized state may answer.
      const voices = await this.#pool.ask(question, { minContextSlot });
      for (const [index, one] of chunk.entries()) {
        const heard = voices.map(({ value, ...voice }) => ({ ...voice, value: value[index] ?? null }));
        traces.push(await this.#traceOne(one, heard, finalized));
      }
    }
    const expired = sought.filter((_, at) => traces[at] === FORGOTTEN);
    const proven = await traceExpired(this.#pool, expired, minContextSlot);
    for (const [at, { signature }] of sought.entries()) {
      const trace = proven.get(signature);
      if (trace !== undefined) traces[at] = trace;
      if (trace?.kind === 'never') this.#outgoing.forget(signature);
    }
    await this.#outgoing.resend(
      sought.flatMap(({ signature }, index) => {
        const trace = traces[index];
        return trace?.kind === 'open' && trace.isOver !== true ? signature : [];
      }),
    );
    return traces;
  }

  async submit(
    transactions: readonly Uint8Array[],
    areNew: readonly boolean[] = [],
  ): Promise<readonly (Rejection | null)[]> {
    return this.#outgoing.submit(transactions, areNew, this.#newestSlot);
  }

  /** A cluster has no atomic bundles: only the first bundle is sent, and order comes from waiting for each outcome. */
  async submitBundles(
    bundles: readonly (readonly Uint8Array[])[],
    areNew: readonly boolean[] = [],
  ): Promise<readonly (Rejection | null)[]> {
    const [first] = bundles;
    if (first === undefined) return [];
    invariant(first.length === 1, `A bundle is one transaction here, got ${first.length}.`);
    return this.submit(first, areNew.slice(0, 1));
  }

  async #listOf(
    { node, value: first }: Voice<readonly Listed[]>,
    account: Address,
    { sinceMs = 0, limit, sinceSlot: minContextSlot, withMemos }: Past & { readonly limit: number },
  ): Promise<readonly Listed[]> {
    // A node that is behind does not know where the page begins, and lists nothing.
    const terms = { minContextSlot, only: node };
    const listed: Listed[] = [];
    const known = new Set<Signature>();
    for (let page = first; ; ) {
      const [{ signature = '', slot = 0 } = {}] = page;
      if (known.has(signature) || slot > (listed.at(-1)?.slot ?? slot)) throw repeating();
      for (const { signature } of page) known.add(signature);
      const isLast = page.length < Math.min(limit - listed.length, SIGNATURES_PER_PAGE);
      // A node must not decide how much memory a list takes.
      listed.push(...(withMemos ? page : page.map((one) => ({ ...one, memo: null }))));
      const isLate = page.some(({ blockTimeMs }) => blockTimeMs !== null && blockTimeMs < sinceMs);
      if (isLast || isLate || listed.length >= limit)
        return listed.filter(({ blockTimeMs }) => blockTimeMs === null || blockTimeMs >= sinceMs);
      page = await this.#pool.one(
        questions.past(account, page.at(-1)?.signature, limit - listed.length),
        terms,
      );
    }
  }

  /** A slot that no node reaches was told too high. Until the next answers, reads may be of an older state. */
  #forgetSlots(): void {
    this.#finalized = { blockHeight: 0n, slot: 0 };
    this.#finalizedMs = Number.NEGATIVE_INFINITY;
    this.#seenSlot = 0;
  }

  get #newestSlot(): number {
    return Math.max(this.#finalized.slot, this.#seenSlot);
  }

  /** The lowest finalized height of the quorum, with the highest slot: a node at that slot has seen every height. */
  async #lastFinalized(minContextSlot = 0) {
    const isKept = this.#clock.nowMs() - this.#finalizedMs < FINALIZED_FOR_MS;
    if (isKept && minContextSlot === 0) return this.#finalized;
    const voices = await this.#pool.ask(questions.finalized(minContextSlot));
    const states = voices.map(({ value }) => value);
    const heights = states.map(({ blockHeight }) => blockHeight);
    const lowest = heights.reduce((least, next) => (next < least ? next : least));
    const slot = Math.max(...states.map((state) => state.slot));
    // It may go down: a lower height only proves less, and one that was told too high does not stay.
    this.#finalized = { blockHeight: lowest, slot };
    this.#finalizedMs = this.#clock.nowMs();
    return this.#finalized;
  }

  /** All nodes of the quorum must agree; otherwise the outcome is open. */
  async #traceOne(sought: Sought, heard: Heard, { blockHeight, slot }: Finalized): Promise<Trace> {
    const { signature, lastValidBlockHeight } = sought;
    const [{ value: status }] = heard as readonly [Voice<Status | null>];
    if (hasLanded(status) && heard.every(({ value }) => sameStatus(value, status))) {
      const isFinal = heard.every(({ value }) => value?.level === 'finalized');
      // A failed transaction may still succeed on another fork, so only a finalized failure counts.
      if (!isFinal && (status.error !== null || this.#commitment === 'finalized')) return openAfter(heard);
      return { kind: 'landed', record: await this.#recordOf(sought, status, isFinal), isFinal };
    }
    const isAbsent = heard.every(({ value }) => value === null);
    if (lastValidBlockHeight >= blockHeight) return openAfter(heard);
    if (isAbsent) return FORGOTTEN;
    // Nodes that still disagree would do so for ever.
    await this.#pool.agreed(questions.statuses([signature]), slot);
    return openAfter(heard);
  }

  async #recordOf(sought: Sought, status: Status, isFinal: boolean): Promise<TransactionRecord> {
    const { signature, bytes, paysOnlyFee = !isFinal } = sought;
    const { slot, error } = status;
    this.#seenSlot = Math.max(this.#seenSlot, slot);
    this.#outgoing.forget(signature);
    const own = bytes && { wire: bytes, feeLamports: feeOf(decodeTransaction(bytes).message) };
    const isKnown = own !== undefined && error === null && paysOnlyFee;
    const told = isKnown
      ? { signature, slot: BigInt(slot), error, ...NO_DETAILS }
      : await this.#record(signature, status);
    const blockTimeMs = told.blockTimeMs || (await this.#blockTimeMs(slot));
    return { ...told, ...(told.wire === null ? own : {}), blockTimeMs };
  }

  /** The outcome comes from the status, the details from the transaction if the nodes still store it. */
  async #record(signature: Signature, { slot, error }: Status): Promise<TransactionRecord> {
    const { value } = await this.#pool.agreed(questions.transaction(signature));
    const { hasFailed, ...details } = value ?? { ...NO_DETAILS, hasFailed: undefined };
    if (hasFailed !== undefined && hasFailed !== (error !== null))
      throw disagreeing(`contradict themselves on whether the transaction ${signature} failed`);
    return { signature, slot: BigInt(slot), error, ...details };
  }

  /** 0 where no node knows, or nodes of the quorum differ: a missing block time does not change the fact of landing. */
  async #blockTimeMs(slot: number): Promise<number> {
    const known = this.#blockTimes.get(slot);
    if (known !== undefined) return known;
    const timeMs = await this.#pool.maybe(questions.blockTime(slot), this.#pool.quorum);
    if (timeMs === null) return 0;
    if (this.#blockTimes.size >= MAX_BLOCK_TIMES) this.#blockTimes.clear();
    this.#blockTimes.set(slot, timeMs);
    return timeMs;
  }
}

const disagreeing = (about: string): FlywheelError =>
  new FlywheelError('ERR_CHAIN_MISMATCH', `The RPC nodes ${about}.`);

/** A node that ignores where the page begins would go on for ever. */
const repeating = (): FlywheelError =>
  new FlywheelError('ERR_RESPONSE_INVALID', 'An RPC node repeats a page of a list of transactions.', {
    hint: 'Use another node: --rpc-url.',
  });

/** Priority fees: the price follows recent fees that one node tells. A false price is bounded by the user's limit. */
function createRecentFees(pool: NodePool, clock: Clock, maxLamports: bigint): PriorityFees {
  const prices = new Map<string, { readonly microLamports: bigint; readonly askedMs: number }>();
  let lastMicroLamports = DEFAULT_MICRO_LAMPORTS;
  return {
    maxLamports,
    async priceOf(written) {
      if (maxLamports === 0n) return 0n;
      const accounts = [...new Set(written)].sort();
      const known = prices.get(accounts.join());
      if (known !== undefined && clock.nowMs() - known.askedMs < PRICE_FOR_MS) return known.microLamports;
      // Not every node supports the method. A transaction without a good price may be late; an unsent one never lands.
      const told = (await pool.maybe(questions.recentFees(accounts))) ?? [];
      const sorted = told.toSorted((left, right) => Number(left - right));
      const upperQuartile = sorted[Math.max(0, Math.ceil(sorted.length * 0.75) - 1)];
      const microLamports = upperQuartile ?? (known?.microLamports || lastMicroLamports);
      lastMicroLamports = microLamports || lastMicroLamports;
      if (prices.size >= MAX_PRICES) prices.clear();
      prices.set(accounts.join(), { microLamports, askedMs: clock.nowMs() });
      return microLamports;
    },
    async computeUnitsOf(message) {
      // With too few units a transaction fails, so no node of a quorum alone says how many.
      const tried = await pool.maybe(questions.trial(message), pool.quorum);
      return tried?.refusal === null ? tried.computeUnits : null;
    },
  };
}
