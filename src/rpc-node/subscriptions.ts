/** WebSocket subscriptions to signatures, accounts and slots; notifications are sent after each slot. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { type WebSocket, WebSocketServer } from 'ws';
import { EMPTY_ACCOUNT } from '../chain/account.js';
import type { JsonValue } from '../values/canonical-json.js';
import { levelOf, RpcCall } from './call.js';
import type { Cluster } from './cluster.js';
import { answerText, readAsked, toJson } from './json-rpc.js';
import { accountJson, encodingOf } from './methods/account-methods.js';
import { requireSignature } from './methods/history-methods.js';
import { errorJson, invalidParams, methodNotFound, RpcError } from './rpc-error.js';

const MAX_MESSAGE_BYTES = 64 * 1_024;
const MAX_CONNECTIONS = 256;
const MAX_EACH = 1_000;
const MAX_SLOTS = 64;
/** Buffered bytes after which a slow client is disconnected. */
const MAX_WAITING_BYTES = 8 * 1_024 * 1_024;
const GOING_AWAY = 1_001;
const OVERLOADED = 1_013;
const CALL = /^([a-z]+)(Subscribe|Unsubscribe)$/;

/** @returns the results of the due notifications */
type Watch = () => readonly unknown[];

interface Subscription {
  readonly id: number;
  readonly kind: string;
  readonly connection: WebSocket;
  readonly watch: Watch;
}

const inSlot = (slot: number, value: unknown): unknown => ({ context: { slot }, value });

function account(call: RpcCall): Watch {
  const address = call.address(0);
  const options = call.options(1);
  const encoding = encodingOf(options);
  const commitment = levelOf(options);
  let known = call.viewAt(commitment).get(address);
  return () => {
    const view = call.viewAt(commitment);
    const state = view.get(address);
    if (isDeepStrictEqual(state, known)) return [];
    known = state;
    return [inSlot(view.slot, accountJson(state ?? EMPTY_ACCOUNT, encoding, view))];
  };
}

function signature(call: RpcCall): Watch {
  const wanted = requireSignature(call.text(0, 'a signature'));
  const commitment = levelOf(call.options(1));
  return () => {
    const { slot } = call.viewAt(commitment);
    const landed = call.cluster.find(wanted, slot);
    return landed === null ? [] : [inSlot(slot, { err: errorJson(landed.error) })];
  };
}

function slot({ cluster }: RpcCall): Watch {
  let known = cluster.slotOf('processed');
  return () => {
    const newest = cluster.slotOf('processed');
    const from = Math.max(known, newest - MAX_SLOTS);
    known = newest;
    const root = cluster.slotOf('finalized');
    return Array.from({ length: newest - from }, (_, at) => {
      const parent = from + at;
      return { parent, root, slot: parent + 1 };
    });
  };
}

/** By the prefix of `Subscribe`, `Unsubscribe` and `Notification`. */
const KINDS: Readonly<Record<string, (call: RpcCall) => Watch>> = { account, signature, slot };

export class Subscriptions {
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  readonly #all = new Map<number, Subscription>();
  #last = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly onFailure: (error: unknown) => void,
  ) {
    this.#server.on('wsClientError', (_error, socket) => socket.destroy());
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    this.#server.handleUpgrade(request, socket, head, (connection) => this.#open(connection));
  }

  notify(): void {
    for (const subscription of [...this.#all.values()]) this.#tell(subscription);
  }

  close(): void {
    for (const connection of this.#server.clients) connection.close(GOING_AWAY);
    this.#server.close();
  }

  terminate(): void {
    for (const connection of this.#server.clients) connection.terminate();
  }

  #open(connection: WebSocket): void {
    connection.on('error', () => undefined);
    if (this.#server.clients.size > MAX_CONNECTIONS) {
      connection.close(OVERLOADED);
      return;
    }
    connection.on('close', () => {
      for (const { id } of this.#of(connection)) this.#all.delete(id);
    });
    connection.on('message', (data) => this.#answer(connection, String(data)));
  }

  #answer(connection: WebSocket, text: string): void {
    for (const request of readAsked(text).requests) {
      const answer = answerText(
        request,
        // web3.js keeps a connection open with `ping`.
        ({ method, params }) =>
          method === 'ping' ? null : this.#call(connection, method, Array.isArray(params) ? params : []),
        this.onFailure,
      );
      if (answer !== null) this.#send(connection, answer);
    }
    // If the event happened before the subscription, the notification follows the answer.
    for (const subscription of this.#of(connection)) this.#tell(subscription);
  }

  /** @throws RpcError */
  #call(connection: WebSocket, method: string, values: readonly JsonValue[]): number | boolean {
    const [, kind = '', verb] = CALL.exec(method) ?? [];
    const watch = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
    if (watch === undefined) throw methodNotFound();
    const call = new RpcCall(values, this.cluster);
    if (verb === 'Unsubscribe') {
      const id = call.count(0, 'a subscription');
      if (this.#all.get(id)?.connection !== connection) throw invalidParams('Invalid subscription id.');
      return this.#all.delete(id);
    }
    if (this.#of(connection).length >= MAX_EACH) throw new RpcError(-32_603, 'Too many subscriptions');
    this.#last += 1;
    const id = this.#last;
    this.#all.set(id, { id, kind, connection, watch: watch(call) });
    return id;
  }

  #of(connection: WebSocket): readonly Subscription[] {
    return [...this.#all.values()].filter((each) => each.connection === connection);
  }

  /** A failing subscription must not affect the others. */
  #tell({ id, kind, connection, watch }: Subscription): void {
    try {
      const results = watch();
      // A signature subscription ends with its first notification.
      if (kind === 'signature' && results.length > 0) this.#all.delete(id);
      for (const result of results)
        this.#send(
          connection,
          toJson({ method: `${kind}Notification`, params: { result, subscription: id } }),
        );
    } catch (error) {
      if (!(error instanceof RpcError)) this.onFailure(error);
    }
  }

  #send(connection: WebSocket, text: string): void {
    if (connection.readyState !== connection.OPEN) return;
    if (connection.bufferedAmount > MAX_WAITING_BYTES) connection.terminate();
    else connection.send(text);
  }
}
