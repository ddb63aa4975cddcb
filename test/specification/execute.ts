/** Execution of a batch (contract, sections 1.2, 1.3 and 1.4). */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import {
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { instructions as squads } from '@sqds/multisig';
import { expect } from 'vitest';
import type { Api, ExecuteResult, InitBatchResult } from './api.js';
import { it } from './cases.js';
import { lamportsOf, supplyOf } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import {
  aBurnRequest,
  aPipeline,
  approved,
  burnAction,
  burning,
  keypairOf,
  passToNextNoon,
} from './requests.js';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64');

/** A member's approval instruction, as other tools build it. */
const approval = (project: Project, batchIndex: bigint): TransactionInstruction =>
  squads.proposalApprove({
    ...{ multisigPda: new PublicKey(project.multisig), transactionIndex: batchIndex },
    member: new PublicKey(project.owner),
  });

/** Instructions under a newer blockhash, signed by those of these signers that it requires. @param payer - @default the owner */
async function ownersOwn(
  api: Api,
  project: Project,
  instructions: readonly TransactionInstruction[],
  { payer = keypairOf(project.ownerSecret).publicKey, isLegacy = false, others = [] as Keypair[] } = {},
): Promise<string> {
  const message = new TransactionMessage({
    payerKey: payer,
    recentBlockhash: await api.service.blockhash(),
    instructions: [...instructions],
  });
  const compiled = isLegacy ? message.compileToLegacyMessage() : message.compileToV0Message();
  const transaction = new VersionedTransaction(compiled);
  transaction.sign([keypairOf(project.ownerSecret), ...others]);
  return Buffer.from(transaction.serialize()).toString('base64');
}

/** The same approval under a newer blockhash, with the owner as payer. */
const renewed = (
  api: Api,
  project: Project,
  { batch }: InitBatchResult,
  ...before: TransactionInstruction[]
): Promise<string> => ownersOwn(api, project, [...before, approval(project, BigInt(batch.batchIndex))]);

async function statusOf(api: Api, project: Project, { batch }: InitBatchResult): Promise<string> {
  return (await api.getBatch(project, batch.id)).done().status;
}

async function started(api: Api, ...amounts: number[]) {
  const project = await api.register();
  return { project, init: (await api.initBatch(project, burning(...amounts))).done() };
}

export function execute(): void {
  it('contract 1.2: "Request: { "batchId": uuid, "signedTx": base64 }"', async (api) => {
    const { project, init } = await started(api, 1);
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
      expect((await api.executeBatch(project, body)).refused(400, 'ERR_INVALID_REQUEST')).toContain(path);
    }
    expect(await statusOf(api, project, init)).toBe('FINALIZED');
  });

  it('contract 1.2: "in bundles of up to 4. A bundle lands whole or not at all. … On the first failing bundle it stops"', async (api) => {
    const project = await api.register({ vaultTokens: '40' });
    const rival = (await api.initBatch(project, burning(20))).done();
    const { bundleSize } = api.service;
    const landed = 6 - (6 % bundleSize);
    // The seventh pipeline exceeds the balance; pipelines after its bundle would succeed.
    const failing = (await api.initBatch(project, burning(1, 1, 1, 1, 1, 1, 30, 1, 1))).done();
    (await api.executeBatch(project, approved(project, rival))).done();
    const supply = await supplyOf(api, project);
    const { result } = (await api.executeBatch(project, approved(project, failing))).done();
    expect(result).toMatchObject({
      total: 9,
      totalSuccessful: landed,
      totalFailed: 9 - landed,
      failedOnTransactionIndex: 6,
      failedStartTransactionIndex: landed,
    });
    const sizes = result.successfulExecutions.map(({ txHashes }) => txHashes.length);
    expect(sizes).toEqual(Array(landed / bundleSize).fill(bundleSize));
    expect(supply - (await supplyOf(api, project))).toBe(BigInt(landed) * 1_000_000n);
  });

  it('contract 1.2: "Response 200: { "batchId": uuid, "result": ExecuteResult }" "Execute is idempotent by batch … | returns the stored result and does nothing"', async (api) => {
    const project = await api.register({ vaultTokens: '10' });
    const inits = [
      (await api.initBatch(project, burning(7))).done(),
      (await api.initBatch(project, burning(8))).done(),
    ];
    for (const [index, init] of inits.entries()) {
      const first = (await api.executeBatch(project, approved(project, init))).done();
      expect(first).toEqual({
        batchId: init.batch.id,
        result: expect.objectContaining({ totalFailed: index }),
      });
      const state = async () => [
        await supplyOf(api, project),
        await api.service.landedCount(),
        (await api.getBatch(project, init.batch.id)).done(),
      ];
      const before = await state();
      expect(before[2]).toMatchObject({ executeResult: first.result });
      for (const key of [undefined, randomUUID()]) {
        expect((await api.executeBatch(project, approved(project, init), key)).done()).toEqual(first);
      }
      expect(await state()).toEqual(before);
    }
  });

  it('contract 1.2: "`EXECUTED` … | returns the stored result and does nothing" — also while its accounts are closed', async (api) => {
    const { project, init } = await started(api, 1, 2);
    const results: ExecuteResult[] = [];
    const beforeSending = async (): Promise<void> => {
      if ((await statusOf(api, project, init)) !== 'EXECUTED') return;
      const answer = await api.executeBatch(project, approved(project, init));
      results.push(answer.done().result);
      expect(answer.replayed).toBe(true);
    };
    await api.beside({ beforeSending }, async (closing) => {
      const { result } = (await closing.executeBatch(project, approved(project, init))).done();
      expect(results.length).toBeGreaterThan(0);
      for (const each of results) expect(each).toEqual(result);
    });
  });

  it('contract 1.3: "ERR_BATCH_IN_PROGRESS — another execute is running"; many at once execute once', async (api) => {
    const { project, init } = await started(api, 1, 2);
    const supply = await supplyOf(api, project);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => api.executeBatch(project, approved(project, init))),
    );
    const results: ExecuteResult[] = [];
    for (const answer of answers) {
      if (answer.status === 200) results.push(answer.done().result);
      else answer.refused(409, 'ERR_BATCH_IN_PROGRESS');
    }
    expect(results.length).toBeGreaterThan(0);
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(supply - (await supplyOf(api, project))).toBe(3_000_000n);
  });

  it('contract 1.3: "ERR_INVALID_SIGNED_TX — not decodable, not this batch\'s approval, signature missing or wrong: says which"', async (api) => {
    const { project, init } = await started(api, 1);
    const other = (await api.initBatch(project, burning(2))).done();
    const { owner, operator } = project;
    const good = bytesOf(approved(project, init).signedTx);
    const flipped = (at: number): Buffer => {
      const copy = Buffer.from(good);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy;
    };
    const [one, two, message] = [good.subarray(1, 65), good.subarray(65, 129), good.subarray(129)];
    const withSignatures = (...signatures: readonly Buffer[]): Buffer =>
      Buffer.concat([Buffer.of(signatures.length), ...signatures, message]);
    const anotherSignature = Buffer.from(good);
    sign(null, good.subarray(129), generateKeyPairSync('ed25519').privateKey).copy(anotherSignature, 65);
    const withoutOperator = Buffer.from(good).fill(0, 1, 65);
    const cases: readonly (readonly [Uint8Array, RegExp])[] = [
      [Buffer.from('no transaction'), /decode/],
      [good.subarray(0, -1), /decode/],
      [bytesOf(init.proposalApproveTx), new RegExp(`signature of ${owner}.*missing`)],
      [withoutOperator, new RegExp(`signature of ${operator}.*missing`)],
      [flipped(65), new RegExp(`signature of ${owner}.*wrong`)],
      [flipped(1), new RegExp(`signature of ${operator}.*wrong`)],
      [withSignatures(two, one), /wrong/],
      [withSignatures(one), /lacks signatures/],
      [withSignatures(one, two, two), /lacks signatures/],
      [Buffer.concat([good, Buffer.of(0)]), /decode/],
      [anotherSignature, new RegExp(`signature of ${owner}.*wrong`)],
      [bytesOf(approved(project, other).signedTx), new RegExp(`not the approval.*${init.batch.id}`)],
    ];
    for (const [bytes, reason] of cases) {
      const body = { batchId: init.batch.id, signedTx: Buffer.from(bytes).toString('base64') };
      expect((await api.executeBatch(project, body)).refused(400, 'ERR_INVALID_SIGNED_TX')).toMatch(reason);
    }
    expect(await statusOf(api, project, init)).toBe('FINALIZED');
    expect((await api.executeBatch(project, approved(project, init))).done().result.totalSuccessful).toBe(1);
  });

  it('contract 1.2: "the same single instruction with the owner as fee payer and a blockhash of the owner\'s own node"', async (api) => {
    for (const hasExpired of [false, true]) {
      const { project, init } = await started(api, 1);
      if (hasExpired) await api.service.expireBlockhashes();
      const body = { batchId: init.batch.id, signedTx: await renewed(api, project, init) };
      const before = await lamportsOf(api, project.owner);
      expect((await api.executeBatch(project, body)).done().result.totalSuccessful).toBe(1);
      expect(before - (await lamportsOf(api, project.owner))).toBe(5_000n);
    }
  });

  it('contract 1.3: "ERR_APPROVAL_EXPIRED — the blockhash of the signed approval is too old, and the approval has not landed; says how to approve again" — the batch stays ready', async (api) => {
    const { project, init } = await started(api, 1);
    await api.service.expireBlockhashes();
    const answer = await api.executeBatch(project, approved(project, init));
    const message = answer.refused(400, 'ERR_APPROVAL_EXPIRED');
    for (const part of [init.batch.id, /approve/i, /again|fresh|newer|new /i]) expect(message).toMatch(part);
    expect(await statusOf(api, project, init)).toBe('FINALIZED');
  });

  it('contract 1.2: "A pipeline is atomic: its proof memo and its actions land together …, or not at all."', async (api) => {
    const project = await api.register({ vaultTokens: '10' });
    const rival = (await api.initBatch(project, burning(7))).done();
    const pipelines = [aPipeline([burnAction(1)]), aPipeline([burnAction(1), burnAction(6), burnAction(1)])];
    const init = (await api.initBatch(project, { pipelines })).done();
    (await api.executeBatch(project, approved(project, rival))).done();
    const supply = await supplyOf(api, project);
    const { result } = (await api.executeBatch(project, approved(project, init))).done();
    const landed = 1 - (1 % api.service.bundleSize);
    expect(result).toMatchObject({ totalSuccessful: landed, failedOnTransactionIndex: 1 });
    expect(supply - (await supplyOf(api, project))).toBe(BigInt(landed) * 1_000_000n);
  });

  it('contract 1.2: "If the owner\'s approval is already on chain (given with any tool), the service does not send it again."', async (api) => {
    const { project, init } = await started(api, 1);
    const body = approved(project, init);
    expect(await api.service.land(bytesOf(body.signedTx))).toBeNull();
    await api.service.expireBlockhashes();
    // Its blockhash has expired, so resending it could not land.
    expect((await api.executeBatch(project, body)).done().result.totalSuccessful).toBe(1);
  });

  it('contract 1.7: "Execute accepts a request without `signedTx` once the owner\'s approval is on chain" — and is asked for where it does not', async (api) => {
    const { project, init } = await started(api, 1);
    const body = { batchId: init.batch.id };
    expect((await api.executeBatch(project, body)).refused(400, 'ERR_INVALID_REQUEST')).toContain('signedTx');
    expect(await statusOf(api, project, init)).toBe('FINALIZED');
    // Paid and sent by the owner, with a wallet's additions; refused as `signedTx`.
    const limit = ComputeBudgetProgram.setComputeUnitLimit({ units: 100_000 });
    const vote = await renewed(api, project, init, limit);
    (await api.executeBatch(project, { ...body, signedTx: vote })).refused(400, 'ERR_INVALID_SIGNED_TX');
    expect(await api.service.land(bytesOf(vote))).toBeNull();
    const answer = (await api.executeBatch(project, body)).done();
    expect(answer.result.totalSuccessful).toBe(1);
    expect((await api.executeBatch(project, body)).done()).toEqual(answer);
  });

  it('contract 1.4: "what is left of a batch that can run … until it has run or is cancelled (also if it is `FAILED`)"', async (api) => {
    const project = await api.register({ vaultTokens: '10', dailyBurn: '20' });
    const inits = [
      (await api.initBatch(project, burning(7))).done(),
      (await api.initBatch(project, burning(8))).done(),
    ];
    for (const init of inits) (await api.executeBatch(project, approved(project, init))).done();
    expect(await statusOf(api, project, inits[1] ?? expect.fail())).toBe('FAILED');
    // 7 are burned, and 8 may still be.
    (await api.burn(project, aBurnRequest(6))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await api.burn(project, aBurnRequest(5))).done();
  });
}

/** Approvals that the owner may sign in place of the issued one. */
export function ownApprovals(): void {
  it('contract 1.2: "the same single instruction …" — of either version', async (api) => {
    const { project, init } = await started(api, 1);
    const signedTx = await ownersOwn(api, project, [approval(project, BigInt(init.batch.batchIndex))], {
      isLegacy: true,
    });
    const answer = await api.executeBatch(project, { batchId: init.batch.id, signedTx });
    expect(answer.done().result.totalSuccessful).toBe(1);
  });

  it('contract 1.2: "the same single instruction …" — and nothing else that the owner might have signed', async (api) => {
    const { project, init } = await started(api, 1);
    await api.service.expireBlockhashes();
    const own = approval(project, BigInt(init.batch.batchIndex));
    const stranger = Keypair.generate();
    const pay = SystemProgram.transfer({
      fromPubkey: new PublicKey(project.owner),
      ...{ toPubkey: stranger.publicKey, lamports: 1_000_000 },
    });
    const height = await api.service.landedCount();
    for (const signedTx of [
      await ownersOwn(api, project, [approval(project, BigInt(init.batch.batchIndex) + 1n)]),
      await ownersOwn(api, project, [pay]),
      await ownersOwn(api, project, [own, pay]),
      await ownersOwn(api, project, [pay, own]),
      await ownersOwn(api, project, [own, own]),
      await ownersOwn(api, project, [own], { payer: new PublicKey(project.operator) }),
      await ownersOwn(api, project, [own], { payer: stranger.publicKey, others: [stranger] }),
    ]) {
      const answer = await api.executeBatch(project, { batchId: init.batch.id, signedTx });
      expect(answer.refused(400, 'ERR_INVALID_SIGNED_TX')).toContain('not the approval that was issued');
    }
    expect([await api.service.landedCount(), await statusOf(api, project, init)]).toEqual([
      height,
      'FINALIZED',
    ]);
  });

  it('contract 1.3: "ERR_INSUFFICIENT_FUNDS" — of the owner who cannot pay for an approval of their own', async (api) => {
    const { project, init } = await started(api, 1);
    const pay = SystemProgram.transfer({
      fromPubkey: new PublicKey(project.owner),
      toPubkey: new PublicKey(project.burnWallet),
      lamports: (await lamportsOf(api, project.owner)) - 5_000n,
    });
    expect(await api.service.land(bytesOf(await ownersOwn(api, project, [pay])))).toBeNull();
    const body = { batchId: init.batch.id, signedTx: await renewed(api, project, init) };
    const answer = await api.executeBatch(project, body);
    expect(answer.refused(400, 'ERR_INSUFFICIENT_FUNDS')).toContain(project.owner);
  });
}

/** Cases that advance days, so the service needs the test's clock. */
export function executeOverDays(): void {
  it('contract 1.4: "what is left of a batch that can run" counts on every day — from before its first vote is sent', async (api) => {
    const project = await api.register({ dailyBurn: '10' });
    const init = (await api.initBatch(project, burning(6))).done();
    await api.beside({ dies: 'before sending' }, async (dead) => {
      expect((await dead.executeBatch(project, approved(project, init))).status).toBe(500);
    });
    passToNextNoon(api);
    (await api.burn(project, aBurnRequest(5))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await api.burn(project, aBurnRequest(4))).done();
  });

  it('contract 1.4: "A batch that waits over midnight moves its reservation to the new day when it is executed."', async (api) => {
    const project = await api.register({ dailyBurn: '10' });
    const init = (await api.initBatch(project, burning(6))).done();
    passToNextNoon(api);
    const fresh = (await api.issueApproval(project, init.batch.id)).done();
    (await api.executeBatch(project, approved(project, fresh))).done();
    // Six of today's ten are used by today's landings.
    expect((await api.burn(project, aBurnRequest(5))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED')).toContain(
      '6',
    );
    (await api.burn(project, aBurnRequest(4))).done();
  });

  it('contract 1.4: "If the new day has no room, execute is refused and the batch keeps waiting."', async (api) => {
    const project = await api.register({ dailyBurn: '10' });
    const init = (await api.initBatch(project, burning(6))).done();
    passToNextNoon(api);
    (await api.burn(project, aBurnRequest(5))).done();
    const supply = await supplyOf(api, project);
    (await api.executeBatch(project, approved(project, init))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    expect([await supplyOf(api, project), await statusOf(api, project, init)]).toEqual([supply, 'FINALIZED']);
  });
}
