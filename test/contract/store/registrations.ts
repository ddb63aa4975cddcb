/** Store contract: projects and keys. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { sha256 } from '../../../src/values/digest.js';
import { anApiKey, aProject, aRequest, CREATED, LATER } from './records.js';

export function registrations(store: () => Store): void {
  describe('projects and keys', () => {
    it('finds a key together with its project', async () => {
      const nothing = { earlier: undefined, nowMs: expect.any(Number) };
      const found = { key: anApiKey(), project: aProject(), ...nothing };
      expect(await store().findKey(sha256('key-1'))).toStrictEqual(found);
      expect(await store().findKey(sha256('key-3'))).toBeUndefined();
    });

    it('finds beside a key the request that is known by an idempotency key', async () => {
      const request = aRequest();
      const { operation, value } = request;
      const earlier = async (asked: { operation: typeof operation; value: string }) =>
        (await store().findKey(sha256('key-1'), asked))?.earlier;
      expect(await earlier({ operation, value })).toMatchObject(request);
      expect(await earlier({ operation, value: 'another' })).toBeUndefined();
      expect(await earlier({ operation: 'initBatch', value })).toBeUndefined();
    });

    it('tells of a key and its project as they stand at each time, whatever was told before', async () => {
      const hash = sha256('key-1');
      const found = async () => ({ ...(await store().findKey(hash)), nowMs: 0 });
      const before = await found();
      const undone = store().transaction(async (tx) => {
        await tx.apiKeys.change({ id: 'key-1' }, { dateRevoked: LATER });
        expect((await tx.apiKeys.find({ hash }))?.dateRevoked).toBe(LATER);
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      expect(await found()).toStrictEqual(before);
      const terms = { facts: { threshold: '2' }, minOperatorSol: 2n ** 60n };
      await store().transaction((tx) => tx.projects.change({ id: 'token-1' }, terms));
      expect((await found()).project).toMatchObject(terms);
      await store().transaction((tx) => tx.apiKeys.change({ id: 'key-1' }, { dateRevoked: LATER }));
      expect((await found()).key?.dateRevoked).toBe(LATER);
    });

    it('changes a row that is as it is expected, and no other', async () => {
      const end = { dateExpires: LATER };
      await store().transaction((tx) => tx.apiKeys.change({ id: 'key-1', dateExpires: null }, end));
      expect(await store().read((tx) => tx.apiKeys.find({ id: 'key-1' }))).toStrictEqual(anApiKey(end));
      for (const other of [{ id: 'key-9' }, { id: 'key-1', dateExpires: null }])
        await expect(store().transaction((tx) => tx.apiKeys.change(other, end))).rejects.toMatchObject({
          code: 'ERR_INTERNAL',
        });
    });

    it('lists administrative acts, newest first, of one project or of all', async () => {
      const act = (subject: string, tokenId: string | null, dateCreated: string) => ({
        ...{ tokenId, actor: 'me@here pid 1', action: 'keys.create' as const, subject },
        ...{ detail: { scopes: ['burn'] }, dateCreated },
      });
      const acts = [
        act('one', 'token-1', CREATED),
        act('two', null, LATER),
        act('three', 'token-1', '2026-02-01T00:00:00.000Z'),
      ];
      await store().transaction(async (tx) => {
        for (const entry of acts) await tx.audit.append(entry);
      });
      const subjects = async (filter: { tokenId?: string; since?: string; until?: string }, limit = 10) =>
        (await store().read((tx) => tx.audit.list({ ...filter, limit }))).map(({ subject }) => subject);
      expect(await subjects({})).toEqual(['three', 'two', 'one']);
      expect(await subjects({ tokenId: 'token-1' })).toEqual(['three', 'one']);
      expect(await subjects({ since: LATER })).toEqual(['three', 'two']);
      expect(await subjects({ until: LATER })).toEqual(['one']);
      expect(await subjects({}, 1)).toEqual(['three']);
      const [last] = await store().read((tx) => tx.audit.list({ limit: 1 }));
      expect(last).toStrictEqual({ ...acts[2], ordinal: 3 });
    });
  });
}
