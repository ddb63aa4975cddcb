/** `flywheel history`: calls to the service, and the output. */
import { describe, expect, it } from 'vitest';
import type { BurnState } from '../../../../src/contract/schemas/burn.js';
import type { HistoryItem } from '../../../../src/contract/schemas/report.js';
import type { AnswerOf, InputOf } from '../../../../src/contract/service.js';
import { EXAMPLES, fakeService } from '../../../support/fake-service.js';
import { type TestCli, testCli } from '../../../support/in-process.js';
import { reply } from '../single-command.js';

const [airdrop, burn] = (EXAMPLES.history.response as AnswerOf<'history'>).items as [
  HistoryItem,
  HistoryItem,
];

/** A service with this history, after an empty page. */
function holding(...items: readonly HistoryItem[]): TestCli {
  const service = fakeService();
  service.answer('history', ({ input }) =>
    (input as InputOf<'history'>).cursor === undefined
      ? reply({ items: [], nextCursor: 'next' })
      : reply({ items, nextCursor: null }),
  );
  return testCli({ service });
}

describe('history', () => {
  it('asks on after a page without items', async () => {
    const cli = holding(airdrop);
    const { exit, stdout } = await cli.run('history', '--limit', '7');
    expect([exit, JSON.parse(stdout)]).toEqual([0, [{ ...airdrop, status: 'SUCCESS' }]]);
    const asked = cli.service.calls.map(({ input }) => input);
    expect(asked).toEqual([{ limit: 7 }, { limit: 7, cursor: 'next' }]);
  });

  it('lists only single burns with this status', async () => {
    const service = fakeService();
    const [listed] = (EXAMPLES.listBurns.response as AnswerOf<'listBurns'>).items as [BurnState];
    const error = { type: 'ERR_BURN_TOKENOMICS_FAILED', message: 'It said "no",\nand left.' };
    const failed: BurnState = { ...listed, type: '=CMD()', status: 'FAILED', error };
    service.answer('listBurns', () => reply({ items: [failed], nextCursor: null }));
    const cli = testCli({ service });
    const { stdout } = await cli.run('history', '--status', 'failed', '--output', 'csv');
    expect(cli.service.calls[0]?.input).toEqual({ status: 'FAILED', limit: 200 });
    expect(stdout.split('\n')[1]).toBe(
      `${failed.dateCreated},BURN,12.5,,'=CMD(),${failed.hash},${failed.txHash},,FAILED,"It said ""no"", and left."`,
    );
  });

  it('prints CSV that a spreadsheet takes for text', async () => {
    const types = [' =CMD()', '\t=CMD()', '＝CMD()', '＠SUM(1)', '-2+3'];
    const { stdout } = await holding(airdrop, ...types.map((type) => ({ ...burn, type }))).run(
      'history',
      '--output',
      'csv',
    );
    const [head, first, ...strange] = stdout.trim().split('\n');
    expect([head, first]).toEqual([
      'date,action,amount,recipient,type,proof hash,transaction,batch,status,message',
      `${airdrop.date},AIRDROP,2.5,${airdrop.toAddress},PRODUCT_BUY,${airdrop.hash},${airdrop.txHash},${airdrop.batchId},SUCCESS,`,
    ]);
    expect(strange.map((line) => line.split(',')[4])).toEqual(
      types.map((type) => `'${type.replace('\t', ' ')}`),
    );
  });
});
