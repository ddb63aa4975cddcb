/** `flywheel batch list`: as many as were asked for, of the status that was asked for. */
import { describe, expect, it } from 'vitest';
import type { ListBatchesQuery } from '../../../../../src/contract/schemas/batch.js';
import { aBatch, READER, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const RECIPIENT = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';
const batches = Array.from({ length: 450 }, (_, at) => aBatch({ batchIndex: String(450 - at) }));

/** A command line whose service has so many batches. */
function cliWith(count: number, options: TestCliOptions = {}) {
  const service = fakeService();
  service.answer('listBatches', ({ input }) => {
    const { limit = 50, cursor } = input as ListBatchesQuery;
    const from = Number(cursor ?? 0);
    const end = Math.min(from + limit, count);
    return reply({ items: batches.slice(from, end), nextCursor: end < count ? String(end) : null });
  });
  return testCli({ ...options, service });
}

const asked = ({ service }: ReturnType<typeof cliWith>) => service.calls.map(({ input }) => input);

describe('batch list', () => {
  it('asks for 50 unless told otherwise, and prints a list', async () => {
    const cli = cliWith(450);
    const { exit, stdout, stderr } = await cli.run('batch', 'list');
    expect([exit, stdout]).toEqual([0, `${JSON.stringify(batches.slice(0, 50))}\n`]);
    expect(JSON.parse(stderr)).toEqual({ notice: 'There is more: add --cursor 50 for what follows.' });
    expect(asked(cli)).toEqual([{ limit: 50 }]);
  });

  it('asks page after page for more than one holds, and for no more than is wanted', async () => {
    const cli = cliWith(450);
    const { stdout } = await cli.run('batch', 'list', '--limit', '401', '--status', 'EXECUTED');
    expect(JSON.parse(stdout)).toHaveLength(401);
    const status = 'EXECUTED';
    expect(asked(cli)).toEqual([
      { limit: 200, status },
      { limit: 200, status, cursor: '200' },
      { limit: 1, status, cursor: '400' },
    ]);
    const few = cliWith(3);
    expect(JSON.parse((await few.run('batch', 'list', '--limit', '100000')).stdout)).toHaveLength(3);
    expect(asked(few)).toHaveLength(1);
  });

  it('hands on what is asked for, and goes on where an earlier list ended', async () => {
    const cli = cliWith(450);
    const found = ['--type', 'T', '--action', 'AIRDROP', '--proof-hash', 'AB', '--recipient', RECIPIENT];
    const { stdout, stderr } = await cli.run(
      ...['batch', 'list', ...found, '--tx', 'abc', '--since', '2026-01-01', '--until', '2026-02-01'],
      ...['--limit', '450', '--cursor', '449'],
    );
    expect([JSON.parse(stdout), stderr]).toEqual([batches.slice(449), '']);
    expect(asked(cli)).toEqual([
      {
        ...{ type: 'T', action: 'AIRDROP', proofHash: 'ab', toAddress: RECIPIENT, txHash: 'abc' },
        ...{ since: '2026-01-01T00:00:00.000Z', until: '2026-02-01T00:00:00.000Z' },
        ...{ limit: 200, cursor: '449' },
      },
    ]);
  });

  it('prints a line a batch in ndjson', async () => {
    const { stdout } = await cliWith(2).run('batch', 'list', '--output', 'ndjson');
    expect(stdout).toBe(
      batches
        .slice(0, 2)
        .map((batch) => `${JSON.stringify(batch)}\n`)
        .join(''),
    );
  });

  it('tells people which were cancelled, and that there is none', async () => {
    const service = fakeService();
    const executeResult = { total: 3, totalSuccessful: 1, totalFailed: 2, successfulExecutions: [] };
    const dateCancelled = '2026-01-31T12:00:09.000Z';
    const items = [aBatch({ status: 'FAILED', executeResult, dateCancelled })];
    service.answer('listBatches', () => reply({ items, nextCursor: null }));
    const { stdout } = await testCli({ ...READER, service }).run('batch', 'list');
    expect(stdout.replace(/\s+/g, ' ')).toContain(`${aBatch().id} `);
    expect(stdout).toContain('FAILED (cancelled)');
    expect(stdout).toContain('1 of 3');
    expect((await cliWith(0, READER).run('batch', 'list')).stdout).toBe('There is no batch.\n');
  });

  it.each([
    [['--limit', '0'], 'ERR_INPUT_INVALID', '--limit: expected a whole number from 1 to 100000, got "0".'],
    [['--recipient', 'me'], 'ERR_INPUT_INVALID', '--recipient: expected a base58 address of 32 bytes'],
    [['--action', 'LOCK'], 'ERR_USAGE', 'Allowed choices are BURN, AIRDROP, MEMO.'],
    [['--limit', '1.5'], 'ERR_INPUT_INVALID', '--limit: expected a whole number'],
    [
      ['--status', 'OPEN'],
      'ERR_USAGE',
      'Allowed choices are AVAILABLE_TO_QUEUE, FINALIZED, EXECUTED, FAILED.',
    ],
    [['all'], 'ERR_USAGE', 'Too many arguments'],
  ])('refuses %j without asking', async (words, code, message) => {
    const cli = cliWith(1);
    expect(await refusal(cli, 'batch', 'list', ...words)).toEqual([
      2,
      code,
      expect.stringContaining(message),
    ]);
    expect(asked(cli)).toEqual([]);
  });

  it('prints none when a later page fails', async () => {
    const service = fakeService();
    let page = 0;
    service.answer('listBatches', () => {
      page += 1;
      return page === 1
        ? reply({ items: batches.slice(0, 200), nextCursor: '200' })
        : refuse('ERR_UNAUTHORIZED', 'The key was revoked.');
    });
    expect(await refusal(testCli({ service }), 'batch', 'list', '--limit', '300')).toEqual([
      ...[4, 'ERR_UNAUTHORIZED', 'The key was revoked.'],
    ]);
  });
});
