/** The built program on a cluster whose nodes refuse some or all calls: optional calls that fail delay nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { signApproval } from '../support/engine.js';
import { flywheelHere } from '../support/flywheel-here.js';
import { sampleOf } from '../support/long.js';
import {
  closeStubs,
  type Fault,
  hangUp,
  passOn,
  type StubNode,
  silence,
  status,
  stubNode,
} from '../support/rpc-stub.js';
import { emptyDirectory, type Spawned } from '../support/spawn.js';
import { projectOnCluster } from '../test-cluster/directory.js';
import { expectProblem, problemOf } from './operator.js';

type Init = Parameters<typeof signApproval>[1];

const { test, node, dataDir, close } = await projectOnCluster({ slotMs: 50 });
afterEach(closeStubs);
afterAll(close);

async function nodeThat(fault: Fault, ...methods: readonly string[]): Promise<StubNode> {
  const stub = await stubNode();
  const honest = passOn(node.url);
  stub.always = (response, call) =>
    methods.length === 0 || methods.includes(call.method) ? fault(response, call) : honest(response, call);
  return stub;
}

const run = (nodes: readonly StubNode[], ...words: readonly string[]): Promise<Spawned> =>
  flywheelHere(
    {
      home: emptyDirectory(),
      env: { FLYWHEEL_DATA_DIR: dataDir, FLYWHEEL_API_KEY: test.project.key.reveal() },
    },
    ...words,
    ...nodes.flatMap(({ url }) => ['--rpc-url', url]),
    ...['--json', '--max-wait', '1', '--timeout', '1'],
  );

const burn = (nodes: readonly StubNode[], ...words: readonly string[]): Promise<Spawned> =>
  run(nodes, 'burn', '--type', 'PRODUCT_BUY', '--proof', '{"a":1}', '--amount', '1', '--yes', ...words);

describe('a node that answers nothing', () => {
  const actions = [{ action: 'BURN', amount: 1 }];
  let views = 0;

  /** Runs a burn, a whole batch, and its status. @returns the exit codes */
  async function all(home: string, nodes: readonly StubNode[]): Promise<readonly (number | null)[]> {
    const file = join(home, 'pipelines.json');
    views += 1;
    writeFileSync(file, JSON.stringify([{ type: 'WATCH_AD', payload: `{"viewId":${views}}`, actions }]));
    const steps = [
      await burn(nodes),
      await run(nodes, 'batch', 'init', file),
      await run(nodes, 'local', 'status'),
    ];
    const init = steps[1]?.exit === 0 ? (JSON.parse(steps[1].stdout) as Init) : null;
    if (init !== null) {
      const signedTx = signApproval(test.project.owner, init);
      steps.push(await run(nodes, 'batch', 'execute', init.batch.id, '--signed-tx', signedTx));
    }
    return steps.map(({ exit }) => exit);
  }

  it.each(
    sampleOf(
      [
        ['closed connections', hangUp],
        ['silence', silence],
        ['429 for half a minute', status(429, { 'retry-after': '30' })],
      ] as const,
      1,
    ),
  )('is asked once by each command where another one answers: %s', async (_how, fault) => {
    const bad = await nodeThat(fault);
    const good = await nodeThat(passOn(node.url));
    expect(await all(emptyDirectory(), [bad, good])).toEqual([0, 0, 0, 0]);
    expect(bad.calls).toHaveLength(4);
  });
});

describe('a question that no node answers and that need not be answered', () => {
  it.each(
    sampleOf(
      [
        ['getRecentPrioritizationFees', status(429)],
        ['getBlockTime', status(503)],
        ['getRecentPrioritizationFees', silence],
        ['getBlockTime', silence],
      ] as const,
      2,
    ),
  )('is asked once, and the burn is done: %s', async (method, fault) => {
    const bad = await nodeThat(fault, method);
    expect((await burn([bad])).exit).toBe(0);
    expect(bad.calls.filter((call) => call.method === method)).toHaveLength(1);
  });
});

describe('nodes that all fall silent once something was sent', () => {
  /** A node that stops answering after this many sends. */
  async function silentAfter(sends: number): Promise<StubNode> {
    const stub = await stubNode();
    const honest = passOn(node.url);
    let sent = 0;
    stub.always = async (response, call) => {
      if (sent >= sends) return;
      await honest(response, call);
      if (call.method === 'sendTransaction') sent += 1;
    };
    return stub;
  }
  const supply = async (): Promise<number> => {
    const honest = await nodeThat(passOn(node.url));
    return Number(JSON.parse((await run([honest], 'local', 'status')).stdout).supply);
  };

  it('leave the outcome of a burn unknown, and it is done once by the line that is printed', async () => {
    const before = await supply();
    const cut = await burn([await silentAfter(1)]);
    expectProblem(cut, 7, { error: 'ERR_OUTCOME_UNKNOWN' });
    const [, id = ''] = /pending resume (\w+)/.exec(problemOf(cut).hint ?? '') ?? [];
    const resumed = await run([await nodeThat(passOn(node.url))], 'pending', 'resume', id, '--yes');
    expect([resumed.exit, JSON.parse(resumed.stdout).result]).toEqual([0, 'SUCCESS']);
    expect(await supply()).toBe(before - 1);
  });

  it('leave that of a set-up and of an execution unknown, and the same commands do the rest once', async () => {
    const before = await supply();
    const actions = [{ action: 'BURN', amount: 1 }];
    const file = join(emptyDirectory(), 'silent.json');
    writeFileSync(file, JSON.stringify([{ type: 'WATCH_AD', payload: '{"silent":1}', actions }]));
    const init = ['batch', 'init', file];
    expectProblem(await run([await silentAfter(1)], ...init), 7, { error: 'ERR_OUTCOME_UNKNOWN' });
    const honest = await nodeThat(passOn(node.url));
    const answer = JSON.parse((await run([honest], ...init)).stdout) as Init;
    const signedTx = signApproval(test.project.owner, answer);
    const execute = ['batch', 'execute', answer.batch.id, '--signed-tx', signedTx];
    expectProblem(await run([await silentAfter(1)], ...execute), 7, {
      error: 'ERR_OUTCOME_UNKNOWN',
      hint: 'nothing happens twice: flywheel batch execute',
    });
    expect((await run([honest], ...execute)).exit).toBe(0);
    expect(await supply()).toBe(before - 1);
  });

  it('before anything was sent are unavailable', async () => {
    expectProblem(await burn([await nodeThat(silence)]), 6, { error: 'ERR_UNAVAILABLE' });
  });
});
