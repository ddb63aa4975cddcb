/** Tokens, flywheels and keys. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { sha256 } from '../../../src/values/digest.js';
import { aFlywheel, anApiKey, aToken, LATER } from '../../support/store.js';

/** Tokens, flywheels and keys. */
export function registrations(store: () => Store): void {
  describe('tokens, flywheels and keys', () => {
    it('gives back exactly what was inserted', async () => {
      const read = await store().read(async (tx) => ({
        token: await tx.tokens.get('token-1'),
        tokens: await tx.tokens.list(),
        flywheel: await tx.flywheels.ofToken('token-1'),
        key: await tx.apiKeys.get('key-1'),
        byHash: await tx.apiKeys.byHash(sha256('key-1')),
        keys: await tx.apiKeys.ofToken('token-1'),
      }));
      expect(read).toStrictEqual({
        token: aToken(),
        tokens: [aToken()],
        flywheel: aFlywheel(),
        key: anApiKey(),
        byHash: anApiKey(),
        keys: [anApiKey()],
      });
    });

    it('knows nothing of what was not inserted', async () => {
      const read = await store().read(async (tx) => [
        await tx.tokens.get('token-2'),
        await tx.flywheels.ofToken('token-2'),
        await tx.apiKeys.get('key-2'),
        await tx.apiKeys.byHash(sha256('key-2')),
        await tx.apiKeys.ofToken('token-2'),
      ]);
      expect(read).toStrictEqual([undefined, undefined, undefined, undefined, []]);
    });

    it('keeps the time of the first revocation', async () => {
      const key = anApiKey({ id: 'key-2', hash: sha256('key-2'), proofTypes: ['WATCH_AD'] });
      await store().transaction(async (tx) => {
        await tx.apiKeys.insert(key);
        await tx.apiKeys.revoke('key-2', LATER);
        await tx.apiKeys.revoke('key-2', '2026-02-01T00:00:00.000Z');
      });
      expect(await store().read((tx) => tx.apiKeys.get('key-2'))).toStrictEqual({
        ...key,
        dateRevoked: LATER,
      });
      await expect(store().transaction((tx) => tx.apiKeys.revoke('key-3', LATER))).rejects.toMatchObject({
        code: 'ERR_INTERNAL',
      });
    });
  });
}
