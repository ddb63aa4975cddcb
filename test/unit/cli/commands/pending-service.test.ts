/** `flywheel pending` in a data directory: what its service has left is listed, and finished where it can be. */
import { describe, expect, it } from 'vitest';
import type { Recovery, RecoveryTerms, UnfinishedWork } from '../../../../src/contract/recovery.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { READER, refuse } from '../../../support/commands.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

const WORK: UnfinishedWork = {
  id: '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12',
  operation: 'burnBatch',
  idempotencyKey: '7f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12',
  running: false,
  dateBegun: '2026-01-31T12:00:00.000Z',
  signatures: ['5aBc', '4xYz'],
};

/** A service that has left so much, and can finish what is not said to be forgotten. */
function serviceWith(work: readonly UnfinishedWork[], forgotten: readonly string[] = []) {
  let left = work;
  const recovery: Recovery = {
    unfinished: async () => left,
    finish: async ({ onProblem }: RecoveryTerms) => {
      left = left.filter(({ id }) => forgotten.includes(id));
      for (const { id } of left)
        onProblem?.(`the burns of request ${id}`, new FlywheelError('ERR_UNAVAILABLE', 'No node remembers.'));
    },
  };
  return recovery;
}

const cliWith = (recovery: Recovery, options: TestCliOptions = {}) =>
  testCli({ ...options, opened: { recovery } });

describe('pending in a data directory', () => {
  it('lists what its service has left, with every signature', async () => {
    const { exit, stdout } = await cliWith(serviceWith([WORK])).run('pending');
    expect(exit).toBe(0);
    const { operation: _operation, ...rest } = WORK;
    expect(JSON.parse(stdout)).toEqual([
      { ...rest, operation: 'service burnBatch', outcome: 'unknown', resume: 'flywheel pending resume' },
    ]);
    const shown = await cliWith(serviceWith([WORK]), READER).run('pending');
    for (const text of ['service burnBatch', '5aBc', '4xYz', 'flywheel pending resume'])
      expect(shown.stdout).toContain(text);
  });

  it('leaves out what an operation of the journal stands for', async () => {
    const service = fakeService();
    service.answer('burn', () => refuse('ERR_OUTCOME_UNKNOWN', 'No answer came.'));
    const first = testCli({ service });
    await first.run('burn', '--type', 'T', '--proof', '{}', '--amount', '1');
    const [{ idempotencyKey }] = JSON.parse((await first.run('pending')).stdout) as [
      { idempotencyKey: string },
    ];
    const recovery = serviceWith([{ ...WORK, operation: 'burn', idempotencyKey }]);
    const { stdout } = await cliWith(recovery, { service, home: first.home }).run('pending');
    expect(JSON.parse(stdout)).toMatchObject([{ operation: 'burn', idempotencyKey }]);
  });

  it('finishes it, and keeps what no node remembers', async () => {
    const other = { ...WORK, id: '8f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12', idempotencyKey: null };
    const cli = cliWith(serviceWith([WORK, other], [other.id]));
    const { exit, stderr } = await cli.run('pending', 'resume');
    expect(exit).toBe(0);
    expect(stderr).toContain(`Not finished yet: the burns of request ${other.id}. No node remembers.`);
    expect(stderr).toContain('Of what the service had left unfinished, 1 of 2 have come to an end.');
    expect(JSON.parse((await cli.run('pending')).stdout)).toMatchObject([
      { id: other.id, outcome: 'unknown' },
    ]);
  });

  it('does nothing about what somebody is at', async () => {
    const { exit, stderr } = await cliWith(serviceWith([{ ...WORK, running: true }])).run(
      'pending',
      'resume',
    );
    expect([exit, stderr]).toEqual([0, '{"notice":"Nothing is pending."}\n']);
  });
});
