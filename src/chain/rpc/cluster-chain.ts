/**
 * A cluster as the engine uses it. What nodes say of a transaction that was sent decides nothing; it has landed when it is
 * confirmed, and can never land when three things hold: the finalized chain is above its last height, a node that has seen that
 * state does not know the signature, and this node's memory goes back to before it was signed.
 */
import { invariant } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Clock } from '../../values/time.js';
import type { AccountState, Rent } from '../account.js';
import {
  BLOCKHASH_LIFETIME_BLOCKS,
  type Chain,
  type Commitment,
  hasExpired,
  type PastTransaction,
  type RecentBlockhash,
  type Signature,
  type Sought,
  type SubmitReceipt,
  type Trace,
  type TransactionRecord,
} from '../chain.js';
import { feeOf } from '../compute-budget.js';
import type { PriorityFees } from '../fees.js';
import { decodeTransaction } from '../transaction/wire.js';
import { BlockTimes } from './block-times.js';
import { createClusterRent } from './cluster-rent.js';
import type { RpcNode } from './exchange.js';
import type { NodePool } from './node-pool.js';
import { Outgoing } from './outgoing.js';
import { type LandedStatus, type SeenStatus, statusesQuestion } from './questions.js';
import { RecentFees } from './recent-fees.js';
import { chunks, isLanded, MAX_SIGNATURES_PER_CALL, type RpcReader, sameStatus } from './rpc-reader.js';
import {
  blockHeightQuestion,
  FINALIZED_QUESTION,
  FIRST_BLOCK_QUESTION,
  type FinalizedState,
} from './sending-questions.js';

/** A little more than a slot. */
const POLL_MS = 500;
/** How long the finalized state is good for: older it only proves less. */
const FINALIZED_FOR_MS = 5_000;

/** The nodes, and how many of them have to agree. */
interface ClusterChainParts {
  readonly pool: NodePool;
  readonly reader: RpcReader;
  readonly quorum: number;
  readonly clock: Clock;
  /** How often to look for what was sent. @default 500 */
  readonly pollMs?: number;
  /** From when on a transaction counts as landed. */
  readonly commitment: Commitment;
  /** Lamports that a transaction pays beyond its signatures at most; 0 for none. */
  readonly maxPriorityFeeLamports: bigint;
}

/** Several voices on one signature. */
interface Heard {
  readonly node: RpcNode;
  readonly seen: SeenStatus;
  /** Of the state in which it was seen. */
  readonly slot: number;
}

const isAwaited = (trace: Trace | undefined): boolean => trace?.kind === 'open' && trace.isOver !== true;

const isFinalForAll = (heard: readonly Heard[]): boolean =>
  heard.length > 0 && heard.every(({ seen }) => isLanded(seen) && seen.isFinal);

const FORGOTTEN: Trace = { kind: 'open', isOver: true };

/** Has it done there what it was for? */
const ranWell = ({ seen }: Heard): boolean => (isLanded(seen) ? seen.error === null : seen === 'processed');

const openAfter = (heard: readonly Heard[]): Trace => ({
  kind: 'open',
  ...(heard.length > 0 && heard.every(ranWell) ? { ranWell: true } : {}),
  progress: {
    slot: Math.max(...heard.map(({ slot }) => slot)),
    isRun: heard.some(({ seen }) => seen !== null),
  },
});

class ClusterChain implements Chain {
  readonly pollMs: number;
  readonly bundleSize = 1;
  readonly priorityFees: PriorityFees;
  readonly #parts: ClusterChainParts;
  readonly #outgoing: Outgoing;
  readonly #blockTimes: BlockTimes;
  #finalized: FinalizedState = { blockHeight: 0n, slot: 0 };
  #finalizedMs = Number.NEGATIVE_INFINITY;
  /** The newest slot in which something of ours has landed: what is sent next may build on it. */
  #landedSlot = 0;

  readonly rent: () => Promise<Rent>;

  constructor(parts: ClusterChainParts) {
    this.#parts = parts;
    this.#blockTimes = new BlockTimes(parts.pool);
    this.rent = createClusterRent(parts.pool, parts.quorum, parts.clock);
    this.pollMs = parts.pollMs ?? POLL_MS;
    this.#outgoing = new Outgoing(parts.pool, parts.clock);
    this.priorityFees = new RecentFees(parts.pool, parts.clock, parts.maxPriorityFeeLamports);
  }

  /** As of a state that has all that was seen to land: a node that is behind would tell of what has been changed since. */
  async getAccounts(
    addresses: readonly Address[],
    commitment?: Commitment,
  ): Promise<readonly (AccountState | null)[]> {
    const { slot } = await this.#lastFinalized();
    const since = commitment === 'finalized' ? slot : this.#newestSlot;
    return this.#parts.reader.getAccounts(addresses, commitment, since);
  }

  latestBlockhash(): Promise<RecentBlockhash> {
    return this.#parts.reader.latestBlockhash();
  }

  blockHeight(): Promise<bigint> {
    return this.#parts.reader.blockHeight();
  }

  isBlockhashValid(blockhash: string): Promise<boolean> {
    return this.#parts.reader.isBlockhashValid(blockhash);
  }

  lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]> {
    return this.#parts.reader.lookUp(signatures);
  }

  getTransaction(signature: Signature): Promise<Uint8Array | null> {
    return this.#parts.reader.getTransaction(signature);
  }

  pastOf(account: Address, sinceMs: number): Promise<readonly PastTransaction[]> {
    return this.#parts.reader.pastOf(account, sinceMs);
  }

  readonly newestOf: NonNullable<Chain['newestOf']> = (account, page) =>
    this.#parts.reader.newestOf(account, page);

  /** A transaction may land in the block of its last valid height, so that it takes one more to be sure. */
  async expiredHeight(): Promise<bigint> {
    const { blockHeight } = await this.#lastFinalized();
    return blockHeight - 1n;
  }

  async trace(sought: readonly Sought[]): Promise<readonly Trace[]> {
    const expiredHeight = await this.expiredHeight();
    const traces: Trace[] = [];
    for (const chunk of chunks(sought, MAX_SIGNATURES_PER_CALL))
      traces.push(...(await this.#traceSome(chunk, expiredHeight)));
    await this.#outgoing.resend(
      sought.flatMap(({ signature }, index) => (isAwaited(traces[index]) ? [signature] : [])),
    );
    return traces;
  }

  async submit(transactions: readonly Uint8Array[], areNew: readonly boolean[] = []): Promise<SubmitReceipt> {
    return this.#outgoing.submit(transactions, areNew, this.#newestSlot);
  }

  /** Nothing holds several transactions together here; order is only kept by waiting for the end of each. */
  async submitBundles(
    bundles: readonly (readonly Uint8Array[])[],
    areNew: readonly boolean[] = [],
  ): Promise<SubmitReceipt> {
    const [first] = bundles;
    if (first === undefined) return [];
    invariant(first.length === 1, `A bundle is one transaction here, got ${first.length}.`);
    return this.submit(first, areNew.slice(0, 1));
  }

  async close(): Promise<void> {}

  get #newestSlot(): number {
    return Math.max(this.#finalized.slot, this.#landedSlot);
  }

  /** The lowest height of those that have to agree, with the newest slot: what has seen that has seen all of them. */
  async #lastFinalized(): Promise<FinalizedState> {
    const { pool, quorum, clock } = this.#parts;
    if (clock.nowMs() - this.#finalizedMs < FINALIZED_FOR_MS) return this.#finalized;
    const voices = await pool.ask(FINALIZED_QUESTION, { voices: quorum });
    const states = voices.map(({ value }) => value);
    const heights = states.map(({ blockHeight }) => blockHeight);
    const lowest = heights.reduce((least, next) => (next < least ? next : least));
    const slot = Math.max(...states.map((state) => state.slot));
    // A node that is behind the last one must not make anything young again.
    if (lowest > this.#finalized.blockHeight) this.#finalized = { blockHeight: lowest, slot };
    this.#finalizedMs = clock.nowMs();
    return this.#finalized;
  }

  async #traceSome(sought: readonly Sought[], expiredHeight: bigint): Promise<readonly Trace[]> {
    const heard = await this.#statuses(sought);
    const traces: Trace[] = [];
    for (const [index, one] of sought.entries())
      traces.push(await this.#traceOne(one, heard[index] ?? [], expiredHeight));
    return traces;
  }

  /** What is said of each signature by nodes that have seen the finalized state. */
  async #statuses(
    asked: readonly { readonly signature: Signature }[],
  ): Promise<readonly (readonly Heard[])[]> {
    const { pool, quorum } = this.#parts;
    const voices = await pool.ask(statusesQuestion(asked.map(({ signature }) => signature)), {
      voices: quorum,
      minContextSlot: this.#finalized.slot,
    });
    return asked.map((_, index) =>
      voices.map(({ node, value }): Heard => ({ node, seen: value.value[index] ?? null, slot: value.slot })),
    );
  }

  /** All have to say the same; where they do not, it is not settled yet. */
  async #traceOne(sought: Sought, heard: readonly Heard[], expiredHeight: bigint): Promise<Trace> {
    const { signature, lastValidBlockHeight } = sought;
    const status = heard[0]?.seen;
    if (isLanded(status) && heard.every(({ seen }) => isLanded(seen) && sameStatus(seen, status))) {
      const isFinal = isFinalForAll(heard);
      // On another fork it may yet succeed; what it did there is watched by who took it for done.
      if (!isFinal && (status.error !== null || this.#parts.commitment === 'finalized'))
        return openAfter(heard);
      return { kind: 'landed', record: await this.#record(sought, status), isFinal };
    }
    const isAbsent = heard.every(({ seen }) => seen === null);
    if (!isAbsent || !hasExpired(lastValidBlockHeight, expiredHeight)) return openAfter(heard);
    for (const { node } of heard) if (!(await this.#remembers(node, lastValidBlockHeight))) return FORGOTTEN;
    this.#outgoing.forget(signature);
    return { kind: 'never' };
  }

  /** Has the node kept every block in which a transaction with this last height could have landed? */
  async #remembers(node: RpcNode, lastValidBlockHeight: bigint): Promise<boolean> {
    const { pool } = this.#parts;
    const [first] = await pool.ask(FIRST_BLOCK_QUESTION, { only: node });
    const signedAbove = lastValidBlockHeight - BLOCKHASH_LIFETIME_BLOCKS;
    const slot = first?.value ?? Number.POSITIVE_INFINITY;
    // There are no more blocks than slots, so that a low slot is a low height.
    if (BigInt(slot) <= signedAbove) return true;
    const [head] = await pool.ask(blockHeightQuestion(slot), { only: node });
    const height = head?.value ?? null;
    return height !== null && height <= signedAbove;
  }

  /** Of what succeeded, and whose bytes are at hand, nothing else has to be asked for but the time of its block. */
  async #record({ signature, bytes, isTimeKnown }: Sought, status: LandedStatus): Promise<TransactionRecord> {
    this.#landedSlot = Math.max(this.#landedSlot, status.slot);
    this.#outgoing.forget(signature);
    const blockTimeMs = isTimeKnown ? 0 : await this.#blockTimes.ofMs(status.slot);
    if (bytes === undefined || status.error !== null)
      return { ...(await this.#parts.reader.record(signature, status)), blockTimeMs };
    const feeLamports = feeOf(decodeTransaction(bytes).message);
    const slot = BigInt(status.slot);
    return { signature, slot, blockTimeMs, error: null, logs: [], feeLamports, computeUnits: 0n };
  }
}

/** The cluster behind the nodes; nothing is asked before the first call. Errors are those of {@link createRpcChain}. */
export const createClusterChain = (parts: ClusterChainParts): Chain => new ClusterChain(parts);
