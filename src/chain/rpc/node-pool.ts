/**
 * Several nodes as one: who is asked, in which order, how often, and for how long.
 *
 * A node that fails is followed by the next one at once; when none is left to ask, all that may still answer are asked again
 * after a wait, until the time for waiting is over.
 */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Clock } from '../../values/time.js';
import { clusterName } from '../node-address.js';
import { askOnce, loadWeb3, type Question, type RpcNode } from './ask.js';
import { GENESIS_QUESTION } from './questions.js';
import type { Trouble } from './rpc-errors.js';

/** The nodes, and the time that asking them may take. */
export interface NodePoolOptions {
  /** At least one, the first choice first. */
  readonly nodes: readonly RpcNode[];
  /** Different nodes that have to agree, where more than one is asked. @default 1 */
  readonly quorum?: number;
  /** Genesis hash of the cluster that all of them have to be of. @default that of the first to say */
  readonly genesis?: string;
  /** For one try, from dialling to the last byte. */
  readonly timeoutMs: number;
  /** For one question: when it is over, nothing is waited for and nothing tried again. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** @throws when the signal is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Ends every wait when it is aborted. */
  readonly signal?: AbortSignal;
  /** Hears of every try. */
  readonly log?: (line: string) => void;
}

/** What one node says. */
export interface Voice<Value> {
  readonly node: RpcNode;
  readonly value: Value;
}

/** How a question is put. */
interface AskTerms {
  /** The state must not be older than this slot. */
  readonly minContextSlot?: number | undefined;
  /** The one node to ask. @default any */
  readonly only?: RpcNode;
  /** For one try, where it is less than that of all questions. */
  readonly tryMs?: number;
}

/** Bounds of the wait before the second round; they double with each further one. */
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;
/** Longest wait that a node can ask for. */
const MAX_RETRY_AFTER_MS = 30_000;
/** For a node to say of which cluster it is, where another one may answer instead: a dead one is found by this. */
const GENESIS_TRY_MS = 5_000;
/** How often nodes that differ are asked for a newer state, and how long it takes for there to be one. */
const MAX_COMPARISONS = 5;
const SLOT_MS = 400;
/** For one try at an optional question, and how long it is not asked again where no node has answered. */
const OPTIONAL_TRY_MS = 1_000;
const OPTIONAL_REST_MS = 10_000;

const interrupted = (cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_INTERRUPTED', 'Interrupted while reading the chain.', { cause });

/** Which public cluster a genesis is of, for people. */
const clusterOf = (genesis: string): string => clusterName(genesis) ?? 'another cluster';

/** One question on its way from node to node. */
interface Round<Value> {
  readonly question: Question<Value>;
  /** Different nodes that have to answer. */
  readonly voices: number;
  readonly terms: AskTerms;
  readonly found: Voice<Value>[];
  /** Of each node that failed, how it failed last. */
  readonly failures: Map<RpcNode, Trouble>;
  readonly deadlineMs: number;
}

/** Asks the nodes of one cluster. */
export class NodePool {
  readonly #options: NodePoolOptions;
  /** Of each node that has said it. */
  readonly #genesis = new Map<RpcNode, string>();
  /** Failures of each node since it last answered. */
  readonly #failures = new Map<RpcNode, number>();
  /** Until when each node has asked to be left alone, and in which words. */
  readonly #resting = new Map<RpcNode, { readonly untilMs: number; readonly trouble: Trouble }>();
  /** Until when each optional question is not asked, by its method, and why. */
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

  /** Waits. @throws `ERR_INTERRUPTED` */
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
   * What as many nodes say as have to agree; the states that they are from do not go back in time.
   * @throws `ERR_UNAVAILABLE`, `ERR_RESPONSE_INVALID`, `ERR_CHAIN_MISMATCH` for nodes of different clusters, `ERR_INTERRUPTED`
   */
  ask<Value>(question: Question<Value>, terms: AskTerms = {}): Promise<readonly Voice<Value>[]> {
    return this.#ask(question, this.quorum, terms);
  }

  /** What one node says; what it makes up is found out by other means. @throws as {@link ask} */
  async one<Value>(question: Question<Value>, terms: AskTerms = {}): Promise<Value> {
    const [voice] = (await this.#ask(question, 1, terms)) as readonly [Voice<Value>];
    return voice.value;
  }

  /**
   * What all that have to agree say of one state, the newest. Where they differ, the state may have changed between the two
   * answers: both are asked again from the newer slot on, a few times.
   * @throws as {@link ask}, and `ERR_CHAIN_MISMATCH` where they go on to differ.
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

  /** An optional question is put to each node once, for a second, and to none for a while after no node has answered. */
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

  /** Puts a question to every node once. @returns what each made of it, in order. */
  async askAll<Value>(
    question: Question<Value>,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<readonly ({ readonly value: Value } | Trouble)[]> {
    const limitMs = Math.min(timeoutMs, this.#options.timeoutMs);
    return Promise.all(this.nodes.map((node) => this.#tryNode(node, question, undefined, limitMs)));
  }

  /** One try at each node that has not answered. @returns whether there are enough answers. */
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

  /** As given, but those that have failed of late come last. */
  #inOrder(): readonly RpcNode[] {
    const failed = (node: RpcNode): number => this.#failures.get(node) ?? 0;
    return [...this.nodes].sort((left, right) => failed(left) - failed(right));
  }

  /** Every node gets one whole try; what comes after that ends in time. */
  #tryMs({ tryMs = Number.POSITIVE_INFINITY }: AskTerms, number: number, deadlineMs: number): number {
    const timeoutMs = Math.min(tryMs, this.#options.timeoutMs);
    if (number === 1) return timeoutMs;
    return Math.max(1, Math.min(timeoutMs, deadlineMs - this.#options.clock.nowMs()));
  }

  /** How long to wait before the next round; `undefined` where there will be none. */
  #waitMs<Value>({ failures, deadlineMs }: Round<Value>, number: number): number | undefined {
    const { random, clock } = this.#options;
    const bound = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (number - 1));
    const waits = [...failures.values()]
      .filter(({ retryable }) => retryable)
      // A node that asks for less is not asked without end all the same.
      .map(({ waitMs = 0 }) => Math.max(waitMs, Math.ceil((bound * (1 + random())) / 2)));
    if (waits.length === 0) return undefined;
    const waitMs = Math.min(MAX_RETRY_AFTER_MS, ...waits);
    return clock.nowMs() + waitMs < deadlineMs ? waitMs : undefined;
  }

  /** What a node refuses of one block it may tell of the next. */
  #withoutAnswer<Value>(round: Round<Value>): FlywheelError {
    const error = this.#failure(round);
    const untilMs = this.#options.clock.nowMs() + OPTIONAL_REST_MS;
    if ([...round.failures.values()].some(({ kind }) => kind !== 'refused'))
      this.#unanswered.set(round.question.method, { untilMs, error });
    return error;
  }

  /** What is said when no node answered: the words of the first, and those of the others after it. */
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

  /** What a node has said that is still to be left alone, whatever it is asked. */
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
    // Many a node limits one method only; what is done without must not keep the others from being asked.
    if (!('value' in result || question.isOptional)) this.#noteRest(node, result);
    const how = 'value' in result ? 'answered' : result.error.message;
    log?.(`rpc: ${node.address.host} ${question.method}: ${how} (${clock.nowMs() - startedMs} ms)`);
    return result;
  }

  /** Why a node cannot stand in for the others, if there are any: it is of another cluster, or does not say of which. */
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

/** A second address of the same host is no second opinion. */
const hasSpoken = <Value>({ found }: Round<Value>, { address }: RpcNode): boolean =>
  found.some((voice) => voice.node.address.host === address.host);

const floorOf = <Value>({ question, terms, found }: Round<Value>): number | undefined =>
  found.reduce<number | undefined>((floor, { value }) => {
    const slot = question.slotOf?.(value);
    return slot === undefined ? floor : Math.max(floor ?? 0, slot);
  }, terms.minContextSlot);
