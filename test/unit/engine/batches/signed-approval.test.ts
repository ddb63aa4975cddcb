/** The signed approval: only one that was issued, or the same vote paid by the owner, is ever landed. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addSignature, buildApproval } from '../../../../src/approval/check-vote.js';
import { memo, transfer } from '../../../../src/chain/small-programs.js';
import { proposalApprove } from '../../../../src/chain/squads/builders.js';
import type { Instruction } from '../../../../src/chain/transaction/message.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../../../src/chain/transaction/sign.js';
import { compileLegacyMessage, compileV0Message } from '../../../../src/chain/transaction/wire.js';
import type { InitBatchResult } from '../../../../src/contract/schemas/batch.js';
import type { Address } from '../../../../src/values/address.js';
import { randomIds } from '../../../../src/values/ids.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  lamportsOf,
  landedCount,
  openTestEngine,
  passBlocks,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';
import { partiallySign, signTransaction } from '../../../support/sign.js';

let test: TestEngine;
let batch: InitBatchResult;
let owner: KeypairSigner;
let multisig: Address;

beforeEach(async () => {
  test = await openTestEngine();
  owner = test.project.owner;
  multisig = test.project.registration.multisig as Address;
  batch = (await test.engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, test.project.call()))
    .value;
});
afterEach(() => test.destroy());

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const signedByOwner = (): Buffer => Buffer.from(signApproval(owner, batch), 'base64');

const execute = (signedTx: string) =>
  test.engine.executeBatch({ batchId: batch.batch.id, signedTx } as never, test.project.call());

/** Refused with this reason, and nothing of it on chain or in the batch. */
async function expectRefused(bytes: Uint8Array, reason: string): Promise<void> {
  const height = await landedCount(test.chain);
  await expect(execute(base64(bytes))).rejects.toMatchObject({
    code: 'ERR_INVALID_SIGNED_TX',
    message: expect.stringContaining(reason),
  });
  expect(await landedCount(test.chain)).toBe(height);
  const { value } = await test.engine.getBatch({ batchId: batch.batch.id }, test.project.call());
  expect(value.status).toBe('FINALIZED');
  // The owner can still approve.
  expect((await execute(base64(signedByOwner()))).value.result.totalSuccessful).toBe(1);
}

const NOT_ISSUED = 'it is not the approval that was issued for batch';
const approve = (batchIndex = 1n): Instruction =>
  proposalApprove({ multisig, batchIndex, member: owner.address });

/** A transaction of the owner's own, as another tool would make it. */
async function ownTransaction(
  instructions: readonly Instruction[],
  compile = compileV0Message,
): Promise<Uint8Array> {
  const { blockhash } = await test.chain.latestBlockhash();
  return signTransaction(compile({ payer: owner.address, instructions, blockhash }), [owner]).bytes;
}

describe('checkSignedApproval', () => {
  it('refuses every other message that the owner might have signed', async () => {
    const stranger = createKeypairSigner(generateKeypair());
    const { blockhash } = await test.chain.latestBlockhash();
    const pay = transfer({ from: owner.address, to: stranger.address, lamports: 1_000_000n });
    const variants = [
      await ownTransaction([approve(2n)]),
      await ownTransaction([approve(), pay]),
      await ownTransaction([memo('hello', [owner.address])]),
      addSignature(
        buildApproval({
          owner: owner.address,
          multisig,
          batchIndex: 1n,
          blockhash,
          feePayer: test.project.registration.operator as Address,
        }),
        owner,
      ),
    ];
    for (const bytes of variants) {
      await expect(execute(base64(bytes))).rejects.toMatchObject({ code: 'ERR_INVALID_SIGNED_TX' });
    }
    await expectRefused(variants[1] ?? Buffer.alloc(0), NOT_ISSUED);
  });
});

describe('an approval that waits', () => {
  it('is taken for a minute, though others burn hundreds of times meanwhile', async () => {
    const signed = base64(signedByOwner());
    const burns = Array.from({ length: 400 }, () => aBurnRequest(0.000_001));
    await test.engine.burnBatch(burns, test.project.call({ idempotencyKey: randomIds.uuid() }));
    expect((await execute(signed)).value.result).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
  });
});

describe('an approval that expired', () => {
  const expire = () => passBlocks(test, 150);

  it.each([
    ['version 0', compileV0Message],
    ['legacy', compileLegacyMessage],
  ])('is renewed by the owner as payer (%s)', async (_name, compile) => {
    await expire();
    const renewed = await ownTransaction([approve()], compile);
    const before = await lamportsOf(test.chain, owner.address);
    const { value, meta } = await execute(base64(renewed));
    expect(value.result).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
    expect(await lamportsOf(test.chain, owner.address)).toBe(before - 5_000n);
    // Set-up 3, the operator's approval, execution 1, closing 1.
    expect(meta.cost?.operatorLamports).toBe(5_000n * 6n);
  });

  it('is not renewed by anything but that one instruction, paid by the owner', async () => {
    await expire();
    const { blockhash } = await test.chain.latestBlockhash();
    const stranger = createKeypairSigner(generateKeypair());
    const operatorPays = {
      payer: test.project.registration.operator as Address,
      instructions: [approve()],
      blockhash,
    };
    const variants: readonly Uint8Array[] = [
      await ownTransaction([approve(2n)]),
      await ownTransaction([approve(), memo('more', [owner.address])]),
      await ownTransaction([memo('more', [owner.address]), approve()]),
      await ownTransaction([approve(), approve()]),
      partiallySign(compileV0Message(operatorPays), [owner]),
      signTransaction(compileV0Message({ payer: stranger.address, instructions: [approve()], blockhash }), [
        stranger,
        owner,
      ]).bytes,
    ];
    for (const bytes of variants) {
      await expect(execute(base64(bytes))).rejects.toMatchObject({
        code: 'ERR_INVALID_SIGNED_TX',
        message: expect.stringContaining(NOT_ISSUED),
      });
    }
    expect((await execute(base64(await ownTransaction([approve()])))).value.result.totalSuccessful).toBe(1);
  });

  it('says who cannot pay for a renewed one', async () => {
    await expire();
    const held = await lamportsOf(test.chain, owner.address);
    await test.chain.submit([
      await ownTransaction([
        transfer({
          from: owner.address,
          to: test.project.registration.burnWallet as Address,
          lamports: held - 5_000n,
        }),
      ]),
    ]);
    await expect(execute(base64(await ownTransaction([approve()])))).rejects.toMatchObject({
      code: 'ERR_INSUFFICIENT_FUNDS',
      message: expect.stringContaining(owner.address),
    });
  });
});
