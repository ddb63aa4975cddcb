/** Who wants to hear of what: takes subscriptions in, sends what they bring, ends them. */
import type { JsonValue } from '../values/canonical-json.js';
import type { Cluster } from './cluster.js';
import type { Faults } from './faults/faults.js';
import { toJson } from './json.js';
import type { Advance } from './landed.js';
import { Params } from './params.js';
import { invalidParams, methodNotFound, RpcError } from './rpc-error.js';
import { SUBSCRIPTION_KINDS, type Subscribed } from './subscription-kinds.js';

/** Where notifications go. */
export interface Listener {
  send(text: string): void;
}

interface Subscription extends Subscribed {
  readonly id: number;
  readonly kind: string;
  readonly listener: Listener;
}

/** Subscriptions of one listener at most. */
const MAX_EACH = 1_000;
const CALL = /^([a-z]+)(Subscribe|Unsubscribe)$/;

/** All subscriptions of a node. */
export class Subscriptions {
  readonly #cluster: Cluster;
  readonly #faults: Faults;
  readonly #onFailure: (error: unknown) => void;
  readonly #all = new Map<number, Subscription>();
  #last = 0;

  constructor(cluster: Cluster, faults: Faults, onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
    this.#cluster = cluster;
    this.#faults = faults;
  }

  get size(): number {
    return this.#all.size;
  }

  /**
   * Answers one call that came over a connection.
   * @param later - runs what has to be sent behind the answer.
   * @throws RpcError
   */
  call(
    listener: Listener,
    method: string,
    values: readonly JsonValue[],
    later: (work: () => void) => void,
  ): number | boolean {
    const [, kind = '', verb] = CALL.exec(method) ?? [];
    const make = Object.hasOwn(SUBSCRIPTION_KINDS, kind) ? SUBSCRIPTION_KINDS[kind] : undefined;
    if (make === undefined) throw methodNotFound();
    const params = new Params(values);
    if (verb === 'Unsubscribe') return this.#end(listener, params.count(0, 'a subscription'));
    if (this.#of(listener).length >= MAX_EACH) throw new RpcError(-32_603, 'Too many subscriptions');
    this.#cluster.refresh();
    this.#last += 1;
    const subscription = { ...make(params, this.#cluster), id: this.#last, kind, listener };
    this.#all.set(subscription.id, subscription);
    later(() => this.#send(subscription, subscription.already?.() ?? []));
    return subscription.id;
  }

  /** Tells whoever has waited for it. */
  hear(advance: Advance): void {
    for (const subscription of [...this.#all.values()])
      if (subscription.commitment === advance.commitment) this.#tell(subscription, advance);
  }

  /** A listener is gone. */
  drop(listener: Listener): void {
    for (const { id } of this.#of(listener)) this.#all.delete(id);
  }

  /** What goes wrong with one is no matter of the others, nor of the chain. */
  #tell(subscription: Subscription, advance: Advance): void {
    try {
      this.#send(subscription, subscription.hear(advance));
    } catch (error) {
      this.#onFailure(error);
    }
  }

  #of(listener: Listener): readonly Subscription[] {
    return [...this.#all.values()].filter((each) => each.listener === listener);
  }

  #end(listener: Listener, id: number): boolean {
    if (this.#all.get(id)?.listener !== listener) throw invalidParams('Invalid subscription id.');
    return this.#all.delete(id);
  }

  #send(subscription: Subscription, results: readonly unknown[]): void {
    if (results.length === 0 || !this.#all.has(subscription.id)) return;
    if (subscription.isOnce === true) this.#all.delete(subscription.id);
    for (const result of results) this.#notify(subscription, result);
  }

  #notify({ id, kind, listener }: Subscription, result: unknown): void {
    const params = { result, subscription: id };
    const text = toJson({ jsonrpc: '2.0', method: `${kind}Notification`, params });
    const copies = this.#faults.copiesOf(`${kind}Subscribe`);
    for (let copy = 0; copy < copies; copy += 1) listener.send(text);
  }
}
