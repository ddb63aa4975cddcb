/** A WebSocket to a base address, on a connection of `dial`: through the same proxy, under the same certificates as requests. */
import type { Socket } from 'node:net';
import { dial, type Route } from './dial.js';

/** What comes of it; after `onClose`, which comes once, there is nothing more. */
export interface WebSocketEvents {
  readonly onOpen: () => void;
  readonly onMessage: (text: string) => void;
  readonly onClose: () => void;
}

export interface WebSocketLine {
  /** What cannot be sent is lost. */
  send(text: string): void;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_MESSAGE_BYTES = 64 * 1_024;

/** Dials, and says what comes of it. Nothing of it keeps a process from its end. */
class Line implements WebSocketLine {
  readonly #events: WebSocketEvents;
  readonly #dial = new AbortController();
  #send: (text: string) => void = () => undefined;
  #cut: () => void = () => undefined;
  #isOver = false;

  constructor(route: Route, headers: Readonly<Record<string, string>>, events: WebSocketEvents) {
    this.#events = events;
    this.#open(route, headers).catch(() => this.#end());
  }

  send(text: string): void {
    this.#send(text);
  }

  close(): void {
    this.#isOver = true;
    this.#dial.abort();
    this.#cut();
  }

  async #open(route: Route, headers: Readonly<Record<string, string>>): Promise<void> {
    const { WebSocket } = await import('ws');
    const socket = await this.#reach(route);
    if (this.#isOver) return void socket.destroy();
    // TLS is spoken by the connection itself already.
    const url = new URL(route.base);
    url.protocol = 'ws:';
    const webSocket = new WebSocket(url, {
      ...{ createConnection: () => socket, headers: { ...headers }, maxPayload: MAX_MESSAGE_BYTES },
      ...{ perMessageDeflate: false, handshakeTimeout: CONNECT_TIMEOUT_MS },
    });
    socket.unref();
    this.#cut = () => webSocket.terminate();
    this.#send = (text) => {
      if (webSocket.readyState === webSocket.OPEN) webSocket.send(text, () => undefined);
    };
    webSocket.on('error', () => undefined);
    webSocket.on('open', () => this.#tell(this.#events.onOpen));
    webSocket.on('message', (data) => this.#tell(() => this.#events.onMessage(String(data))));
    webSocket.on('close', () => this.#end());
  }

  async #reach(route: Route): Promise<Socket> {
    const timer = setTimeout(() => this.#dial.abort(), CONNECT_TIMEOUT_MS);
    timer.unref();
    try {
      return await dial(route, this.#dial.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  #tell(event: () => void): void {
    if (!this.#isOver) event();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onClose();
  }
}

/** Opens a WebSocket; `onClose` also says that it could not be. */
export const openWebSocket = (
  route: Route,
  headers: Readonly<Record<string, string>>,
  events: WebSocketEvents,
): WebSocketLine => new Line(route, headers, events);
