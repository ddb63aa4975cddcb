import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { sampleOf } from '../support/long.js';
import { closeStubs, passOn, type RpcCall, type StubNode, status, stubNode } from '../support/rpc-stub.js';
import type { Spawned } from '../support/spawn.js';
import { startNodeBeside, type TestNode } from '../test-cluster/node.js';
import { anOperator, type Operator, problemOf } from './operator.js';

const PIPELINES = [{ type: 'WATCH_AD', payload: '{"viewId":1}', actions: [{ action: 'BURN', amount: 5 }] }];

let operator: Operator;
let ledger: TestNode;

beforeAll(async () => {
  operator = await anOperator('remote');
  ledger = await startNodeBeside(operator.dataDir);
  operator.write('pipelines.json', PIPELINES);
  const made = await operator.run('batch', 'init', 'pipelines.json', '--out', 'approval.json');
  expect(made.exit).toBe(0);
}, 60_000);
afterEach(closeStubs);
afterAll(async () => {
  await operator.leave();
  await ledger.close();
});

interface AccountsAnswer {
  readonly result: { readonly value: readonly ({ lamports: number; data: [string, string] } | null)[] };
}

/** A node that answers correctly unless it has a fault. */
async function honest(path?: string): Promise<StubNode> {
  const node = await stubNode({}, path);
  node.always = passOn(ledger.url);
  return node;
}

/** A node that changes the last byte of every account of this length or more. */
async function lying(): Promise<StubNode> {
  const node = await stubNode();
  node.always = passOn(ledger.url, (answer: AccountsAnswer, { method }: RpcCall) => {
    if (method !== 'getMultipleAccounts') return answer;
    for (const account of answer.result.value) {
      const bytes = Buffer.from(account?.data[0] ?? '', 'base64');
      if (account === null || bytes.length < 200) continue;
      bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
      account.data[0] = bytes.toString('base64');
    }
    return answer;
  });
  return node;
}

const approve = (nodes: readonly StubNode[], ...words: readonly string[]): Promise<Spawned> =>
  flywheelHere(
    { home: operator.directory },
    ...[
      'batch',
      'approve',
      'approval.json',
      '--keypair',
      operator.owner,
      '--expect',
      'pipelines.json',
      '--yes',
    ],
    ...nodes.flatMap(({ url }) => ['--rpc-url', url]),
    ...words,
  );

describe('an approval', () => {
  it('is refused with exit 9 where two nodes disagree, whichever of them lies', async () => {
    const orders = [
      [await honest(), await lying()],
      [await lying(), await honest()],
    ];
    for (const nodes of sampleOf(orders, 1)) {
      const refused = await approve(nodes, '--quorum', '2');
      expect([refused.exit, refused.stdout]).toEqual([9, '']);
      expect(problemOf(refused)).toMatchObject({
        error: 'ERR_CHAIN_MISMATCH',
        message: expect.stringMatching(/disagree about the account \S+\.$/),
      });
      expect(refused.stderr).not.toContain('secret-key');
    }
  });

  it('counts a node once for the quorum, however its address is written', async () => {
    const node = await honest();
    const { port } = new URL(node.url);
    for (const host of ['localhost', 'LocalHost.', '[::1]']) {
      const refused = await approve([node, { ...node, url: `http://${host}:${port}` }], '--quorum', '2');
      expect([host, refused.exit, refused.stdout]).toEqual([host, 2, '']);
      expect(problemOf(refused).message).toBe('2 RPC nodes must agree, but only 1 is given.');
    }
    expect(node.calls).toEqual([]);
  });

  it('is given up for a node that does not let it in, and says so without the key', async () => {
    const closed = await honest('/v2/SECRET123456?token=HIDDEN98765');
    closed.always = status(401);
    const refused = await flywheelHere(
      { home: operator.directory, env: { FLYWHEEL_DEBUG: '1' } },
      ...['batch', 'inspect', 'approval.json', '--rpc-url', closed.url, '-v', '--json'],
    );
    expect(refused.exit).toBe(4);
    expect(refused.stderr).toContain(
      `The RPC node ${new URL(closed.url).host} does not allow getEpochInfo (401).`,
    );
    expect(refused.stderr).not.toMatch(/SECRET|HIDDEN/);
    expect(closed.calls).toHaveLength(1);
  });
});

describe('doctor', () => {
  it('names the node of a profile and its clock', async () => {
    const { stdout } = await operator.run('doctor', '--json');
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; rpc?: object }[] };
    const of = (name: string) => checks.filter((one) => one.name === name);
    expect([of('rpc'), of('chain clock')]).toMatchObject([
      ...[[{ ok: true, rpc: { source: 'profile' } }], [{ ok: true }]],
    ]);
  });
});
