/** `flywheel pending`: what is listed, gone on with and forgotten; and what has become pointless comes to its end. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../src/chain/transaction/signer.js';
import type { Batch } from '../../../../src/contract/schemas/batch.js';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { processIdentity } from '../../../../src/files/process-identity.js';
import { complaint, person, READER, refusal, refuse } from '../../../support/commands.js';
import { exampleReply, fakeService } from '../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../support/in-process.js';

const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';

/** A command line with the owner's keypair, and a service whose batch stands as told. */
function cliWith(status: Batch['status']): TestCli {
  const service = fakeService();
  const batch = exampleReply('getBatch').value as Batch;
  const { executeResult: _executeResult, ...open } = batch;
  service.answer('getBatch', () => ({
    meta: { replayed: false },
    value: status === 'EXECUTED' ? { ...batch, status } : { ...open, id: BATCH_ID, status },
  }));
  const cli = testCli({ service });
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...generateKeypair()]), { mode: 0o600 });
  return cli;
}

const unavailable = (): never => {
  throw new FlywheelError('ERR_UNAVAILABLE', 'The service is out of reach.');
};

const BURN = ['burn', '--type', 'T', '--proof', '{}', '--amount', '1'];

/** A command line with so many burns of which no answer came, oldest first, and their ids. */
async function withBurns(count: number, options: TestCliOptions = {}, words: readonly string[] = []) {
  const service = fakeService();
  service.answer('burn', () => refuse('ERR_OUTCOME_UNKNOWN', 'No answer came.'));
  const lost = testCli({ service });
  for (let burn = 1; burn <= count; burn += 1) await lost.run(...BURN.with(-1, String(burn)), ...words);
  const rows = JSON.parse((await lost.run('pending')).stdout) as { id: string }[];
  service.answer('burn', () => exampleReply('burn'));
  service.calls.length = 0;
  return { cli: testCli({ ...options, service, home: lost.home }), ids: rows.map(({ id }) => id) };
}

const RESULT = exampleReply('burn').value;

/** Another process goes on with an operation, and ends and tells it while the command line waits for that. */
async function endElsewhere(cli: TestCli, id: string): Promise<void> {
  const journal = await cli.journal(processIdentity(process.ppid));
  const begun = journal.take(id);
  if (begun?.status !== 'taken') throw new TypeError('It could not be taken.');
  const { entry } = begun;
  const naps = [
    () => entry.settle({ state: 'done', landed: [] }),
    () => {
      entry.markPrinted();
      journal.close();
    },
  ];
  Object.assign(cli.context, { sleep: async () => naps.shift()?.() });
}

describe('pending list', () => {
  it('prints what is pending with the command that began it and the one that resumes it', async () => {
    const { cli, ids } = await withBurns(1);
    const { exit, stdout, stderr } = await cli.run('pending');
    expect([exit, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual([
      {
        ...{ id: ids[0], operation: 'burn', outcome: 'unknown', running: false },
        command: "flywheel burn --type T --proof '{}' --amount 1",
        idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/),
        ...{ dateBegun: '2026-01-31T12:00:00.000Z', dateChanged: '2026-01-31T12:00:00.000Z' },
        resume: `flywheel pending resume ${ids[0]}`,
      },
    ]);
    expect((await cli.run('pending', 'list')).stdout).toBe(stdout);
    expect(cli.service.calls).toEqual([]);
  });

  it('tells people what to run, and that nothing is pending', async () => {
    const { cli, ids } = await withBurns(1, READER);
    const lines = (await cli.run('pending')).stdout.split('\n');
    expect(lines[0]).toBe(`${ids[0]} flywheel burn --type T --proof '{}' --amount 1`);
    expect(lines).toContain(`to resume    flywheel pending resume ${ids[0]}`);
    expect((await testCli(READER).run('pending')).stdout).toBe('Nothing is pending.\n');
    expect((await testCli().run('pending')).stdout).toBe('[]\n');
  });
});

describe('pending resume', () => {
  it('goes on with one under its own key, and prints what the command would have', async () => {
    const { cli, ids } = await withBurns(2);
    const { exit, stdout } = await cli.run('pending', 'resume', ids[1] ?? '');
    expect([exit, stdout]).toEqual([0, `${JSON.stringify(RESULT)}\n`]);
    expect(cli.service.calls.map(({ input }) => input)).toMatchObject([{ burnAmount: 2 }]);
    expect(await cli.pending()).toEqual(['burn open']);
  });

  it('goes on with all, past one that fails, and exits for that', async () => {
    const { cli, ids } = await withBurns(3);
    cli.service.answer('burn', ({ input }) =>
      (input as BurnRequest).burnAmount === 2
        ? refuse('ERR_UNAVAILABLE', 'Out of reach.')
        : exampleReply('burn'),
    );
    const { exit, stdout, stderr } = await cli.run('pending', 'resume', '--output', 'ndjson');
    expect([exit, stdout]).toEqual([7, `${JSON.stringify(RESULT)}\n`.repeat(2)]);
    expect(stderr).toContain(`{"warning":"${ids[1]}: `);
    expect(complaint(stderr).message).toContain('asking again failed: Out of reach.');
    expect(await cli.pending()).toEqual(['burn open']);
  });

  describe.each([
    ['a burn', [], 'There is no operation'],
    ['a burn that is made once', ['--once'], 'is over and done.'],
  ] as const)('beside another process that ends %s', (_what, words, message) => {
    it('says so, and goes on with the others', async () => {
      const { cli, ids } = await withBurns(2, {}, words);
      await endElsewhere(cli, ids[0] ?? '');
      const { exit, stdout, stderr } = await cli.run('pending', 'resume');
      expect([exit, stdout]).toEqual([0, `${JSON.stringify(RESULT)}\n`]);
      const notices = stderr.split('\n').filter((line) => line !== '');
      expect(notices.map((line) => JSON.parse(line).notice)).toEqual([
        `Process ${process.ppid} is doing this very operation; waiting for it.`,
        `Another process has brought operation ${ids[0]} to its end, and told its outcome.`,
        expect.stringMatching(/^Going on with /),
      ]);
      expect(await cli.pending()).toEqual([]);
    });

    it('has nothing to print of the only one that was asked for', async () => {
      const { cli, ids } = await withBurns(2, {}, words);
      await endElsewhere(cli, ids[0] ?? '');
      const { exit, stdout, stderr } = await cli.run('pending', 'resume', ids[0] ?? '');
      expect([exit, stdout]).toEqual([2, '']);
      expect(complaint(stderr)).toMatchObject({
        error: 'ERR_INPUT_INVALID',
        message: expect.stringContaining(message),
      });
      expect(cli.service.calls).toEqual([]);
    });
  });

  it('says so when there is nothing, or nothing of that name', async () => {
    const { exit, stdout, stderr } = await testCli().run('pending', 'resume');
    expect([exit, stdout, JSON.parse(stderr)]).toEqual([0, '', { notice: 'Nothing is pending.' }]);
    expect(await refusal(testCli(), 'pending', 'resume', '12345678')).toEqual([
      ...[2, 'ERR_INPUT_INVALID', 'There is no operation 12345678.'],
    ]);
  });
});

describe('pending forget', () => {
  it('asks, and forgets after a yes without asking the service', async () => {
    const { cli, ids } = await withBurns(1, person('y'));
    const { exit, stdout, questions } = await cli.run('pending', 'forget', ids[0] ?? '');
    expect([exit, stdout]).toEqual([0, `Forgot ${ids[0]}.\n`]);
    expect(questions).toEqual([
      "Forget `flywheel burn --type T --proof '{}' --amount 1`, begun 2026-01-31T12:00:00.000Z? It may have happened: asking for it again may do it twice. [y/N] ",
    ]);
    expect([await cli.pending(), cli.service.calls]).toEqual([[], []]);
  });

  it('forgets nothing after a no, nor where nobody can be asked', async () => {
    const { cli, ids } = await withBurns(1, person('n'));
    const declined = await cli.run('pending', 'forget', ids[0] ?? '');
    expect([declined.exit, declined.stdout]).toEqual([130, '']);
    expect(declined.stderr).toContain('Declined; nothing was forgotten.');
    const script = testCli({ home: cli.home });
    expect((await refusal(script, 'pending', 'forget', ids[0] ?? '')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    expect(await cli.pending()).toEqual(['burn open']);
    const { stdout } = await script.run('pending', 'forget', ids[0] ?? '', '--yes');
    expect(stdout).toBe(`${JSON.stringify({ id: ids[0], forgotten: true })}\n`);
    expect(await cli.pending()).toEqual([]);
  });

  it.each([
    [['pending', 'forget'], 'ERR_USAGE', '`flywheel pending forget` needs an id.'],
    [['pending', 'forget', 'none', '--yes'], 'ERR_INPUT_INVALID', 'No operation "none" is pending.'],
    [['pending', 'list', 'x'], 'ERR_USAGE', '`flywheel pending list` takes no id.'],
    [['pending', 'drop'], 'ERR_USAGE', 'Allowed choices are list, resume, forget.'],
  ])('refuses %j', async (words, code, message) => {
    const { cli } = await withBurns(1);
    expect(await refusal(cli, ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect(await cli.pending()).toEqual(['burn open']);
  });
});

describe('pending resume of a batch', () => {
  it('gives up the cancelling of a batch that is executed', async () => {
    const cli = cliWith('EXECUTED');
    cli.service.answer('cancelBatch', unavailable);
    const words = ['batch', 'cancel', BATCH_ID, '--keypair', 'owner.json', '--yes'];
    expect((await cli.run(...words)).exit).toBe(6);
    expect(await cli.pending()).toEqual(['cancel open']);
    cli.service.answer('cancelBatch', () => {
      throw new FlywheelError('ERR_INVALID_REQUEST', 'It is EXECUTED; there is nothing to cancel.');
    });
    expect((await cli.run('pending', 'resume')).stderr).toContain('there is nothing to cancel');
    expect(await cli.pending()).toEqual([]);
  });

  it('ends what is being ended before it goes on with anything else', async () => {
    const cli = cliWith('FINALIZED');
    for (const operation of ['burn', 'cancelBatch'] as const)
      cli.service.answer(operation, () => {
        throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
      });
    await cli.run('burn', '--type', 'T', '--proof', '{}', '--amount', '1');
    await cli.run('batch', 'cancel', BATCH_ID, '--keypair', 'owner.json', '--yes');
    expect(await cli.pending()).toEqual(['burn open', 'cancel open']);
    const before = cli.service.calls.length;
    await cli.run('pending', 'resume');
    const acted = cli.service.calls.slice(before).map(({ operation }) => operation);
    expect(acted.filter((operation) => /burn|cancel/.test(operation))).toEqual(['cancelBatch', 'burn']);
  });
});

const FILE = JSON.stringify([{ type: 'T', payload: { a: 1 }, actions: [{ action: 'BURN', amount: '1' }] }]);

describe('a batch that waits', () => {
  it('is resumed as printed when no answer says whether a fresh approval was issued', async () => {
    const cli = cliWith('FINALIZED');
    writeFileSync(join(cli.home, 'p.json'), FILE);
    expect((await cli.run('batch', 'init', 'p.json')).exit).toBe(0);
    cli.service.answer('issueApproval', () => {
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    });
    const lost = await cli.run('batch', 'init', 'p.json');
    expect(lost.exit).toBe(7);
    const { hint } = JSON.parse(lost.stderr.trim().split('\n').at(-1) ?? '');
    const [, words = ''] = /^This resumes safely: flywheel (.*)$/.exec(hint) ?? [];
    cli.service.answer('issueApproval', () => exampleReply('issueApproval'));
    expect(await cli.run(...words.split(' '))).toMatchObject({ exit: 0 });
    expect(cli.service.calls.filter(({ operation }) => operation === 'initBatch')).toHaveLength(1);
  });
});
