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
  /** From now on it leads to another one. */
  leadTo(url: string): void;
  end(): Promise<void>;
}

/** Opens a way to the database of an address. */
export async function openDatabaseWay(url: string): Promise<DatabaseWay> {
  let target = new URL(url);
  const pairs = new Set<readonly [Socket, Socket]>();
  let [isStill, isClosed] = [false, false];
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
      from.on('data', (bytes: Buffer) => void to.write(bytes));
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
    leadTo(other) {
      target = new URL(other);
    },
    async end() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
