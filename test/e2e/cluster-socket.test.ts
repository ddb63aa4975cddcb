/** A command on a cluster whose node speaks by itself: it is told, looks, and ends. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeDirectories } from '../support/chain.js';
import { clusterDirectory } from '../support/cluster-directory.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import { closeTestNodes, startTestNode, type TestNode } from '../support/local-rpc.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';

let test: TestEngine;
let node: TestNode;
/** One for all: a copy of the store that has not seen what another has burned is behind the chain. */
let dataDir: string;

beforeAll(async () => {
  test = await openTestEngine();
  node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, pace: 'clock' },
    ...{ slotMs: 400, confirmedAfter: 2, finalizedAfter: 8 },
  });
  dataDir = await clusterDirectory(test, [node.url]);
});
afterAll(async () => {
  await closeTestNodes();
  await test.destroy();
  removeDirectories();
});

const PROOF = '{"order":1}';

it.each([
  ['is told of its landing', [], 'signatureNotification'],
  ['goes on where it is told nothing', [{ fault: 'mute', rate: 1 } as const], 'none'],
])(
  'a burn %s',
  async (_what, faults, told) => {
    node.faults.set(faults);
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, node.subscriptionCount);
    }, 5);
    const env = { FLYWHEEL_API_KEY: test.project.key.reveal() };
    const words = [
      'burn',
      '--amount',
      '1',
      '--type',
      'PRODUCT_BUY',
      '--proof',
      PROOF,
      '--data-dir',
      dataDir,
      '--verbose',
      '--yes',
    ];
    const { exit, stdout, stderr } = await flywheel({ home: emptyDirectory(), env }, ...words);
    clearInterval(watch);
    expect({ exit, stderr: exit === 0 ? '' : stderr }).toEqual({ exit: 0, stderr: '' });
    const [record] = await test.chain.lookUp([JSON.parse(stdout).txHash]);
    expect(record).toMatchObject({ error: null });
    expect(most).toBe(1);
    const looks = stderr.match(/getSignatureStatuses/g)?.length ?? 0;
    if (told !== 'none') expect(looks).toBeLessThanOrEqual(3);
  },
  30_000,
);

it('many burns at a time say nothing but what was asked for', async () => {
  node.faults.set([]);
  const home = emptyDirectory();
  const burns = Array.from({ length: 40 }, (_, at) => ({
    ...{ type: 'PRODUCT_BUY', proof: { at }, burnAmount: 0.01, persistOnchain: false },
  }));
  const file = join(home, 'burns.json');
  writeFileSync(file, JSON.stringify(burns));
  const env = { FLYWHEEL_API_KEY: test.project.key.reveal() };
  const { exit, stdout, stderr } = await flywheel(
    { home, env },
    'burn-batch',
    file,
    '--data-dir',
    dataDir,
    '--yes',
  );
  expect([exit, stderr]).toEqual([0, '']);
  expect((JSON.parse(stdout) as { success: unknown[] }).success).toHaveLength(40);
}, 30_000);
