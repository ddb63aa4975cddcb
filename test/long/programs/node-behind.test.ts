/** A node of the user's own that sees each block a little later than the service does, as every node of a cluster may. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pipelinesOf } from '../../support/deeds.js';
import { closeTestNodes, startTestNode } from '../../support/local-rpc.js';
import { anOperator, makeTemplate, type Operator, type Template } from '../../support/operator.js';
import { flywheel, type Spawned } from '../../support/spawn.js';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterEach(closeTestNodes);

/** An operator whose node confirms what has landed a second later. */
async function behind(): Promise<{ operator: Operator; run: (...words: string[]) => Promise<Spawned> }> {
  const operator = await anOperator('remote', template);
  const node = await startTestNode({
    ...{ directory: operator.dataDir, isDataDirectory: true, pace: 'clock', slotMs: 400, confirmedAfter: 3 },
  });
  const run = (...words: string[]) =>
    flywheel({ home: operator.directory }, ...words, '--rpc-url', node.url, '--json');
  return { operator, run };
}

describe('a node that is a little behind the service', () => {
  it('is waited for by a batch that is set up, approved and executed at once', async () => {
    const { operator, run } = await behind();
    operator.write('three.json', pipelinesOf('three'));
    const { stderr, exit } = await run('batch', 'run', 'three.json', '--keypair', operator.owner, '--yes');
    expect([exit, stderr]).toEqual([0, expect.not.stringContaining('"warning"')]);
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    expect(await operator.pending()).toEqual([]);
    await operator.leave();
  });

  const oneAfterTheOther = async () => {
    const { operator, run } = await behind();
    const { owner } = operator;
    operator.write('three.json', pipelinesOf('three'));
    const { id } = JSON.parse((await run('batch', 'init', 'three.json')).stdout).batch;
    const signed = await run('batch', 'approve', id, '--keypair', owner, '--expect', 'three.json', '--yes');
    const { signedTx } = JSON.parse(signed.stdout);
    expect((await run('batch', 'execute', id, '--signed-tx', signedTx)).exit).toBe(0);
    operator.write('other.json', pipelinesOf('other'));
    const other = JSON.parse((await run('batch', 'init', 'other.json')).stdout).batch;
    const cancelled = await run('batch', 'cancel', other.id, '--keypair', owner, '--yes');
    expect([cancelled.exit, await operator.happened()]).toMatchObject([
      0,
      { burned: '3', batches: ['EXECUTED', 'CANCELLED'] },
    ]);
    await operator.leave();
  };
  it('is waited for by one command after the other', oneAfterTheOther);
});
