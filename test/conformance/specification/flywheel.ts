/** The flywheel, its vault and its registration (service specification, sections 1, 4.5 and 8). */
import { PublicKey } from '@solana/web3.js';
import { accounts, getProposalPda, getVaultPda } from '@sqds/multisig';
import { expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/signer.js';
import type { Address } from '../../../src/values/address.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  lamportsOf,
  REGISTER_DEFAULTS,
  type TestProject,
} from '../../support/engine.js';
import { sendLamports, sendTokens, treasuryOf } from '../../support/payments.js';
import { balanceOf, supplyOf } from '../../support/service.js';
import type { Way } from '../../support/ways.js';
import { approved, burning } from './lifecycle.js';

const RENT_OF_TWO_WALLETS = 10_000_000n;

const someWallet = () => createKeypairSigner(generateKeypair());

const airdropping = (toAddress: string, amount: number) => ({
  pipelines: [aPipeline([{ action: 'AIRDROP', toAddress: toAddress as Address, amount }])],
});

async function run(way: Way, project: TestProject, request: ReturnType<typeof burning>): Promise<void> {
  const init = (await way.initBatch(project, request)).done();
  expect((await way.executeBatch(project, approved(project, init))).done().result.totalFailed).toBe(0);
}

export function flywheel(under: () => Way): void {
  it('1: "turn user actions into automatic token operations (burn or airdrop)"', async () => {
    const way = under();
    const project = await way.register();
    const { vaultAddress } = project.registration;
    const recipient = someWallet().address;
    const [supply, held] = [await supplyOf(way, project), await balanceOf(way, project, vaultAddress)];
    await run(way, project, burning(2.5));
    await run(way, project, airdropping(recipient, 1.25));
    expect(supply - (await supplyOf(way, project))).toBe(2_500_000n);
    expect(held - (await balanceOf(way, project, vaultAddress))).toBe(3_750_000n);
    expect(await balanceOf(way, project, recipient)).toBe(1_250_000n);
  });

  it('1: "protected by a multi-signature wallet that needs approval from both the project owner and the service operator"', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '10' });
    const { multisig: address, owner, operator } = project.registration;
    const data = async (at: PublicKey) => {
      const [account] = await way.test.chain.getAccounts([at.toBase58() as Address]);
      return { data: Buffer.from(account?.data ?? []) } as never;
    };
    const multisigPda = new PublicKey(address);
    const [multisig] = accounts.Multisig.fromAccountInfo(await data(multisigPda));
    expect([multisig.threshold, multisig.members.map(({ key }) => key.toBase58()).sort()]).toEqual([
      2,
      [owner, operator].sort(),
    ]);
    // A batch that fails keeps its proposal, on which both approvals stand.
    const [first, failing] = [
      (await way.initBatch(project, burning(7))).done(),
      (await way.initBatch(project, burning(8))).done(),
    ];
    const [proposalPda] = getProposalPda({ multisigPda, transactionIndex: BigInt(failing.batch.batchIndex) });
    const approvals = async () => {
      const [proposal] = accounts.Proposal.fromAccountInfo(await data(proposalPda));
      return proposal.approved.map((key) => key.toBase58()).sort();
    };
    expect(await approvals()).toEqual([]);
    for (const init of [first, failing]) (await way.executeBatch(project, approved(project, init))).done();
    expect(await approvals()).toEqual([owner, operator].sort());
  });

  it('1: "A flywheel has a public vault address that holds the native currency (for network fees) and the project tokens."', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '77', vaultSol: '3' });
    const { vaultAddress, multisig, vaultIndex } = project.registration;
    const [vault] = getVaultPda({ multisigPda: new PublicKey(multisig), index: vaultIndex });
    expect(vaultAddress).toBe(vault.toBase58());
    expect(await balanceOf(way, project, vaultAddress)).toBe(77_000_000n);
    expect(await lamportsOf(way.test.chain, vaultAddress)).toBe(3_000_000_000n);
  });

  it('1: "The project owner must fund it before any action can execute."', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '0', vaultSol: '0' });
    const { vaultAddress } = project.registration;
    const refusal = (await way.initBatch(project, burning(1))).refused(400, 'ERR_INSUFFICIENT_FUNDS');
    expect(refusal).toContain(vaultAddress);
    expect((await way.currentBatch(project)).done()).toBeNull();
    await sendTokens(way.test, project, { from: treasuryOf(way.test), to: vaultAddress, amount: 1_000_000n });
    await run(way, project, burning(1));
    expect(await balanceOf(way, project, vaultAddress)).toBe(0n);
  });

  it('1: "Anyone may send tokens to it."', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '0' });
    const { vaultAddress } = project.registration;
    const stranger = someWallet();
    const treasury = treasuryOf(way.test);
    await sendLamports(way.test, treasury, stranger.address, RENT_OF_TWO_WALLETS);
    await sendTokens(way.test, project, { from: treasury, to: stranger.address, amount: 5_000_000n });
    await sendTokens(way.test, project, { from: stranger, to: vaultAddress, amount: 5_000_000n });
    await run(way, project, burning(5));
    expect(await balanceOf(way, project, vaultAddress)).toBe(0n);
  });

  it('1: "A flywheel is registered once per project, … not through this interface."', async () => {
    const way = under();
    const { engine, project } = way.test;
    const again = engine.register({ ...REGISTER_DEFAULTS, owner: project.owner.address });
    await expect(again).rejects.toMatchObject({ code: 'ERR_LOCAL_ALREADY_EXISTS' });
    for (const path of ['/v1/flywheel', '/v1/flywheel/register', '/v1/flywheel/batch/register']) {
      const headers = { 'x-service-api-key': project.key.reveal(), 'content-type': 'application/json' };
      const answer = await way.http?.send('POST', path, { headers, body: '{}' });
      expect([404, 405, undefined]).toContain(answer?.status);
    }
  });

  it('1: "Registration … creates the multisig wallet and vault address, issues an API key with scopes, and defines the proof types."', async () => {
    const way = under();
    const project = await way.register({ scopes: ['burn'], proofTypes: ['A_TYPE', 'B_TYPE'] });
    const { registration } = project;
    expect(registration.proofTypes).toEqual(['A_TYPE', 'B_TYPE']);
    const [multisig] = await way.test.chain.getAccounts([registration.multisig as Address]);
    expect(multisig?.owner).toBe('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
    for (const type of registration.proofTypes) (await way.burn(project, aBurnRequest(1, { type }))).done();
    (await way.burn(project, aBurnRequest(1))).refused(400, 'ERR_INVALID_PROOF');
    const airdrop = await way.initBatch(project, {
      pipelines: [
        aPipeline([{ action: 'AIRDROP', toAddress: project.owner.address, amount: 1 }], { type: 'A_TYPE' }),
      ],
    });
    airdrop.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
  });

  it('1, 8: "Configurable daily limits cap the burn and airdrop amounts." — single burns', async () => {
    const way = under();
    const project = await way.register({ dailyBurn: '10' });
    (await way.burn(project, aBurnRequest(6))).done();
    const before = await supplyOf(way, project);
    const message = (await way.burn(project, aBurnRequest(4.000001))).refused(
      400,
      'ERR_DAILY_LIMIT_EXCEEDED',
    );
    for (const part of ['10', '6', '4.000001']) expect(message).toContain(part);
    expect(await supplyOf(way, project)).toBe(before);
    (await way.burn(project, aBurnRequest(4))).done();
    (await way.burn(project, aBurnRequest(0.000001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
  });

  it('1, 8: "Configurable daily limits …" — per element of a batch of burns', async () => {
    const way = under();
    const project = await way.register({ dailyBurn: '10' });
    const amounts = [6, 5, 4, 1];
    const { success, errors } = (
      await way.burnBatch(
        project,
        amounts.map((amount) => aBurnRequest(amount)),
      )
    ).done();
    expect(success).toHaveLength(2);
    expect(errors.map(({ type, proof }) => [type, proof])).toEqual([
      ['ERR_DAILY_LIMIT_EXCEEDED', { order: 5 }],
      ['ERR_DAILY_LIMIT_EXCEEDED', { order: 1 }],
    ]);
  });

  it('1, 8: "Configurable daily limits …" — flywheel batches, burns and airdrops each by their own', async () => {
    const way = under();
    const project = await way.register({ dailyBurn: '10', dailyAirdrop: '3' });
    const to = someWallet().address;
    await run(way, project, burning(6, 4));
    (await way.initBatch(project, burning(0.000001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await way.initBatch(project, airdropping(to, 3.000001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    await run(way, project, airdropping(to, 3));
    (await way.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    expect((await way.currentBatch(project)).done()).toBeNull();
  });

  it('8: "Flywheels have configurable daily caps … set at registration." — and none when none is set', async () => {
    const way = under();
    const [capped, free] = [
      await way.register({ dailyBurn: '0.5' }),
      await way.register({ dailyBurn: null }),
    ];
    (await way.burn(capped, aBurnRequest(0.6))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await way.burn(free, aBurnRequest(999_999))).done();
  });

  it('4.5: "Init compiles pipelines into a batch transaction, validates all actions and proof data, and returns an approval transaction for the project owner to sign."', async () => {
    const way = under();
    const project = await way.register();
    const supply = await supplyOf(way, project);
    const { proposalApproveTx, batch } = (await way.initBatch(project, burning(1, 2))).done();
    expect(batch.pipelines).toHaveLength(2);
    expect(Buffer.from(proposalApproveTx, 'base64').length).toBeGreaterThan(129);
    const height = await way.test.chain.blockHeight();
    const bad = { pipelines: [aPipeline([burnAction(1)], { payload: '[]' }), aPipeline([burnAction(-1)])] };
    expect((await way.initBatch(project, bad)).status).toBe(400);
    expect(await way.test.chain.blockHeight()).toBe(height);
    expect(await supplyOf(way, project)).toBe(supply);
  });

  it('4.5: "Execute … processes the approved batch, runs all pipeline actions, and returns detailed execution results."', async () => {
    const way = under();
    const project = await way.register();
    const supply = await supplyOf(way, project);
    const init = (await way.initBatch(project, burning(1, 2, 4))).done();
    const { batchId, result } = (await way.executeBatch(project, approved(project, init))).done();
    expect(batchId).toBe(init.batch.id);
    expect(result).toMatchObject({ total: 3, totalSuccessful: 3, totalFailed: 0 });
    expect(supply - (await supplyOf(way, project))).toBe(7_000_000n);
  });
}
