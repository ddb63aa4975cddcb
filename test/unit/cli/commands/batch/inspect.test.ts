/** `flywheel batch inspect`: a batch by its id or its file, judged as an approval would be; a judgement is no error. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestText, pipelinesDigest } from '../../../../../src/actions/pipelines.js';
import {
  approvalIn,
  HONEST,
  honestWorld,
  inspect,
  openedIn,
  type World,
} from '../../../../support/approval-world.js';
import { batchIndex, multisig, operator } from '../../../../support/batch-on-chain.js';
import { aBatch, complaint, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { testCli } from '../../../../support/in-process.js';

const BATCH = aBatch({ multisig, batchIndex: String(batchIndex) });

/** A command line in a world, with a service that knows the batch. */
function cliIn(world: World) {
  const service = fakeService();
  service.answer('getBatch', () => reply(BATCH));
  return testCli({ service, opened: { ...openedIn(world), service: service.service } });
}

describe('batch inspect', () => {
  it('prints what stands on chain, by the file that init wrote and without the service', async () => {
    const world = honestWorld('token');
    const cli = cliIn(world);
    const { exit, stdout, stderr } = await cli.run('batch', 'inspect', approvalIn(cli.home, world));
    expect([exit, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ batchId: world.batch.id, multisig, batchIndex: '7', closed: false, executed: 0, problem: null },
      ...{ creator: operator, decimals: 6, totals: { burn: '12345679.5', airdrop: '2.000001' } },
      digest: digestText(pipelinesDigest(HONEST)),
      proposal: { status: 'Active', approved: [], rejected: [], cancelled: [] },
      pipelines: HONEST.map(({ type, proofHash }) => ({ type, proofHash })),
    });
    expect(cli.service.calls).toEqual([]);
  });

  it('asks the service for no more than which batch an id names', async () => {
    const cli = cliIn(honestWorld('token'));
    const { exit, stdout } = await cli.run('batch', 'inspect', BATCH.id);
    expect([exit, JSON.parse(stdout).batchId]).toEqual([0, BATCH.id]);
    expect(cli.service.calls.map(({ operation }) => operation)).toEqual(['getBatch']);
  });

  it('says why a batch is not to be approved, and is done all the same', async () => {
    const world = honestWorld('token');
    world.state = (state) => {
      state.multisig = { ...state.multisig, threshold: 1 };
    };
    const cli = cliIn(world);
    const { exit, stdout } = await cli.run('batch', 'inspect', approvalIn(cli.home, world));
    expect([exit, JSON.parse(stdout).problem]).toEqual([0, expect.stringContaining('threshold')]);
    const human = await inspect(world);
    expect(human.stdout.trimEnd().split('\n').at(-1)).toMatch(/^Not to be approved: /);
    const honest = await inspect(honestWorld('token'));
    expect(honest.stdout.trimEnd().split('\n').at(-1)).toBe('Everything in it is allowed.');
  });

  it('says what is missing where no chain can be read', async () => {
    const { exit, stderr } = await testCli().run('batch', 'inspect', BATCH.id);
    expect([exit, complaint(stderr)]).toMatchObject([
      2,
      { error: 'ERR_CONFIG_INVALID', hint: 'Set FLYWHEEL_RPC_URL to an RPC of your own.' },
    ]);
  });

  it('says what the service says of an id that it does not know', async () => {
    const cli = cliIn(honestWorld('token'));
    cli.service.answer('getBatch', () => refuse('ERR_BATCH_NOT_FOUND', 'There is no such batch.'));
    expect(await refusal(cli, 'batch', 'inspect', BATCH.id)).toEqual([
      ...[5, 'ERR_BATCH_NOT_FOUND', 'There is no such batch.'],
    ]);
  });

  it('refuses what is neither an id nor such a file', async () => {
    const cli = cliIn(honestWorld('token'));
    writeFileSync(join(cli.home, 'other.json'), '{"pipelines":[]}');
    for (const [word, message] of [
      ['none.json', 'none.json: there is no such file.'],
      ['other.json', 'other.json: expected the file that `batch init --out` writes.'],
    ] as const)
      expect(await refusal(cli, 'batch', 'inspect', word)).toEqual([2, 'ERR_INPUT_INVALID', message]);
    expect((await refusal(cli, 'batch', 'inspect'))[1]).toBe('ERR_USAGE');
    expect((await refusal(cli, 'batch', 'inspect', BATCH.id, '--expect', 'x'))[1]).toBe('ERR_USAGE');
  });
});
