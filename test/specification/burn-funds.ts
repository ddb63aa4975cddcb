/**
 * Burns without enough tokens or SOL: ERR_BURN_TOKENOMICS_FAILED, alone, in a batch and in a race (service specification, section
 * 7).
 */
import { expect } from 'vitest';
import { it } from './cases.js';
import { balanceOf, sendLamports, supplyOf, treasuryOf } from './chain-reading.js';
import { aBurnRequest } from './requests.js';

const UNIT = 1_000_000n;
/** A wallet with 0.0009 SOL has one fee above the rent minimum. */
const ONE_FEE = '0.0009';

const burns = (...amounts: number[]) => amounts.map((amount) => aBurnRequest(amount));

export function burnFunds(): void {
  it('7: "ERR_BURN_TOKENOMICS_FAILED — The core burn failed (… insufficient funds …)" — tokens, a single burn', async (api) => {
    const project = await api.register({ burnWalletTokens: '5' });
    const message = (await api.burn(project, aBurnRequest(5.5))).refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
    for (const part of [project.burnWallet, '5.5']) expect(message).toContain(part);
    expect(await balanceOf(api, project, project.burnWallet)).toBe(5n * UNIT);
    (await api.burn(project, aBurnRequest(5))).done();
  });

  it('7: "ERR_BURN_TOKENOMICS_FAILED — … (… insufficient funds …)" — SOL for the fee, a single burn', async (api) => {
    const project = await api.register({ burnWalletSol: '0' });
    const supply = await supplyOf(api, project);
    const message = (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
    expect(message).toContain('SOL');
    expect(await supplyOf(api, project)).toBe(supply);
    await sendLamports(api, treasuryOf(api), project.burnWallet, 900_000n);
    (await api.burn(project, aBurnRequest(1))).done();
  });

  it('7: "ERR_BURN_TOKENOMICS_FAILED — … (… insufficient funds …)" — tokens, per element with status 200', async (api) => {
    const project = await api.register({ burnWalletTokens: '10' });
    const requests = burns(4, 7, 5, 2, 1);
    const { success, errors } = (await api.burnBatch(project, requests)).done();
    expect(success).toHaveLength(3);
    expect(errors).toMatchObject(
      [
        { type: 'ERR_BURN_TOKENOMICS_FAILED', proof: { order: 7 }, proofType: 'PRODUCT_BUY', message: /\S/ },
        { type: 'ERR_BURN_TOKENOMICS_FAILED', proof: { order: 2 }, proofType: 'PRODUCT_BUY', message: /\S/ },
      ].map((error) => ({ ...error, message: expect.stringMatching(error.message) })),
    );
    expect(await balanceOf(api, project, project.burnWallet)).toBe(0n);
  });

  it('7: "ERR_BURN_TOKENOMICS_FAILED — … (… insufficient funds …)" — SOL, per element with status 200', async (api) => {
    const project = await api.register({ burnWalletSol: ONE_FEE });
    const supply = await supplyOf(api, project);
    const { success, errors } = (await api.burnBatch(project, burns(1, 2, 3))).done();
    expect(success).toHaveLength(1);
    expect(errors.map(({ type, proof }) => [type, proof])).toEqual([
      ['ERR_BURN_TOKENOMICS_FAILED', { order: 2 }],
      ['ERR_BURN_TOKENOMICS_FAILED', { order: 3 }],
    ]);
    expect(supply - (await supplyOf(api, project))).toBe(UNIT);
  });

  it('7: "… insufficient funds …" in a race: of many single burns exactly what fits succeeds', async (api) => {
    const project = await api.register({ burnWalletTokens: '10' });
    const answers = await Promise.all(Array.from({ length: 30 }, () => api.burn(project, aBurnRequest(1))));
    const done = answers.filter(({ status }) => status === 200);
    for (const answer of answers) {
      if (answer.status !== 200) answer.refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
    }
    expect(done).toHaveLength(10);
    expect(new Set(done.map((answer) => answer.done().txHash)).size).toBe(10);
    expect(await balanceOf(api, project, project.burnWallet)).toBe(0n);
  });

  it('7: "… insufficient funds …" in a race: of many batches of burns exactly what fits succeeds', async (api) => {
    const project = await api.register({ burnWalletTokens: '25' });
    const supply = await supplyOf(api, project);
    const requests = Array.from({ length: 10 }, () => aBurnRequest(1));
    const answers = await Promise.all(Array.from({ length: 5 }, () => api.burnBatch(project, requests)));
    const results = answers.map((answer) => answer.done());
    const errors = results.flatMap((result) => result.errors.map(({ type }) => type));
    expect(results.flatMap(({ success }) => success)).toHaveLength(25);
    expect(errors).toEqual(Array(25).fill('ERR_BURN_TOKENOMICS_FAILED'));
    expect(supply - (await supplyOf(api, project))).toBe(25n * UNIT);
  });

  it('7: "… insufficient funds …" in a race for the last fee: as many burn as can be paid for', async (api) => {
    const project = await api.register({ burnWalletSol: ONE_FEE });
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.burn(project, aBurnRequest(1))));
    const refused = answers.filter(({ status }) => status !== 200);
    for (const answer of refused) answer.refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
    expect(refused).toHaveLength(7);
  });
}
