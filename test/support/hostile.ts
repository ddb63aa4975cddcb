/** Misbehaving servers and proxies over raw loopback sockets, which count their connections and end with the test. */
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { onLoopback } from './loopback.js';

/** Handles one connection; `asked` calls back once a whole request, or a CONNECT, has arrived. */
export type Behaviour = (socket: Socket, asked: (then: (request: string) => void) => void) => void;

const END_OF_HEAD = '\r\n\r\n';

function isWhole(text: string): boolean {
  const end = text.indexOf(END_OF_HEAD);
  if (end < 0) return false;
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.length >= end + END_OF_HEAD.length + length;
}

export async function startHostile(behave: Behaviour) {
  const seen = { connections: 0, received: '' };
  let reach: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const server = createServer((socket) => {
    seen.connections += 1;
    let own = '';
    const waiting: ((request: string) => void)[] = [];
    socket.on('data', (chunk: Buffer) => {
      own += chunk.toString('latin1');
      seen.received += chunk.toString('latin1');
      reach();
      if (isWhole(own)) for (const then of waiting.splice(0)) then(own);
    });
    behave(socket, (then) => void waiting.push(then));
  });
  const { port, close } = await onLoopback(server);
  onTestFinished(close);
  return Object.assign(seen, { port, reached, close });
}

export function drip(socket: Socket, text: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.on('close', () => clearInterval(timer));
}

export const silent: Behaviour = () => undefined;
export const closes: Behaviour = (socket) => void socket.end();
export const resets: Behaviour = (socket) => void socket.resetAndDestroy();

export const answers =
  (text: string | Buffer, then: (socket: Socket) => void = () => undefined): Behaviour =>
  (socket, asked) =>
    asked(() => socket.write(text, () => then(socket)));
