/** `flywheel batch status`: one batch, once or until its verdict. */
import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../../../src/contract/schemas/batch.js';
import { aBatch, complaint, READER, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const ID = aBatch().id;
const RESULT = { total: 2, totalSuccessful: 2, totalFailed: 0, successfulExecutions: [] };
const EXECUTED = aBatch({
  status: 'EXECUTED',
  executeResult: RESULT,
  dateUpdated: '2026-01-31T12:00:09.000Z',
});
const FAILED = aBatch({
  status: 'FAILED',
  executeResult: { ...RESULT, totalSuccessful: 1, totalFailed: 1, failedTxMsg: 'custom error 1.' },
});

/** A command line whose service tells one state after the other, the last for ever. */
function cliWith(states: readonly Batch[], options: TestCliOptions = {}) {
  const service = fakeService();
  const left = [...states];
  service.answer('getBatch', () => reply(left.length > 1 ? left.shift() : left[0]));
  const cli = testCli({ ...options, service });
  let slept = 0;
  let now = 0;
  Object.assign(cli.context, {
    clock: { nowMs: () => now },
    sleep: async (ms: number) => {
      slept += 1;
      now += ms;
    },
  });
  return { cli, slept: () => slept };
}

describe('batch status', () => {
  it('looks once and prints what it sees, whatever that is', async () => {
    for (const batch of [aBatch(), EXECUTED, FAILED]) {
      const { cli, slept } = cliWith([batch]);
      const { exit, stdout, stderr } = await cli.run('batch', 'status', ID.toUpperCase());
      expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(batch)}\n`, '']);
      expect(cli.service.calls.map(({ input }) => input)).toEqual([{ batchId: ID }]);
      expect(slept()).toBe(0);
    }
  });

  it('tells people what was executed, and why no more was', async () => {
    const { stdout } = await cliWith([FAILED], READER).cli.run('batch', 'status', ID);
    expect(stdout).toContain(`Batch ${ID} FAILED\n`);
    expect(stdout).toMatch(/^transactions +1 of 2 executed$/m);
    expect(stdout).toMatch(/^reason +custom error 1\.$/m);
  });

  it('watches until it is executed, which is exit 0', async () => {
    const { cli, slept } = cliWith([aBatch(), aBatch(), EXECUTED]);
    const { exit, stdout } = await cli.run('batch', 'status', ID, '--watch');
    expect([exit, stdout, slept()]).toEqual([0, `${JSON.stringify(EXECUTED)}\n`, 2]);
  });

  it('exits 10 as well where the service does not say how far it came', async () => {
    const { executeResult: _, ...failed } = FAILED;
    const { exit, stderr } = await cliWith([failed]).cli.run('batch', 'status', ID, '--watch');
    expect([exit, complaint(stderr).message]).toEqual([10, `Batch ${ID} is FAILED.`]);
  });

  it('watches until it has failed, prints it all the same, and exits 10', async () => {
    const { exit, stdout, stderr } = await cliWith([aBatch(), FAILED]).cli.run(
      'batch',
      'status',
      ID,
      '--watch',
    );
    expect([exit, stdout]).toEqual([10, `${JSON.stringify(FAILED)}\n`]);
    expect(complaint(stderr)).toMatchObject({
      error: 'ERR_BATCH_FAILED',
      message: `Batch ${ID} is FAILED: 1 of 2 transactions were executed; custom error 1.`,
    });
  });

  it('prints in ndjson each state that it passes, once', async () => {
    const later = aBatch({ dateUpdated: '2026-01-31T12:00:05.000Z' });
    const { cli } = cliWith([aBatch(), aBatch(), later, EXECUTED]);
    const { stdout } = await cli.run('batch', 'status', ID, '--watch', '--output', 'ndjson');
    expect(stdout).toBe([aBatch(), later, EXECUTED].map((batch) => `${JSON.stringify(batch)}\n`).join(''));
  });

  it('gives up after --timeout, which is exit 8', async () => {
    const { cli, slept } = cliWith([aBatch()]);
    const { exit, stdout, stderr } = await cli.run('batch', 'status', ID, '--watch', '--timeout', '2.5');
    expect([exit, stdout, slept()]).toEqual([8, '', 3]);
    expect(complaint(stderr)).toMatchObject({
      error: 'ERR_TIMEOUT',
      message: `Batch ${ID} is still FINALIZED after 2.5 s.`,
      hint: 'Run the command again to go on waiting.',
    });
  });

  it.each([
    [['b-1'], 'ERR_INPUT_INVALID', 'A batch id is a UUID, got "b-1".'],
    [[], 'ERR_USAGE', "Missing required argument 'batchId'"],
    [[ID, '--wait', 'x'], 'ERR_USAGE', '--wait takes seconds'],
    [[ID, '--follow'], 'ERR_USAGE', "Unknown option '--follow'"],
  ])('refuses %j without asking', async (words, code, message) => {
    const { cli } = cliWith([aBatch()]);
    expect(await refusal(cli, 'batch', 'status', ...words)).toEqual([
      2,
      code,
      expect.stringContaining(message),
    ]);
    expect(cli.service.calls).toEqual([]);
  });

  it('says what the service says of a batch that it does not know', async () => {
    const service = fakeService();
    service.answer('getBatch', () => refuse('ERR_BATCH_NOT_FOUND', 'There is no such batch.'));
    for (const watch of [[], ['--watch']])
      expect(await refusal(testCli({ service }), 'batch', 'status', ID, ...watch)).toEqual([
        ...[5, 'ERR_BATCH_NOT_FOUND', 'There is no such batch.'],
      ]);
  });
});
