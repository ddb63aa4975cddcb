/** The reading part of the chain over the JSON-RPC of one or more nodes of a cluster, at the commitment `confirmed`. */
import { isDeepStrictEqual } from 'node:util';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { sameBytes } from '../../values/bytes.js';
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
import type { Question } from './ask.js';
import type { NodePool, Voice } from './node-pool.js';
import {
  accountsQuestion,
  BLOCKHASH_QUESTION,
  type FoundTransaction,
  GENESIS_QUESTION,
  type InSlot,
  type LandedStatus,
  pastQuestion,
  type SeenStatus,
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
/** How often nodes that differ are asked for a newer state, and how long it takes for there to be one. */
const MAX_COMPARISONS = 5;
const SLOT_MS = 400;

export const chunks = <Value>(values: readonly Value[], size: number): readonly (readonly Value[])[] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, n) => values.slice(n * size, (n + 1) * size));

/** What two nodes say differently, as in "they differ about …", or `undefined`. */
type Difference<Value> = (left: Value, right: Value) => string | undefined;

/** Which part of an account differs; when its rent is due next is bookkeeping of the node. */
function accountDifference(left: AccountState | null, right: AccountState | null): string | undefined {
  if (left === null || right === null) return left === right ? undefined : 'whether it exists';
  if (left.owner !== right.owner) return 'its owner';
  if (left.lamports !== right.lamports) return 'its balance';
  if (left.executable !== right.executable) return 'whether it is a program';
  return sameBytes(left.data, right.data) ? undefined : 'its data';
}

/** The first of several that two nodes say differently. */
const listDifference =
  <Value>(differ: (left: Value | undefined, right: Value | undefined, at: number) => string | undefined) =>
  (left: InSlot<readonly Value[]>, right: InSlot<readonly Value[]>): string | undefined => {
    for (const at of left.value.keys()) {
      const what = differ(left.value[at], right.value[at], at);
      if (what !== undefined) return what;
    }
    return undefined;
  };

export const isLanded = (status: SeenStatus | undefined): status is LandedStatus =>
  status !== null && typeof status === 'object';

/** What only one of the nodes has run is not settled: it is asked for again, and until they agree it is not absent. */
export function sameStatus(left: SeenStatus | undefined, right: SeenStatus | undefined): boolean {
  if (!isLanded(left) || !isLanded(right)) return (left ?? null) === (right ?? null);
  return left.slot === right.slot && JSON.stringify(left.error) === JSON.stringify(right.error);
}

/** Nobody but the nodes tells what a transaction logged, called and moved; nor when, which some learn later than others. */
const transactionDifference =
  (signature: Signature): Difference<FoundTransaction | null> =>
  (left, right) => {
    if (left === null || right === null)
      return left === right ? undefined : `whether the transaction ${signature} is known`;
    const told = ({ blockTimeMs, computeUnits, ...rest }: FoundTransaction): object => rest;
    const times = new Set([left.blockTimeMs, right.blockTimeMs].filter((timeMs) => timeMs !== 0));
    return times.size < 2 && isDeepStrictEqual(told(left), told(right))
      ? undefined
      : `what the transaction ${signature} did`;
  };

/** What a node that no longer has a transaction tells of it. */
export const NO_DETAILS = { wire: null, blockTimeMs: 0, logs: [], feeLamports: 0n, computeUnits: 0n };

/** Reads a cluster through the nodes of a pool. */
export class RpcReader implements ChainReader {
  protected readonly pool: NodePool;
  protected readonly quorum: number;

  /** @param quorum - nodes that have to agree on accounts, on what became of transactions and on blockhashes, and that tell the past. */
  constructor(pool: NodePool, quorum: number) {
    this.pool = pool;
    this.quorum = quorum;
  }

  /** Which cluster it is; the pool sees to it that nodes that have to agree do. */
  async genesisHash(): Promise<string> {
    const [voice] = await this.pool.ask(GENESIS_QUESTION, { voices: this.quorum });
    return (voice as Voice<string>).value;
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
    let minContextSlot = sinceSlot;
    for (const chunk of chunks(addresses, MAX_ACCOUNTS_PER_CALL)) {
      const differ = listDifference<AccountState | null>((left = null, right = null, at) => {
        const what = accountDifference(left, right);
        return what && `the account ${chunk[at]}: ${what}`;
      });
      const { value, slot } = await this.#agreed(accountsQuestion(chunk, commitment), differ, minContextSlot);
      minContextSlot = slot;
      states.push(...value.value);
    }
    return states;
  }

  latestBlockhash(): Promise<RecentBlockhash> {
    return this.pool.one(BLOCKHASH_QUESTION);
  }

  async isBlockhashValid(blockhash: string): Promise<boolean> {
    const { value } = await this.#agreed(validityQuestion(blockhash), (left, right) =>
      left.value === right.value ? undefined : `whether the blockhash ${blockhash} is still good`,
    );
    return value.value;
  }

  async lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]> {
    const records: (TransactionRecord | null)[] = [];
    for (const chunk of chunks(signatures, MAX_SIGNATURES_PER_CALL)) {
      const differ = listDifference<SeenStatus>((left, right, at) =>
        sameStatus(left, right) ? undefined : `what became of the transaction ${chunk[at]}`,
      );
      const { value } = await this.#agreed(statusesQuestion(chunk), differ);
      for (const [at, signature] of chunk.entries()) {
        const status = value.value[at];
        records.push(isLanded(status) ? await this.record(signature, status) : null);
      }
    }
    return records;
  }

  /** Outcome from the status; details from the transaction, as far as the nodes still have it. */
  protected async record(signature: Signature, { slot, error }: LandedStatus): Promise<TransactionRecord> {
    const { value } = await this.#agreed(transactionQuestion(signature), transactionDifference(signature));
    const outcome = { signature, slot: BigInt(slot), error };
    if (value === null) return { ...outcome, ...NO_DETAILS };
    const { balances, tokenChanges, tableAddresses, innerCalls, ...told } = value;
    return {
      ...{ ...outcome, ...told },
      ...(balances && { balances }),
      ...(tokenChanges && { tokenChanges }),
      ...(tableAddresses && { tableAddresses }),
      ...(innerCalls && { innerCalls }),
    };
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
    const voices = await this.pool.ask(first, { voices: this.quorum, minContextSlot: sinceSlot });
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
      const only = this.quorum > 1 ? { only: node } : {};
      page = (await this.pool.ask(next, only)).flatMap((voice) => voice.value);
    }
  }

  /**
   * What all nodes of the quorum say of one state. Where they differ, the state may have changed between the two answers: both
   * are asked again from the newer slot on, a few times.
   * @throws `ERR_CHAIN_MISMATCH`
   */
  async #agreed<Value>(
    question: Question<Value>,
    differ: Difference<Value>,
    sinceSlot?: number,
  ): Promise<{ readonly value: Value; readonly slot: number | undefined }> {
    let floor = sinceSlot;
    for (let comparison = 1; ; comparison += 1) {
      const voices = await this.pool.ask(question, { voices: this.quorum, minContextSlot: floor });
      const [first, ...others] = voices as readonly [Voice<Value>, ...Voice<Value>[]];
      const slots = voices.flatMap(({ value }) => question.slotOf?.(value) ?? []);
      if (slots.length > 0) floor = Math.max(...slots);
      const other = others.find(({ value }) => differ(first.value, value) !== undefined);
      if (other === undefined) return { value: first.value, slot: floor };
      const what = differ(first.value, other.value) ?? '';
      if (comparison === MAX_COMPARISONS) throw mismatch(first, other, what);
      await this.pool.sleep(SLOT_MS * comparison);
    }
  }
}

const mismatch = (left: Voice<unknown>, right: Voice<unknown>, what: string): FlywheelError =>
  new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    `The RPC nodes ${left.node.address.host} and ${right.node.address.host} disagree about ${what}.`,
  );
