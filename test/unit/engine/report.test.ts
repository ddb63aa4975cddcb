/** The report adds up completed work exactly. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InputOf } from '../../../src/contract/service.js';
import { Secret } from '../../../src/values/secret.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  openTestEngine,
  signVote,
  type TestEngine,
} from '../../support/engine.js';

const DAY_MS = 86_400_000;
const START = Date.parse('2026-01-31T12:00:00.000Z');
let test: TestEngine;
let nowMs = START;

beforeEach(async () => {
  nowMs = START;
  test = await openTestEngine({}, { clock: { nowMs: () => nowMs } });
});
afterEach(() => test.destroy());

const call = () => test.project.call();
const report = async (query: InputOf<'report'> = {}) => (await test.engine.report(query, call())).value;

async function executeBatch(): Promise<void> {
  const pipelines = [2, 3].map((amount) => aPipeline([burnAction(amount)]));
  const { value } = await test.engine.initBatch(
    { pipelines },
    { ...call(), idempotencyKey: crypto.randomUUID() },
  );
  const signedTx = signVote(test.project.owner, value.proposalApproveTx);
  await test.engine.executeBatch({ batchId: value.batch.id, signedTx }, call());
}

describe('report', () => {
  it('adds up burns and batches by day, and what they cost', async () => {
    await test.engine.burn(aBurnRequest(1.5), call());
    await test.engine.burn(aBurnRequest(1), call());
    nowMs += DAY_MS;
    await executeBatch();
    const { rows, total, supply } = await report();
    expect(rows).toMatchObject([
      {
        period: '2026-01-31',
        type: null,
        burned: '2.5',
        burns: 2,
        pipelines: 0,
        burnWalletLamports: '10000',
      },
      { period: '2026-02-01', type: null, burned: '5', burns: 0, pipelines: 2, failedPipelines: 0 },
    ]);
    expect(total).toMatchObject({ burned: '7.5', burns: 2, pipelines: 2, vaultLamports: '0' });
    const paid = rows.reduce((sum, { costLamports }) => sum + BigInt(costLamports), 0n);
    expect(BigInt(total.costLamports)).toBe(paid);
    expect(supply).toBe('999999992.5');
  });

  it('has what a batch has cost that still waits', async () => {
    const pipelines = [aPipeline([burnAction(1)])];
    const { meta } = await test.engine.initBatch({ pipelines }, call());
    expect((await report()).rows).toMatchObject([
      { period: '2026-01-31', pipelines: 0, operatorLamports: `${meta.cost?.operatorLamports}` },
    ]);
  });

  it('does not take a batch that was cancelled for a failure', async () => {
    const pipelines = [aPipeline([burnAction(1)])];
    const { value } = await test.engine.initBatch({ pipelines }, call());
    await test.engine.cancelBatch({ batchId: value.batch.id }, call());
    expect((await report()).total).toMatchObject({ pipelines: 0, failedPipelines: 0 });
  });

  it.each([
    ['week', ['2026-W05', '2026-W06']],
    ['month', ['2026-01', '2026-02']],
    ['all', [null]],
  ] as const)('has a row for each %s', async (period, periods) => {
    await test.engine.burn(aBurnRequest(1), call());
    nowMs += 2 * DAY_MS;
    await test.engine.burn(aBurnRequest(2), call());
    expect((await report({ period })).rows.map((row) => row.period)).toEqual(periods);
  });

  it('has a row for each type, and leaves out what came before and after', async () => {
    await test.engine.burn(aBurnRequest(1), call());
    await test.engine.burn({ ...aBurnRequest(2), type: 'WATCH_AD' }, call());
    nowMs += DAY_MS;
    await test.engine.burn(aBurnRequest(4), call());
    const { rows } = await report({ period: 'all', byType: 'true' });
    expect(rows.map(({ type, burned }) => [type, burned])).toEqual([
      ['PRODUCT_BUY', '5'],
      ['WATCH_AD', '2'],
    ]);
    const next = new Date(nowMs).toISOString();
    expect((await report({ since: next })).total.burned).toBe('4');
    expect((await report({ until: next })).total.burned).toBe('3');
  });

  it('tells a key that may use some types of those, and nobody of another project', async () => {
    await test.engine.burn(aBurnRequest(1), call());
    await test.engine.burn({ ...aBurnRequest(2), type: 'WATCH_AD' }, call());
    await executeBatch();
    const { key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const { value } = await test.engine.report({}, { ...call(), credential: new Secret(key) });
    expect(value.total).toMatchObject({ burned: '2', burns: 1, pipelines: 0, operatorLamports: '0' });
    const other = await test.register({ symbol: 'OTH' });
    expect((await test.engine.report({}, other.call())).value.total.burned).toBe('0');
  });
});
