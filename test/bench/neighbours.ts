/** What others wait while one client sends what is dear to check. */
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { GOOD_KEY } from '../support/fake-service.js';
import type { RunningServer } from '../support/http.js';

/** One request that is sent again and again, and how often. */
export interface DearRequest {
  readonly path: string;
  readonly body: string | Uint8Array;
  readonly times: number;
  readonly key?: string;
}

export interface NeighbourWaits {
  /** Of the others: the longest wait of the luckier 99 in 100, in milliseconds. */
  readonly p99Ms: number;
  readonly longestMs: number;
  /** How often others asked. */
  readonly asked: number;
  /** Statuses that the dear request got, and how long it took. */
  readonly answers: readonly { readonly status: number; readonly ms: number; readonly text: string }[];
}

/** Time between two questions of the others. */
const EVERY_MS = 3;

/** Sends a request several times, one after another, while others ask for the current batch. */
export async function waitBeside(server: RunningServer, dear: DearRequest): Promise<NeighbourWaits> {
  const body = typeof dear.body === 'string' ? Buffer.from(dear.body) : dear.body;
  const worker = new Worker(resolve('test/bench/neighbours.mjs'), {
    workerData: {
      port: server.port,
      headers: { 'x-service-api-key': dear.key ?? GOOD_KEY },
      question: '/v1/flywheel/batch/current',
      dear: { path: dear.path, body },
      times: dear.times,
      everyMs: EVERY_MS,
    },
  });
  const seen = await new Promise<{
    waits: { status: number; ms: number }[];
    answers: NeighbourWaits['answers'];
  }>((done, failed) => void worker.once('message', done).once('error', failed));
  await worker.terminate();
  const sorted = seen.waits.map(({ ms }) => ms).sort((a, b) => a - b);
  return {
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    longestMs: sorted.at(-1) ?? 0,
    asked: sorted.length,
    answers: seen.answers,
  };
}
