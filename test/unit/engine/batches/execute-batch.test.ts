/** Executing a batch: success, failure at each place, and the verdict that is written of it. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { buildApproval } from '../../../../src/approval/build-approval.js';
import { rentExemptLamports } from '../../../../src/chain/account.js';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import { proposalApprove, proposalCancelV2 } from '../../../../src/chain/squads/builders.js';
import { encodeInstruction } from '../../../../src/chain/squads/instructions.js';
import { compileV0Message, signTransaction } from '../../../../src/chain/transaction/compile.js';
import type { Instruction } from '../../../../src/chain/transaction/instruction.js';
import type { KeypairSigner } from '../../../../src/chain/transaction/signer.js';
import type { InitBatchResult, Pipeline } from '../../../../src/contract/schemas/batch.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import type { Address } from '../../../../src/values/address.js';
import { HandClock } from '../../../support/chain.js';
import { chainOver, replacing } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  lamportsOf,
  openTestEngine,
  signApproval,
  signVote,
  type TestEngine,
  tokensOf,
} from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const ones = (count: number): Pipeline[] =>
  Array.from({ length: count }, (_, index) => aPipeline([burnAction(1)], { payload: `{"order":${index}}` }));

const init = async (pipelines: Pipeline[]): Promise<InitBatchResult> =>
  (await test.engine.initBatch({ pipelines }, test.project.call())).value;

const execute = (batch: InitBatchResult, key?: string) =>
  test.engine.executeBatch(
    { batchId: batch.batch.id, signedTx: signApproval(test.project.owner, batch) } as never,
    test.project.call(key === undefined ? {} : { idempotencyKey: key }),
  );

const height = () => test.chain.blockHeight();

/** Lands one instruction, signed and paid by `signer`. */
async function land(signer: KeypairSigner, instruction: Instruction): Promise<void> {
  const { blockhash } = await test.chain.latestBlockhash();
  const message = compileV0Message({ payer: signer.address, instructions: [instruction], blockhash });
  const signed = signTransaction(message, [signer]);
  expect(await test.chain.submit([signed.bytes])).toEqual([null]);
  const [record] = await test.chain.lookUp([signed.signature]);
  expect(record?.error).toBeNull();
}

const place = ({ batch }: InitBatchResult, member: KeypairSigner) => ({
  multisig: batch.multisig as Address,
  batchIndex: BigInt(batch.batchIndex),
  member: member.address,
});

/** A promise, and what resolves it. */
function gate(): [Promise<void>, () => void] {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, open];
}

describe('executeBatch', () => {
  it('counts what can run against the caps of every day, from the approval of the operator on', async () => {
    const clock = new HandClock();
    test = await openTestEngine({ dailyBurn: '10' }, { clock });
    const batch = await init(ones(5));
    let lists = 0;
    const chain = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        lists += 1;
        // The first is the approval of the operator.
        if (lists > 1) throw new FlywheelError('ERR_UNAVAILABLE', 'The chain is out of reach.');
        return test.chain.submitBundles(bundles);
      },
    });
    const signedTx = signApproval(test.project.owner, batch);
    const broken = engineBeside(test, { chain });
    await expect(
      broken.executeBatch({ batchId: batch.batch.id, signedTx } as never, test.project.call()),
    ).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
    clock.timeMs += 3 * 86_400_000;
    expect((await test.engine.status()).usedToday.burn).toBe('5');
  });

  it('executes every pipeline in order, in bundles of up to four', async () => {
    test = await openTestEngine({ dailyBurn: '100' });
    const batch = await init(ones(6));
    const { value, meta } = await execute(batch);
    expect(meta.replayed).toBe(false);
    expect(value.result).toEqual({
      total: 6,
      totalSuccessful: 6,
      totalFailed: 0,
      successfulExecutions: [
        { bundleId: expect.any(String), txHashes: Array(4).fill(expect.any(String)) },
        { bundleId: expect.any(String), txHashes: Array(2).fill(expect.any(String)) },
      ],
    });
    for (const { bundleId, txHashes } of value.result.successfulExecutions) {
      expect(bundleId).toBe(createHash('sha256').update(txHashes.join(',')).digest('hex'));
    }
    const hashes = value.result.successfulExecutions.flatMap(({ txHashes }) => txHashes);
    const records = await test.chain.lookUp(hashes);
    expect(records.map((record) => record?.error)).toEqual(Array(6).fill(null));
    // Each ran its memo and its burn; a bundle is one block.
    for (const record of records) {
      const logs = record?.logs.join('\n') ?? '';
      const memoAt = logs.indexOf(`Program ${MEMO_PROGRAM} success`);
      expect(memoAt).toBeGreaterThan(0);
      expect(logs.indexOf(`Program ${TOKEN_PROGRAM} success`)).toBeGreaterThan(memoAt);
    }
    const slots = records.map((record) => record?.slot ?? 0n);
    expect(slots.map((slot) => slot - (slots[0] ?? 0n))).toEqual([0n, 0n, 0n, 0n, 1n, 1n]);
    const { value: read } = await test.engine.getBatch({ batchId: batch.batch.id }, test.project.call());
    expect(read).toMatchObject({ status: 'EXECUTED', executeResult: value.result });
    expect((await test.engine.currentBatch(test.project.call())).value).toBeNull();
    expect(await test.engine.status()).toMatchObject({ burned: '6', usedToday: { burn: '6' } });
  });

  it('is idempotent by batch, with and without a key', async () => {
    test = await openTestEngine();
    const batch = await init(ones(2));
    const { value } = await execute(batch, 'key-1');
    const before = await height();
    for (const key of ['key-1', 'key-2', undefined]) {
      const again = await execute(batch, key);
      expect(again).toMatchObject({ value, meta: { replayed: true } });
    }
    expect(await height()).toBe(before);
  });

  it('stops at the first failing bundle, which leaves nothing, and says where', async () => {
    test = await openTestEngine({ vaultTokens: '15', dailyBurn: '100' });
    const [first, second] = [await init(ones(9)), await init(ones(9))];
    await execute(first);
    // 6 of 15 are left: transactions 0 to 3 land, 4 and 5 would, 6 fails and takes them with it.
    const { value, meta } = await execute(second);
    expect(value).toEqual({
      batchId: second.batch.id,
      result: {
        total: 9,
        totalSuccessful: 4,
        totalFailed: 5,
        successfulExecutions: [{ bundleId: expect.any(String), txHashes: Array(4).fill(expect.any(String)) }],
        failedOnTransactionIndex: 6,
        failedStartTransactionIndex: 4,
        failedTxMsg: expect.stringMatching(/^Transaction 6 failed: .*insufficient funds/),
      },
    });
    expect(await tokensOf(test.chain, test.project, test.project.registration.vaultAddress)).toBe(2_000_000n);
    const { value: read } = await test.engine.getBatch({ batchId: second.batch.id }, test.project.call());
    expect(read).toMatchObject({ status: 'FAILED', executeResult: value.result });
    // What did not run still can, so it goes on counting against the cap.
    expect(await test.engine.status()).toMatchObject({ burned: '13', usedToday: { burn: '18' } });
    expect(meta.cost?.rentReclaimedLamports).toBe(0n);

    const before = await height();
    expect(await execute(second)).toMatchObject({ value, meta: { replayed: true } });
    expect(await height()).toBe(before);
  });

  it('keeps the caps of airdrops and burns that did not happen, until it is cancelled', async () => {
    test = await openTestEngine({ vaultTokens: '10', dailyBurn: '100', dailyAirdrop: '100' });
    const toAddress = test.project.owner.address;
    const airdrop = (amount: number) => aPipeline([{ action: 'AIRDROP', toAddress, amount }, burnAction(1)]);
    const [first, second] = [await init([airdrop(8)]), await init([airdrop(3)])];
    expect((await test.engine.status()).usedToday).toEqual({ burn: '2', airdrop: '11' });
    await execute(first);
    const { value } = await execute(second);
    expect(value.result).toMatchObject({ totalFailed: 1, failedOnTransactionIndex: 0 });
    expect((await test.engine.status()).usedToday).toEqual({ burn: '2', airdrop: '11' });
    const call = test.project.call();
    const { value: asked } = await test.engine.cancelBatch({ batchId: second.batch.id }, call);
    const signedTx = signVote(test.project.owner, asked.cancelTx ?? '');
    await test.engine.cancelBatch({ batchId: second.batch.id, signedTx }, call);
    expect((await test.engine.status()).usedToday).toEqual({ burn: '1', airdrop: '8' });
    expect(await tokensOf(test.chain, test.project, toAddress)).toBe(8_000_000n);
  });

  it('lets one of two executes win', async () => {
    test = await openTestEngine();
    const batch = await init(ones(5));
    const outcomes = await Promise.allSettled([execute(batch), execute(batch), execute(batch)]);
    const errors = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    expect(errors).toEqual(['ERR_BATCH_IN_PROGRESS', 'ERR_BATCH_IN_PROGRESS']);
    expect((await test.engine.status()).burned).toBe('5');
  });

  it('answers while the accounts of a batch that has just been executed are being closed', async () => {
    test = await openTestEngine();
    const batch = await init(ones(1));
    const [closing, reachClosing] = gate();
    const [answered, letClose] = gate();
    let lists = 0;
    const chain = chainOver(test.chain, {
      submitBundles: async (bundles) => {
        lists += 1;
        // The operator's approval, the execution, the closing.
        if (lists === 3) {
          reachClosing();
          await answered;
        }
        return test.chain.submitBundles(bundles);
      },
    });
    const { store } = test;
    // This one has read the batch before it was executed, and would take it while it is being closed.
    const late = engineBeside(test, {
      store: replacing(store, { transaction: (work) => closing.then(() => store.transaction(work)) }),
    });
    const input = { batchId: batch.batch.id, signedTx: signApproval(test.project.owner, batch) } as never;
    const second = late.executeBatch(input, test.project.call()).finally(letClose);
    const first = await engineBeside(test, { chain }).executeBatch(input, test.project.call());
    expect(await second).toMatchObject({ value: first.value, meta: { replayed: true } });
  });

  it('costs what it says, to the lamport, and reclaims its rent once', async () => {
    test = await openTestEngine();
    const { operator } = test.project.registration;
    const start = await lamportsOf(test.chain, operator);
    const batch = await init(ones(6));
    const { cost: paid } = (await test.engine.getBatch({ batchId: batch.batch.id }, test.project.call()))
      .meta;
    expect(paid?.rentReclaimedLamports).toBe(0n);
    expect(await lamportsOf(test.chain, operator)).toBe(
      start - (paid?.feeLamports ?? 0n) - (paid?.rentPaidLamports ?? 0n),
    );
    const { meta } = await execute(batch);
    const { feeLamports, rentPaidLamports, rentReclaimedLamports } = meta.cost ?? expect.fail();
    expect(rentPaidLamports).toBe(paid?.rentPaidLamports);
    expect(rentReclaimedLamports).toBe(rentPaidLamports);
    expect(rentPaidLamports).toBeGreaterThan(rentExemptLamports(0) * 8n);
    // Set-up 8, two approvals of which the owner's has two signatures, execution 6, closing 1.
    expect(feeLamports).toBe(5_000n * 18n);
    expect(await lamportsOf(test.chain, operator)).toBe(start - feeLamports);
    await execute(batch);
    expect(await lamportsOf(test.chain, operator)).toBe(start - feeLamports);
  });

  it("takes the owner's approval that came by other means", async () => {
    test = await openTestEngine();
    const { owner } = test.project;
    const batch = await init(ones(2));
    await land(owner, proposalApprove(place(batch, owner)));
    const lamports = await lamportsOf(test.chain, owner.address);
    expect((await execute(batch)).value.result.totalSuccessful).toBe(2);
    expect(await lamportsOf(test.chain, owner.address)).toBe(lamports);
  });

  it.each(['rejected', 'cancelled'] as const)('fails a batch that was %s with other tools', async (how) => {
    test = await openTestEngine({ dailyBurn: '100' });
    const { owner, registration } = test.project;
    const start = await lamportsOf(test.chain, registration.operator);
    const batch = await init(ones(2));
    const operator = test.deps.keyring.get(registration.operator as Address);
    if (how === 'rejected') {
      const instruction = proposalApprove(place(batch, owner));
      await land(owner, { ...instruction, data: encodeInstruction('proposalReject', { memo: null }) });
    } else {
      await land(owner, proposalApprove(place(batch, owner)));
      await land(operator, proposalApprove(place(batch, operator)));
      await land(owner, proposalCancelV2(place(batch, owner)));
      await land(operator, proposalCancelV2(place(batch, operator)));
    }
    const { value, meta } = await execute(batch);
    expect(value.result).toEqual({
      total: 2,
      totalSuccessful: 0,
      totalFailed: 2,
      successfulExecutions: [],
      failedOnTransactionIndex: 0,
      failedStartTransactionIndex: 0,
      failedTxMsg: `The proposal was ${how} on chain.`,
    });
    expect(await test.engine.status()).toMatchObject({ burned: '0', usedToday: { burn: '0' } });
    // It is over, so its rent comes back too.
    const { feeLamports, rentPaidLamports, rentReclaimedLamports } = meta.cost ?? expect.fail();
    expect(rentReclaimedLamports).toBe(rentPaidLamports);
    const ownFees = how === 'rejected' ? 0n : 10_000n;
    expect(await lamportsOf(test.chain, registration.operator)).toBe(start - feeLamports - ownFees);
  });

  it('refuses to approve a batch that is not what was planned', async () => {
    test = await openTestEngine();
    const batch = await init(ones(2));
    const transactionAccounts = new Set<string>();
    const chain = chainOver(test.chain, {
      getAccounts: async (addresses) => {
        const accounts = await test.chain.getAccounts(addresses);
        // One byte of the amount in the first transaction's message differs.
        return accounts.map((account, index) => {
          if (index !== 3 || account === null || addresses.length !== 5) return account;
          transactionAccounts.add(addresses[index] ?? '');
          const data = Uint8Array.from(account.data);
          const at = data.length - 6;
          data[at] = (data[at] ?? 0) ^ 1;
          return { ...account, data };
        });
      },
    });
    const signedTx = signApproval(test.project.owner, batch);
    const before = await height();
    await expect(
      engineBeside(test, { chain }).executeBatch(
        { batchId: batch.batch.id, signedTx } as never,
        test.project.call(),
      ),
    ).rejects.toMatchObject({
      code: 'ERR_BATCH_EXECUTE_FAILED',
      message: expect.stringContaining('transaction 0 is another one'),
    });
    expect(transactionAccounts.size).toBe(1);
    expect(await height()).toBe(before);
    expect((await execute(batch)).value.result.totalSuccessful).toBe(2);
  });

  it("does not find another project's batch, nor one that is not there", async () => {
    test = await openTestEngine();
    const other = await test.register({ symbol: 'OTH' });
    const batch = await init(ones(1));
    const signedTx = signApproval(test.project.owner, batch);
    for (const [batchId, project] of [
      [batch.batch.id, other],
      ['00000000-0000-4000-8000-000000000000', test.project],
    ] as const) {
      const call = project.call();
      const notFound = { code: 'ERR_BATCH_NOT_FOUND', message: `There is no batch ${batchId}.` };
      await expect(test.engine.getBatch({ batchId }, call)).rejects.toMatchObject(notFound);
      await expect(test.engine.executeBatch({ batchId, signedTx } as never, call)).rejects.toMatchObject(
        notFound,
      );
    }
    expect((await test.engine.currentBatch(other.call())).value).toBeNull();
  });

  it('builds the same approval that a client builds', async () => {
    test = await openTestEngine();
    const { registration, owner } = test.project;
    const batch = await init(ones(1));
    const { blockhash } = await test.chain.latestBlockhash();
    const unsigned = buildApproval({
      owner: owner.address,
      multisig: registration.multisig as Address,
      batchIndex: 1n,
      blockhash,
      feePayer: registration.operator as Address,
    });
    const issued = Buffer.from(batch.proposalApproveTx, 'base64');
    // Only the operator's signature, the first of two, is filled in.
    expect(issued.subarray(65)).toEqual(Buffer.from(unsigned).subarray(65));
  });
});
