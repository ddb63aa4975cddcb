/** `flywheel batch verify`: contents, executions and balances of a batch, proven from the transaction history. */
import { describe, expect, it } from 'vitest';
import { digestText, pipelinesDigest } from '../../../../../src/actions/pipelines.js';
import type { TokenChange } from '../../../../../src/chain/chain.js';
import { associatedTokenAddress } from '../../../../../src/chain/squads/addresses.js';
import { batchExecuteTransaction } from '../../../../../src/chain/squads/builders.js';
import { burnChecked } from '../../../../../src/chain/tokens/instructions.js';
import { compile } from '../../../../../src/chain/transaction/message.js';
import { verifyBatch } from '../../../../../src/cli/batch/inspect-batch.js';
import { expectedPipelines } from '../../../../../src/cli/batch/review.js';
import type { OpenedService } from '../../../../../src/cli/context.js';
import {
  batchIndex,
  flywheel,
  goodInstructions,
  multisig,
  operator,
  pipelines,
  vaultAt,
} from '../../../../support/batch-on-chain.js';
import { aBatch, refusal, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCli, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';
import { nodeOf, type Past, pastOf } from '../../past-batch.js';

const good = goodInstructions();
const { mint, tokenProgram, vaultTokenAccount } = flywheel;
const ID = aBatch().id;
const digest = digestText(pipelinesDigest(pipelines));

/** A command line with a node of this history, and a service that knows the batch. */
function cliWith(past: Past, opened: Partial<OpenedService> = {}): TestCli {
  const service = fakeService();
  service.answer('getBatch', () => reply(aBatch({ multisig, batchIndex: String(batchIndex) })));
  const pins = flywheel;
  const node = { kind: 'remote', chain: nodeOf(past), pins, trusted: async () => flywheel } as const;
  return testCli({ service, opened: { ...node, ...opened } });
}
const BY_INDEX = ['batch', 'verify', '--batch-index', '7', '--expect', digest];

async function verify(past: Past, balances: Record<string, TokenChange[]> = {}, expected = pipelines) {
  const { value, failure } = await verifyBatch(nodeOf(past, { balances }), {
    ...{ batchId: null, batchIndex, flywheel, expectation: expectedPipelines(expected) },
    unit: { decimals: 6, symbol: null },
  });
  expect(failure === undefined).toBe(value.verified);
  return value;
}

describe('what ran', () => {
  it('is not verified where it is less, twice the same, or something else', async () => {
    const { exit, stdout, stderr } = await cliWith(pastOf(good, 2)).run(...BY_INDEX);
    expect([exit, JSON.parse(stdout), stderr]).toMatchObject([
      ...[9, { verified: false, missing: [2], differences: [], totals: { burn: '1.5' } }],
      expect.stringContaining('ERR_NOT_VERIFIED'),
    ]);
    const past = pastOf(good, 2);
    past.set('again', past.get('executed2') ?? null);
    expect(await verify(past)).toMatchObject({ missing: [2], totals: { burn: '1.5' } });
    const [first = [], ...others] = good;
    const burn = { mint, decimals: 6, tokenProgram, owner: vaultAt.address, amount: 5n };
    const strange = [[...first, burnChecked({ ...burn, account: namedAddress('account') })], ...others];
    expect((await verify(pastOf(strange, 3))).verified).toBe(false);
    expect(await verify(pastOf(good.slice(0, 2), 2))).toMatchObject({ verified: false, missing: [2] });
    const [one, two, three] = pipelines;
    const reordered = [two, one, three] as typeof pipelines;
    expect((await verify(pastOf(good, 3), {}, reordered)).differences[0]).toContain('pipelines[0]');
  });

  it('agrees with all balances that the node has kept, or is not verified', async () => {
    const held = (name: string) => associatedTokenAddress(namedAddress(name), mint, tokenProgram);
    const change = (account: TokenChange['account'], before: bigint, after: bigint): TokenChange => ({
      ...{ account, mint, before, after },
    });
    const executed1 = [change(vaultTokenAccount, 10_000_000n, 8_500_000n)];
    const executed2 = [
      change(vaultTokenAccount, 8_500_000n, 6_499_999n),
      ...[change(held('alice'), 0n, 2_000_000n), change(held('bob'), 7n, 8n)],
    ];
    const executed3 = [change(vaultTokenAccount, 12_345_678_000_000n, 0n)];
    const at = (balances: Record<string, TokenChange[]>) => verify(pastOf(good, 3), balances);
    expect(await at({ executed1, executed2 })).toMatchObject({ verified: true, balances: 'not kept' });
    expect(await at({ executed1, executed2, executed3 })).toMatchObject({
      verified: true,
      balances: 'agree',
    });
    const short = [change(vaultTokenAccount, 10_000_000n, 8_500_001n)];
    for (const wrong of [short, [...executed1, change(held('mallory'), 0n, 1n)]])
      expect(await at({ executed1: wrong })).toMatchObject({ verified: false, balances: 'differ' });
    expect((await at({ executed1: short })).differences[0]).toMatch(/-1499999 .* -1500000/);
  });

  it('is verified without balances where a transaction has moved tokens of another batch as well', async () => {
    const [first = []] = good;
    const message = compile(vaultAt.address, first);
    const other = batchExecuteTransaction({
      ...{ multisig, batchIndex: batchIndex + 1n, number: 1, member: operator },
      ...{ vault: vaultAt.address, message },
    });
    const past = pastOf(good, 3);
    past.set('executed1', [...(past.get('executed1') ?? []), other]);
    const both = { account: vaultTokenAccount, mint, before: 10_000_000n, after: 7_000_000n };
    expect(await verify(past, { executed1: [both] })).toMatchObject({
      ...{ verified: true, balances: 'not kept', differences: [] },
    });
  });

  it.each([
    ['without its beginning', 'made'],
    ['without one that was executed', 'added2'],
    ['of a batch that never was', null],
  ])('cannot be told %s', async (_what, name) => {
    const past = name === null ? new Map() : pastOf(good, 3);
    past.delete(name);
    await expect(verify(past)).rejects.toMatchObject({ code: 'ERR_BATCH_NOT_FOUND' });
  });

  it.each([
    [{ chain: null }, 2, 'ERR_CONFIG_INVALID'],
    [{ pins: null }, 9, 'ERR_APPROVAL_REFUSED'],
    [{ trusted: async () => null }, 9, 'ERR_APPROVAL_REFUSED'],
  ] as const)('is refused with %j', async (opened, exit, code) => {
    const answer = await refusal(cliWith(pastOf(good, 3), opened), ...BY_INDEX);
    expect(answer.slice(0, 2)).toEqual([exit, code]);
  });

  it('is not that of a batch of another multisig', async () => {
    const cli = cliWith(pastOf(good, 3));
    cli.service.answer('getBatch', () => reply(aBatch({ batchIndex: String(batchIndex) })));
    const answer = await refusal(cli, 'batch', 'verify', ID, '--expect', digest);
    expect(answer.slice(0, 2)).toEqual([9, 'ERR_APPROVAL_REFUSED']);
  });
});
