/** Reported costs equal what burn wallet, operator and vault have paid, whatever others do meanwhile (contract, section 1.7). */
import { PublicKey, TransactionInstruction } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { expect } from 'vitest';
import type { Api, InitBatchResult } from './api.js';
import { it } from './cases.js';
import {
  balanceOf,
  lamportsOf,
  land,
  sendLamports,
  sendTokens,
  tokenAccount,
  treasuryOf,
} from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { aBurnRequest, aPipeline, approved, burning, keypairOf, signVote, someWallet } from './requests.js';

const CLOSE_ACCOUNT = 9;
/** Lamports sent to an address before its account exists: less than its rent. */
const GIFT = 900_000n;

async function heldBy(api: Api, project: Project): Promise<bigint> {
  const payers = [project.burnWallet, project.operator, project.vaultAddress];
  const held = await Promise.all(payers.map((payer) => lamportsOf(api, payer)));
  return held.reduce((sum, one) => sum + one, 0n);
}

async function expectTold(api: Api, project: Project, before: bigint): Promise<void> {
  const { total, rows } = (await api.report(project, { byType: 'true' })).done();
  expect(BigInt(total.costLamports)).toBe(before - (await heldBy(api, project)));
  const sum = rows.reduce((lamports, row) => lamports + BigInt(row.costLamports), 0n);
  expect(sum).toBe(BigInt(total.costLamports));
}

const airdropTo = (toAddress: string, amount = 1) => aPipeline([{ action: 'AIRDROP', toAddress, amount }]);

const init = async (api: Api, project: Project, ...pipelines: readonly object[]): Promise<InitBatchResult> =>
  (await api.initBatch(project, { pipelines })).done();

const execute = async (api: Api, project: Project, batch: InitBatchResult): Promise<void> =>
  void (await api.executeBatch(project, approved(project, batch))).done();

/** Transaction lists of an execution: the operator's approval, then the batch's transactions. */
const EXECUTION = 2;

/** Executes a batch on another server, while `act` runs between its start and its landing. */
async function executeAround(
  api: Api,
  project: Project,
  batch: InitBatchResult,
  meanwhile: () => Promise<void>,
): Promise<void> {
  let lists = 0;
  const beforeSending = async (): Promise<void> => {
    lists += 1;
    if (lists === EXECUTION) await meanwhile();
  };
  const id = batch.batch.id;
  const { signedTx } = approved(project, batch);
  // The owner's vote has landed, so the operator sends everything else.
  expect(await api.service.land(Buffer.from(signedTx, 'base64'))).toBeNull();
  await api.beside({ beforeSending }, async (other) => {
    (await other.executeBatch(project, { batchId: id, signedTx })).done();
  });
  expect(lists).toBeGreaterThanOrEqual(EXECUTION);
}

export function costs(): void {
  it('contract 1.7: costs "together are what the three have paid"', async (api) => {
    const project = await api.register({ vaultTokens: '10' });
    const before = await heldBy(api, project);
    (await api.burn(project, aBurnRequest(1))).done();
    const [first, second, third] = [someWallet(), someWallet(), someWallet()];
    // All batches are set up before any is executed, when no token account exists yet.
    const whole = await init(api, project, airdropTo(first), airdropTo(second), airdropTo(second));
    const failing = await init(api, project, airdropTo(second), airdropTo(third, 9));
    const cancelled = await init(api, project, airdropTo(third));
    for (const batch of [whole, failing]) await execute(api, project, batch);
    (await api.cancelBatch(project, cancelled.batch.id)).done();
    await expectTold(api, project, before);
  });

  it('contract 1.7: a vote that fails on chain is told, however late its owner sends it', async (api) => {
    const project = await api.register();
    const before = await heldBy(api, project);
    const batch = await init(api, project, ...burning(1).pipelines);
    const votes = [batch.proposalApproveTx];
    while (votes.length < 3) {
      api.service.passTime(1_000);
      votes.push((await api.issueApproval(project, batch.batch.id)).done().proposalApproveTx);
    }
    const [good, early, late] = votes.map((vote) => signVote(project, vote)) as [string, string, string];
    const send = (vote: string) => api.service.land(Buffer.from(vote, 'base64'));
    expect(await send(good)).toBeNull();
    expect(await send(early)).not.toBeNull();
    (await api.executeBatch(project, { batchId: batch.batch.id, signedTx: good })).done();
    await expectTold(api, project, before);
    expect(await send(late)).not.toBeNull();
    await expectTold(api, project, before);
  });

  it('contract 1.7: an account that several batches would open is told once', async (api) => {
    const project = await api.register();
    const before = await heldBy(api, project);
    const wallet = someWallet();
    const [one, other] = [
      await init(api, project, airdropTo(wallet)),
      await init(api, project, airdropTo(wallet, 2)),
    ];
    await executeAround(api, project, one, () => execute(api, project, other));
    await expectTold(api, project, before);
  });

  it('contract 1.7: what others have sent to the address of an account makes it cheaper', async (api) => {
    const project = await api.register();
    const before = await heldBy(api, project);
    const wallet = someWallet();
    const multisigPda = new PublicKey(project.multisig);
    const [batchPda] = squads.getTransactionPda({ multisigPda, index: 1n });
    const [proposalPda] = squads.getProposalPda({ multisigPda, transactionIndex: 1n });
    const [transactionPda] = squads.getBatchTransactionPda({
      multisigPda,
      batchIndex: 1n,
      transactionIndex: 1,
    });
    const treasury = treasuryOf(api);
    for (const address of [batchPda, proposalPda, transactionPda, tokenAccount(project, wallet)])
      await sendLamports(api, treasury, address.toBase58(), GIFT);
    const batch = await init(api, project, airdropTo(wallet));
    expect(batch.batch.batchIndex).toBe('1');
    await execute(api, project, batch);
    await expectTold(api, project, before);
  });

  it('contract 1.7: an account that was closed meanwhile, and is opened again, is told again', async (api) => {
    const project = await api.register();
    const wallet = keypairOf(api.service.secretOf(project.burnWallet));
    const before = await heldBy(api, project);
    const batch = await init(api, project, airdropTo(project.burnWallet));
    const account = tokenAccount(project, project.burnWallet);
    const closing = new TransactionInstruction({
      programId: new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'),
      keys: [
        { pubkey: account, isSigner: false, isWritable: true },
        { pubkey: treasuryOf(api).publicKey, isSigner: false, isWritable: true },
        { pubkey: wallet.publicKey, isSigner: true, isWritable: false },
      ],
      data: Buffer.of(CLOSE_ACCOUNT),
    });
    let fee = 0n;
    await executeAround(api, project, batch, async () => {
      const held = await lamportsOf(api, project.burnWallet);
      const to = treasuryOf(api).publicKey.toBase58();
      const amount = await balanceOf(api, project, project.burnWallet);
      await sendTokens(api, project, { from: wallet, to, amount });
      await land(api, wallet, [closing]);
      fee = held - (await lamportsOf(api, project.burnWallet));
    });
    await expectTold(api, project, before - fee);
  });
}
