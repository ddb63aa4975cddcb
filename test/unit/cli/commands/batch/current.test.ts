/** `flywheel batch current`: the batch that waits, or that there is none. */
import { describe, expect, it } from 'vitest';
import { aBatch, complaint, READER, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { testCli } from '../../../../support/in-process.js';

describe('batch current', () => {
  it('prints the batch as the service tells it', async () => {
    const cli = testCli();
    const { exit, stdout, stderr } = await cli.run('batch', 'current');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(aBatch())}\n`, '']);
    expect(cli.service.calls.map(({ operation }) => operation)).toEqual(['currentBatch']);
  });

  it('prints null where none waits, and says so to people', async () => {
    const service = fakeService();
    service.answer('currentBatch', () => reply(null));
    expect((await testCli({ service }).run('batch', 'current')).stdout).toBe('null\n');
    expect((await testCli({ ...READER, service }).run('batch', 'current')).stdout).toBe(
      'No batch is waiting.\n',
    );
  });

  it('tells people its state first, and on stderr what it has cost', async () => {
    const service = fakeService();
    const cost = { feeLamports: 15_000n, rentPaidLamports: 2_000_000_000n, rentReclaimedLamports: 0n };
    service.answer('currentBatch', () => ({
      value: aBatch(),
      meta: { replayed: false, cost, requestId: 'req-1' },
    }));
    const { stdout, stderr } = await testCli({ ...READER, service }).run('batch', 'current', '-v');
    expect(stdout.split('\n')[0]).toBe(`Batch ${aBatch().id} FINALIZED`);
    expect(stderr).toBe(
      'Cost so far: fees 0.000015 SOL, rent 2 SOL of which 0 SOL came back.\nrequest id: req-1\n',
    );
    expect((await testCli({ service }).run('batch', 'current')).stderr).toBe('');
  });

  it.each([
    ['ERR_UNAUTHORIZED', 4],
    ['ERR_BATCH_CURRENT_FAILED', 1],
    ['ERR_UNAVAILABLE', 6],
  ] as const)('exits for %s with %i', async (code, exit) => {
    const service = fakeService();
    service.answer('currentBatch', () => refuse(code, 'It did not work.'));
    const ended = await testCli({ service }).run('batch', 'current');
    expect([ended.exit, ended.stdout, complaint(ended.stderr).message]).toEqual([
      exit,
      '',
      'It did not work.',
    ]);
  });

  it('takes no argument', async () => {
    expect((await refusal(testCli(), 'batch', 'current', aBatch().id)).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
