/** The two burn operations. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Api } from '../support/api.js';
import { balanceOf, landedRecord, memosOf, supplyOf, wireBytes } from '../support/chain-reading.js';
import { aBurnRequest, canonicalHash } from '../support/requests.js';

const UNIT = 1_000_000n;

export function burning(under: () => Api): void {
  it('burns exactly the amount and reports it', async () => {
    const api = under();
    const project = await api.register();
    const request = aBurnRequest(12.345678, { proof: { b: 1, a: { ü: '€' } } });
    const before = await supplyOf(api, project);
    const answer = await api.burn(project, request);
    const value = answer.done();
    expect(value).toEqual({
      result: 'SUCCESS',
      hash: canonicalHash(request.proof),
      txHash: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/),
      type: 'PRODUCT_BUY',
      dateBurned: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(answer.replayed).toBe(false);
    expect(before - (await supplyOf(api, project))).toBe(12_345_678n);
    expect((await landedRecord(api, value.txHash)).error).toBeNull();
  });

  it('writes the hash of the proof on chain when asked to, and never the proof', async () => {
    const api = under();
    const project = await api.register();
    const proof = { secretOrder: 'X-77' };
    for (const persistOnchain of [true, false]) {
      const { txHash } = (await api.burn(project, aBurnRequest(1, { proof, persistOnchain }))).done();
      const memo = JSON.stringify({ type: 'PRODUCT_BUY', hash: canonicalHash(proof) });
      expect(await memosOf(api, txHash)).toEqual(persistOnchain ? [memo] : []);
      expect(Buffer.from(await wireBytes(api, txHash)).toString('latin1')).not.toContain('X-77');
    }
  });

  it('refuses amounts that the mint cannot express, and burns nothing', async () => {
    const api = under();
    const project = await api.register();
    const before = await supplyOf(api, project);
    for (const amount of [0, -1, 0.000_000_1, 0.1 + 0.2, 18_446_744_073_710, 1e300, Number.MIN_VALUE]) {
      const answer = await api.burn(project, aBurnRequest(amount));
      expect(answer.refused(400, 'ERR_BURN_TOKENOMICS_FAILED')).toContain('burnAmount');
    }
    expect(await supplyOf(api, project)).toBe(before);
    (await api.burn(project, aBurnRequest(0.000_001))).done();
    expect(before - (await supplyOf(api, project))).toBe(1n);
  });

  it('says what is missing, and where to send it, when the wallet is short', async () => {
    const api = under();
    const poor = await api.register({ burnWalletTokens: '5' });
    const message = (await api.burn(poor, aBurnRequest(5.5))).refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
    for (const part of [poor.burnWallet, '5.5']) expect(message).toContain(part);
    (await api.burn(poor, aBurnRequest(5))).done();
    const noSol = await api.register({ burnWalletSol: '0' });
    (await api.burn(noSol, aBurnRequest(1))).refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
  });

  it('keeps the daily cap to the last unit, and gives back what failed', async () => {
    const api = under();
    const capped = await api.register({ dailyBurn: '10', burnWalletTokens: '20' });
    (await api.burn(capped, aBurnRequest(4))).done();
    const over = (await api.burn(capped, aBurnRequest(6.000_001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    for (const part of ['10', '4', '6.000001']) expect(over).toContain(part);
    (await api.burn(capped, aBurnRequest(6))).done();
    (await api.burn(capped, aBurnRequest(0.000_001))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    const short = await api.register({ dailyBurn: '10', burnWalletTokens: '5' });
    (await api.burn(short, aBurnRequest(6))).refused(400, 'ERR_BURN_TOKENOMICS_FAILED');
    (await api.burn(short, aBurnRequest(5))).done();
    expect(await balanceOf(api, short, short.burnWallet)).toBe(0n);
  });

  it('works for v1 tokens only', async () => {
    const api = under();
    const later = await api.register({ tokenGeneration: 'v2' });
    (await api.burn(later, aBurnRequest(1))).refused(400, 'ERR_TOKEN_NOT_FOUND');
    const [key, elements] = [randomUUID(), [aBurnRequest(1), aBurnRequest(1, { type: 'NOPE' })]];
    const { errors } = (await api.burnBatch(later, elements, key)).done();
    expect(errors.map(({ type }) => type)).toEqual(['ERR_TOKEN_NOT_FOUND', 'ERR_TOKEN_NOT_FOUND']);
    expect((await api.burnBatch(later, elements, key)).replayed).toBe(true);
  });

  it('burns Token-2022 mints and mints without decimals', async () => {
    const api = under();
    for (const [input, amount, baseUnits] of [
      [{ tokenProgram: 'token-2022' }, 2, 2n * UNIT],
      [{ decimals: 0 }, 3, 3n],
    ] as const) {
      const project = await api.register(input);
      const before = await supplyOf(api, project);
      (await api.burn(project, aBurnRequest(amount))).done();
      expect(before - (await supplyOf(api, project))).toBe(baseUnits);
    }
  });

  it('burns each element of a batch on its own', async () => {
    const api = under();
    const project = await api.register({ burnWalletTokens: '10' });
    const types = ['PRODUCT_BUY', 'NOPE', 'PRODUCT_BUY', 'PRODUCT_BUY', 'PRODUCT_BUY'];
    const elements = [4, 1, 5, 2, 1].map((amount, at) =>
      aBurnRequest(amount, { type: types[at] ?? '', proof: { at }, persistOnchain: at === 2 }),
    );
    const { success, errors } = (await api.burnBatch(project, elements)).done();
    expect(success.map(({ hash }) => hash)).toEqual([0, 2, 4].map((at) => canonicalHash({ at })));
    expect(errors).toEqual([
      {
        ...{ type: 'ERR_INVALID_PROOF', proof: { at: 1 }, proofType: 'NOPE' },
        message: expect.stringContaining('NOPE'),
      },
      {
        ...{ type: 'ERR_BURN_TOKENOMICS_FAILED', proof: { at: 3 }, proofType: 'PRODUCT_BUY' },
        message: expect.any(String),
      },
    ]);
    expect(await balanceOf(api, project, project.burnWallet)).toBe(0n);
    expect(new Set(success.map(({ txHash }) => txHash)).size).toBe(3);
  });
}
