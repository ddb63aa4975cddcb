/** Daily caps over a midnight: a server whose day has begun, on a cluster whose blocks are still of the day before (contract, section 1.4). */
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { removeDirectories } from '../../support/chain.js';
import { RunningClock } from '../../support/clock.js';
import { clusterDirectory } from '../../support/cluster-directory.js';
import {
  aPipeline,
  burnAction,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../support/engine.js';
import { ask, type ServeProcess, serve } from '../../support/http-serve.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { itLong } from '../../support/long.js';
import { emptyDirectory } from '../../support/spawn.js';

const DAY_MS = 86_400_000;
const CLOCK_APART = pathToFileURL('test/support/clock-apart.mjs').href;
/** How long before midnight the cluster's blocks are, and how long after it the second server is. */
const BEFORE_MS = 600_000;
const AFTER_MS = 60_000;
const REFUSED = 'ERR_DAILY_LIMIT_EXCEEDED';

/** The first midnight that the cluster can come up to: it never goes back. */
const midnightMs = Math.ceil((Date.now() + BEFORE_MS) / DAY_MS) * DAY_MS;

let test: TestEngine;
let node: TestNode;
let dataDir: string;
const running: ServeProcess[] = [];

beforeAll(async () => {
  test = await openTestEngine({ dailyBurn: '10', dailyAirdrop: '10' });
  const clock = new RunningClock();
  clock.pass(midnightMs - BEFORE_MS - Date.now());
  node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, pace: 'clock', clock },
    ...{ slotMs: 100, confirmedAfter: 1, finalizedAfter: 3 },
  });
  dataDir = await clusterDirectory(test, [node.url]);
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.end('SIGKILL');
});
afterAll(async () => {
  await closeTestNodes();
  await test.destroy();
  removeDirectories();
});

/** A server by another clock. */
async function served(nowMs: number): Promise<ServeProcess> {
  const env = {
    NODE_OPTIONS: `--import=${CLOCK_APART}`,
    CLOCK_APART_MS: String(nowMs - Date.now()),
  };
  const server = await serve({ home: emptyDirectory(), dataDir, env });
  running.push(server);
  return server;
}

interface Answered {
  readonly status: number;
  readonly body: { readonly error?: string };
}

async function post(server: ServeProcess, path: string, body: unknown): Promise<Answered> {
  const response = await ask(`${server.url}/v1/${path}`, test.project.key.reveal(), { body });
  return { status: response.status, body: (await response.json()) as Answered['body'] };
}

const burn = async (server: ServeProcess, burnAmount: number) => {
  const request = { type: 'PRODUCT_BUY', proof: { burnAmount }, burnAmount, persistOnchain: false };
  const { status, body } = await post(server, 'tokenomics/burn', request);
  return status === 200 ? 'burned' : body.error;
};

const batch = async (server: ServeProcess, action: Parameters<typeof aPipeline>[0][number]) => {
  const init = await post(server, 'flywheel/batch/init', { pipelines: [aPipeline([action])] });
  if (init.status !== 200) return init.body.error;
  const value = init.body as Parameters<typeof signApproval>[1];
  const signedTx = signApproval(test.project.owner, value);
  const executed = await post(server, 'flywheel/batch/execute', { batchId: value.batch.id, signedTx });
  return executed.status === 200 ? 'executed' : executed.body.error;
};

const airdrop = (amount: number) => ({
  action: 'AIRDROP' as const,
  toAddress: test.project.owner.address,
  amount,
});

it('takes no more on a day that has begun here, and not on the chain, than its caps, and nothing more on the day before', async () => {
  const before = await served(midnightMs - BEFORE_MS);
  expect([await burn(before, 10), await batch(before, airdrop(10))]).toEqual(['burned', 'executed']);
  expect([await burn(before, 1), await batch(before, airdrop(1))]).toEqual([REFUSED, REFUSED]);
  await before.end('SIGTERM');
  const after = await served(midnightMs + AFTER_MS);
  expect([await burn(after, 4), await batch(after, burnAction(6))]).toEqual(['burned', 'executed']);
  expect([await burn(after, 1), await batch(after, burnAction(1))]).toEqual([REFUSED, REFUSED]);
  expect([await batch(after, airdrop(10)), await batch(after, airdrop(1))]).toEqual(['executed', REFUSED]);
}, 120_000);

itLong(
  'burns and counts, though no node tells the time of a block',
  async () => {
    node.faults.set([{ fault: 'wrong', as: 'shape', methods: ['getBlockTime'] }]);
    const server = await served(midnightMs + DAY_MS);
    expect([await burn(server, 4), await batch(server, burnAction(6))]).toEqual(['burned', 'executed']);
    expect([await burn(server, 1), await batch(server, burnAction(1))]).toEqual([REFUSED, REFUSED]);
  },
  120_000,
);
