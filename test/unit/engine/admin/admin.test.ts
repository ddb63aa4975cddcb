/** Registration, funding, keys and status of the embedded engine. */
import { afterEach, describe, expect, it } from 'vitest';
import type { RegisterInput } from '../../../../src/contract/admin.js';
import { aBurnRequest, landedCount, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

describe('register', () => {
  it.each<[string, Partial<RegisterInput>, string]>([
    [
      'a share above the supply',
      { supply: '100', vaultTokens: '60', burnWalletTokens: '41' },
      'more than the supply of 100 FLY',
    ],
    [
      'more decimals than the token has',
      { vaultTokens: '0.0000001' },
      'has more decimals than the token has (6)',
    ],
    ['no supply', { supply: '0' }, 'must be positive'],
    ['more than a u64', { supply: '1e15' }, 'more than a token account can hold'],
    [
      'a wallet that cannot exist',
      { vaultSol: '0.0001' },
      'The vault needs 0 SOL, or at least 0.00089088 SOL',
    ],
    ['a negative share', { burnWalletTokens: '-1' }, 'Expected a positive decimal number'],
    ['a cap that cannot be expressed', { dailyBurn: '0.0000001' }, 'has more decimals'],
    ['an owner that is no address', { owner: 'nobody' }, 'Expected a base58 address'],
  ])('refuses %s, and makes nothing', async (_name, more, part) => {
    test = await openTestEngine();
    const height = await landedCount(test.chain);
    await expect(test.register(more)).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      message: expect.stringContaining(part),
    });
    expect(await landedCount(test.chain)).toBe(height);
  });

  it('takes shares and caps of nothing', async () => {
    test = await openTestEngine({ vaultTokens: '0', burnWalletTokens: '0.0', vaultSol: '0', dailyBurn: '0' });
    expect((await test.engine.status()).balances.vault).toEqual({ tokens: '0', lamports: '0' });
    await expect(test.engine.burn(aBurnRequest(1), test.project.call())).rejects.toMatchObject({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
    });
  });
});

describe('fund', () => {
  it.each([
    ['nothing', {}, 'ERR_INVALID_REQUEST', 'No amount was given.'],
    ['zero', { sol: '0' }, 'ERR_INVALID_REQUEST', 'must be positive'],
    ['more than there is', { tokens: '999000001' }, 'ERR_INSUFFICIENT_FUNDS', 'insufficient funds'],
    ['more SOL than there is', { sol: '10000000000' }, 'ERR_INSUFFICIENT_FUNDS', 'cannot send this'],
    ['nobody', { to: 'somebody', sol: '1' }, 'ERR_INVALID_REQUEST', '"somebody"'],
  ])('refuses %s', async (_name, input, code, part) => {
    test = await openTestEngine();
    const before = [await landedCount(test.chain), await test.engine.status()];
    await expect(test.engine.fund({ to: 'vault', ...input })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(part),
    });
    expect([await landedCount(test.chain), await test.engine.status()]).toEqual(before);
  });
});

describe('keys', () => {
  it('leave a line each in the audit log, without the keys', async () => {
    test = await openTestEngine();
    const { id, key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: null });
    await test.engine.revokeKey(id);
    const acts = await test.engine.audit({ limit: 9 });
    expect(acts.map(({ action, subject }) => [action, subject])).toMatchObject([
      ['keys.revoke', id],
      ['keys.create', id],
      ['register', expect.any(String)],
    ]);
    expect(JSON.stringify(acts)).not.toContain(key);
  });

  it('cannot have what the flywheel has not, nor be revoked from outside', async () => {
    test = await openTestEngine();
    await expect(
      test.engine.createKey({ scopes: ['burn'], proofTypes: ['X', 'WATCH_AD', 'Y'] }),
    ).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      message: 'The project has no proof type X, Y. It has PRODUCT_BUY, WATCH_AD.',
    });
    await expect(test.engine.revokeKey('no-such-key')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
    const other = await test.register({ symbol: 'OTH' });
    const known = (credential: typeof other.key) => test.engine.authenticate('describeKey', { credential });
    const { keyId } = await known(other.key);
    // The first project cannot revoke the second project's key.
    const list = await test.engine.listKeys();
    const foreign = list.some(({ id }) => id === keyId) ? test.project.key : other.key;
    const { keyId: foreignId } = await known(foreign);
    await expect(test.engine.revokeKey(foreignId)).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
    expect(await known(foreign)).toMatchObject({ keyId: foreignId });
  });
});
