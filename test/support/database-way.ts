/** The way from one server to its database: a relay on loopback that can be cut, closed, or keep everything to itself. */
import { connect, createServer, type Socket } from 'node:net';

export interface DatabaseWay {
  /** The database's address, by this way. */
  readonly url: string;
  /** Breaks every connection off. */
  cut(): void;
  /** From now on nothing passes in either direction; nobody is told. @param isStill - `false` lets everything go on. */
  hold(isStill: boolean): void;
  /** From now on new connections are refused. */
  close(isClosed: boolean): void;
  /**
   * Breaks the connection of the n-th commit from now on that is about one project, and from then on each that asks what became of it.
   * @param hasArrived - the database has committed, and its answer is lost; else it never hears of the commit.
   */
  cutAtCommit(nth: number, hasArrived: boolean): void;
  /** From now on it leads to another one. */
  leadTo(url: string): void;
  end(): Promise<void>;
}

/** How a writer of one project begins, commits (PostgreSQL's frontend protocol: a simple query), and asks what became of that. */
const BEGIN = 'begin_write';
const COMMIT = Buffer.from('Q\0\0\0\x0bcommit\0', 'latin1');
const ASK = 'pg_xact_status';

/** Lets a commit through, or not, and loses it. */
class CommitCut {
  #left: number;
  readonly #hasArrived: boolean;
  readonly #writers = new Set<Socket>();

  constructor(nth: number, hasArrived: boolean) {
    this.#left = nth;
    this.#hasArrived = hasArrived;
  }

  /** @returns whether what came from `near` gets no further by the usual way. */
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

/** Opens a way to the database of an address. */
export async function openDatabaseWay(url: string): Promise<DatabaseWay> {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const way = new URL(url);
  way.port = String((server.address() as { port: number }).port);
  const cut = (): void => {
    for (const [near, far] of [...pairs]) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  };
  return {
    url: way.href,
    cut,
    hold(still) {
      isStill = still;
      for (const pair of pairs) for (const socket of pair) still ? socket.pause() : socket.resume();
    },
    close(closed) {
      isClosed = closed;
    },
    cutAtCommit(nth, hasArrived) {
      commitCut = new CommitCut(nth, hasArrived);
    },
    leadTo(other) {
      target = new URL(other);
    },
    async end() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
