/** What is done with requests that have come in together. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/contract/examples.js';
import { giveTurns } from '../../../src/values/turns.js';
import { fakeAuthenticate, fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { type RunningServer, startServer } from '../../support/http.js';

const COUNT = 8;

let server: RunningServer;
/** Turns of the event loop in which a request was looked at. */
let seen: number[];

beforeEach(async () => {
  seen = [];
  server = await startServer({
    service: fakeService().service,
    authenticate: (credential) => {
      seen.push(turn);
      return fakeAuthenticate(credential);
    },
  });
  count();
});
afterEach(async () => {
  clearImmediate(next);
  await server.closeGracefully(1_000);
});

let turn = 0;
let next: NodeJS.Immediate;
function count(): void {
  turn += 1;
  next = setImmediate(count);
}

const REQUEST = (() => {
  const body = JSON.stringify(EXAMPLES.burn.request);
  return [
    'POST /v1/tokenomics/burn HTTP/1.1',
    'host: localhost',
    `x-service-api-key: ${GOOD_KEY}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
})();

it('looks at what is to be done in turns of their own, so that what is only read comes between', async () => {
  const { hostname, port } = new URL(server.url);
  const sockets = await Promise.all(
    Array.from({ length: COUNT }, async () => {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      return socket;
    }),
  );
  // Of those who connect one is taken in a turn.
  await giveTurns();
  for (const socket of sockets) socket.write(REQUEST);
  const answers = await Promise.all(sockets.map(async (socket) => String((await once(socket, 'data'))[0])));
  for (const socket of sockets) socket.destroy();
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(new Set(seen).size).toBe(COUNT);
});
