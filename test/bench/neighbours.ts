/** Measures the waiting time of other clients while one client sends an expensive request. */
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { RunningServer } from '../support/http.js';

export interface DearRequest {
  readonly path: string;
  readonly body: string;
  readonly key: string;
}

const EVERY_MS = 3;

/** @returns the 99th percentile of the others' waiting time, in ms. */
export async function p99Beside(server: RunningServer, { path, body, key }: DearRequest): Promise<number> {
  const worker = new Worker(resolve('test/bench/neighbours.mjs'), {
    workerData: {
      port: server.port,
      headers: { 'x-service-api-key': key },
      question: '/v1/flywheel/batch/current',
      dear: { path, body },
      everyMs: EVERY_MS,
    },
  });
  const waits = await new Promise<number[]>(
    (done, failed) => void worker.once('message', done).once('error', failed),
  );
  await worker.terminate();
  return waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0;
}
