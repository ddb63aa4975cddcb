/** Large bodies: how long others wait while one is checked, how much memory it takes, and what the engine adds to that. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { dearBodies, plainBody } from '../support/dear-bodies.js';
import { openTestEngine } from '../support/engine.js';
import { type FakeService, fakeService } from '../support/fake-service.js';
import { type RunningServer, startServer } from '../support/http.js';
import { waitBeside } from '../support/neighbours.js';
import { type BenchRatio, median } from './ratio.js';

const PATH = '/v1/tokenomics/burn-batch';
const MIB = 1_024 * 1_024;
const ROUNDS = 3;
const ELEMENTS = 1_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const silent = { level: 'info', stream: { write: () => undefined } } as const;

/** Milliseconds that 99 of 100 others wait at most. */
async function p99Beside(server: RunningServer, body: string, key?: string): Promise<number> {
  const seen: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { p99Ms, answers } = await waitBeside(server, {
      path: PATH,
      body,
      times: 2,
      ...(key === undefined ? {} : { key }),
    });
    if (answers.some(({ status }) => status !== 200))
      throw new Error('A body of the measurement was refused.');
    seen.push(p99Ms);
  }
  return median(seen);
}

/** Memory at its highest while one body is held, beside what it may take: four times its size and 32 MiB. */
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
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, used());
  }, 1);
  await waitBeside(server, { path: PATH, body: bytes, times: 1 });
  clearInterval(timer);
  return (highest - before) / (4 * bytes.length + 32 * MIB);
}

/** The checking alone: the service behind it answers at once. */
export async function benchBodies(): Promise<BenchRatio[]> {
  const fake = fakeService();
  const server = await startServer(
    { service: fake.service, log: silent },
    { limits: { maxBodyBytes: 11 * MIB } },
  );
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
        target: 50,
        unit: 'ms',
      },
      {
        name: 'memory of the dearest body : 4 times its size + 32 MiB',
        ratio: Math.max(...shares),
        target: 1.25,
      },
    ];
  } finally {
    await server.closeGracefully(1_000);
  }
}

/** The same with the engine behind it, which hashes, burns and stores. */
export async function benchLargeBatch(): Promise<BenchRatio[]> {
  const opened = await openTestEngine();
  const server = await startServer({
    service: opened.engine,
    authenticate: (credential) => opened.engine.authenticate(credential),
    log: silent,
  });
  try {
    const elements = Array.from({ length: ELEMENTS }, (_, index) => ({
      type: 'PRODUCT_BUY',
      proof: { index, note: 'x'.repeat(10_000) },
      burnAmount: 0.000001,
      persistOnchain: false,
    }));
    const ratio = await p99Beside(server, JSON.stringify(elements), opened.project.key.reveal());
    const name = `others beside a burn-batch of ${ELEMENTS} in 10 MiB, 99 of 100 within`;
    return [{ name, ratio, target: 500, unit: 'ms' }];
  } finally {
    await server.closeGracefully(5_000);
    await opened.destroy();
  }
}
