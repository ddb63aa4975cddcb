/**
 * Several RPC nodes as one: order, quorum, retries, timeouts.
 *
 * When a node fails, the next one is tried at once. After a full round, every node that may still answer is tried again after a
 * backoff, until the total time is over.
 */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Clock } from '../../values/time.js';
import { clusterName } from '../node-address.js';
import { askOnce, loadWeb3, type Question, type RpcNode } from './ask.js';
import { GENESIS_QUESTION } from './questions.js';
import type { Trouble } from './rpc-errors.js';

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
}

export interface Voice<Value> {
  readonly node: RpcNode;
  readonly value: Value;
}

interface AskTerms {
  readonly minContextSlot?: number | undefined;
  readonly only?: RpcNode;
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
  readonly found: Voice<Value>[];
  readonly failures: Map<RpcNode, Trouble>;
  readonly deadlineMs: number;
}

export class NodePool {
  readonly #options: NodePoolOptions;
  readonly #genesis = new Map<RpcNode, string>();
  readonly #failures = new Map<RpcNode, number>();
  /** Rate limits: until when not to send to a node, and its error. */
  readonly #resting = new Map<RpcNode, { readonly untilMs: number; readonly trouble: Trouble }>();
  readonly #unanswered = new Map<string, { readonly untilMs: number; readonly error: FlywheelError }>();

  constructor(options: NodePoolOptions) {
    this.#options = options;
  }

  get nodes(): readonly RpcNode[] {
    return this.#options.nodes;
  }

  get quorum(): number {
    return this.#options.quorum ?? 1;
  }

  /** @throws `ERR_INTERRUPTED` */
  async sleep(ms: number): Promise<void> {
    const { sleep, signal } = this.#options;
    const isOver = (): boolean => signal?.aborted === true;
    if (isOver()) throw interrupted();
    try {
      await sleep(ms, signal);
    } catch (error) {
      if (isOver()) throw interrupted(error);
      throw error;
    }
  }

  /**
   * Answers of a quorum of nodes; slots of later answers never go back.
   * @throws `ERR_UNAVAILABLE`, `ERR_RESPONSE_INVALID`, `ERR_CHAIN_MISMATCH` for nodes of different clusters, `ERR_INTERRUPTED`
   */
  ask<Value>(question: Question<Value>, terms: AskTerms = {}): Promise<readonly Voice<Value>[]> {
    return this.#ask(question, this.quorum, terms);
  }

  /** The answer of one node. The caller must be able to detect or bound a false answer. @throws as {@link ask} */
  async one<Value>(question: Question<Value>, terms: AskTerms = {}): Promise<Value> {
    const [voice] = (await this.#ask(question, 1, terms)) as readonly [Voice<Value>];
    return voice.value;
  }

  /**
   * The answer on which the quorum agrees, from the newest state. If nodes differ, the state may have changed between their
   * answers: the question is repeated from the newer slot on, up to `MAX_COMPARISONS` times.
   * @throws as {@link ask}, and `ERR_CHAIN_MISMATCH` if the nodes still differ.
   */
  async agreed<Value>(question: Question<Value>, sinceSlot?: number): Promise<Value> {
    let minContextSlot = sinceSlot;
    for (let comparison = 1; ; comparison += 1) {
      const voices = await this.ask(question, { minContextSlot });
      const [first] = voices as readonly [Voice<Value>];
      const last = voices.at(-1) as Voice<Value>;
      const other = voices.find(({ value }) => question.differ?.(first.value, value) !== undefined);
      if (other === undefined) return last.value;
      minContextSlot = question.slotOf?.(last.value) ?? minContextSlot;
      if (comparison === MAX_COMPARISONS) throw disagreement(question, first, other);
      await this.sleep(SLOT_MS * comparison);
    }
  }

  /** An optional question gets one attempt of a second per node. After no node answered, the question is paused. */
  async #ask<Value>(
    question: Question<Value>,
    voices: number,
    given: AskTerms,
  ): Promise<readonly Voice<Value>[]> {
    const { clock, maxWaitMs } = this.#options;
    const terms = question.isOptional ? { ...given, tryMs: OPTIONAL_TRY_MS } : given;
    const deadlineMs = clock.nowMs() + maxWaitMs;
    const round: Round<Value> = { question, voices, terms, found: [], failures: new Map(), deadlineMs };
    const unanswered = question.isOptional && this.#unanswered.get(question.method);
    if (unanswered && clock.nowMs() < unanswered.untilMs) throw unanswered.error;
    for (let number = 1; ; number += 1) {
      if (await this.#askAround(round, number)) return round.found;
      if (question.isOptional) throw this.#withoutAnswer(round);
      const waitMs = this.#waitMs(round, number);
      if (waitMs === undefined) throw this.#failure(round);
      this.#options.log?.(`rpc: waiting ${waitMs} ms before ${question.method} is asked again`);
      await this.sleep(waitMs);
    }
  }

  async askAll<Value>(
    question: Question<Value>,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<readonly ({ readonly value: Value } | Trouble)[]> {
    const limitMs = Math.min(timeoutMs, this.#options.timeoutMs);
    return Promise.all(this.nodes.map((node) => this.#tryNode(node, question, undefined, limitMs)));
  }

  /** One attempt at each node that has not answered. @returns whether there are enough answers. */
  async #askAround<Value>(round: Round<Value>, number: number): Promise<boolean> {
    const { question, terms, found, failures, deadlineMs } = round;
    for (const node of this.#inOrder()) {
      if ((terms.only ?? node) !== node || hasSpoken(round, node) || failures.get(node)?.retryable === false)
        continue;
      const result = await this.#tryNode(
        node,
        question,
        floorOf(round),
        this.#tryMs(terms, number, deadlineMs),
      );
      if (!('value' in result)) {
        failures.set(node, result);
        if (!question.isOptional) this.#failures.set(node, (this.#failures.get(node) ?? 0) + 1);
        continue;
      }
      failures.delete(node);
      this.#failures.delete(node);
      found.push({ node, value: result.value });
      if (found.length >= round.voices) return true;
    }
    return false;
  }

  /** Configured order, recently failed nodes last. */
  #inOrder(): readonly RpcNode[] {
    const failed = (node: RpcNode): number => this.#failures.get(node) ?? 0;
    return [...this.nodes].sort((left, right) => failed(left) - failed(right));
  }

  /** Round 1 gives every node the full timeout; later attempts end at the deadline. */
  #tryMs({ tryMs = Number.POSITIVE_INFINITY }: AskTerms, number: number, deadlineMs: number): number {
    const timeoutMs = Math.min(tryMs, this.#options.timeoutMs);
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

  /** A refusal does not pause the method: it may concern one block only. */
  #withoutAnswer<Value>(round: Round<Value>): FlywheelError {
    const error = this.#failure(round);
    const untilMs = this.#options.clock.nowMs() + OPTIONAL_REST_MS;
    if ([...round.failures.values()].some(({ kind }) => kind !== 'refused'))
      this.#unanswered.set(round.question.method, { untilMs, error });
    return error;
  }

  /** The first node's error; messages of the others are appended. */
  #failure<Value>({ failures }: Round<Value>): FlywheelError {
    const errors = this.nodes.flatMap((node) => failures.get(node)?.error ?? []);
    const [first] = errors;
    if (first === undefined) return new FlywheelError('ERR_UNAVAILABLE', 'No other RPC node is left to ask.');
    const message = [...new Set(errors.map((error) => error.message))].join(' ');
    return message === first.message ? first : new FlywheelError(first.code, message, first.options);
  }

  async #tryNode<Value>(
    node: RpcNode,
    question: Question<Value>,
    minContextSlot: number | undefined,
    timeoutMs: number,
  ): Promise<{ readonly value: Value } | Trouble> {
    const stranger = this.#rest(node) ?? (await this.#strangeness(node, timeoutMs));
    return stranger ?? this.#once(node, question, minContextSlot, timeoutMs);
  }

  #rest(node: RpcNode): Trouble | undefined {
    const rest = this.#resting.get(node);
    const waitMs = (rest?.untilMs ?? 0) - this.#options.clock.nowMs();
    return rest === undefined || waitMs <= 0 ? undefined : { ...rest.trouble, waitMs };
  }

  #noteRest(node: RpcNode, trouble: Trouble): void {
    const { kind, waitMs = 0 } = trouble;
    if (kind !== 'limited') return;
    const untilMs = this.#options.clock.nowMs() + Math.min(waitMs, MAX_RETRY_AFTER_MS);
    this.#resting.set(node, { untilMs, trouble });
  }

  async #once<Value>(
    node: RpcNode,
    question: Question<Value>,
    minContextSlot: number | undefined,
    timeoutMs: number,
  ): Promise<{ readonly value: Value } | Trouble> {
    const { signal, clock, log } = this.#options;
    if (signal?.aborted === true) throw interrupted();
    await loadWeb3();
    const startedMs = clock.nowMs();
    const result = await askOnce(node, question, { timeoutMs, signal }, { minContextSlot, nowMs: startedMs });
    // Many nodes limit single methods; a limit on an optional question must not block the required ones.
    if (!('value' in result || question.isOptional)) this.#noteRest(node, result);
    const how = 'value' in result ? 'answered' : result.error.message;
    log?.(`rpc: ${node.address.host} ${question.method}: ${how} (${clock.nowMs() - startedMs} ms)`);
    return result;
  }

  /** Why a node cannot replace the others: its cluster is another one, or unknown. */
  async #strangeness(node: RpcNode, timeoutMs: number): Promise<Trouble | undefined> {
    const { genesis } = this.#options;
    if (this.nodes.length === 1 && genesis === undefined) return undefined;
    if (!this.#genesis.has(node)) {
      const tryMs = this.nodes.length === 1 ? timeoutMs : Math.min(timeoutMs, GENESIS_TRY_MS);
      const result = await this.#once(node, GENESIS_QUESTION, undefined, tryMs);
      if (!('value' in result)) return result;
      this.#genesis.set(node, result.value);
    }
    const own = this.#genesis.get(node);
    if (own === undefined) return undefined;
    const { host } = node.address;
    if (genesis !== undefined && own !== genesis)
      return ofAnotherCluster(
        `The RPC node ${host} belongs to ${clusterOf(own)} (genesis ${own}), expected ${clusterOf(genesis)} (genesis ${genesis}).`,
        'Nothing was sent. Use nodes of that cluster: --rpc-url.',
      );
    const [[first, firstGenesis] = [node, own]] = this.#genesis;
    if (own === firstGenesis) return undefined;
    return ofAnotherCluster(
      `The RPC nodes belong to different clusters: ${first.address.host} to ${clusterOf(firstGenesis)}, ${host} to ${clusterOf(own)}.`,
      'Use nodes of one cluster: --rpc-url.',
    );
  }
}

const disagreement = <Value>(
  { differ }: Question<Value>,
  left: Voice<Value>,
  right: Voice<Value>,
): FlywheelError =>
  new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    `The RPC nodes ${left.node.address.host} and ${right.node.address.host} disagree about ${differ?.(left.value, right.value)}.`,
  );

const ofAnotherCluster = (message: string, hint: string): Trouble => ({
  kind: 'other',
  error: new FlywheelError('ERR_CHAIN_MISMATCH', message, { hint }),
  retryable: false,
});

/** A second address of the same host does not count towards the quorum. */
const hasSpoken = <Value>({ found }: Round<Value>, { address }: RpcNode): boolean =>
  found.some((voice) => voice.node.address.host === address.host);

const floorOf = <Value>({ question, terms, found }: Round<Value>): number | undefined =>
  found.reduce<number | undefined>((floor, { value }) => {
    const slot = question.slotOf?.(value);
    return slot === undefined ? floor : Math.max(floor ?? 0, slot);
  }, terms.minContextSlot);
