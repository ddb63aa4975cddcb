/** The reading part of the chain over the JSON-RPC of one or more nodes of a cluster, at the commitment `confirmed`. */
import { isDeepStrictEqual } from 'node:util';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { sameBytes } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import type {
  ChainReader,
  Commitment,
  History,
  NamedTransaction,
  Page,
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
  heightQuestion,
  type InSlot,
  type LandedStatus,
  type PastEntry,
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
/** Pages of the past that are asked for at most. */
const MAX_PAGES = 20;
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

const accountsDifference =
  (addresses: readonly Address[]): Difference<readonly (AccountState | null)[]> =>
  (left, right) => {
    for (const [index, address] of addresses.entries()) {
      const what = accountDifference(left[index] ?? null, right[index] ?? null);
      if (what !== undefined) return `the account ${address}: ${what}`;
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

const statusesDifference =
  (signatures: readonly Signature[]): Difference<readonly SeenStatus[]> =>
  (left, right) => {
    const at = signatures.findIndex((_, index) => !sameStatus(left[index], right[index]));
    return at < 0 ? undefined : `what became of the transaction ${signatures[at]}`;
  };

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

/** Outcome from the status; details from the transaction, which a node may no longer have. */
const record = (
  signature: Signature,
  { slot, error }: LandedStatus,
  found: FoundTransaction | null,
): TransactionRecord => ({
  signature,
  slot: BigInt(slot),
  blockTimeMs: found?.blockTimeMs ?? 0,
  error,
  logs: found?.logs ?? [],
  feeLamports: found?.feeLamports ?? 0n,
  computeUnits: found?.computeUnits ?? 0n,
  ...(found?.tokenChanges && { tokenChanges: found.tokenChanges }),
  ...(found?.tableAddresses && { tableAddresses: found.tableAddresses }),
  ...(found?.innerCalls && { innerCalls: found.innerCalls }),
});

/** The most cautious of several heights. */
export const lowest = (voices: readonly Voice<bigint>[]): bigint =>
  voices.map(({ value }) => value).reduce((least, next) => (next < least ? next : least));

const inSlots =
  <Value>(differ: Difference<Value>): Difference<InSlot<Value>> =>
  (left, right) =>
    differ(left.value, right.value);

/** When a look-up has to be over, and the slot that it must have seen. */
interface LookUpTerms {
  readonly minContextSlot?: number;
  readonly deadlineMs?: number;
}

/** Reads a cluster through the nodes of a pool. */
export class RpcReader implements ChainReader, History {
  readonly #pool: NodePool;
  readonly #quorum: number;

  /** @param quorum - nodes that have to agree on accounts, on what became of transactions and on blockhashes, and that tell the past. */
  constructor(pool: NodePool, quorum: number) {
    this.#pool = pool;
    this.#quorum = quorum;
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
      const { value, slot } = await this.#agreed(
        accountsQuestion(chunk, commitment),
        inSlots(accountsDifference(chunk)),
        minContextSlot === undefined ? {} : { minContextSlot },
      );
      minContextSlot = slot;
      states.push(...value.value);
    }
    return states;
  }

  async latestBlockhash(): Promise<RecentBlockhash> {
    return this.#one(BLOCKHASH_QUESTION);
  }

  /** The lowest of the heights that the nodes are at. */
  async blockHeight(): Promise<bigint> {
    const voices = await this.#pool.ask(heightQuestion(), { voices: this.#quorum });
    return lowest(voices);
  }

  async isBlockhashValid(blockhash: string): Promise<boolean> {
    const { value } = await this.#agreed(validityQuestion(blockhash), (left, right) =>
      left.value === right.value ? undefined : `whether the blockhash ${blockhash} is still good`,
    );
    return value.value;
  }

  async lookUp(
    signatures: readonly Signature[],
    terms: LookUpTerms = {},
  ): Promise<readonly (TransactionRecord | null)[]> {
    const records: (TransactionRecord | null)[] = [];
    for (const chunk of chunks(signatures, MAX_SIGNATURES_PER_CALL)) {
      const statuses = await this.statuses(chunk, terms);
      for (const [index, signature] of chunk.entries()) {
        const status = statuses[index];
        records.push(isLanded(status) ? await this.record(signature, status) : null);
      }
    }
    return records;
  }

  /** What is seen of at most 256 signatures. */
  async statuses(signatures: readonly Signature[], terms: LookUpTerms = {}): Promise<readonly SeenStatus[]> {
    const differ = inSlots(statusesDifference(signatures));
    return (await this.#agreed(statusesQuestion(signatures), differ, terms)).value.value;
  }

  /** A landed transaction with its details, as far as the nodes still have them. */
  async record(signature: Signature, status: LandedStatus): Promise<TransactionRecord> {
    const { value } = await this.#agreed(transactionQuestion(signature), transactionDifference(signature));
    return record(signature, status, value);
  }

  /** One node is enough: the bytes are held to their signatures. */
  async getTransaction(signature: Signature): Promise<Uint8Array | null> {
    return (await this.#one(transactionQuestion(signature)))?.wire ?? null;
  }

  /** All that any of the nodes tells: one cannot hide what another knows, and what it makes up has not landed for the others. */
  async pastOf(account: Address, sinceMs: number): Promise<readonly PastTransaction[]> {
    const voices = await this.#pool.ask(pastQuestion(account, undefined), { voices: this.#quorum });
    const past = new Map<Signature, PastTransaction>();
    for (const voice of voices)
      for (const transaction of await this.#pastFrom(voice, account, sinceMs))
        if (!past.has(transaction.signature)) past.set(transaction.signature, transaction);
    return [...past.values()];
  }

  /** Of several nodes each, all that any of them tells: one cannot hide what another knows. */
  async newestOf(account: Address, { limit, before, sinceSlot }: Page): Promise<readonly NamedTransaction[]> {
    const question = pastQuestion(account, before, limit);
    const voices = await this.#pool.ask(question, { voices: this.#quorum, minContextSlot: sinceSlot });
    const found = new Map<Signature, NamedTransaction>();
    for (const { value } of voices)
      for (const entry of value) if (!found.has(entry.signature)) found.set(entry.signature, entry);
    return [...found.values()].toSorted((a, b) => b.slot - a.slot);
  }

  /** The first page and those behind it; where others tell the past as well, all of one node. */
  async #pastFrom(
    { node, value }: Voice<readonly PastEntry[]>,
    account: Address,
    sinceMs: number,
  ): Promise<readonly PastTransaction[]> {
    const past: PastTransaction[] = [];
    for (let [page, found] = [1, value]; ; page += 1) {
      const inTime = found.filter(({ blockTimeMs }) => (blockTimeMs ?? sinceMs) >= sinceMs);
      for (const { failed, slot, ...transaction } of inTime) if (!failed) past.push(transaction);
      const isLast = found.length < SIGNATURES_PER_PAGE || inTime.length < found.length;
      if (isLast || page === MAX_PAGES) return past;
      const question = pastQuestion(account, found.at(-1)?.signature);
      const terms = this.#quorum > 1 ? { only: node } : {};
      found = (await this.#pool.ask(question, terms)).flatMap((voice) => voice.value);
    }
  }

  async #one<Value>(question: Question<Value>): Promise<Value> {
    const [voice] = await this.#pool.ask(question);
    return (voice as Voice<Value>).value;
  }

  /**
   * What all nodes of the quorum say of one state. Where they differ, the state may have changed between the two answers: both
   * are asked again from the newer slot on, a few times.
   * @throws `ERR_CHAIN_MISMATCH`
   */
  async #agreed<Value>(
    question: Question<Value>,
    differ: Difference<Value>,
    terms: LookUpTerms = {},
  ): Promise<{ readonly value: Value; readonly slot?: number }> {
    let floor = terms.minContextSlot;
    for (let comparison = 1; ; comparison += 1) {
      const voices = await this.#pool.ask(question, {
        ...terms,
        voices: this.#quorum,
        minContextSlot: floor,
      });
      const [first, ...others] = voices as readonly [Voice<Value>, ...Voice<Value>[]];
      const slots = voices.flatMap(({ value }) => question.slotOf?.(value) ?? []);
      if (slots.length > 0) floor = Math.max(...slots);
      const other = others.find(({ value }) => differ(first.value, value) !== undefined);
      if (other === undefined) return { value: first.value, ...(floor === undefined ? {} : { slot: floor }) };
      const what = differ(first.value, other.value) ?? '';
      if (comparison === MAX_COMPARISONS) throw mismatch(first, other, what);
      await this.#pool.sleep(SLOT_MS * comparison);
    }
  }
}

const mismatch = (left: Voice<unknown>, right: Voice<unknown>, what: string): FlywheelError =>
  new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    `The RPC nodes ${left.node.address.host} and ${right.node.address.host} do not agree about ${what}.`,
  );
