/**
 * Clients in their own thread, so that their work does not delay the server: one sends expensive requests, the others send small
 * ones and measure their waiting time.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { port, headers, question, dear, everyMs } = workerData;
const agent = new Agent({ keepAlive: true, maxSockets: 200 });

const send = (path, body) =>
  new Promise((resolve, reject) => {
    const sentMs = performance.now();
    const method = body === undefined ? 'GET' : 'POST';
    const own =
      body === undefined ? {} : { 'content-type': 'application/json', 'x-idempotency-key': randomUUID() };
    const call = request({ port, host: '127.0.0.1', path, method, agent, headers: { ...headers, ...own } });
    call.once('error', reject);
    call.once('response', (response) =>
      response.resume().once('end', () => resolve(performance.now() - sentMs)),
    );
    call.end(body);
  });

const asked = [];
// Connections are opened before the measurement.
await Promise.all(Array.from({ length: 20 }, () => send(question)));
const timer = setInterval(() => asked.push(send(question)), everyMs);
await send(dear.path, dear.body);
clearInterval(timer);
const waits = await Promise.all(asked);
agent.destroy();
parentPort.postMessage(waits);
