/** `flywheel batch list`, `show` and `status`: gathered pages, forwarded filters, and waiting for the final status. */
import { describe, expect, it } from 'vitest';
import type { Batch, PipelineState } from '../../../../../src/contract/schemas/batch.js';
import type { AnswerOf, InputOf } from '../../../../../src/contract/service.js';
import { type FakeService, fakeService } from '../../../../support/fake-service.js';
import { type TestCli, testCli } from '../../../../support/in-process.js';
import { EXAMPLES } from '../../../../support/wire-examples.js';
import { aBatch, complaint, reply } from '../../single-command.js';

const ID = aBatch().id;
const inputs = ({ service }: TestCli) => service.calls.map(({ input }) => input);
const answering = (prepare: (service: FakeService) => void): TestCli => {
  const service = fakeService();
  prepare(service);
  return testCli({ service });
};

describe('batch list', () => {
  const totals = { pipelines: 1, burn: '1', airdrop: '0', recipients: 0 };
  const batches = Array.from({ length: 450 }, (_, at) => ({
    ...aBatch({ batchIndex: String(450 - at) }),
    totals,
  }));
  const holding = (count: number): TestCli =>
    answering((service) =>
      service.answer('listBatches', ({ input }) => {
        const { limit = 50, cursor } = input as InputOf<'listBatches'>;
        const from = Number(cursor ?? 0);
        const end = Math.min(from + limit, count);
        return reply({ items: batches.slice(from, end), nextCursor: end < count ? String(end) : null });
      }),
    );

  it('asks for 50 unless told otherwise, and names the cursor of what follows', async () => {
    const cli = holding(450);
    const { exit, stdout, stderr } = await cli.run('batch', 'list', '--quiet');
    expect([exit, JSON.parse(stdout)]).toEqual([0, batches.slice(0, 50)]);
    expect(JSON.parse(stderr).warning).toContain('--cursor 50');
    expect(inputs(cli)).toEqual([{ limit: 50 }]);
    const lines = (await holding(2).run('batch', 'list', '--output', 'ndjson')).stdout;
    expect(lines).toBe(`${JSON.stringify(batches[0])}\n${JSON.stringify(batches[1])}\n`);
  });

  it('asks page after page for more than one holds, and for no more than is wanted', async () => {
    const all = await holding(450).run('batch', 'list', '--output', 'csv');
    expect([all.stderr, all.stdout.trim().split('\n').length]).toEqual(['', 451]);
    const cli = holding(450);
    const status = 'EXECUTED';
    const { stdout } = await cli.run('batch', 'list', '--limit', '401', '--status', 'executed');
    expect(JSON.parse(stdout)).toHaveLength(401);
    expect(inputs(cli)).toEqual([
      { limit: 200, status },
      { limit: 200, status, cursor: '200' },
      { limit: 1, status, cursor: '400' },
    ]);
    const few = holding(3);
    expect(JSON.parse((await few.run('batch', 'list', '--limit', '100000')).stdout)).toHaveLength(3);
    expect(inputs(few)).toHaveLength(1);
  });
});

describe('batch show', () => {
  const [first] = (EXAMPLES.batchPipelines.response as AnswerOf<'batchPipelines'>).items as [PipelineState];
  const PIPELINES: readonly PipelineState[] = [
    { ...first, state: 'EXECUTED', txHash: 'sig-1' },
    { ...first, index: 1, state: 'FAILED', message: 'custom error 1' },
  ];
  const paging = (): TestCli =>
    answering((service) =>
      service.answer('batchPipelines', ({ input }) => {
        const at = Number((input as { cursor?: string }).cursor ?? 0);
        const nextCursor = at + 1 < PIPELINES.length ? String(at + 1) : null;
        return reply({ items: PIPELINES.slice(at, at + 1), nextCursor });
      }),
    );

  it('prints the batch with the pipelines of every page', async () => {
    const cli = paging();
    const { exit, stdout } = await cli.run('batch', 'show', ID);
    expect([exit, JSON.parse(stdout)]).toEqual([0, { ...aBatch(), pipelines: PIPELINES }]);
    expect(inputs(cli)).toEqual([
      { batchId: ID },
      { batchId: ID, limit: 200 },
      { batchId: ID, limit: 200, cursor: '1' },
    ]);
  });
});

describe('batch status', () => {
  const RESULT = { total: 2, totalSuccessful: 2, totalFailed: 0, successfulExecutions: [] };
  const dateUpdated = '2026-01-31T12:00:09.000Z';
  const EXECUTED = aBatch({ status: 'EXECUTED', executeResult: RESULT, dateUpdated });

  /** A service that reports these states in turn, and repeats the last. */
  function telling(...states: readonly Batch[]) {
    const left = [...states];
    const cli = answering((service) =>
      service.answer('getBatch', () => reply(left.length > 1 ? left.shift() : left[0])),
    );
    const at = { naps: 0, now: 0 };
    Object.assign(cli.context, {
      clock: { nowMs: () => at.now },
      sleep: async (ms: number) => {
        at.naps += 1;
        at.now += ms;
      },
    });
    return { cli, at };
  }
  const WATCH = ['batch', 'status', ID, '--watch'];

  it('prints in ndjson each state that it passes, once', async () => {
    const later = aBatch({ dateUpdated: '2026-01-31T12:00:05.000Z' });
    const { stdout } = await telling(aBatch(), aBatch(), later, EXECUTED).cli.run(
      ...WATCH,
      '--output',
      'ndjson',
    );
    expect(stdout).toBe([aBatch(), later, EXECUTED].map((batch) => `${JSON.stringify(batch)}\n`).join(''));
  });

  it('gives up after --wait, which is exit 8', async () => {
    const { cli, at } = telling(aBatch());
    const { exit, stdout, stderr } = await cli.run(...WATCH, '--wait', '2.5');
    expect([exit, stdout, at.naps, complaint(stderr).error]).toEqual([8, '', 3, 'ERR_TIMEOUT']);
  });
});
