/**
 * Several RPC nodes as one: order, quorum, retries, timeouts.
 *
 * When a node fails, the next one is tried at once. After a full round, every node that may still answer is tried again after a
 * backoff, until the total time is over.
 */
import { isDeepStrictEqual } from 'node:util';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Clock } from '../../values/time.js';
import { clusterName } from '../node-address.js';
import { type Answer, ask, loadWeb3, type Question, type RpcNode } from './ask.js';
import * as questions from './questions.js';
import { Trouble } from './rpc-errors.js';

export interface NodePoolOptions {
  readonly nodes: readonly RpcNode[];
  /** Different hosts that must agree, where a question needs a quorum. @default 1 */
  readonly quorum?: number;
  /** Genesis hash that every node must have. @default that of the first node to answer */
  readonly genesis?: string;
  /** Timeout of one attempt, from dialling to the last byte. */
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  /** @throws when the signal is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
  /** Nodes are behind the slot that a question requires, and stay behind. */
  readonly onBehind?: () => void;
}

/** A node, and what its answers have told about it. */
interface KnownNode {
  readonly node: RpcNode;
  readonly host: string;
  genesis?: string;
  /** Since its last answer. */
  failures: number;
  /** Of a rate limit: until when not to send to this node. */
  rest?: { readonly untilMs: number; readonly error: FlywheelError };
}

export type Voice<Value> = Exclude<Answer<Value>, Trouble> & { readonly node: KnownNode };

type TryTerms = Parameters<typeof ask>[2];

interface AskTerms {
  readonly minContextSlot?: number | undefined;
  readonly only?: KnownNode;
  readonly tryMs?: number;
}

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;
/** Upper bound of a Retry-After. */
const MAX_RETRY_AFTER_MS = 30_000;
/** Timeout for the genesis hash where another node can answer instead: a dead node fails here. */
const GENESIS_TRY_MS = 5_000;
const MAX_COMPARISONS = 5;
const SLOT_MS = 400;
/** Timeout of an optional question, and the pause after no node answered it. */
const OPTIONAL_TRY_MS = 1_000;
const OPTIONAL_REST_MS = 10_000;

const interrupted = (cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_INTERRUPTED', 'Interrupted while reading the chain.', { cause });

const clusterOf = (genesis: string): string => clusterName(genesis) ?? 'another cluster';

interface Round<Value> {
  readonly question: Question<Value>;
  readonly voices: number;
  readonly terms: AskTerms;
  readonly isOptional?: true;
  readonly found: Voice<Value>[];
  readonly failures: Map<KnownNode, Trouble>;
  readonly deadlineMs: number;
}

export class NodePool {
  readonly #nodes: readonly KnownNode[];
  readonly #options: NodePoolOptions;
  /** By method: until when an optional question is not asked. */
  readonly #pauses = new Map<string, number>();
  /** Genesis hash that every node must have. */
  #genesis: string | undefined;

  constructor(options: NodePoolOptions) {
    this.#options = options;
    this.#genesis = options.genesis;
    this.#nodes = options.nodes.map((node) => ({ node, host: node.address.host, failures: 0 }));
  }

  get quorum(): number {
    return this.#options.quorum ?? 1;
  }

  /**
   * Answers of a quorum of nodes; slots of later answers never go back.
   * @throws `ERR_UNAVAILABLE`, `ERR_RESPONSE_INVALID`, `ERR_CHAIN_MISMATCH` for nodes of different clusters, `ERR_INTERRUPTED`
   */
  ask<Value>(question: Question<Value>, terms: AskTerms = {}): Promise<readonly Voice<Value>[]> {
    return this.#ask(this.#round(question, this.quorum, terms));
  }

  /** The answer of one node. The caller must be able to detect or bound a false answer. @throws as {@link ask} */
  async one<Value>(question: Question<Value>, terms: AskTerms = {}): Promise<Value> {
    const [voice] = (await this.#ask(this.#round(question, 1, terms))) as [Voice<Value>];
    return voice.value;
  }

  /**
   * The first answer of a quorum that agrees on it, with the newest slot of all. If nodes differ, the state may have changed
   * between their answers: the question is repeated from the newer slot on, up to `MAX_COMPARISONS` times.
   * @throws as {@link ask}, and `ERR_CHAIN_MISMATCH` if the nodes still differ.
   */
  async agreed<Value>(question: Question<Value>, sinceSlot?: number): Promise<Voice<Value>> {
    let minContextSlot = sinceSlot;
    for (let comparison = 1; ; comparison += 1) {
      const voices = await this.ask(question, { minContextSlot });
      const [first] = voices as readonly [Voice<Value>];
      const slot = voices.at(-1)?.slot;
      const other = voices.find(({ value }) => question.differ?.(first.value, value) !== undefined);
      if (other === undefined) return { ...first, slot };
      minContextSlot = slot ?? minContextSlot;
      if (comparison === MAX_COMPARISONS)
        throw new FlywheelError(
          'ERR_CHAIN_MISMATCH',
          `The RPC nodes ${first.node.host} and ${other.node.host} disagree about ${question.differ?.(first.value, other.value)}.`,
        );
      await this.#sleep(SLOT_MS * comparison);
    }
  }

  /**
   * The answer to an optional question: one attempt of a second at each node. `null` without an answer, and where several voices
   * differ; questions of this method then pause. Many nodes lack or limit single methods, so a failure does not count against the node.
   * @throws `ERR_INTERRUPTED`
   */
  async maybe<Value>(question: Question<Value>, voices = 1): Promise<Value | null> {
    const { clock } = this.#options;
    if (clock.nowMs() < (this.#pauses.get(question.method) ?? 0)) return null;
    const terms = { tryMs: OPTIONAL_TRY_MS };
    const round: Round<Value> = { ...this.#round(question, voices, terms), isOptional: true };
    if (await this.#askAround(round, 1)) {
      const [first, ...others] = round.found.map(({ value }) => value) as [Value, ...Value[]];
      return others.every((other) => isDeepStrictEqual(other, first)) ? first : null;
    }
    // A refusal may concern one block only.
    if ([...round.failures.values()].some(({ kind }) => kind !== 'refused'))
      this.#pauses.set(question.method, clock.nowMs() + OPTIONAL_REST_MS);
    return null;
  }

  /** One attempt at every node. */
  async askAll<Value>(
    question: Question<Value>,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<readonly Answer<Value>[]> {
    const terms = { timeoutMs: Math.min(timeoutMs, this.#options.timeoutMs) };
    return Promise.all(this.#nodes.map((node) => this.#tryNode(node, question, terms)));
  }

  #round<Value>(question: Question<Value>, voices: number, terms: AskTerms): Round<Value> {
    const deadlineMs = this.#options.clock.nowMs() + this.#options.maxWaitMs;
    return { question, voices, terms, deadlineMs, found: [], failures: new Map() };
  }

  async #ask<Value>(round: Round<Value>): Promise<readonly Voice<Value>[]> {
    for (let number = 1; ; number += 1) {
      if (await this.#askAround(round, number)) return round.found;
      const waitMs = this.#waitMs(round, number);
      if (waitMs === undefined) {
        this.#noteBehind(round);
        throw failureOf(round);
      }
      this.#options.log?.(`rpc: waiting ${waitMs} ms before ${round.question.method} is asked again`);
      await this.#sleep(waitMs);
    }
  }

  /** One attempt at each node that has not answered. @returns whether there are enough answers. */
  async #askAround<Value>(round: Round<Value>, number: number): Promise<boolean> {
    const { question, terms, found, failures } = round;
    // Configured order, recently failed nodes last.
    for (const node of this.#nodes.toSorted((left, right) => left.failures - right.failures)) {
      if ((terms.only ?? node) !== node || failures.get(node)?.retryable === false || hasSpoken(round, node))
        continue;
      const tryTerms = { minContextSlot: floorOf(round), timeoutMs: this.#tryMs(round, number) };
      const answer = await this.#tryNode(node, question, tryTerms);
      if ('value' in answer) {
        failures.delete(node);
        node.failures = 0;
        found.push({ node, ...answer });
        if (found.length >= round.voices) return true;
      } else {
        failures.set(node, answer);
        if (!round.isOptional) this.#noteFailure(node, answer);
      }
    }
    return false;
  }

  /** Either these nodes are behind, or a slot was told too high: by an answer of this round, or by one before. */
  #noteBehind<Value>({ failures, found }: Round<Value>): void {
    if (![...failures.values()].some(({ kind }) => kind === 'behind')) return;
    for (const { node } of found) node.failures += 1;
    this.#options.onBehind?.();
  }

  #noteFailure(node: KnownNode, trouble: Trouble): void {
    node.failures += 1;
    const { kind, waitMs = 0, error } = trouble;
    if (kind !== 'limited') return;
    const untilMs = this.#options.clock.nowMs() + Math.min(waitMs, MAX_RETRY_AFTER_MS);
    node.rest = { untilMs, error };
  }

  /** Round 1 gives every node the full timeout; later attempts end at the deadline. */
  #tryMs<Value>({ terms, deadlineMs }: Round<Value>, number: number): number {
    const timeoutMs = Math.min(terms.tryMs ?? Number.POSITIVE_INFINITY, this.#options.timeoutMs);
    if (number === 1) return timeoutMs;
    return Math.max(1, Math.min(timeoutMs, deadlineMs - this.#options.clock.nowMs()));
  }

  /** Backoff before the next round; `undefined` where no retry is left. */
  #waitMs<Value>({ failures, deadlineMs }: Round<Value>, number: number): number | undefined {
    const { random, clock } = this.#options;
    const bound = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (number - 1));
    const waits = [...failures.values()]
      .filter(({ retryable }) => retryable)
      // The backoff is a lower bound, so a short Retry-After cannot cause endless requests.
      .map(({ waitMs = 0 }) => Math.max(waitMs, Math.ceil((bound * (1 + random())) / 2)));
    if (waits.length === 0) return undefined;
    const waitMs = Math.min(MAX_RETRY_AFTER_MS, ...waits);
    return clock.nowMs() + waitMs < deadlineMs ? waitMs : undefined;
  }

  /** @throws `ERR_INTERRUPTED` */
  async #sleep(ms: number): Promise<void> {
    const { sleep, signal } = this.#options;
    try {
      if (signal?.aborted !== true) await sleep(ms, signal);
    } catch (error) {
      throw signal?.aborted === true ? interrupted(error) : error;
    }
    if (signal?.aborted === true) throw interrupted();
  }

  /** One attempt at a node that may be asked now, and belongs to the cluster. */
  async #tryNode<Value>(node: KnownNode, question: Question<Value>, terms: TryTerms): Promise<Answer<Value>> {
    const waitMs = (node.rest?.untilMs ?? 0) - this.#options.clock.nowMs();
    if (node.rest !== undefined && waitMs > 0) return new Trouble(node.rest.error, 'limited', true, waitMs);
    const stranger = await this.#strangeness(node, terms.timeoutMs);
    return stranger ?? this.#send(node, question, terms);
  }

  async #send<Value>(node: KnownNode, question: Question<Value>, terms: TryTerms): Promise<Answer<Value>> {
    const { signal, clock, log } = this.#options;
    if (signal?.aborted === true) throw interrupted();
    await loadWeb3();
    const nowMs = clock.nowMs();
    const answer = await ask(node.node, question, { ...terms, signal }, nowMs);
    const how = 'value' in answer ? 'answered' : answer.error.message;
    log?.(`rpc: ${node.host} ${question.method}: ${how} (${clock.nowMs() - nowMs} ms)`);
    return answer;
  }

  /** Why a node cannot replace the others: its cluster is another one, or unknown. */
  async #strangeness(node: KnownNode, timeoutMs: number): Promise<Trouble | undefined> {
    const isAlone = this.#nodes.length === 1;
    if (isAlone && this.#genesis === undefined) return undefined;
    if (node.genesis === undefined) {
      const tryMs = isAlone ? timeoutMs : Math.min(timeoutMs, GENESIS_TRY_MS);
      const answer = await this.#send(node, questions.genesis, { timeoutMs: tryMs });
      if (!('value' in answer)) return answer;
      node.genesis = answer.value;
    }
    const own = node.genesis;
    this.#genesis ??= own;
    const expected = this.#genesis;
    if (own === expected) return undefined;
    const error = new FlywheelError(
      'ERR_CHAIN_MISMATCH',
      `The RPC node ${node.host} belongs to ${clusterOf(own)} (genesis ${own}), expected ${clusterOf(expected)} (genesis ${expected}).`,
      { hint: 'Use nodes of that cluster: --rpc-url.' },
    );
    return new Trouble(error);
  }
}

/** The first node's error; messages of the others are appended. */
function failureOf<Value>({ failures }: Round<Value>): FlywheelError {
  const [first, ...others] = [...failures.values()].map(({ error }) => error);
  if (first === undefined) return new FlywheelError('ERR_UNAVAILABLE', 'No other RPC node is left to ask.');
  const messages = new Set([first, ...others].map(({ message }) => message));
  return messages.size === 1 ? first : new FlywheelError(first.code, [...messages].join(' '), first.options);
}

/** A second address of the same host does not count towards the quorum. */
const hasSpoken = <Value>({ found }: Round<Value>, { node }: KnownNode): boolean =>
  found.some((other) => other.node.node.address.sameHost === node.address.sameHost);

/** Answers of other nodes must be at least as new as those found. */
const floorOf = <Value>({ terms, found }: Round<Value>): number | undefined =>
  found.reduce((floor, { slot }) => Math.max(floor ?? 0, slot ?? 0), terms.minContextSlot);
