/** Execute of a flywheel batch (contract, sections 1.2, 1.3 and 1.4). */
import { randomUUID } from 'node:crypto';
import {
  ComputeBudgetProgram,
  PublicKey,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { instructions as squads } from '@sqds/multisig';
import { expect, it } from 'vitest';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../../src/chain/transaction/signer.js';
import type { ExecuteResult, InitBatchResult } from '../../../src/contract/schemas/batch.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  lamportsOf,
  passBlocks,
  type TestProject,
} from '../../support/engine.js';
import { supplyOf } from '../../support/service.js';
import type { Way } from '../../support/ways.js';
import { approved, burning } from './lifecycle.js';

const BLOCKS_UNTIL_EXPIRY = 150;

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64');

/** The same approval under a newer blockhash with the owner as payer, as any other tool would build it. */
async function renewed(
  way: Way,
  { owner, registration }: TestProject,
  { batch }: InitBatchResult,
  ...before: TransactionInstruction[]
): Promise<string> {
  const { blockhash } = await way.test.chain.latestBlockhash();
  const member = new PublicKey(owner.address);
  const instruction = squads.proposalApprove({
    multisigPda: new PublicKey(registration.multisig),
    transactionIndex: BigInt(batch.batchIndex),
    member,
  });
  const message = new TransactionMessage({
    payerKey: member,
    recentBlockhash: blockhash,
    instructions: [...before, instruction],
  }).compileToV0Message();
  return signedBy(owner, new VersionedTransaction(message));
}

function signedBy(signer: KeypairSigner, transaction: VersionedTransaction): string {
  transaction.addSignature(new PublicKey(signer.address), signer.signNow(transaction.message.serialize()));
  return Buffer.from(transaction.serialize()).toString('base64');
}

async function statusOf(way: Way, project: TestProject, { batch }: InitBatchResult): Promise<string> {
  return (await way.getBatch(project, batch.id)).done().status;
}

export function execute(under: () => Way): void {
  const started = async (way: Way, ...amounts: number[]) => {
    const project = await way.register();
    return { project, init: (await way.initBatch(project, burning(...amounts))).done() };
  };

  it('contract 1.2: "Request: { "batchId": uuid, "signedTx": base64 }"', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    const good = approved(project, init);
    for (const [body, path] of [
      [{ signedTx: good.signedTx }, 'batchId'],
      [{ batchId: good.batchId }, 'signedTx'],
      [{ ...good, batchId: 'abc' }, 'batchId'],
      [{ ...good, batchId: 7 }, 'batchId'],
      [{ ...good, signedTx: '***' }, 'signedTx'],
      [{ ...good, signedTx: '' }, 'signedTx'],
      [[good], ''],
      [null, ''],
    ] as const) {
      expect((await way.executeBatch(project, body)).refused(400, 'ERR_INVALID_REQUEST')).toContain(path);
    }
    expect(await statusOf(way, project, init)).toBe('FINALIZED');
  });

  it('contract 1.2: "Response 200: { "batchId": uuid, "result": ExecuteResult }" — also when the batch ended FAILED', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10' });
    const inits = [
      (await way.initBatch(project, burning(7))).done(),
      (await way.initBatch(project, burning(8))).done(),
    ];
    for (const [index, init] of inits.entries()) {
      const answer = await way.executeBatch(project, approved(project, init));
      expect(Object.keys(answer.done()).sort()).toEqual(['batchId', 'result']);
      expect([answer.done().batchId, answer.done().result.totalFailed]).toEqual([init.batch.id, index]);
      expect((await way.getBatch(project, init.batch.id)).done().executeResult).toEqual(answer.done().result);
    }
  });

  it('contract 1.2: "in bundles of up to 4. A bundle lands whole or not at all. On the first failing bundle it stops"', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '40' });
    const rival = (await way.initBatch(project, burning(20))).done();
    // The second bundle asks for more than is left, in its third transaction; the third bundle would fit.
    const failing = (await way.initBatch(project, burning(1, 1, 1, 1, 1, 1, 30, 1, 1))).done();
    (await way.executeBatch(project, approved(project, rival))).done();
    const supply = await supplyOf(way, project);
    const { result } = (await way.executeBatch(project, approved(project, failing))).done();
    expect(result).toMatchObject({
      total: 9,
      totalSuccessful: 4,
      totalFailed: 5,
      failedOnTransactionIndex: 6,
      failedStartTransactionIndex: 4,
    });
    expect(result.successfulExecutions.map(({ txHashes }) => txHashes.length)).toEqual([4]);
    expect(supply - (await supplyOf(way, project))).toBe(4_000_000n);
  });

  it('contract 1.2: "Idempotent by batch: on an `EXECUTED` or `FAILED` batch it returns the stored result and does nothing."', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10' });
    const inits = [
      (await way.initBatch(project, burning(7))).done(),
      (await way.initBatch(project, burning(8))).done(),
    ];
    for (const init of inits) {
      const first = (await way.executeBatch(project, approved(project, init))).done();
      const before = [await supplyOf(way, project), await way.test.chain.blockHeight()];
      for (const key of [undefined, randomUUID()]) {
        expect((await way.executeBatch(project, approved(project, init), key)).done()).toEqual(first);
      }
      expect([await supplyOf(way, project), await way.test.chain.blockHeight()]).toEqual(before);
    }
  });

  it('contract 1.3: "ERR_BATCH_IN_PROGRESS — another execute is running"; many at once execute once', async () => {
    const way = under();
    const { project, init } = await started(way, 1, 2);
    const supply = await supplyOf(way, project);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => way.executeBatch(project, approved(project, init))),
    );
    const results: ExecuteResult[] = [];
    for (const answer of answers) {
      if (answer.status === 200) results.push(answer.done().result);
      else answer.refused(409, 'ERR_BATCH_IN_PROGRESS');
    }
    expect(results.length).toBeGreaterThan(0);
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(supply - (await supplyOf(way, project))).toBe(3_000_000n);
  });

  it('contract 1.3: "ERR_INVALID_SIGNED_TX — not decodable, not this batch\'s approval, signature missing or wrong: says which"', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    const other = (await way.initBatch(project, burning(2))).done();
    const { owner, operator } = project.registration;
    const good = bytesOf(approved(project, init).signedTx);
    const flipped = Buffer.from(good);
    flipped[65] = (flipped[65] ?? 0) ^ 1;
    const anotherSignature = Buffer.from(good);
    createKeypairSigner(generateKeypair())
      .signNow(good.subarray(129))
      .forEach((byte, at) => {
        anotherSignature[65 + at] = byte;
      });
    const withoutOperator = Buffer.from(good).fill(0, 1, 65);
    const cases: readonly (readonly [Uint8Array, RegExp])[] = [
      [Buffer.from('no transaction'), /decode/],
      [good.subarray(0, -1), /decode/],
      [bytesOf(init.proposalApproveTx), new RegExp(`signature of ${owner}.*missing`)],
      [withoutOperator, new RegExp(`signature of ${operator}.*missing`)],
      [flipped, new RegExp(`signature of ${owner}.*wrong`)],
      [anotherSignature, new RegExp(`signature of ${owner}.*wrong`)],
      [bytesOf(approved(project, other).signedTx), new RegExp(`not the approval.*${init.batch.id}`)],
    ];
    for (const [bytes, reason] of cases) {
      const body = { batchId: init.batch.id, signedTx: Buffer.from(bytes).toString('base64') };
      expect((await way.executeBatch(project, body)).refused(400, 'ERR_INVALID_SIGNED_TX')).toMatch(reason);
    }
    expect(await statusOf(way, project, init)).toBe('FINALIZED');
    expect((await way.executeBatch(project, approved(project, init))).done().result.totalSuccessful).toBe(1);
  });

  it('contract 1.2: "byte for byte an approval it issued" — before it has expired, no other is taken', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    const body = { batchId: init.batch.id, signedTx: await renewed(way, project, init) };
    (await way.executeBatch(project, body)).refused(400, 'ERR_INVALID_SIGNED_TX');
    expect(await statusOf(way, project, init)).toBe('FINALIZED');
  });

  it('contract 1.2: "(or, once that has expired, the same single instruction with a newer blockhash and the owner as fee payer …)"', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    await passBlocks(way.test, BLOCKS_UNTIL_EXPIRY);
    const body = { batchId: init.batch.id, signedTx: await renewed(way, project, init) };
    const before = await lamportsOf(way.test.chain, project.owner.address);
    expect((await way.executeBatch(project, body)).done().result.totalSuccessful).toBe(1);
    expect(before - (await lamportsOf(way.test.chain, project.owner.address))).toBe(5_000n);
  });

  it('contract 1.3: "ERR_APPROVAL_EXPIRED — the blockhash of the signed approval is too old and it has not landed" — the batch stays ready', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    await passBlocks(way.test, BLOCKS_UNTIL_EXPIRY);
    const answer = await way.executeBatch(project, approved(project, init));
    expect(answer.refused(400, 'ERR_APPROVAL_EXPIRED')).toContain(init.batch.id);
    expect(await statusOf(way, project, init)).toBe('FINALIZED');
  });

  it('contract 1.3: "ERR_APPROVAL_EXPIRED — … says how to approve again" — in the message, for over HTTP there is no other hint', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    await passBlocks(way.test, BLOCKS_UNTIL_EXPIRY);
    const answer = await way.executeBatch(project, approved(project, init));
    const message = answer.refused(400, 'ERR_APPROVAL_EXPIRED');
    expect(message).toMatch(/approve/i);
    expect(message).toMatch(/again|fresh|newer|new /i);
  });

  it('contract 1.2: "A pipeline is atomic: its proof memo and its actions land together …, or not at all."', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10' });
    const rival = (await way.initBatch(project, burning(7))).done();
    const pipelines = [aPipeline([burnAction(1)]), aPipeline([burnAction(1), burnAction(6), burnAction(1)])];
    const init = (await way.initBatch(project, { pipelines })).done();
    (await way.executeBatch(project, approved(project, rival))).done();
    const supply = await supplyOf(way, project);
    const { result } = (await way.executeBatch(project, approved(project, init))).done();
    expect(result).toMatchObject({ totalSuccessful: 0, failedOnTransactionIndex: 1 });
    expect(await supplyOf(way, project)).toBe(supply);
  });

  it('contract 1.2: "If the owner\'s approval is already on chain (given through any other tool), it is not sent again."', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    const body = approved(project, init);
    expect(await way.test.chain.submit([bytesOf(body.signedTx)])).toEqual([null]);
    await passBlocks(way.test, BLOCKS_UNTIL_EXPIRY);
    // Its blockhash has run out: sent again it could not land.
    expect((await way.executeBatch(project, body)).done().result.totalSuccessful).toBe(1);
  });

  it('contract 1.7: "`signedTx` may be left out once the owner\'s approval stands on chain" — and is asked for where it does not', async () => {
    const way = under();
    const { project, init } = await started(way, 1);
    const body = { batchId: init.batch.id };
    expect((await way.executeBatch(project, body)).refused(400, 'ERR_INVALID_REQUEST')).toContain('signedTx');
    expect(await statusOf(way, project, init)).toBe('FINALIZED');
    // Paid and sent by the owner, with what a wallet adds: as a `signedTx` it would not be taken.
    const limit = ComputeBudgetProgram.setComputeUnitLimit({ units: 100_000 });
    const vote = await renewed(way, project, init, limit);
    (await way.executeBatch(project, { ...body, signedTx: vote })).refused(400, 'ERR_INVALID_SIGNED_TX');
    expect(await way.test.chain.submit([bytesOf(vote)])).toEqual([null]);
    const answer = (await way.executeBatch(project, body)).done();
    expect(answer.result.totalSuccessful).toBe(1);
    expect((await way.executeBatch(project, body)).done()).toEqual(answer);
  });

  it('contract 1.4: "a batch that waits over midnight takes its reservation along when it is executed"', async () => {
    const way = under();
    const project = await way.register({ dailyBurn: '10' });
    const init = (await way.initBatch(project, burning(6))).done();
    way.clock.passToNextNoon();
    (await way.executeBatch(project, approved(project, init))).done();
    // Six of today's ten are used up by what landed today.
    expect((await way.burn(project, aBurnRequest(5))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED')).toContain(
      '6',
    );
    (await way.burn(project, aBurnRequest(4))).done();
  });

  it('contract 1.4: "… or is refused and stays"', async () => {
    const way = under();
    const project = await way.register({ dailyBurn: '10' });
    const init = (await way.initBatch(project, burning(6))).done();
    way.clock.passToNextNoon();
    (await way.burn(project, aBurnRequest(5))).done();
    const supply = await supplyOf(way, project);
    (await way.executeBatch(project, approved(project, init))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    expect([await supplyOf(way, project), await statusOf(way, project, init)]).toEqual([supply, 'FINALIZED']);
  });

  it('contract 1.4: "What can still run on chain keeps its reservation (a FAILED batch until it is cancelled)."', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10', dailyBurn: '20' });
    const inits = [
      (await way.initBatch(project, burning(7))).done(),
      (await way.initBatch(project, burning(8))).done(),
    ];
    for (const init of inits) (await way.executeBatch(project, approved(project, init))).done();
    expect(await statusOf(way, project, inits[1] ?? expect.fail())).toBe('FAILED');
    // 7 are burned, and 8 could still be.
    (await way.burn(project, aBurnRequest(6))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await way.burn(project, aBurnRequest(5))).done();
  });
}
