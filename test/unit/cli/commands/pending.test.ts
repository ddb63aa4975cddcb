/** `flywheel pending`: lists, resumes and forgets operations of the journal and of a data directory's service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OpenedService } from '../../../../src/cli/context.js';
import type { RecoveryTerms } from '../../../../src/contract/admin.js';
import type { Batch } from '../../../../src/contract/schemas/batch.js';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../../src/values/digest.js';
import { exampleReply, fakeService } from '../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../support/in-process.js';
import { ownerKeypair } from '../../batch-on-chain.js';
import { aBatch, complaint, person, refusal, refuse, reply } from '../single-command.js';

type Unfinished = Awaited<ReturnType<NonNullable<OpenedService['recovery']>['unfinished']>>[number];

const DATE = '2026-01-31T12:00:00.000Z';
const RESULT = exampleReply('burn').value;
const UNAGREED = [2, 'ERR_USAGE', 'Without a terminal, `pending resume` needs --yes. Nothing was sent.'];
const unknown = () => refuse('ERR_OUTCOME_UNKNOWN', 'No answer came.');

/** A command line with this many unanswered burns, oldest first, and their ids. */
async function withBurns(count: number, options: TestCliOptions = {}, words: readonly string[] = []) {
  const service = fakeService();
  service.answer('burn', unknown);
  const lost = testCli({ service });
  for (let at = 1; at <= count; at += 1)
    await lost.run('burn', '--type', 'T', '--proof', `{"at":${at}}`, '--amount', String(at), ...words);
  const ids = JSON.parse((await lost.run('pending')).stdout).map(({ id }: { id: string }) => id) as string[];
  service.answer('burn', () => exampleReply('burn'));
  service.calls.length = 0;
  return { cli: testCli({ ...options, service, home: lost.home }), ids, id: ids[0] ?? '' };
}

/** Another process resumes and completes an operation while the command line waits for it. */
async function endElsewhere(cli: TestCli, id: string): Promise<void> {
  const journal = await cli.journal('other');
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

describe('pending', () => {
  it('prints what is pending with the command that began it and the one that resumes it', async () => {
    const { cli, id } = await withBurns(1);
    const { exit, stdout, stderr } = await cli.run('pending');
    expect([exit, stderr, JSON.parse(stdout)]).toEqual([
      ...[0, ''],
      [
        {
          ...{ id, operation: 'burn', outcome: 'unknown', running: false },
          ...{ dateBegun: DATE, dateChanged: DATE, resume: `flywheel pending resume ${id}` },
          command: 'flywheel burn --type T --proof \'{"at":1}\' --amount 1 --json',
          idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/),
        },
      ],
    ]);
    expect([(await cli.run('pending', 'list')).stdout, cli.service.calls]).toEqual([stdout, []]);
    expect((await testCli().run('pending')).stdout).toBe('[]\n');
    expect(await testCli().run('pending', 'resume')).toMatchObject({ exit: 0, stdout: '' });
  });
});

describe('batches that wait for approval', () => {
  it('are not listed where the service does not answer, which is said, and all else is', async () => {
    for (const count of [0, 1]) {
      const { cli } = await withBurns(count);
      cli.service.answer('listBatches', () => refuse('ERR_UNAVAILABLE', 'api.example cannot be reached.'));
      const { exit, stdout, stderr } = await cli.run('pending');
      expect([exit, JSON.parse(stdout).length, complaint(stderr).message]).toEqual([
        ...[6, count, expect.stringContaining('could not be listed. api.example cannot be reached.')],
      ]);
    }
  });
});

describe('pending resume', () => {
  it('goes on with all, past one that fails, and exits for that', async () => {
    const { cli, ids } = await withBurns(3);
    cli.service.answer('burn', ({ input }) =>
      (input as BurnRequest).burnAmount === 2
        ? refuse('ERR_UNAVAILABLE', 'Out of reach.')
        : exampleReply('burn'),
    );
    const { exit, stdout, stderr } = await cli.run('pending', 'resume', '--output', 'ndjson');
    expect([exit, stdout]).toEqual([7, `${JSON.stringify(RESULT)}\n`.repeat(2)]);
    for (const fact of [ids[1], 'Out of reach.']) expect(stderr).toContain(fact);
    expect(await cli.pending()).toEqual(['burn open']);
  });

  it('exits for what is unknown rather than for what was refused before, and says nothing of the others', async () => {
    for (const [second, expected] of [
      [unknown, 7],
      [() => exampleReply('burn'), 2],
    ] as const) {
      const { cli } = await withBurns(3);
      const [landed] = (exampleReply('listBurns').value as { items: object[] }).items;
      const hash = proofHash({ at: 1 });
      const older = { type: 'T', hash, amount: '1', dateCreated: '2026-01-01T00:00:00.000Z' };
      Object.assign(cli.service.service, {
        listBurns: async ({ proofHash }: { readonly proofHash?: string }) =>
          reply({ items: proofHash === hash ? [{ ...landed, ...older }] : [], nextCursor: null }),
      });
      cli.service.answer('burn', ({ input }) =>
        (input as BurnRequest).burnAmount === 2 ? second() : exampleReply('burn'),
      );
      const { exit, stderr } = await cli.run('pending', 'resume', '--output', 'ndjson');
      expect([exit, complaint(stderr).message]).toEqual([
        expected,
        expect.not.stringContaining('Nothing was'),
      ]);
    }
  });

  it.each([[[]], [['--once']]])(
    'leaves what another process ends, and goes on with the others (%j)',
    async (words) => {
      const { cli, id } = await withBurns(2, {}, words);
      await endElsewhere(cli, id);
      const { exit, stdout, stderr } = await cli.run('pending', 'resume');
      expect([exit, stdout]).toEqual([0, `${JSON.stringify(RESULT)}\n`]);
      expect(stderr).toContain('Process other');
      expect([await cli.pending(), cli.service.calls.length]).toEqual([[], 1]);
      const only = await withBurns(2, {}, words);
      await endElsewhere(only.cli, only.id);
      const ended = await only.cli.run('pending', 'resume', only.id);
      expect([ended.exit, ended.stdout, complaint(ended.stderr).error]).toEqual([2, '', 'ERR_INPUT_INVALID']);
      expect(only.cli.service.calls).toEqual([]);
    },
  );
});

describe('pending forget', () => {
  it('forgets after a yes, without asking the service, and nothing else where nobody can be asked', async () => {
    const { cli, id } = await withBurns(1, person('n'));
    const { exit, questions } = await cli.run('pending', 'forget', id);
    const command = `flywheel burn --type T --proof '{"at":1}'`;
    expect([exit, questions]).toEqual([130, [expect.stringContaining(command)]]);
    const script = testCli({ home: cli.home });
    expect((await refusal(script, 'pending', 'forget', id)).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    expect(await cli.pending()).toEqual(['burn open']);
    const { stdout } = await testCli({ home: cli.home, ...person('y') }).run(
      'pending',
      'forget',
      id,
      '--json',
    );
    expect([JSON.parse(stdout), await cli.pending()]).toEqual([{ id, forgotten: true }, []]);
    expect([cli.service.calls, script.service.calls]).toEqual([[], []]);
  });
});

describe('a batch that is pending', () => {
  const { executeResult: _, ...open } = exampleReply('getBatch').value as Batch;
  function cliWith(status: Batch['status']): TestCli {
    const service = fakeService();
    service.answer('getBatch', () => reply(status === 'EXECUTED' ? aBatch({ status }) : { ...open, status }));
    const cli = testCli({ service });
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
    const pipelines = [{ type: 'T', payload: { a: 1 }, actions: [{ action: 'BURN', amount: '1' }] }];
    writeFileSync(join(cli.home, 'p.json'), JSON.stringify(pipelines));
    return cli;
  }

  it('is resumed by the id that the list names, up to its end', async () => {
    const cli = cliWith('FINALIZED');
    expect((await cli.run('batch', 'init', 'p.json')).exit).toBe(0);
    const totals = { pipelines: 1, burn: '1', airdrop: '0', recipients: 0 };
    cli.service.answer('listBatches', () => reply({ items: [{ ...aBatch(), totals }], nextCursor: null }));
    const [{ id, resume }] = JSON.parse((await cli.run('pending')).stdout);
    expect(resume).toBe(`flywheel batch approve ${id} --wallet`);
    const keyed = testCli({ home: cli.home, service: cli.service, env: { FLYWHEEL_KEYPAIR: 'owner.json' } });
    const [row] = JSON.parse((await keyed.run('pending')).stdout);
    // Without a terminal an approval needs both options; the digest is that of the journal's own file.
    expect(row.resume).toMatch(
      new RegExp(`^flywheel batch execute ${id} --keypair owner.json --expect sha256:[0-9a-f]{64} --yes$`),
    );
    const words = ['pending', 'resume', id, '--keypair', 'owner.json'];
    const before = cli.service.calls.length;
    expect(await refusal(cli, ...words)).toEqual(UNAGREED);
    expect(cli.service.calls.length).toBe(before);
    // It would be signed next, and there is no file to check it against.
    const unchecked = await refusal(cli, ...words, '--yes');
    expect(unchecked.slice(0, 2)).toEqual([9, 'ERR_APPROVAL_REFUSED']);
    const other = '00000000-0000-4000-8000-00000000000f';
    const { stderr } = await cli.run('pending', 'resume', other);
    expect(complaint(stderr).hint).toContain(`flywheel batch approve ${other} --wallet`);
  });

  it('is not set up where nobody can agree to its approval, by its id or with all others', async () => {
    const cli = cliWith('FINALIZED');
    cli.service.answer('initBatch', unknown);
    expect((await cli.run('batch', 'init', 'p.json')).exit).toBe(7);
    cli.service.answer('burn', unknown);
    await cli.run('burn', '--type', 'T', '--proof', '{}', '--amount', '1');
    const journal = await cli.journal();
    const id = journal.pending().find(({ kind }) => kind === 'batch')?.id ?? '';
    const begun = journal.take(id);
    if (begun?.status !== 'taken') throw new TypeError('It could not be taken.');
    begun.entry.note({ run: { keypair: null, wallet: false, failedOut: null } });
    begun.entry.release();
    journal.close();
    cli.service.calls.length = 0;
    for (const words of [[], [id]])
      expect(await refusal(cli, 'pending', 'resume', ...words)).toEqual(UNAGREED);
    expect([cli.service.calls, await cli.pending()]).toEqual([[], ['batch open', 'burn open']]);
  });

  it('is resumed as printed when no answer says whether a fresh approval was issued', async () => {
    const cli = cliWith('FINALIZED');
    expect((await cli.run('batch', 'init', 'p.json')).exit).toBe(0);
    cli.service.answer('issueApproval', unknown);
    const lost = await cli.run('batch', 'init', 'p.json');
    const [, words = ''] = /flywheel (.*)$/.exec(complaint(lost.stderr).hint ?? '') ?? [];
    cli.service.answer('issueApproval', () => exampleReply('issueApproval'));
    expect([lost.exit, (await cli.run(...words.split(' '))).exit]).toEqual([7, 0]);
    expect(cli.service.calls.filter(({ operation }) => operation === 'initBatch')).toHaveLength(1);
  });
});

describe('pending in a data directory', () => {
  const WORK: Unfinished = {
    ...{ id: '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11', operation: 'burnBatch', running: false },
    ...{ idempotencyKey: '7f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12', dateBegun: DATE },
    signatures: ['5aBc', '4xYz'],
  };
  /** A service with this much unfinished work, which it can complete unless its id is in `forgotten`. */
  function leaving(work: Unfinished[], forgotten: readonly string[] = [], options: TestCliOptions = {}) {
    let left = work;
    const finish = async ({ onProblem }: RecoveryTerms): Promise<void> => {
      left = left.filter(({ id }) => forgotten.includes(id));
      for (const { id } of left)
        onProblem?.(`request ${id}`, new FlywheelError('ERR_UNAVAILABLE', 'Not known.'));
    };
    return testCli({ ...options, opened: { recovery: { unfinished: async () => left, finish } } });
  }

  it('lists what its service has left, but for what an operation of the journal stands for', async () => {
    const { cli, id } = await withBurns(1);
    const [{ idempotencyKey }] = JSON.parse((await cli.run('pending')).stdout);
    const same = { ...WORK, operation: 'burn' as const, idempotencyKey };
    const { stdout } = await leaving([WORK, same], [], { home: cli.home }).run('pending');
    const { operation: _operation, ...rest } = WORK;
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ id, operation: 'burn', idempotencyKey }),
      { ...rest, operation: 'service burnBatch', outcome: 'unknown', resume: 'flywheel pending resume' },
    ]);
  });

  it('finishes it, but for what no node remembers and what somebody is at', async () => {
    const other = { ...WORK, id: '8f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12', idempotencyKey: null };
    const cli = leaving([WORK, other], [other.id]);
    const { exit, stderr } = await cli.run('pending', 'resume');
    expect([exit, stderr]).toEqual([0, expect.stringMatching(new RegExp(`${other.id}[\\s\\S]*1 of 2`))]);
    expect(JSON.parse((await cli.run('pending')).stdout)).toMatchObject([
      { id: other.id, outcome: 'unknown' },
    ]);
    const busy = leaving([{ ...WORK, running: true }]);
    expect((await busy.run('pending', 'resume', '--wait', '0')).exit).toBe(8);
  });
});
