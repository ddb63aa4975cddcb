/** The node on WebSocket: subscriptions come in, notifications go out, and whoever does not take them is let go. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { answerText, readAsked } from './json-rpc.js';
import { RpcError } from './rpc-error.js';
import type { Listener, Subscriptions } from './subscriptions.js';

const MAX_MESSAGE_BYTES = 64 * 1_024;
/** Connections at most. */
const MAX_CONNECTIONS = 256;
/** Bytes that may wait for a slow reader. */
const MAX_WAITING_BYTES = 8 * 1_024 * 1_024;
const GOING_AWAY = 1_001;
const OVERLOADED = 1_013;

/** All WebSocket connections of a node. */
export class SocketFront {
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  readonly #subscriptions: Subscriptions;
  readonly #onFailure: (error: unknown) => void;

  constructor(subscriptions: Subscriptions, onFailure: (error: unknown) => void) {
    this.#subscriptions = subscriptions;
    this.#onFailure = onFailure;
    this.#server.on('wsClientError', (_error, socket) => socket.destroy());
  }

  /** Makes a connection of a request that asks for it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    this.#server.handleUpgrade(request, socket, head, (connection) => this.#open(connection));
  }

  /** Says good-bye to all. */
  close(): void {
    for (const connection of this.#server.clients) connection.close(GOING_AWAY);
    this.#server.close();
  }

  /** Cuts whoever is left. */
  terminate(): void {
    for (const connection of this.#server.clients) connection.terminate();
  }

  #open(connection: WebSocket): void {
    connection.on('error', () => undefined);
    if (this.#server.clients.size > MAX_CONNECTIONS) {
      connection.close(OVERLOADED);
      return;
    }
    const listener: Listener = {
      send: (text) => {
        if (connection.readyState !== connection.OPEN) return;
        if (connection.bufferedAmount > MAX_WAITING_BYTES) connection.terminate();
        else connection.send(text);
      },
    };
    connection.on('close', () => this.#subscriptions.drop(listener));
    connection.on('message', (data) => void this.#answer(listener, String(data)));
  }

  async #answer(listener: Listener, text: string): Promise<void> {
    const later: (() => void)[] = [];
    for (const request of readAsked(text).requests) {
      const isRequest = !(request instanceof RpcError);
      const answer = await answerText(
        isRequest ? request.id : null,
        () => {
          if (!isRequest) throw request;
          // What web3.js sends to keep a connection open.
          if (request.method === 'ping') return null;
          const values = Array.isArray(request.params) ? request.params : [];
          return this.#subscriptions.call(listener, request.method, values, (work) => later.push(work));
        },
        this.#onFailure,
      );
      if (!isRequest || !request.isNotification) listener.send(answer);
    }
    for (const work of later) work();
  }
}
