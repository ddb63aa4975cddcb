/** Large bodies: how long others wait while one is checked, how much memory it takes, and what the engine adds to that. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SHARED_LIMITS } from '../../src/compose/open-engine.js';
import { createLog } from '../../src/http/log.js';
import { openTestEngine } from '../support/engine.js';
import { type FakeService, fakeService } from '../support/fake-service.js';
import { type RunningServer, startServer } from '../support/http.js';
import { dearBodies, plainBody } from './dear-bodies.js';
import { type DearRequest, waitBeside } from './neighbours.js';
import { type BenchRatio, median } from './ratio.js';

const PATH = '/v1/tokenomics/burn-batch';
const MIB = 1_024 * 1_024;
const ROUNDS = 3;
const ELEMENTS = 1_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const silent = createLog({ level: 'info', stream: { write: () => undefined } });

/** Milliseconds that 99 of 100 others wait at most. */
async function p99Beside(server: RunningServer, body: string): Promise<number> {
  const seen: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { p99Ms, answers } = await waitBeside(server, { path: PATH, body, times: 2 });
    if (answers.some(({ status }) => status !== 200))
      throw new Error('A body of the measurement was refused.');
    seen.push(p99Ms);
  }
  return median(seen);
}

/**
 * Memory at its highest while one body is held, beside what it may take: four times its size and 32 MiB. What nobody holds any
 * more counts too, unless there is more than may be: it is collected then, and counts if it stays.
 */
async function memoryShare(fake: FakeService, server: RunningServer, body: string): Promise<number> {
  // In memory that no collection moves, so that only the server's share grows.
  const bytes = new Uint8Array(new SharedArrayBuffer(Buffer.byteLength(body)));
  new TextEncoder().encodeInto(body, bytes);
  fake.calls.length = 0;
  collectGarbage();
  const used = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  const most = 4 * bytes.length + 32 * MIB;
  let highest = 0;
  const timer = setInterval(() => {
    if (used() - before > most) collectGarbage();
    highest = Math.max(highest, used() - before);
  }, 1);
  await waitBeside(server, { path: PATH, body: bytes, times: 1 });
  clearInterval(timer);
  return highest / most;
}

/** The checking alone: the service behind it answers at once. */
export async function benchBodies(): Promise<BenchRatio[]> {
  const fake = fakeService();
  const server = await startServer({ service: fake.service, log: silent });
  try {
    const waits: number[] = [];
    const shares: number[] = [];
    for (const body of Object.values({ plain: plainBody(), ...dearBodies() })) {
      waits.push(await p99Beside(server, body));
      shares.push(await memoryShare(fake, server, body));
    }
    return [
      {
        name: 'others beside the dearest body, 99 of 100 within',
        ratio: Math.max(...waits),
        target: 250,
        unit: 'ms',
      },
      {
        name: 'memory of the dearest body : 4 times its size + 32 MiB',
        ratio: Math.max(...shares),
        target: 1,
      },
    ];
  } finally {
    await server.closeGracefully(1_000);
  }
}

/** What is dear to the engine too, which hashes, burns, stores and gives back. */
function dearRequests(): Readonly<Record<string, DearRequest>> {
  const burn = (proof: string, type = 'PRODUCT_BUY'): string =>
    `{"type":"${type}","proof":${proof},"burnAmount":0.000001,"persistOnchain":false}`;
  const list = (times: number, item: (at: number) => string): string =>
    Array.from({ length: times }, (_, at) => item(at)).join();
  const keys = (times: number): string => `{${list(times, (at) => `"k${at}":1`)}}`;
  const note = (length: number, at = 0): string => `{"at":${at},"note":"${'x'.repeat(length)}"}`;
  const [burnPath, initPath] = ['/v1/tokenomics/burn', '/v1/flywheel/batch/init'];
  const pipeline = (payload: string): string =>
    JSON.stringify({ pipelines: [{ type: 'WATCH_AD', payload, actions: [{ action: 'BURN', amount: 1 }] }] });
  const of = (path: string, body: string): DearRequest => ({ path, body, times: 1 });
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
    'an init whose payload has 3.6 MB': of(initPath, pipeline(note(3_600_000))),
    ...Object.fromEntries(Object.entries(dearBodies()).map(([name, body]) => [name, of(PATH, body)])),
  };
}

const PIPELINES = 1_000;

/** As many pipelines as a batch may have, each with as little in it as possible. */
const largeInit = (): DearRequest => ({
  path: '/v1/flywheel/batch/init',
  times: 1,
  body: JSON.stringify({
    pipelines: Array.from({ length: PIPELINES }, (_, index) => ({
      type: 'WATCH_AD',
      payload: JSON.stringify({ index }),
      actions: [{ action: 'BURN', amount: 0.000001 }],
    })),
  }),
});

/** An engine behind a server, put together as `serve` does. */
async function besideEngine<Result>(
  measure: (server: RunningServer, key: string) => Promise<Result>,
): Promise<Result> {
  const opened = await openTestEngine({}, { limits: SHARED_LIMITS });
  const server = await startServer({
    engine: opened.engine,
    log: silent,
  });
  try {
    return await measure(server, opened.project.key.reveal());
  } finally {
    await server.closeGracefully(5_000);
    await opened.destroy();
  }
}

/** Others beside the largest batch that is accepted; each round has an engine of its own, since batches take rent. */
async function benchLargeInit(): Promise<BenchRatio> {
  const waits: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { p99Ms, answers } = await besideEngine((server, key) =>
      waitBeside(server, { ...largeInit(), key }),
    );
    if (answers[0]?.status !== 200) throw new Error(`The init was refused: ${answers[0]?.text}`);
    waits.push(p99Ms);
  }
  const name = `others beside an init of ${PIPELINES} pipelines, 99 of 100 within`;
  return { name, ratio: median(waits), target: 50, unit: 'ms' };
}

/** The same with the engine behind it: the worst of all that are dear to it. */
export async function benchDearEngine(): Promise<BenchRatio[]> {
  const worst = await besideEngine(async (server, key) => {
    let dearest = { name: '', waitMs: 0 };
    for (const [name, request] of Object.entries(dearRequests())) {
      const waits: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1)
        waits.push((await waitBeside(server, { ...request, key })).p99Ms);
      const waitMs = median(waits);
      if (waitMs > dearest.waitMs) dearest = { name, waitMs };
    }
    return dearest;
  });
  const name = `others beside ${worst.name}, the dearest of all for the engine, 99 of 100 within`;
  return [{ name, ratio: worst.waitMs, target: 250, unit: 'ms' }, await benchLargeInit()];
}
