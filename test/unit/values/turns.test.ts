/** Turns that are given away: those who are about to connect have one too. */
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { giveTurns, ownTurn } from '../../../src/values/turns.js';

describe('giveTurns', () => {
  it('lets ten connections in that came at once', async () => {
    let accepted = 0;
    const server = createServer(() => {
      accepted += 1;
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const sockets = Array.from({ length: 10 }, () => connect(port, '127.0.0.1'));
    await giveTurns();
    expect(accepted).toBe(10);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});

describe('ownTurn', () => {
  it('lets one go on in each turn of the event loop, in the order of asking, and the first at once', async () => {
    const seen: string[] = [];
    let turn = 0;
    let isOver = false;
    const count = (): void => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        await ownTurn();
        seen.push(`${name} ${turn}`);
      }),
    );
    isOver = true;
    expect(seen).toStrictEqual(['a 0', 'b 1', 'c 2']);
  });

  it('lets whoever asks again wait for those who asked before', async () => {
    const seen: string[] = [];
    const work = async (name: string): Promise<void> => {
      for (let piece = 1; piece <= 2; piece += 1) {
        await ownTurn();
        seen.push(name + piece);
      }
    };
    await Promise.all([work('a'), work('b')]);
    expect(seen).toStrictEqual(['a1', 'b1', 'a2', 'b2']);
  });
});
