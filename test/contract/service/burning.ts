/** The two burn operations (service specification, sections 4.1 and 4.2). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ElementOutcome } from '../../../src/contract/call.js';
import type { BurnRequest } from '../../../src/contract/schemas/burn.js';
import { proofHash } from '../../../src/values/digest.js';
import { balanceOf, failureOf, type ServiceUnderTest, supplyOf } from '../../support/service.js';
import { aBurn } from './examples.js';

const UNIT = 1_000_000n;

export function burning(under: () => ServiceUnderTest): void {
  it('burns exactly the amount and reports it', async () => {
    const { service, test } = under();
    const before = await supplyOf(under(), test.project);
    const request = aBurn({ burnAmount: 12.345678, proof: { b: 1, a: { ü: '€' } } });
    const { value, meta } = await service.burn(request, test.project.call());
    expect(value).toEqual({
      result: 'SUCCESS',
      hash: proofHash(request.proof),
      txHash: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/),
      type: 'PRODUCT_BUY',
      dateBurned: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(meta.replayed).toBe(false);
    expect(before - (await supplyOf(under(), test.project))).toBe(12_345_678n);
    const [record] = await test.chain.lookUp([value.txHash]);
    expect(record?.error).toBeNull();
  });

  it('writes the hash of the proof on chain when asked to, and never the proof', async () => {
    const { service, test } = under();
    const bytes = async (persistOnchain: boolean): Promise<string> => {
      const request = aBurn({ proof: { secretOrder: 'X-77' }, persistOnchain });
      const { value } = await service.burn(request, test.project.call());
      return Buffer.from((await test.chain.getTransaction(value.txHash)) ?? []).toString('latin1');
    };
    const memo = JSON.stringify({ type: 'PRODUCT_BUY', hash: proofHash({ secretOrder: 'X-77' }) });
    const [with_, without] = [await bytes(true), await bytes(false)];
    expect(with_).toContain(memo);
    expect(without).not.toContain('"hash"');
    expect(with_ + without).not.toContain('X-77');
  });

  it('refuses amounts that the mint cannot express, and burns nothing', async () => {
    const { service, test } = under();
    const before = await supplyOf(under(), test.project);
    const amounts = [0, -1, 0.000_000_1, 0.1 + 0.2, 1e-7, 18_446_744_073_710, 1e300, Number.MIN_VALUE];
    for (const burnAmount of amounts) {
      const error = await failureOf(service.burn(aBurn({ burnAmount }), test.project.call()));
      expect([burnAmount, error.code, error.status]).toEqual([burnAmount, 'ERR_BURN_TOKENOMICS_FAILED', 400]);
      expect(error.message).toContain('burnAmount');
    }
    expect(await supplyOf(under(), test.project)).toBe(before);
    await service.burn(aBurn({ burnAmount: 0.000_001 }), test.project.call());
    expect(before - (await supplyOf(under(), test.project))).toBe(1n);
  });

  it('refuses requests of another shape, naming every problem by its path', async () => {
    const { service, test } = under();
    const call = test.project.call();
    const bad = { type: 7, burnAmount: '1', persistOnchain: 'yes' } as unknown as BurnRequest;
    const error = await failureOf(service.burn(bad, call));
    expect(error.code).toBe('ERR_INVALID_REQUEST');
    for (const path of ['type', 'proof', 'burnAmount', 'persistOnchain']) {
      expect(error.message).toContain(path);
    }
    const batchCall = { ...call, idempotencyKey: randomUUID() };
    const inBatch = await failureOf(service.burnBatch([aBurn(), bad], batchCall));
    expect(inBatch.message).toContain('[1].proof');
    for (const body of [{}, null, 'x', aBurn()]) {
      const refused = failureOf(service.burnBatch(body as unknown as BurnRequest[], batchCall));
      expect((await refused).code).toBe('ERR_INVALID_REQUEST');
    }
    const many = Array.from({ length: 1_001 }, () => aBurn());
    expect((await failureOf(service.burnBatch(many, batchCall))).message).toContain('1000');
  });

  it('refuses proof types that are not known, and proofs that are too large', async () => {
    const { service, test } = under();
    const unknown = await failureOf(service.burn(aBurn({ type: 'NOPE' }), test.project.call()));
    expect([unknown.code, unknown.status, unknown.exitCode]).toEqual(['ERR_INVALID_PROOF', 400, 5]);
    const large = aBurn({ proof: { text: 'x'.repeat(64 * 1_024) } });
    expect((await failureOf(service.burn(large, test.project.call()))).code).toBe('ERR_INVALID_PROOF');
  });

  it('says what is missing, and where to send it, when the wallet is short', async () => {
    const { service, register } = under();
    const poor = await register({ burnWalletTokens: '5' });
    const error = await failureOf(service.burn(aBurn({ burnAmount: 5.5 }), poor.call()));
    expect([error.code, error.status]).toEqual(['ERR_BURN_TOKENOMICS_FAILED', 400]);
    expect(error.message).toContain(poor.registration.burnWallet);
    expect(error.message).toContain('5.5');
    await service.burn(aBurn({ burnAmount: 5 }), poor.call());
    const noSol = await register({ burnWalletSol: '0' });
    expect((await failureOf(service.burn(aBurn(), noSol.call()))).code).toBe('ERR_BURN_TOKENOMICS_FAILED');
  });

  it('keeps the daily cap to the last unit, and gives back what failed', async () => {
    const { service, register } = under();
    const capped = await register({ dailyBurn: '10', burnWalletTokens: '20' });
    await service.burn(aBurn({ burnAmount: 4 }), capped.call());
    const over = await failureOf(service.burn(aBurn({ burnAmount: 6.000_001 }), capped.call()));
    expect([over.code, over.status]).toEqual(['ERR_DAILY_LIMIT_EXCEEDED', 400]);
    for (const part of ['10', '4', '6.000001']) expect(over.message).toContain(part);
    await service.burn(aBurn({ burnAmount: 6 }), capped.call());
    expect((await failureOf(service.burn(aBurn({ burnAmount: 0.000_001 }), capped.call()))).code).toBe(
      'ERR_DAILY_LIMIT_EXCEEDED',
    );
    const short = await register({ dailyBurn: '10', burnWalletTokens: '5' });
    const refused = await failureOf(service.burn(aBurn({ burnAmount: 6 }), short.call()));
    expect(refused.code).toBe('ERR_BURN_TOKENOMICS_FAILED');
    await service.burn(aBurn({ burnAmount: 5 }), short.call());
    expect(await balanceOf(under(), short, short.registration.burnWallet)).toBe(0n);
  });

  it('works for v1 tokens only', async () => {
    const { service, register } = under();
    const later = await register({ tokenGeneration: 'v2' });
    expect((await failureOf(service.burn(aBurn(), later.call()))).code).toBe('ERR_TOKEN_NOT_FOUND');
    const call = later.call({ idempotencyKey: randomUUID() });
    const elements = [aBurn(), aBurn({ type: 'NOPE' })];
    const { value } = await service.burnBatch(elements, call);
    expect(value.errors.map(({ type }) => type)).toEqual(['ERR_TOKEN_NOT_FOUND', 'ERR_TOKEN_NOT_FOUND']);
    expect((await service.burnBatch(elements, call)).meta.replayed).toBe(true);
  });

  it('burns Token-2022 mints and mints without decimals', async () => {
    const { service, register } = under();
    const token2022 = await register({ tokenProgram: 'token-2022' });
    const before = await supplyOf(under(), token2022);
    await service.burn(aBurn({ burnAmount: 2 }), token2022.call());
    expect(before - (await supplyOf(under(), token2022))).toBe(2n * UNIT);
    const whole = await register({ decimals: 0 });
    const supply = await supplyOf(under(), whole);
    await service.burn(aBurn({ burnAmount: 3 }), whole.call());
    expect(supply - (await supplyOf(under(), whole))).toBe(3n);
    expect((await failureOf(service.burn(aBurn({ burnAmount: 0.5 }), whole.call()))).code).toBe(
      'ERR_BURN_TOKENOMICS_FAILED',
    );
  });

  it('burns each element of a batch on its own', async () => {
    const { service, register } = under();
    const project = await register({ burnWalletTokens: '10' });
    const elements = [
      aBurn({ burnAmount: 4 }),
      aBurn({ type: 'NOPE' }),
      aBurn({ burnAmount: 5, persistOnchain: true }),
      aBurn({ burnAmount: 2 }),
      aBurn({ burnAmount: 1 }),
    ];
    const seen: ElementOutcome[] = [];
    const call = project.call({ idempotencyKey: randomUUID(), onElement: (element) => seen.push(element) });
    const { value } = await service.burnBatch(elements, call);
    expect(value.success.map(({ hash }) => hash)).toEqual(
      [0, 2, 4].map((index) => proofHash(elements[index]?.proof ?? {})),
    );
    expect(value.errors).toEqual([
      {
        type: 'ERR_INVALID_PROOF',
        message: expect.stringContaining('NOPE'),
        proof: elements[1]?.proof,
        proofType: 'NOPE',
      },
      {
        type: 'ERR_BURN_TOKENOMICS_FAILED',
        message: expect.any(String),
        proof: elements[3]?.proof,
        proofType: 'PRODUCT_BUY',
      },
    ]);
    expect(await balanceOf(under(), project, project.registration.burnWallet)).toBe(0n);
    expect(new Set(value.success.map(({ txHash }) => txHash)).size).toBe(3);
    expect(seen.map(({ index, status }) => [index, status]).sort()).toEqual([
      [0, 'success'],
      [1, 'error'],
      [2, 'success'],
      [3, 'error'],
      [4, 'success'],
    ]);
  });
}
