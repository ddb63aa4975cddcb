/** Yielding to the event loop gives pending connections a turn too. */
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { giveTurns } from '../../../src/values/event-loop.js';

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
