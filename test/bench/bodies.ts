/** Measures the waiting time of other clients beside the most expensive bodies. */
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SHARED_LIMITS } from '../../src/compose/open-engine.js';
import { dearBodies, plainBody } from './dear-bodies.js';
import { type BenchRatio, medianOf, p99 } from './ratio.js';
import { openServed } from './work.js';

type Served = Awaited<ReturnType<typeof openServed>>;

const PATH = '/v1/tokenomics/burn-batch';
const ROUNDS = 3;
const EVERY_MS = 10;
const ELEMENTS = 1_000;

interface DearRequest {
  readonly path: string;
  readonly body: string;
}

/** @returns the 99th percentile of the others' waiting time, in ms. */
async function p99Beside({ port, headers }: Served, dear: DearRequest): Promise<number> {
  const worker = new Worker(resolve('test/bench/neighbours.mjs'), {
    workerData: { port, headers, question: '/v1/flywheel/batch/current', dear, everyMs: EVERY_MS },
  });
  const waits = await new Promise<number[]>(
    (done, failed) => void worker.once('message', done).once('error', failed),
  );
  await worker.terminate();
  return p99(waits);
}

function dearRequests(): Readonly<Record<string, DearRequest>> {
  const burn = (proof: string, type = 'PRODUCT_BUY'): string =>
    `{"type":"${type}","proof":${proof},"burnAmount":0.000001,"persistOnchain":false}`;
  const list = (times: number, item: (at: number) => string): string =>
    Array.from({ length: times }, (_, at) => item(at)).join();
  const keys = (times: number): string => `{${list(times, (at) => `"k${at}":1`)}}`;
  const note = (length: number, at = 0): string => `{"at":${at},"note":"${'x'.repeat(length)}"}`;
  const burnPath = '/v1/tokenomics/burn';
  const of = (path: string, body: string) => ({ path, body });
  return {
    [`a burn-batch of ${ELEMENTS} in 4 MiB`]: of(PATH, `[${list(ELEMENTS, (at) => burn(note(4_000, at)))}]`),
    [`a burn-batch of ${ELEMENTS} proofs of 70 keys`]: of(PATH, `[${list(ELEMENTS, () => burn(keys(70)))}]`),
    [`a burn-batch of ${ELEMENTS} long types`]: of(
      PATH,
      `[${list(ELEMENTS, (at) => burn(note(1, at), 'y'.repeat(3_500)))}]`,
    ),
    'a burn whose proof has 10,000 keys': of(burnPath, burn(keys(10_000))),
    'a burn whose proof has 75,000 values': of(burnPath, burn(`{"a":[[[[${list(75_000, () => '1')}]]]]}`)),
    'a burn whose proof has 4 MB of text': of(burnPath, burn(note(4_000_000))),
    ...Object.fromEntries(
      Object.entries({ 'plain elements': plainBody(), ...dearBodies() }).map(([name, body]) => [
        name,
        of(PATH, body),
      ]),
    ),
  };
}

export async function benchBodies(): Promise<BenchRatio[]> {
  const served = await openServed({ limits: SHARED_LIMITS });
  try {
    let dearest = { name: '', waitMs: 0 };
    for (const [name, request] of Object.entries(dearRequests())) {
      const waitMs = await medianOf(ROUNDS, () => p99Beside(served, request));
      if (waitMs > dearest.waitMs) dearest = { name, waitMs };
    }
    const name = `others beside the dearest body (${dearest.name}), 99 of 100 within`;
    return [{ name, ratio: dearest.waitMs, target: 250, unit: 'ms' }];
  } finally {
    await served.close();
  }
}
