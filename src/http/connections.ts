/**
 * The connections of a server: which are idle, which must go when there are too many, and how one is ended so that what was
 * said last arrives. What is said on them is decided elsewhere.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { HttpLimits } from './options.js';
import type { RequestLife, RequestLives } from './request-life.js';

/** For how long the rest of what a client sends is taken in and dropped after the last answer on its connection. */
const LINGER_MS = 2_000;
/** How often is looked for answers that nobody takes. */
const SWEEP_INTERVAL_MS = 1_000;
/** Of all connections; one key that has more of them wait for the rest of its requests makes room for others before anybody else. */
const LARGE_SHARE = 1 / 4;

/** One connection with the requests on it that have no answer yet, in their order. */
export class Connection {
  readonly socket: Socket;
  readonly unanswered: RequestLife[] = [];
  /** What came last cannot be read as HTTP, nor can anything behind it. */
  isBroken = false;
  /** Since when there is nothing to answer. */
  idleSinceMs = performance.now();
  #isEnding = false;
  #onQuiet: (() => void) | undefined;
  /** The answer that was being taken when it was last looked, and since when. */
  #taken: { readonly life: RequestLife; readonly sinceMs: number } | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Cuts the connection when its client has not taken a written answer for so long. */
  sweep(nowMs: number, answerTimeoutMs: number): void {
    const [life] = this.unanswered;
    if (life === undefined || !life.response.writableEnded) this.#taken = undefined;
    else if (this.#taken?.life !== life) this.#taken = { life, sinceMs: nowMs };
    else if (nowMs - this.#taken.sinceMs >= answerTimeoutMs) this.socket.destroy();
  }

  /** Is there nothing to answer, and may something come? */
  get isIdle(): boolean {
    return this.unanswered.length === 0 && !this.#isEnding;
  }

  /** The only request on it, while its body is on the way: nothing has been done for it. */
  get arriving(): RequestLife | undefined {
    const [life] = this.unanswered;
    return this.unanswered.length === 1 && life?.isArriving === true ? life : undefined;
  }

  /** The last answer was given; whatever still comes in is not looked at. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Runs `action` once every request so far has its answer. */
  whenQuiet(action: () => void): void {
    if (this.unanswered.length === 0) action();
    else this.#onQuiet = action;
  }

  answered(life: RequestLife): void {
    const place = this.unanswered.indexOf(life);
    if (place >= 0) this.unanswered.splice(place, 1);
    if (this.unanswered.length > 0) return;
    this.idleSinceMs = performance.now();
    this.#onQuiet?.();
    this.#onQuiet = undefined;
  }

  /**
   * Ends the connection behind what has been written. Closing it while the client still sends would make the system
   * reset it, and the client would lose an answer that it has not read (RFC 9112, section 9.6).
   */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.socket.end();
    this.socket.resume();
    const timer = setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
    this.socket.once('close', () => clearTimeout(timer));
  }
}

/** All connections of a server. */
export class Connections {
  readonly #max: number;
  readonly #lives: RequestLives;
  readonly #bySocket = new Map<Socket, Connection>();
  readonly #waiting: (() => void)[] = [];
  readonly #sweeping: NodeJS.Timeout;

  constructor(limits: Pick<HttpLimits, 'maxConnections' | 'answerTimeoutMs'>, lives: RequestLives) {
    this.#max = limits.maxConnections;
    this.#lives = lives;
    this.#sweeping = setInterval(() => {
      const nowMs = performance.now();
      for (const connection of this.#bySocket.values()) connection.sweep(nowMs, limits.answerTimeoutMs);
    }, SWEEP_INTERVAL_MS).unref();
  }

  get size(): number {
    return this.#bySocket.size;
  }

  get hasIdle(): boolean {
    return this.#longestIdle() !== undefined;
  }

  /**
   * Takes a new connection. Where there are too many, one makes room for which nothing is done: the longest idle, else one that
   * still waits for its request; or else the new one goes.
   */
  open(socket: Socket): void {
    if (this.#bySocket.size >= this.#max) {
      const leaving = this.#leastMissed();
      if (leaving === undefined) {
        socket.destroy();
        return;
      }
      leaving.socket.destroy();
      this.#forget(leaving);
    }
    const connection = new Connection(socket);
    this.#bySocket.set(socket, connection);
    // Node calls this behind the last answer of a connection, and closes too early itself.
    socket.destroySoon = () => connection.end();
    socket.once('close', () => {
      for (const life of [...connection.unanswered]) this.#answered(connection, life);
      this.#forget(connection);
    });
  }

  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Begins the life of a request; none begins on a connection that has seen its last answer. */
  begin(request: IncomingMessage, response: ServerResponse): RequestLife | undefined {
    const connection = this.#bySocket.get(request.socket);
    if (connection === undefined || connection.isEnding) return undefined;
    const life = this.#lives.begin(request, response);
    connection.unanswered.push(life);
    response.once('close', () => this.#answered(connection, life));
    return life;
  }

  /** Is the answer to this request the last on its connection, while the server closes or after what cannot be read? */
  endsWith(life: RequestLife, isClosing: boolean): boolean {
    const connection = this.#bySocket.get(life.request.socket);
    if (connection === undefined) return false;
    const endsHere = isClosing || (connection.isBroken && !life.request.complete);
    return endsHere && connection.unanswered.at(-1) === life;
  }

  /** Answers every request that has no answer yet with an error. */
  refuseAll(error: FlywheelError): void {
    for (const { unanswered } of this.#bySocket.values()) {
      for (const life of [...unanswered]) life.refuse(error);
    }
  }

  /** Ends them all behind what has been written. */
  endAll(): void {
    for (const connection of this.#bySocket.values()) connection.end();
  }

  /** Cuts what is left; none may be opened after it. */
  destroyAll(): void {
    clearInterval(this.#sweeping);
    for (const { socket } of this.#bySocket.values()) socket.destroy();
  }

  /** Resolves when there is none, at once or later. */
  none(): Promise<void> {
    if (this.#bySocket.size === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #leastMissed(): Connection | undefined {
    const crowd = this.#largestCrowd();
    const isLarge = crowd.length > this.#max * LARGE_SHARE;
    return (isLarge ? undefined : this.#longestIdle()) ?? longestArriving(crowd);
  }

  /** Those that wait for the rest of requests with one key, of the key that has most of them. */
  #largestCrowd(): readonly Connection[] {
    const byKey = new Map<string | undefined, Connection[]>();
    for (const connection of this.#bySocket.values()) {
      const { arriving } = connection;
      if (arriving === undefined) continue;
      const crowd = byKey.get(arriving.keyId);
      if (crowd === undefined) byKey.set(arriving.keyId, [connection]);
      else crowd.push(connection);
    }
    return [...byKey.values()].reduce((most, crowd) => (crowd.length > most.length ? crowd : most), []);
  }

  #longestIdle(): Connection | undefined {
    let longest: Connection | undefined;
    for (const connection of this.#bySocket.values()) {
      if (!connection.isIdle) continue;
      if (longest === undefined || connection.idleSinceMs < longest.idleSinceMs) longest = connection;
    }
    return longest;
  }

  #answered(connection: Connection, life: RequestLife): void {
    connection.answered(life);
    life.close();
  }

  #forget(connection: Connection): void {
    if (!this.#bySocket.delete(connection.socket) || this.#bySocket.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const longestArriving = (crowd: readonly Connection[]): Connection | undefined =>
  crowd.reduce<Connection | undefined>(
    (longest, one) => ((one.arriving?.elapsedMs ?? 0) > (longest?.arriving?.elapsedMs ?? -1) ? one : longest),
    undefined,
  );
