/** Init: everything is judged before anything is created, every problem is told at once, caps are held from then on. */
import { afterEach, describe, expect, it } from 'vitest';
import { decodeAccount, VAULT_BATCH_TRANSACTION } from '../../../../src/chain/squads/layouts/accounts.js';
import { batchTransactionAddress } from '../../../../src/chain/squads/layouts/addresses.js';
import { decodeMessage, decodeTransaction } from '../../../../src/chain/transaction/wire.js';
import { createInstances } from '../../../../src/compose/instances.js';
import type { Action, Pipeline } from '../../../../src/contract/schemas/batch.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import type { Address } from '../../../../src/values/address.js';
import { proofHash } from '../../../../src/values/digest.js';
import { Secret } from '../../../../src/values/secret.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  lamportsOf,
  openTestEngine,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const init = (pipelines: unknown, key?: string) =>
  test.engine.initBatch(
    { pipelines } as { pipelines: Pipeline[] },
    test.project.call(key === undefined ? {} : { idempotencyKey: key }),
  );

/** Refused so, with no block, no batch and no cap behind it. */
async function expectRefused(pipelines: unknown, code: string, ...parts: string[]): Promise<string> {
  const height = await test.chain.blockHeight();
  const { usedToday } = await test.engine.status();
  const error = await init(pipelines).then(
    () => expect.fail('was accepted'),
    (reason: { code: string; message: string }) => reason,
  );
  expect(error).toMatchObject({ code });
  for (const part of parts) expect(error.message).toContain(part);
  expect(await test.chain.blockHeight()).toBe(height);
  expect((await test.engine.status()).usedToday).toEqual(usedToday);
  expect(await test.engine.countBatches()).toMatchObject({ AVAILABLE_TO_QUEUE: 0, FINALIZED: 0 });
  return error.message;
}

const airdrop = (toAddress: string, amount: number) =>
  ({ action: 'AIRDROP', toAddress: toAddress as Address, amount }) as const;
const memo = (message: string): Action => ({ action: 'MEMO', message });

describe('initBatch', () => {
  it('compiles pipelines into a batch that holds exactly what it says', async () => {
    test = await openTestEngine();
    const toAddress = test.project.owner.address;
    const payload = '{ "b": 1.50, "a": "é" }';
    const { value } = await init([
      aPipeline([burnAction(1.5), airdrop(toAddress, 2), memo('hello')], { payload }),
    ]);
    const { batch } = value;
    const hash = proofHash({ a: 'é', b: 1.5 });
    expect(batch).toMatchObject({
      status: 'FINALIZED',
      batchIndex: '1',
      vaultIndex: '0',
      multisig: test.project.registration.multisig,
      vaultAddress: test.project.registration.vaultAddress,
      mintAddress: test.project.registration.mintAddress,
      initResult: { total: 3, totalSuccessful: 3, totalFailed: 0, batchIndex: 1 },
    });
    const [pipeline] = batch.pipelines;
    expect(pipeline).toMatchObject({ type: 'PRODUCT_BUY', payload, proofHash: hash });
    // Proof memo, burn, opening of the account, transfer, memo; the vault pays for each.
    const messages = (pipeline?.instructions ?? []).map((text) => decodeMessage(Buffer.from(text, 'base64')));
    expect(messages).toHaveLength(5);
    expect(messages.map(({ staticKeys }) => staticKeys[0])).toEqual(
      Array(5).fill(test.project.registration.vaultAddress),
    );
    const memoText = `{"type":"PRODUCT_BUY","hash":"${hash}"}`;
    expect(Buffer.from(messages[0]?.instructions[0]?.data ?? []).toString()).toBe(memoText);
    // And so it stands on chain.
    const at = batchTransactionAddress(batch.multisig as Address, 1n, 1).address;
    const [account] = await test.chain.getAccounts([at]);
    const stored = decodeAccount(VAULT_BATCH_TRANSACTION, account?.data ?? new Uint8Array());
    expect(stored?.message.instructions).toHaveLength(5);
    expect(Buffer.from(account?.data ?? []).includes(memoText)).toBe(true);
    // The owner's signature is the only one that is missing.
    const { signatures, message } = decodeTransaction(Buffer.from(value.proposalApproveTx, 'base64'));
    expect(message.staticKeys.slice(0, 2)).toEqual([test.project.registration.operator, toAddress]);
    expect(signatures.map((signature) => [...signature].every((byte) => byte === 0))).toEqual([false, true]);
    expect((await test.engine.currentBatch(test.project.call())).value).toMatchObject({ id: batch.id });
  });

  it('refuses with every problem of every pipeline, at its place', async () => {
    test = await openTestEngine();
    const vault = test.project.registration.vaultAddress;
    const message = await expectRefused(
      [
        aPipeline([burnAction(0.0000001), airdrop(vault, 1)]),
        aPipeline([burnAction(1)], { type: 'UNKNOWN', payload: '{"a":1,"a":2}' }),
        aPipeline([burnAction(1), { action: 'LOCK' }], { payload: '[1]' }),
      ],
      'ERR_INVALID_REQUEST',
    );
    expect(message).toContain(
      'pipelines[0].actions[0]: The amount 1e-7 has more decimals than the token has (6)',
    );
    expect(message).toContain(`pipelines[0].actions[1]: toAddress ${vault} is not a wallet`);
    expect(message).toContain('pipelines[1].type: the proof type "UNKNOWN" is not known');
    expect(message).toContain('pipelines[1].payload: Duplicate key "a"');
    expect(message).toContain('pipelines[2].actions[1]: the action LOCK is not available');
    expect(message).toContain('pipelines[2].payload: expected a JSON object');
  });

  it('reads no more of a payload than the largest proof can hold', async () => {
    test = await openTestEngine();
    const largest = JSON.stringify(Object.fromEntries([['a', Array(32_700).fill(1)]]));
    const tooMany = JSON.stringify({ a: Array(1_000_000).fill(1) });
    const pipelines = [largest, tooMany].map((payload) => aPipeline([{ action: 'LOCK' }], { payload }));
    const refused = test.engine.initBatch({ pipelines } as never, test.project.call());
    const { message } = await refused.then(
      () => expect.fail('was accepted'),
      (error: Error) => error,
    );
    expect(message).toContain('pipelines[1].payload: The JSON holds more than 32,768 values');
    expect(message).not.toContain('pipelines[0].payload');
  });

  it('keeps the code that all problems share', async () => {
    test = await openTestEngine();
    const unavailable = ['BUYBACK', 'LOCK', 'UNLOCK'].map((action) => aPipeline([{ action } as Action]));
    await expectRefused(
      unavailable,
      'ERR_ACTION_NOT_SUPPORTED',
      'pipelines[2].actions[0]: the action UNLOCK',
    );
    await expectRefused(
      [aPipeline([burnAction(1)], { type: 'X' })],
      'ERR_INVALID_PROOF',
      'pipelines[0].type',
    );
    const proof = { payload: JSON.stringify({ a: 'x'.repeat(70_000) }) };
    await expectRefused([aPipeline([burnAction(1)], proof)], 'ERR_INVALID_PROOF', 'more than 65536');
    await expectRefused(
      [
        aPipeline([memo('x'.repeat(900))]),
        aPipeline([burnAction(1)]),
        aPipeline(Array(60).fill(burnAction(1))),
      ],
      'ERR_PIPELINE_TOO_LARGE',
      'pipelines[0]',
      'pipelines[2]',
      'of its 60 actions',
    );
  });

  it.each([
    ['no list', 'x', 'pipelines'],
    ['an empty list', [], 'pipelines: expected at least one pipeline'],
    ['an unknown action', [aPipeline([{ action: 'STEAL' } as never])], 'pipelines[0].actions[0]'],
    ['no actions', [aPipeline([])], 'pipelines[0].actions: expected at least one action'],
    ['an unknown key', [{ ...aPipeline([burnAction(1)]), extra: 1 }], 'pipelines[0]: unknown key "extra"'],
    ['a negative amount', [aPipeline([burnAction(-1)])], 'pipelines[0].actions[0].amount'],
    ['a bad address', [aPipeline([airdrop('0OIl', 1)])], 'pipelines[0].actions[0].toAddress'],
  ])('refuses %s', async (_name, pipelines, part) => {
    test = await openTestEngine();
    await expectRefused(pipelines, 'ERR_INVALID_REQUEST', part);
  });

  it('refuses more pipelines than are allowed', async () => {
    test = await openTestEngine({}, { limits: { maxPipelines: 2 } });
    await expectRefused(
      Array(3).fill(aPipeline([burnAction(1)])),
      'ERR_INVALID_REQUEST',
      'at most 2 pipelines',
    );
  });

  it('names problems of every kind at once: shape, proofs, actions, sizes, caps and funds', async () => {
    test = await openTestEngine({ vaultTokens: '5', dailyBurn: '10' });
    const message = await expectRefused(
      [
        { ...aPipeline([burnAction(20), { action: 'BURN' } as never]), type: 7 },
        aPipeline([burnAction(1)], { type: 'UNKNOWN' }),
        aPipeline([memo('x'.repeat(900))]),
        aPipeline([{ action: 'LOCK' }], { payload: '{"n":9007199254740993}' }),
        aPipeline([burnAction(4)]),
        5 as never,
      ],
      'ERR_INVALID_REQUEST',
    );
    for (const part of [
      'pipelines[0].type: ',
      'pipelines[0].actions[1].amount: expected a positive number',
      'pipelines[1].type: the proof type "UNKNOWN"',
      'pipelines[2]: a pipeline lands in one transaction or not at all',
      'pipelines[3].payload: The number 9007199254740993 is not kept exactly',
      'pipelines[3].actions[0]: the action LOCK',
      'pipelines[5]: ',
      'The daily burn cap of 10 FLY would be passed: 0 FLY are used',
      '25 FLY were asked for',
      'holds 5 FLY, 25 FLY are needed',
    ])
      expect(message).toContain(part);
    // What has not even the right shape is not looked into any further.
    expect(message.match(/pipelines\[0\]\.actions\[1\]/g)).toHaveLength(1);
  });

  it('has its index from its first moment on', async () => {
    test = await openTestEngine();
    const chain = chainOver(test.chain, {
      submitBundles: () => Promise.reject(new FlywheelError('ERR_UNAVAILABLE', 'The chain is away.')),
    });
    const input = { pipelines: [aPipeline([burnAction(1)])] };
    await expect(engineBeside(test, { chain }).initBatch(input, test.project.call())).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
    });
    expect((await test.engine.currentBatch(test.project.call())).value).toMatchObject({
      status: 'AVAILABLE_TO_QUEUE',
      batchIndex: '1',
    });
  });

  it('asks for the scope of every action', async () => {
    test = await openTestEngine();
    const burnOnly = await test.engine.createKey({ scopes: ['burn'], proofTypes: null });
    const credential = new Secret(burnOnly.key);
    const pipelines = [aPipeline([burnAction(1), airdrop(test.project.owner.address, 1)])];
    await expect(test.engine.initBatch({ pipelines }, { credential })).rejects.toMatchObject({
      code: 'ERR_KEY_SCOPES_UNAUTHORIZED',
      message: expect.stringContaining(
        'pipelines[0].actions[1]: AIRDROP needs a key with the scope `airdrop`',
      ),
    });
  });

  it('says how much of what is missing, and where to send it', async () => {
    test = await openTestEngine({ vaultTokens: '5', vaultSol: '0.001' });
    const { vaultAddress } = test.project.registration;
    const stranger = test.project.owner.address;
    const pipelines = [aPipeline([burnAction(3), airdrop(stranger, 2.5)])];
    const message = await expectRefused(pipelines, 'ERR_INSUFFICIENT_FUNDS');
    expect(message).toContain(`the vault ${vaultAddress} holds 5 FLY, 5.5 FLY are needed`);
    expect(message).toContain(
      `the vault ${vaultAddress} holds 0.001 SOL, 0.00293016 SOL are needed to open 1 token`,
    );
    await test.engine.fund({ to: 'vault', tokens: '0.5', sol: '0.00193016' });
    expect((await init(pipelines)).value.batch.status).toBe('FINALIZED');
  });

  it('says when the operator cannot pay', async () => {
    test = await openTestEngine();
    const { operator } = test.project.registration;
    const poor = chainOver(test.chain, {
      getAccounts: async (addresses) =>
        (await test.chain.getAccounts(addresses)).map((account, index) =>
          account !== null && addresses[index] === operator ? { ...account, lamports: 1_000_000n } : account,
        ),
    });
    await expect(
      engineBeside(test, { chain: poor }).initBatch(
        { pipelines: [aPipeline([burnAction(1)])] },
        test.project.call(),
      ),
    ).rejects.toMatchObject({
      code: 'ERR_INSUFFICIENT_FUNDS',
      message: expect.stringContaining(`the operator ${operator} holds 0.001 SOL`),
    });
    expect(await lamportsOf(test.chain, operator)).toBe(20_000_000_000n);
  });

  it('leaves the operator its minimum, also when batches are begun at the same time or wait to be set up', async () => {
    const rent = 7_338_880n;
    test = await openTestEngine({}, { limits: { minOperatorLamports: 20_000_000_000n - (rent * 3n) / 2n } });
    const pipelines = [aPipeline([burnAction(1)])];
    const engines = [test.engine, engineBeside(test)];
    const outcomes = await Promise.allSettled(
      engines.map((engine) => engine.initBatch({ pipelines }, test.project.call())),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'ERR_INSUFFICIENT_FUNDS', message: expect.stringContaining('the operator ') },
    });
    expect(await test.engine.countBatches()).toMatchObject({ AVAILABLE_TO_QUEUE: 0, FINALIZED: 1 });
  });

  it('holds the caps from init on', async () => {
    test = await openTestEngine({ dailyBurn: '10', dailyAirdrop: '4' });
    const stranger = test.project.owner.address;
    await init([aPipeline([burnAction(6), airdrop(stranger, 3)])]);
    const { usedToday } = await test.engine.status();
    expect(usedToday).toEqual({ burn: '6', airdrop: '3' });
    await expect(init([aPipeline([burnAction(4), airdrop(stranger, 1.5)])])).rejects.toMatchObject({
      code: 'ERR_DAILY_LIMIT_EXCEEDED',
      message: expect.stringMatching(
        /nothing was created: The daily airdrop cap of 4 FLY would be passed: 3 FLY are used on \d{4}-\d\d-\d\d \(UTC\), 1\.5 FLY were asked for\.$/,
      ),
    });
    // A refused batch holds nothing, not even of the cap that it would have kept.
    expect((await test.engine.status()).usedToday).toEqual(usedToday);
    await init([aPipeline([burnAction(4), airdrop(stranger, 1)])]);
    await expect(init([aPipeline([burnAction(0.000001)])])).rejects.toMatchObject({
      code: 'ERR_DAILY_LIMIT_EXCEEDED',
    });
  });

  it('replays the answer for the same key and body, and refuses another body', async () => {
    test = await openTestEngine();
    const { value, meta } = await init([aPipeline([burnAction(1)])], 'key-1');
    const height = await test.chain.blockHeight();
    expect(meta.cost?.rentPaidLamports).toBeGreaterThan(0n);
    expect(await init([aPipeline([burnAction(1)])], 'key-1')).toEqual({
      value,
      meta: { replayed: true, cost: meta.cost },
    });
    await expect(init([aPipeline([burnAction(2)])], 'key-1')).rejects.toMatchObject({
      code: 'ERR_IDEMPOTENCY_KEY_REUSED',
    });
    expect(await test.chain.blockHeight()).toBe(height);
    expect((await init([aPipeline([burnAction(1)])])).value.batch.id).not.toBe(value.batch.id);
  });

  it('refuses the same key while a living engine works on it', async () => {
    test = await openTestEngine();
    const instances = createInstances();
    let letGo = (): void => undefined;
    const paused = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let reached = (): void => undefined;
    const submitting = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const chain = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        reached();
        await paused;
        return test.chain.submitBundles(bundles);
      },
    });
    const call = test.project.call({ idempotencyKey: 'key-1' });
    const input = { pipelines: [aPipeline([burnAction(1)])] };
    const first = engineBeside(test, { chain, instances }).initBatch(input, call);
    await submitting;
    await expect(test.engine.initBatch(input, call)).rejects.toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      options: { retryAfterSeconds: 1 },
    });
    letGo();
    const { value } = await first;
    expect(await test.engine.initBatch(input, call)).toMatchObject({ value, meta: { replayed: true } });
  });

  it('tells every batch of its own token only', async () => {
    test = await openTestEngine();
    const other = await test.register({ symbol: 'OTH', tokenProgram: 'token-2022' });
    const { value } = await test.engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, other.call());
    expect((await test.engine.currentBatch(test.project.call())).value).toBeNull();
    expect((await test.engine.currentBatch(other.call())).value?.id).toBe(value.batch.id);
  });
});
