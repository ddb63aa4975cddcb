/** A WebSocket over the program's own connections, to a real node. */
import { afterEach, expect, it } from 'vitest';
import { routeTo } from '../../../src/client/transport.js';
import { openWebSocket, type WebSocketLine } from '../../../src/client/web-socket.js';
import { removeDirectories } from '../../support/chain.js';
import { closeTestNodes, startTestNode } from '../../support/local-rpc.js';

afterEach(async () => {
  await closeTestNodes();
  removeDirectories();
});

/** Opens one to this address. */
function open(url: string) {
  const heard: string[] = [];
  const told = new Map<string, () => void>();
  const event = (name: string) => new Promise<void>((resolve) => told.set(name, resolve));
  const events = { open: event('open'), message: event('message'), close: event('close') };
  const line: WebSocketLine = openWebSocket(
    routeTo(new URL(url), { proxy: {} }),
    {},
    {
      onOpen: () => told.get('open')?.(),
      onMessage: (text) => {
        heard.push(text);
        told.get('message')?.();
      },
      onClose: () => told.get('close')?.(),
    },
  );
  return { line, heard, events };
}

const ask = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method });

it('carries what is said both ways, and says when the other side has gone', async () => {
  const node = await startTestNode();
  const { line, heard, events } = open(node.webSocketUrl.replace('ws:', 'http:'));
  await events.open;
  line.send(ask('slotSubscribe'));
  await events.message;
  expect(JSON.parse(heard[0] ?? '')).toMatchObject({ id: 1, result: expect.any(Number) });
  expect(node.subscriptionCount).toBe(1);
  await node.close(10);
  await events.close;
  line.send(ask('slotSubscribe'));
});

it('is closed from here without a word', async () => {
  const node = await startTestNode();
  const { line, heard, events } = open(node.webSocketUrl.replace('ws:', 'http:'));
  await events.open;
  line.close();
  let isTold = false;
  void events.close.then(() => {
    isTold = true;
  });
  await node.close(10);
  expect([isTold, heard]).toEqual([false, []]);
});

it('says that there is nobody at a closed port', async () => {
  await open('http://127.0.0.1:1').events.close;
});
