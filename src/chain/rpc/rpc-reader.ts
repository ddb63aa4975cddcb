/** The read-only chain over the JSON-RPC of one or more nodes, at commitment `confirmed`. */
import type { Address } from '../../values/address.js';
import type { AccountState } from '../account.js';
import type {
  ChainReader,
  Commitment,
  Past,
  PastTransaction,
  RecentBlockhash,
  Signature,
  TransactionRecord,
} from '../chain.js';
import type { NodePool, Voice } from './node-pool.js';
import {
  accountsQuestion,
  BLOCKHASH_QUESTION,
  GENESIS_QUESTION,
  isLanded,
  type LandedStatus,
  pastQuestion,
  SIGNATURES_PER_PAGE,
  statusesQuestion,
  transactionQuestion,
  validityQuestion,
} from './questions.js';

/** Limit of a node (agave, `MAX_MULTIPLE_ACCOUNTS`). */
const MAX_ACCOUNTS_PER_CALL = 100;
/** Limit of a node (agave, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const MAX_SIGNATURES_PER_CALL = 256;
const MAX_PAST = 20 * SIGNATURES_PER_PAGE;

export const chunks = <Value>(values: readonly Value[], size: number): readonly (readonly Value[])[] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, n) => values.slice(n * size, (n + 1) * size));

export const NO_DETAILS = { wire: null, blockTimeMs: 0, logs: [], feeLamports: 0n, computeUnits: 0n };

export class RpcReader implements ChainReader {
  protected readonly pool: NodePool;

  constructor(pool: NodePool) {
    this.pool = pool;
  }

  /** Genesis hash of the cluster; the pool makes sure that all nodes of the quorum have the same. */
  async genesisHash(): Promise<string> {
    const [voice] = (await this.pool.ask(GENESIS_QUESTION)) as readonly [Voice<string>];
    return voice.value;
  }

  /**
   * Accounts in calls of 100; each call reads a state at least as new as the one before.
   * @param sinceSlot - lower bound of the first state.
   */
  async getAccounts(
    addresses: readonly Address[],
    commitment?: Commitment,
    sinceSlot?: number,
  ): Promise<readonly (AccountState | null)[]> {
    const states: (AccountState | null)[] = [];
    let floor = sinceSlot;
    for (const chunk of chunks(addresses, MAX_ACCOUNTS_PER_CALL)) {
      const { value, slot } = await this.pool.agreed(accountsQuestion(chunk, commitment), floor);
      floor = slot;
      states.push(...value);
    }
    return states;
  }

  latestBlockhash(): Promise<RecentBlockhash> {
    return this.pool.one(BLOCKHASH_QUESTION);
  }

  async isBlockhashValid(blockhash: string): Promise<boolean> {
    return (await this.pool.agreed(validityQuestion(blockhash))).value;
  }

  async lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]> {
    const records: (TransactionRecord | null)[] = [];
    for (const chunk of chunks(signatures, MAX_SIGNATURES_PER_CALL)) {
      const { value } = await this.pool.agreed(statusesQuestion(chunk));
      for (const [at, signature] of chunk.entries()) {
        const status = value[at];
        records.push(isLanded(status) ? await this.record(signature, status) : null);
      }
    }
    return records;
  }

  /** The outcome comes from the status, the details from the transaction if the nodes still store it. */
  protected async record(signature: Signature, { slot, error }: LandedStatus): Promise<TransactionRecord> {
    const value = await this.pool.agreed(transactionQuestion(signature));
    return { signature, slot: BigInt(slot), error, ...(value ?? NO_DETAILS) };
  }

  /**
   * The union of the histories of all queried nodes: one node cannot hide a transaction that another reports, and an invented
   * one has not landed for the others. With a quorum, all pages of a list come from the same node.
   */
  async history(
    account: Address,
    { sinceMs = 0, limit = MAX_PAST, before, sinceSlot }: Past,
  ): Promise<readonly PastTransaction[]> {
    const first = pastQuestion(account, before, limit);
    const voices = await this.pool.ask(first, { minContextSlot: sinceSlot });
    const found = new Map<Signature, PastTransaction>();
    for (const voice of voices)
      for await (const page of this.#pagesOf(voice, account, limit)) {
        const inTime = page.filter(({ blockTimeMs }) => (blockTimeMs ?? sinceMs) >= sinceMs);
        for (const entry of inTime) if (!found.has(entry.signature)) found.set(entry.signature, entry);
        if (inTime.length < page.length) break;
      }
    return [...found.values()].toSorted((left, right) => right.slot - left.slot);
  }

  async *#pagesOf(
    { node, value }: Voice<readonly PastTransaction[]>,
    account: Address,
    limit: number,
  ): AsyncGenerator<readonly PastTransaction[]> {
    for (let [page, left] = [value, limit]; ; ) {
      yield page;
      const isLast = page.length < Math.min(left, SIGNATURES_PER_PAGE);
      left -= page.length;
      if (isLast || left <= 0) return;
      const next = pastQuestion(account, page.at(-1)?.signature, left);
      page = await this.pool.one(next, this.pool.quorum > 1 ? { only: node } : {});
    }
  }
}
