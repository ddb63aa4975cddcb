/** A project's reported funds, compared with the real needs of batches and burns. */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { replacing } from '../../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  engineBeside,
  openTestEngine,
  type TestEngine,
} from '../../../support/engine.js';
import { namedAddress } from '../../../support/oracle.js';

let test: TestEngine;
afterEach(() => test.destroy());

describe('the report of a vault', () => {
  it('says what a batch of pipelines takes, and what the caps leave', async () => {
    test = await openTestEngine({ dailyBurn: '50' });
    const before = await test.engine.vault();
    expect(before).toMatchObject({
      multisig: test.project.registration.multisig,
      today: { burn: { used: '0', cap: '50', left: '50' }, airdrop: { used: '0', cap: null, left: null } },
      pipelines: { openRentLamports: '0', atOnce: expect.any(Number) },
    });
    const call = test.project.call({ idempotencyKey: randomUUID() });
    await test.engine.burn(aBurnRequest(20), call);
    const airdrop = { action: 'AIRDROP' as const, toAddress: namedAddress('new'), amount: 1 };
    const pipelines = Array.from({ length: 10 }, () => aPipeline([airdrop]));
    await test.engine.initBatch({ pipelines }, test.project.call({ idempotencyKey: randomUUID() }));
    const after = await test.engine.vault();
    expect(after.today).toMatchObject({ burn: { used: '20', left: '30' }, airdrop: { used: '10' } });
    const rent = BigInt(before.pipelines.rentLamports);
    const open = BigInt(after.pipelines.openRentLamports);
    // Ten of them, and the two accounts that every batch has.
    expect(open).toBeGreaterThan(10n * rent);
    expect(open - 10n * rent).toBeLessThan(4n * rent);
    const spent = BigInt(before.balances.operator.lamports) - BigInt(after.balances.operator.lamports) - open;
    expect(spent).toBeGreaterThan(0n);
    expect(spent).toBeLessThanOrEqual(10n * BigInt(before.pipelines.feeLamports));
  });

  it('says nothing is left where the operator or the burn wallet has nothing', async () => {
    test = await openTestEngine({ burnWalletSol: '0' }, { limits: { minOperatorLamports: 10n ** 15n } });
    expect(await test.engine.vault()).toMatchObject({
      pipelines: { atOnce: 0, lasts: '0' },
      burns: { lasts: '0' },
    });
  });

  it('counts only recorded burns where the supply can grow', async () => {
    test = await openTestEngine();
    const { chain, project } = test;
    await test.engine.burn(aBurnRequest(3), project.call());
    const growing = replacing(chain, {
      getAccounts: async (addresses) =>
        (await chain.getAccounts(addresses)).map((account, at) => {
          if (account === null || addresses[at] !== project.registration.mintAddress) return account;
          const data = Buffer.from(account.data);
          // Has an authority, which has minted twice as much again (SPL Token's layout of a mint).
          data.writeUInt32LE(1, 0);
          data.writeBigUInt64LE(data.readBigUInt64LE(36) * 2n, 36);
          return { ...account, data };
        }),
    });
    expect((await engineBeside(test, { chain: growing }).status()).burned).toBe('3');
  });
});
