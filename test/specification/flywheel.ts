/** The project, its vault and its registration (service specification, sections 1, 4.5 and 8). */
import { Keypair, PublicKey } from '@solana/web3.js';
import { accounts, getProposalPda, getVaultPda } from '@sqds/multisig';
import { expect } from 'vitest';
import type { Api } from './api.js';
import { it } from './cases.js';
import {
  accountInfoOf,
  balanceOf,
  lamportsOf,
  sendLamports,
  sendTokens,
  supplyOf,
  treasuryOf,
} from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { aBurnRequest, aPipeline, approved, burnAction, burning, someWallet } from './requests.js';

const RENT_OF_TWO_WALLETS = 10_000_000n;

const airdropping = (toAddress: string, amount: number) => ({
  pipelines: [aPipeline([{ action: 'AIRDROP', toAddress: toAddress, amount }])],
});

async function run(api: Api, project: Project, request: ReturnType<typeof burning>): Promise<void> {
  const init = (await api.initBatch(project, request)).done();
  expect((await api.executeBatch(project, approved(project, init))).done().result.totalFailed).toBe(0);
}

export function flywheel(): void {
  it('1: "protected by a multi-signature wallet that needs approval from both the project owner and the service operator"', async (api) => {
    const project = await api.register({ vaultTokens: '10' });
    const { multisig: address, owner, operator } = project;
    const multisigPda = new PublicKey(address);
    const [multisig] = accounts.Multisig.fromAccountInfo(await accountInfoOf(api, multisigPda));
    expect([multisig.threshold, multisig.members.map(({ key }) => key.toBase58()).sort()]).toEqual([
      2,
      [owner, operator].sort(),
    ]);
    // A failed batch keeps its proposal with both approvals.
    const [first, failing] = [
      (await api.initBatch(project, burning(7))).done(),
      (await api.initBatch(project, burning(8))).done(),
    ];
    const [proposalPda] = getProposalPda({ multisigPda, transactionIndex: BigInt(failing.batch.batchIndex) });
    const approvals = async () => {
      const [proposal] = accounts.Proposal.fromAccountInfo(await accountInfoOf(api, proposalPda));
      return proposal.approved.map((key) => key.toBase58()).sort();
    };
    expect(await approvals()).toEqual([]);
    for (const init of [first, failing]) (await api.executeBatch(project, approved(project, init))).done();
    expect(await approvals()).toEqual([owner, operator].sort());
  });

  it('1: "A flywheel has a public vault address that holds the native currency (for network fees) and the project tokens."', async (api) => {
    const project = await api.register({ vaultTokens: '77', vaultSol: '3' });
    const { vaultAddress, multisig, vaultIndex } = project;
    const [vault] = getVaultPda({ multisigPda: new PublicKey(multisig), index: vaultIndex });
    expect(vaultAddress).toBe(vault.toBase58());
    expect(await balanceOf(api, project, vaultAddress)).toBe(77_000_000n);
    expect(await lamportsOf(api, vaultAddress)).toBe(3_000_000_000n);
  });

  it('1: "The project owner must fund it before any action can execute."', async (api) => {
    const project = await api.register({ vaultTokens: '0', vaultSol: '0' });
    const { vaultAddress } = project;
    const refusal = (await api.initBatch(project, burning(1))).refused(400, 'ERR_INSUFFICIENT_FUNDS');
    expect(refusal).toContain(vaultAddress);
    expect((await api.currentBatch(project)).done()).toBeNull();
    await sendTokens(api, project, { from: treasuryOf(api), to: vaultAddress, amount: 1_000_000n });
    await run(api, project, burning(1));
    expect(await balanceOf(api, project, vaultAddress)).toBe(0n);
  });

  it('1: "Anyone may send tokens to it."', async (api) => {
    const project = await api.register({ vaultTokens: '0' });
    const { vaultAddress } = project;
    const stranger = Keypair.generate();
    const treasury = treasuryOf(api);
    await sendLamports(api, treasury, stranger.publicKey.toBase58(), RENT_OF_TWO_WALLETS);
    await sendTokens(api, project, { from: treasury, to: stranger.publicKey.toBase58(), amount: 5_000_000n });
    await sendTokens(api, project, { from: stranger, to: vaultAddress, amount: 5_000_000n });
    await run(api, project, burning(5));
    expect(await balanceOf(api, project, vaultAddress)).toBe(0n);
  });

  it('1: "A flywheel is registered once per project, … not through this interface."', async (api) => {
    const { project } = api;
    for (const path of ['/v1/flywheel', '/v1/flywheel/register', '/v1/flywheel/batch/register']) {
      const headers = { 'x-service-api-key': project.key, 'content-type': 'application/json' };
      const answer = await api.http.send('POST', path, { headers, body: '{}' });
      expect([404, 405]).toContain(answer.status);
    }
  });

  it('1: "Registration … creates the multisig wallet and vault address, issues an API key with scopes, and defines the proof types."', async (api) => {
    const project = await api.register({ scopes: ['burn'], proofTypes: ['A_TYPE', 'B_TYPE'] });

    expect(project.proofTypes).toEqual(['A_TYPE', 'B_TYPE']);
    expect((await api.service.account(project.multisig))?.owner).toBe(
      'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf',
    );
    for (const type of project.proofTypes) (await api.burn(project, aBurnRequest(1, { type }))).done();
    (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_INVALID_PROOF');
    const airdrop = await api.initBatch(project, {
      pipelines: [
        aPipeline([{ action: 'AIRDROP', toAddress: project.owner, amount: 1 }], { type: 'A_TYPE' }),
      ],
    });
    airdrop.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
  });

  it('1, 8: "Configurable daily limits cap the burn and airdrop amounts." — single burns', async (api) => {
    const project = await api.register({ dailyBurn: '10' });
    (await api.burn(project, aBurnRequest(6))).done();
    const before = await supplyOf(api, project);
    const message = (await api.burn(project, aBurnRequest(4.000001))).refused(
      400,
      'ERR_DAILY_LIMIT_EXCEEDED',
    );
    for (const part of ['10', '6', '4.000001']) expect(message).toContain(part);
    expect(await supplyOf(api, project)).toBe(before);
    (await api.burn(project, aBurnRequest(4))).done();
    (await api.burn(project, aBurnRequest(0.000001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
  });

  it('1, 8: "Configurable daily limits …" — per element of a batch of burns', async (api) => {
    const project = await api.register({ dailyBurn: '10' });
    const amounts = [6, 5, 4, 1];
    const { success, errors } = (
      await api.burnBatch(
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

  it('1, 8: "Configurable daily limits …" — flywheel batches, burns and airdrops each by their own', async (api) => {
    const project = await api.register({ dailyBurn: '10', dailyAirdrop: '3' });
    const to = someWallet();
    await run(api, project, burning(6, 4));
    (await api.initBatch(project, burning(0.000001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await api.initBatch(project, airdropping(to, 3.000001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    await run(api, project, airdropping(to, 3));
    (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    expect((await api.currentBatch(project)).done()).toBeNull();
  });

  it('1, 8: "Configurable daily limits …" — a batch that one cap refuses uses nothing of the other', async (api) => {
    const project = await api.register({ dailyBurn: '10', dailyAirdrop: '4' });
    const both = (burn: number, airdrop: number) => ({
      pipelines: [
        aPipeline([burnAction(burn), { action: 'AIRDROP', toAddress: project.owner, amount: airdrop }]),
      ],
    });
    (await api.initBatch(project, both(6, 3))).done();
    (await api.initBatch(project, both(4, 1.5))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    (await api.initBatch(project, both(4, 1))).done();
    (await api.initBatch(project, burning(0.000001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
  });
}
