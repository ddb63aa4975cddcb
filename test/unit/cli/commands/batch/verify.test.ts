/** `flywheel batch verify`: what a batch did, proven from the past of the chain: contents, executions, and the balances that a node has kept. */
import { describe, expect, it } from 'vitest';
import { digestText, pipelinesDigest } from '../../../../../src/actions/pipelines.js';
import type { Pins } from '../../../../../src/approval/pins.js';
import type { TokenChange } from '../../../../../src/chain/chain.js';
import { associatedTokenAddress } from '../../../../../src/chain/tokens/addresses.js';
import { verifyBatch } from '../../../../../src/cli/batch/verify-batch.js';
import type { Address } from '../../../../../src/values/address.js';
import { burnOf } from '../../../../support/batch-checks.js';
import {
  batchIndex,
  flywheel,
  goodInstructions,
  multisig,
  pipelines,
} from '../../../../support/batch-on-chain.js';
import { aBatch, complaint, READER, refusal, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';
import { nodeOf, type Past, pastOf } from '../../../../support/past-batch.js';

const good = goodInstructions();
const { mint, tokenProgram, vaultTokenAccount } = flywheel;

async function verify(past: Past, balances: Record<string, TokenChange[]> = {}, expected = pipelines) {
  const { chain, history } = nodeOf(past, { balances });
  const { value, failure } = await verifyBatch(chain, history, {
    ...{ batchId: null, batchIndex, flywheel, expectation: { pipelines: expected } },
    unit: { decimals: 6, symbol: null },
  });
  expect(failure === undefined).toBe(value.verified);
  return value;
}

const change = (account: Address, before: bigint, after: bigint): TokenChange => ({
  account,
  mint,
  before,
  after,
});
const held = (name: string): Address => associatedTokenAddress(namedAddress(name), mint, tokenProgram);
const FIRST = { executed1: [change(vaultTokenAccount, 10_000_000n, 8_500_000n)] };
const SECOND = {
  executed2: [
    change(vaultTokenAccount, 8_500_000n, 6_499_999n),
    change(held('alice'), 0n, 2_000_000n),
    change(held('bob'), 7n, 8n),
  ],
};
const THIRD = { executed3: [change(vaultTokenAccount, 12_345_678_000_000n, 0n)] };

describe('a batch that did what the file says', () => {
  it('is verified, with balances where the node has kept them', async () => {
    expect(await verify(pastOf(good, 3))).toMatchObject({
      ...{ verified: true, balances: 'not kept', missing: [], differences: [] },
      totals: { burn: '12345679.5', airdrop: '2.000001' },
      transactions: [{ txHash: 'executed1' }, { txHash: 'executed2' }, { txHash: 'executed3' }],
    });
    const partly = { ...FIRST, ...SECOND };
    expect(await verify(pastOf(good, 3), partly)).toMatchObject({ verified: true, balances: 'not kept' });
    expect(await verify(pastOf(good, 3), { ...partly, ...THIRD })).toMatchObject({
      ...{ verified: true, balances: 'agree' },
    });
  });
});

describe('a batch is not verified', () => {
  it('when it was executed in part', async () => {
    expect(await verify(pastOf(good, 2))).toMatchObject({
      ...{ verified: false, missing: [2], differences: [], totals: { burn: '1.5', airdrop: '2.000001' } },
    });
  });

  it('when it held something else', async () => {
    const [first = [], ...others] = good;
    const strange = [[...first, burnOf({ amount: 5n, account: namedAddress('account') })], ...others];
    expect(await verify(pastOf(strange, 3))).toMatchObject({
      ...{ verified: false, differences: [expect.stringContaining('Transaction 1')] },
    });
    expect(await verify(pastOf(good.slice(0, 2), 2))).toMatchObject({
      ...{ verified: false, missing: [2], differences: ['the chain has 2 pipelines, expected 3'] },
    });
    const [one, two, three] = pipelines;
    const reordered = [two, one, three] as typeof pipelines;
    expect((await verify(pastOf(good, 3), {}, reordered)).differences[0]).toContain('pipelines[0]');
  });

  it('when balances moved otherwise, or of others', async () => {
    const short = { executed1: [change(vaultTokenAccount, 10_000_000n, 8_500_001n)] };
    expect(await verify(pastOf(good, 3), short)).toMatchObject({
      ...{ verified: false, balances: 'differ' },
      differences: [
        `transaction executed1: token account ${vaultTokenAccount} changed by -1499999 base units, its pipelines say -1500000`,
      ],
    });
    const beside = { executed1: [...FIRST.executed1, change(held('mallory'), 0n, 1n)] };
    expect((await verify(pastOf(good, 3), beside)).balances).toBe('differ');
  });
});

describe('the past cannot be told', () => {
  const without = (...names: readonly string[]): Past => {
    const past = pastOf(good, 3);
    for (const name of names) past.delete(name);
    return past;
  };
  it.each([
    ['without its beginning', without('made')],
    ['without one that was executed', without('added2')],
    ['of a batch that never was', new Map()],
  ] as const)('%s', async (_what, past) => {
    await expect(verify(past)).rejects.toMatchObject({ code: 'ERR_BATCH_NOT_FOUND' });
  });

  it('and what was executed twice counts once', async () => {
    const past = pastOf(good, 2);
    past.set('again', past.get('executed2') ?? null);
    expect(await verify(past)).toMatchObject({ missing: [2], totals: { burn: '1.5' } });
  });
});

describe('batch verify', () => {
  const ID = aBatch().id;
  const digest = digestText(pipelinesDigest(pipelines));
  const pins: Pins = { ...flywheel, facts: null };

  /** A command line before a node with this past, beside a service that knows the batch. */
  function cliWith(past: Past, options: TestCliOptions = {}): TestCli {
    const service = fakeService();
    service.answer('getBatch', () => reply(aBatch({ multisig, batchIndex: String(batchIndex) })));
    const opened = {
      kind: 'remote',
      ...nodeOf(past),
      pins,
      trusted: async () => flywheel,
      ...options.opened,
    } as const;
    return testCli({ ...options, service, opened });
  }

  it('proves by the index alone, and asks no service', async () => {
    const cli = cliWith(pastOf(good, 3));
    const { exit, stdout, stderr } = await cli.run(
      'batch',
      'verify',
      '--batch-index',
      '7',
      '--expect',
      digest,
    );
    expect([exit, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ verified: true, batchId: null, multisig, batchIndex: '7', digest, expected: digest },
      ...{ totals: { burn: '12345679.5', airdrop: '2.000001' }, missing: [], differences: [] },
    });
    expect(cli.service.calls).toEqual([]);
  });

  it('asks the service for nothing but the index of an id', async () => {
    const cli = cliWith(pastOf(good, 3));
    const { exit, stdout } = await cli.run('batch', 'verify', ID.toUpperCase(), '--expect', digest);
    expect([exit, JSON.parse(stdout)]).toMatchObject([0, { verified: true, batchId: ID, batchIndex: '7' }]);
    expect(cli.service.calls.map(({ operation }) => operation)).toEqual(['getBatch']);
  });

  it('prints what it found of a batch that is not as expected, and exits 9', async () => {
    const words = ['batch', 'verify', '--batch-index', '7', '--expect', digest];
    const { exit, stdout, stderr } = await cliWith(pastOf(good, 2)).run(...words);
    expect([exit, JSON.parse(stdout)]).toMatchObject([9, { verified: false, missing: [2] }]);
    expect(complaint(stderr)).toMatchObject({
      error: 'ERR_NOT_VERIFIED',
      message: 'Batch 7 is not verified: not executed: pipelines 2.',
    });
    const human = await cliWith(pastOf(good, 2), READER).run(...words);
    expect(human.stdout.trimEnd().split('\n').at(-1)).toBe(complaint(stderr).message);
    const whole = await cliWith(pastOf(good, 3), READER).run(...words);
    expect(whole.stdout.trimEnd().split('\n').at(-1)).toBe(
      'Verified: all of the file stands on chain, and was executed.',
    );
  });

  it('believes no batch of another multisig', async () => {
    const cli = cliWith(pastOf(good, 3));
    cli.service.answer('getBatch', () => reply(aBatch({ batchIndex: String(batchIndex) })));
    const [exit, code, message] = await refusal(cli, 'batch', 'verify', ID, '--expect', digest);
    expect([exit, code, message]).toEqual([
      ...[9, 'ERR_APPROVAL_REFUSED', expect.stringMatching(/^The batch is of the multisig /)],
    ]);
  });

  it.each([
    [{ chain: null }, 2, 'ERR_CONFIG_INVALID', 'No chain can be read, so nothing can be verified.'],
    [{ pins: null }, 9, 'ERR_APPROVAL_REFUSED', 'Nothing is pinned for this flywheel'],
    [{ trusted: async () => null }, 9, 'ERR_APPROVAL_REFUSED', `The account ${mint} is not a mint.`],
  ] as const)('is refused with %j', async (opened, exit, code, message) => {
    const cli = cliWith(pastOf(good, 3), { opened });
    const answer = await refusal(cli, 'batch', 'verify', '--batch-index', '7', '--expect', digest);
    expect(answer).toEqual([exit, code, expect.stringContaining(message)]);
  });

  it.each([
    [['--expect', digest], 'ERR_USAGE', 'Give either the id of the batch, or --batch-index.'],
    [[ID, '--batch-index', '7', '--expect', digest], 'ERR_USAGE', 'Give either the id of the batch, or'],
    [
      ['--batch-index', '0', '--expect', digest],
      'ERR_USAGE',
      '--batch-index: expected a whole number from 1 to',
    ],
    [['b-1', '--expect', digest], 'ERR_INPUT_INVALID', 'A batch id is a UUID, got "b-1".'],
    [
      ['--batch-index', '7', '--expect', 'none.json'],
      'ERR_INPUT_INVALID',
      'none.json: there is no such file.',
    ],
    [[ID], 'ERR_USAGE', "Required option '--expect <file>'"],
  ])('refuses %j', async (words, code, message) => {
    const answer = await refusal(cliWith(pastOf(good, 3)), 'batch', 'verify', ...words);
    expect(answer).toEqual([2, code, expect.stringContaining(message)]);
  });
});
