/** Verifies a batch from transaction history when its accounts are closed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sampleOf } from '../support/long.js';
import type { Spawned } from '../support/spawn.js';
import { failedInPart } from './deeds.js';
import { anOperator as anyOperator, expectProblem, type Mode, type Operator, problemOf } from './operator.js';

const INIT = ['--vault-tokens', '10', '--daily-burn', '30', '--symbol', 'FLY'];
const operators: Operator[] = [];

afterEach(async () => {
  for (const operator of operators.splice(0)) await operator.leave();
});

/** Closed when the test ends. */
async function anOperator(mode: Mode): Promise<Operator> {
  const operator = await anyOperator(mode, INIT);
  operators.push(operator);
  return operator;
}

const pipelines = (name: string, amounts: readonly number[]) =>
  amounts.map((amount, index) => ({
    type: 'WATCH_AD',
    payload: { name, index },
    actions: [{ action: 'BURN', amount }],
  }));

const run = (operator: Operator, file: string): Promise<Spawned> =>
  operator.run(...['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json']);
const json = (spawned: Spawned) => JSON.parse(spawned.stdout);

async function executed(mode: Mode): Promise<{ operator: Operator; id: string; batchIndex: string }> {
  const operator = await anOperator(mode);
  const ran = await run(operator, operator.write('good.json', pipelines('good', [1, 0.5])));
  expect([ran.exit, ran.stderr]).toEqual([0, expect.not.stringContaining('was not held against')]);
  const { id, batchIndex } = json(ran).batch;
  return { operator, id, batchIndex };
}

describe.each(sampleOf(['remote', 'embedded'] as const, 1))('a batch that was executed (%s)', (mode) => {
  it('is read from its transactions, and proven to be what the file says', async () => {
    const { operator, id, batchIndex } = await executed(mode);
    const inspected = json(await operator.run('batch', 'inspect', id, '--json'));
    expect(inspected).toMatchObject({
      ...{ state: 'executed', closed: true, executed: 2, batchIndex },
      ...{ totals: { burn: '1.5', airdrop: '0' }, executedTotals: { burn: '1.5', airdrop: '0' } },
      problem: expect.stringContaining('is finished'),
      pipelines: [{ type: 'WATCH_AD' }, { type: 'WATCH_AD' }],
    });
    const verified = await operator.run('batch', 'verify', id, '--expect', 'good.json', '--json');
    expect([verified.exit, json(verified)]).toMatchObject([
      0,
      { verified: true, digest: inspected.digest, missing: [], differences: [], totals: { burn: '1.5' } },
    ]);
    const txHashes = json(verified).transactions.map(({ txHash }: { txHash: string }) => txHash);
    expect(txHashes).toEqual(inspected.transactions.map(({ txHash }: { txHash: string }) => txHash));
    // Verification needs the batch's index only, not the service.
    if (operator.gate !== null) operator.gate.fate = () => ({ refuse: 503 });
    const words = ['batch', 'verify', '--batch-index', batchIndex, '--expect'];
    expect((await operator.run(...words, inspected.digest, '--json')).exit).toBe(0);
    const forged = pipelines('good', [1, 0.4]);
    const other = await operator.run(...words, operator.write('forged.json', forged), '--json');
    expect([other.exit, json(other), problemOf(other).error]).toMatchObject([
      9,
      { verified: false, differences: [expect.stringContaining('pipelines[1]')] },
      'ERR_NOT_VERIFIED',
    ]);
    expectProblem(await operator.run('batch', 'verify', '--batch-index', '99', '--expect', 'good.json'), 5, {
      error: 'ERR_BATCH_NOT_FOUND',
    });
  });
});

describe('a batch that was executed in part', () => {
  it('is not verified, and what is missing is named, before and after it is cancelled', async () => {
    const operator = await anOperator('embedded');
    const ten = operator.write('ten.json', pipelines('ten', [1, 1, 1, 1, 5, 1]));
    const id = await failedInPart(operator, ten);
    const inspect = async () => json(await operator.run('batch', 'inspect', id, '--json'));
    expect(await inspect()).toMatchObject({ state: 'approved', closed: false, executed: 4 });
    const verify = async () => {
      const ended = await operator.run('batch', 'verify', id, '--expect', 'ten.json', '--json');
      expect([ended.exit, json(ended)]).toMatchObject([
        9,
        { verified: false, missing: [4, 5], differences: [], totals: { burn: '4' } },
      ]);
    };
    await verify();
    const cancel = ['batch', 'cancel', id, '--keypair', operator.owner, '--yes', '--json'];
    expect((await operator.run(...cancel)).exit).toBe(0);
    await verify();
    expect(await inspect()).toMatchObject({
      ...{ state: 'cancelled', closed: true, executed: 4 },
      ...{ totals: { burn: '10' }, executedTotals: { burn: '4' } },
    });
  });
});

describe('a batch that waits', () => {
  it('is judged by inspect as by approve, and counted in the name of the token', async () => {
    const operator = await anOperator('embedded');
    const init = ['batch', 'init', operator.write('w.json', pipelines('w', [1])), '--out', 'approval.json'];
    expect((await operator.run(...init, '--json')).exit).toBe(0);
    const inspect = async () => json(await operator.run('batch', 'inspect', 'approval.json', '--json'));
    expect(await inspect()).toMatchObject({
      ...{ state: 'active', closed: false, executed: 0, symbol: 'FLY', problem: null },
      costs: { vaultRent: '0', executionFees: '5000', rentReturned: expect.stringMatching(/^\d+$/) },
      changes: { vaultTokens: { before: '10000000', after: '9000000' } },
      facts: { threshold: '2', timeLockSeconds: '0', configAuthority: 'none' },
    });
    const digest = ['--expect', `sha256:${'0'.repeat(64)}`, '--json'];
    const unexpected = json(await operator.run('batch', 'inspect', 'approval.json', ...digest));
    expect(unexpected.problem).toContain('The digest of the batch is');
    const file = join(operator.directory, 'approval.json');
    const approval = JSON.parse(readFileSync(file, 'utf8'));
    const wire = Buffer.from(approval.proposalApproveTx, 'base64');
    wire[wire.length - 1] = (wire[wire.length - 1] ?? 0) ^ 1;
    operator.write('approval.json', { ...approval, proposalApproveTx: wire.toString('base64') });
    const approve = ['--keypair', operator.owner, '--expect', 'w.json', '--yes', '--json'];
    const refused = await operator.run('batch', 'approve', 'approval.json', ...approve);
    expect([refused.exit, (await inspect()).problem]).toEqual([9, problemOf(refused).message]);
  });

  it('is not called closed by verify', async () => {
    const operator = await anOperator('embedded');
    const init = ['batch', 'init', operator.write('w.json', pipelines('w', [1])), '--json'];
    const { id } = json(await operator.run(...init)).batch;
    const told = await operator.run('batch', 'verify', id, '--expect', 'w.json', '--output', 'human');
    expectProblem(told, 9, { error: 'ERR_NOT_VERIFIED' });
    expect(problemOf(told).message).toBe('Batch 1 is not verified: pipeline 1 was not executed.');
    expect(told.stdout).not.toMatch(/closed|balances/);
  });
});
