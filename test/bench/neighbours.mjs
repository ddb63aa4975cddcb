/**
 * Clients of a server in a thread of their own, so that what they do does not keep the server waiting: one sends what is dear
 * to check, the others ask small questions all the while and note how long they wait.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { port, headers, question, dear, times, everyMs } = workerData;
const agent = new Agent({ keepAlive: true, maxSockets: 200 });

const send = (path, body) =>
  new Promise((resolve, reject) => {
    const sentMs = performance.now();
    const method = body === undefined ? 'GET' : 'POST';
    const own =
      body === undefined
        ? {}
        : {
            'content-type': 'application/json',
            'content-length': body.length,
            'x-idempotency-key': randomUUID(),
          };
    const call = request({ port, host: '127.0.0.1', path, method, agent, headers: { ...headers, ...own } });
    call.once('error', reject);
    call.once('response', (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.once('end', () =>
        resolve({
          status: response.statusCode,
          ms: performance.now() - sentMs,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    call.end(body);
  });

const waits = [];
const asked = [];
const ask = () => asked.push(send(question).then(({ status, ms }) => void waits.push({ status, ms })));
// Connections are made before it counts.
await Promise.all(Array.from({ length: 20 }, () => send(question)));
const timer = setInterval(ask, everyMs);
const answers = [];
for (let time = 0; time < times; time += 1) answers.push(await send(dear.path, Buffer.from(dear.body)));
clearInterval(timer);
await Promise.all(asked);
agent.destroy();
parentPort.postMessage({
  waits,
  answers: answers.map(({ status, ms, text }) => ({ status, ms, text: text.slice(0, 300) })),
});
