/** A relay on loopback between one server and its database, which can cut, close or stall connections. */
import { connect, createServer, type Socket } from 'node:net';
import { onLoopback } from './loopback.js';

export type DatabaseWay = Awaited<ReturnType<typeof openDatabaseWay>>;

/** Texts of a writer's begin, commit and outcome query (PostgreSQL frontend protocol, simple query). */
const BEGIN = 'begin_write';
const COMMIT = Buffer.from('Q\0\0\0\x0bcommit\0', 'latin1');
const ASK = 'pg_xact_status';

class CommitCut {
  #left: number;
  readonly #hasArrived: boolean;
  readonly #writers = new Set<Socket>();

  constructor(nth: number, hasArrived: boolean) {
    this.#left = nth;
    this.#hasArrived = hasArrived;
  }

  /** @returns whether the relay must not pass on these bytes from `near`. */
  stops(bytes: Buffer, near: Socket, far: Socket): boolean {
    if (bytes.includes(BEGIN)) this.#writers.add(near);
    if (this.#left === 0 && bytes.includes(ASK)) return this.#lose(near);
    if (!bytes.equals(COMMIT) || !this.#writers.delete(near) || this.#left === 0) return false;
    this.#left -= 1;
    if (this.#left > 0) return false;
    if (!this.#hasArrived) return this.#lose(near);
    far.removeAllListeners('data').once('data', () => this.#lose(near));
    far.write(COMMIT);
    return true;
  }

  #lose(near: Socket): true {
    near.resetAndDestroy();
    return true;
  }
}

export async function openDatabaseWay(url: string) {
  let target = new URL(url);
  const pairs = new Set<readonly [Socket, Socket]>();
  let [isStill, isClosed] = [false, false];
  let commitCut: CommitCut | undefined;
  const server = createServer((near) => {
    if (isClosed) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (bytes: Buffer) => {
        if (from === far || commitCut?.stops(bytes, near, far) !== true) to.write(bytes);
      });
      from.on('error', () => to.destroy());
      from.once('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
      if (isStill) from.pause();
    }
  });
  const { port, close } = await onLoopback(server);
  const way = new URL(url);
  way.port = String(port);
  const cut = (): void => {
    for (const [near, far] of [...pairs]) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  };
  return {
    url: way.href,
    cut,
    /** Stalls both directions without closing a connection; `false` resumes. */
    hold(still: boolean): void {
      isStill = still;
      for (const pair of pairs) for (const socket of pair) still ? socket.pause() : socket.resume();
    },
    close(closed: boolean): void {
      isClosed = closed;
    },
    /**
     * Cuts the connection at the n-th commit that concerns one project, and after that every connection that asks for its outcome.
     * @param hasArrived - `true`: the database commits and its answer is lost; `false`: the commit never arrives.
     */
    cutAtCommit(nth: number, hasArrived: boolean): void {
      commitCut = new CommitCut(nth, hasArrived);
    },
    leadTo(other: string): void {
      target = new URL(other);
    },
    end: close,
  };
}
