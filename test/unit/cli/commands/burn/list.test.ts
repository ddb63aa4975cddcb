/** `flywheel burn list`: as many as were asked for, by what they were asked for, in the form that was asked for. */
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../../../src/contract/examples.js';
import type { BurnPage, BurnState, ListBurnsQuery } from '../../../../../src/contract/schemas/burn.js';
import { READER, refusal, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const { items } = EXAMPLES.listBurns.response as BurnPage;
const [example] = items as [BurnState];
const failed: BurnState = {
  ...{ hash: example.hash, txHash: example.txHash, type: '=CMD()', amount: '3', persistOnchain: false },
  ...{ status: 'FAILED', dateCreated: example.dateCreated },
  error: { type: 'ERR_BURN_TOKENOMICS_FAILED', message: 'It said "no",\nand left.' },
};

function cliWith(burns: readonly BurnState[], options: TestCliOptions = {}) {
  const service = fakeService();
  service.answer('listBurns', ({ input }) => {
    const { limit = 50, cursor } = input as ListBurnsQuery;
    const from = Number(cursor ?? 0);
    const end = Math.min(from + limit, burns.length);
    return reply({ items: burns.slice(from, end), nextCursor: end < burns.length ? String(end) : null });
  });
  return testCli({ ...options, service });
}

describe('burn list', () => {
  it('hands on what is asked for, and prints a list', async () => {
    const cli = cliWith([example]);
    const words = ['--type', 'PRODUCT_BUY', '--status', 'SUCCESS', '--since', '2026-01-01', '--limit', '7'];
    const { exit, stdout } = await cli.run('burn', 'list', ...words, '--tx', 'abc', '--proof-hash', 'AB');
    expect([exit, JSON.parse(stdout)]).toEqual([0, [example]]);
    expect(cli.service.calls.map(({ input }) => input)).toEqual([
      {
        ...{ type: 'PRODUCT_BUY', status: 'SUCCESS', since: '2026-01-01T00:00:00.000Z', limit: 7 },
        ...{ txHash: 'abc', proofHash: 'ab' },
      },
    ]);
  });

  it('asks on after a page without items that is not the last', async () => {
    const service = fakeService();
    service.answer('listBurns', ({ input }) =>
      (input as ListBurnsQuery).cursor === undefined
        ? reply({ items: [], nextCursor: 'next' })
        : reply({ items: [example], nextCursor: null }),
    );
    const { stdout } = await testCli({ service }).run('burn', 'list');
    expect(JSON.parse(stdout)).toEqual([example]);
  });

  it.each([' =CMD()', '\t=CMD()', '＝CMD()', '＠SUM(1)', '-2+3'])('prints %j as no formula', async (type) => {
    const { stdout } = await cliWith([{ ...example, type }]).run('burn', 'list', '--output', 'csv');
    expect(stdout.split('\n')[1]?.split(',')[1]).toBe(`'${type.replace('\t', ' ')}`);
  });

  it('prints CSV that a spreadsheet takes for text', async () => {
    const { stdout } = await cliWith([example, failed]).run('burn', 'list', '--output', 'csv');
    const [header, first, ...rest] = stdout.split('\n');
    expect(header).toBe(
      'date,type,amount,status,proof hash,transaction,on chain,fee lamports,asked for,error,message',
    );
    expect(first).toBe(
      `${example.dateBurned},${example.type},12.5,SUCCESS,${example.hash},${example.txHash},true,,${example.dateCreated},,`,
    );
    expect(rest.join('\n')).toBe(
      `,'=CMD(),3,FAILED,${failed.hash},${failed.txHash},false,,${failed.dateCreated},ERR_BURN_TOKENOMICS_FAILED,"It said ""no"", and left."\n`,
    );
  });

  it('tells people one a line, and that there is none', async () => {
    const { stdout } = await cliWith([example, failed], READER).run('burn', 'list');
    expect(stdout).toContain('12.5');
    expect(stdout).toContain(example.txHash);
    expect(stdout).toContain('FAILED');
    expect((await cliWith([], READER).run('burn', 'list')).stdout).toBe('There is no burn.\n');
  });

  it.each([
    [['burn', 'list', '--since', 'yesterday'], 'ERR_INPUT_INVALID', '--since: expected a day such as'],
    [['burn', 'list', '--until', '2026-01-31T18:00'], 'ERR_INPUT_INVALID', '--until: expected a day'],
    [['burn', 'list', '--status', 'DONE'], 'ERR_USAGE', 'Allowed choices are PENDING, SUCCESS, FAILED.'],
    [['whoami', '--output', 'csv'], 'ERR_USAGE', '--output csv: `flywheel whoami` prints no list.'],
  ])('refuses %j without asking', async (words, code, message) => {
    const cli = cliWith([]);
    expect(await refusal(cli, ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect(cli.service.calls).toEqual([]);
  });
});
