/**
 * Waiting for what was sent: a node that speaks by itself says when to look again, and where none does, it is looked after a
 * while. What it says is a hint and nothing more; what became of a transaction is only ever looked up.
 */
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../../values/time.js';
import type { Commitment, Signature } from '../chain.js';
import type { NodeChannel, RpcNode } from './exchange.js';

/** How long a node that could not be reached, or has broken off, is left alone. */
const RETRY_MS = 30_000;
/** Where a node will speak, it is looked this many times less often. */
const PATIENCE = 4;
/** Signatures of which it is remembered that a node has spoken. */
const MAX_TOLD = 4_096;

/** Somebody who waits for one signature. */
interface Waiter {
  readonly signature: Signature;
  /** Number of the request by which the node was asked to tell. */
  readonly request: number;
  /** As the node calls it, once it has answered. */
  subscription: number | null;
  readonly wake: () => void;
}

/** The channel to one node. */
interface Line {
  readonly channel: NodeChannel;
  isOpen: boolean;
}

interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly subscription?: unknown } | null;
}

function read(text: string): Message {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Waits for landings, by one channel at a time. */
export class LandingNews {
  readonly #nodes: readonly RpcNode[];
  readonly #clock: Clock;
  readonly #commitment: Commitment;
  readonly #waiters = new Set<Waiter>();
  /** A node says of a signature once that it has landed; asked again it would say so at once, and nothing would be new. */
  readonly #told = new Set<Signature>();
  #line: Line | null = null;
  /** The node that is tried next, and when. */
  #next = 0;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #requests = 0;
  #isClosed = false;

  constructor(nodes: readonly RpcNode[], clock: Clock, commitment: Commitment) {
    this.#nodes = nodes.filter(({ openChannel }) => openChannel !== undefined);
    this.#clock = clock;
    this.#commitment = commitment;
  }

  /**
   * Waits until a look is worth it.
   * @param ms - after which it is in any case, where nobody will say.
   */
  async wait(signatures: readonly Signature[], ms: number, signal?: AbortSignal): Promise<void> {
    const last = signatures.findLast((signature) => !this.#told.has(signature));
    const line = last === undefined ? null : this.#open();
    const over = new AbortController();
    const wake = (): void => over.abort();
    signal?.addEventListener('abort', wake, { once: true });
    const waiter = last === undefined ? null : this.#join(last, wake);
    try {
      if (signal?.aborted === true) return;
      const isTold = line?.isOpen === true;
      await setTimeout(isTold ? ms * PATIENCE : ms, undefined, { signal: over.signal }).catch(
        () => undefined,
      );
    } finally {
      signal?.removeEventListener('abort', wake);
      if (waiter !== null) this.#leave(waiter);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#line?.channel.close();
    this.#line = null;
    for (const { wake } of this.#waiters) wake();
  }

  #open(): Line | null {
    if (this.#line !== null) return this.#line;
    const node = this.#nodes[this.#next % this.#nodes.length];
    if (this.#isClosed || node?.openChannel === undefined || this.#clock.nowMs() < this.#retryAtMs)
      return null;
    const line: Line = {
      isOpen: false,
      channel: node.openChannel({
        onOpen: () => {
          line.isOpen = true;
          for (const waiter of this.#waiters) this.#ask(line, waiter);
        },
        onMessage: (text) => this.#hear(line, read(text)),
        onClose: () => this.#lose(line),
      }),
    };
    this.#line = line;
    return line;
  }

  /** Everybody looks for himself, now. */
  #lose(line: Line): void {
    if (this.#line !== line) return;
    this.#line = null;
    this.#next += 1;
    this.#retryAtMs = this.#clock.nowMs() + RETRY_MS;
    if (line.isOpen) for (const { wake } of this.#waiters) wake();
  }

  #join(signature: Signature, wake: () => void): Waiter {
    this.#requests += 1;
    const waiter: Waiter = { signature, request: this.#requests, subscription: null, wake };
    this.#waiters.add(waiter);
    if (this.#line?.isOpen === true) this.#ask(this.#line, waiter);
    return waiter;
  }

  #leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    const { subscription } = waiter;
    if (subscription !== null && this.#line?.isOpen === true)
      this.#say(this.#line, 'signatureUnsubscribe', [subscription], 0);
  }

  #ask(line: Line, { signature, request }: Waiter): void {
    this.#say(line, 'signatureSubscribe', [signature, { commitment: this.#commitment }], request);
  }

  #say({ channel }: Line, method: string, params: readonly unknown[], id: number): void {
    channel.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }

  #hear(line: Line, { id, result, method, params }: Message): void {
    if (method === 'signatureNotification') {
      for (const waiter of this.#waiters) {
        if (waiter.subscription === null || waiter.subscription !== params?.subscription) continue;
        // It ends with this by itself.
        waiter.subscription = null;
        if (this.#told.size >= MAX_TOLD) this.#told.clear();
        this.#told.add(waiter.signature);
        waiter.wake();
      }
      return;
    }
    if (typeof result !== 'number' || typeof id !== 'number' || id === 0) return;
    const waiter = [...this.#waiters].find(({ request }) => request === id);
    // Whoever asked has gone meanwhile.
    if (waiter === undefined) this.#say(line, 'signatureUnsubscribe', [result], 0);
    else waiter.subscription = result;
  }
}
