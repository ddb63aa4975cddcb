/** `flywheel batch show`: a batch with all of its pipelines, however many pages they fill. */
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../../../src/contract/examples.js';
import type { PipelinePage, PipelineState } from '../../../../../src/contract/schemas/batch.js';
import { aBatch, READER, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const ID = aBatch().id;
const first = (EXAMPLES.batchPipelines.response as PipelinePage).items[0] as PipelineState;
const PIPELINES: readonly PipelineState[] = [
  { ...first, state: 'EXECUTED', txHash: 'sig-1' },
  { ...first, index: 1, state: 'FAILED', message: 'custom error 1' },
  { ...first, index: 2, state: 'NOT_EXECUTED', actions: [{ action: 'MEMO', message: 'hi' }] },
];

/** A command line whose service gives out one pipeline a page. */
function cliWith(options: TestCliOptions = {}) {
  const service = fakeService();
  service.answer('batchPipelines', ({ input }) => {
    const at = Number((input as { cursor?: string }).cursor ?? 0);
    const nextCursor = at + 1 < PIPELINES.length ? String(at + 1) : null;
    return reply({ items: PIPELINES.slice(at, at + 1), nextCursor });
  });
  return testCli({ ...options, service });
}

describe('batch show', () => {
  it('prints the batch with the pipelines of every page', async () => {
    const cli = cliWith();
    const { exit, stdout, stderr } = await cli.run('batch', 'show', ID);
    expect([exit, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`${JSON.stringify({ ...aBatch(), pipelines: PIPELINES })}\n`);
    expect(cli.service.calls.map(({ input }) => input)).toEqual([
      { batchId: ID },
      { batchId: ID, limit: 200 },
      { batchId: ID, limit: 200, cursor: '1' },
      { batchId: ID, limit: 200, cursor: '2' },
    ]);
  });

  it('tells people what each pipeline did, and why one did not', async () => {
    const { stdout } = await cliWith(READER).run('batch', 'show', ID);
    const lines = stdout.split('\n').map((line) => line.trim());
    expect(lines).toEqual(
      expect.arrayContaining([
        `Batch ${ID} FINALIZED`,
        'pipeline 1 PRODUCT_BUY EXECUTED',
        'transaction sig-1',
        'pipeline 2 PRODUCT_BUY FAILED',
        'custom error 1',
        'pipeline 3 PRODUCT_BUY NOT_EXECUTED',
      ]),
    );
  });

  it('hands on which pipelines are asked for, and prints them as CSV', async () => {
    const cli = cliWith();
    const found = ['--state', 'EXECUTED', '--action', 'BURN', '--tx', 'sig-1', '--limit', '1'];
    const { exit, stdout, stderr } = await cli.run('batch', 'show', ID, ...found, '--output', 'csv');
    expect([exit, stderr]).toEqual([0, expect.stringContaining('add --cursor 1 for what follows')]);
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      'index,type,state,actions,proof hash,transaction,executed,message',
      expect.stringMatching(/^0,PRODUCT_BUY,EXECUTED,.+,[0-9a-f]{64},sig-1,,$/),
    ]);
    expect(cli.service.calls[1]?.input).toEqual({
      ...{ batchId: ID, limit: 1, state: 'EXECUTED', action: 'BURN', txHash: 'sig-1' },
    });
  });

  it('prints nothing of a batch whose pipelines cannot be had', async () => {
    const service = fakeService();
    service.answer('batchPipelines', () => refuse('ERR_NOT_FOUND', 'There is nothing here.'));
    expect(await refusal(testCli({ service }), 'batch', 'show', ID)).toEqual([
      ...[5, 'ERR_NOT_FOUND', 'There is nothing here.'],
    ]);
  });

  it.each([
    [['1'], 'ERR_INPUT_INVALID', 'A batch id is a UUID, got "1".'],
    [[], 'ERR_USAGE', "Missing required argument 'batchId'"],
  ])('refuses %j without asking', async (words, code, message) => {
    const cli = cliWith();
    expect(await refusal(cli, 'batch', 'show', ...words)).toEqual([
      2,
      code,
      expect.stringContaining(message),
    ]);
    expect(cli.service.calls).toEqual([]);
  });
});
