/** The reading part of the chain over the JSON-RPC of one or more nodes of a cluster, at the commitment `confirmed`. */
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

/** Most accounts that a node returns at once (agave, `MAX_MULTIPLE_ACCOUNTS`). */
const MAX_ACCOUNTS_PER_CALL = 100;
/** Most signatures that a node looks up at once (agave, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const MAX_SIGNATURES_PER_CALL = 256;
/** Transactions of the past that are asked for at most. */
const MAX_PAST = 20 * SIGNATURES_PER_PAGE;

export const chunks = <Value>(values: readonly Value[], size: number): readonly (readonly Value[])[] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, n) => values.slice(n * size, (n + 1) * size));

/** What a node that no longer has a transaction tells of it. */
export const NO_DETAILS = { wire: null, blockTimeMs: 0, logs: [], feeLamports: 0n, computeUnits: 0n };

/** Reads a cluster through the nodes of a pool. */
export class RpcReader implements ChainReader {
  protected readonly pool: NodePool;

  constructor(pool: NodePool) {
    this.pool = pool;
  }

  /** Which cluster it is; the pool sees to it that nodes that have to agree do. */
  async genesisHash(): Promise<string> {
    const [voice] = (await this.pool.ask(GENESIS_QUESTION)) as readonly [Voice<string>];
    return voice.value;
  }

  /**
   * Accounts in calls of 100; each later call is answered from a state no older than the one before.
   * @param sinceSlot - nor older than this slot.
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

  /** Outcome from the status; details from the transaction, as far as the nodes still have it. */
  protected async record(signature: Signature, { slot, error }: LandedStatus): Promise<TransactionRecord> {
    const value = await this.pool.agreed(transactionQuestion(signature));
    return { signature, slot: BigInt(slot), error, ...(value ?? NO_DETAILS) };
  }

  /**
   * All that any of the nodes tells: one cannot hide what another knows, and what it makes up has not landed for the others.
   * Where several tell the past, all pages of one are its own.
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

  /** The first page and those behind it, up to so many entries. */
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
