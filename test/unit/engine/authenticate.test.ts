/** Authentication: one answer for every invalid key, and the scope of each operation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/values/digest.js';
import { Secret } from '../../../src/values/secret.js';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../support/engine.js';
import { rawSqlite } from '../../support/store.js';

let test: TestEngine;
beforeAll(async () => {
  test = await openTestEngine();
});
afterAll(() => test.destroy());

describe('authenticate', () => {
  it('asks again who calls where what is asked for comes late: the key may have been revoked', async () => {
    const { key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: null });
    const credential = new Secret(key);
    const caller = await test.engine.authenticate('burn', { credential });
    test.passLease();
    await test.engine.revokeKey(caller.keyId);
    const late = caller.perform(aBurnRequest(1), { credential, idempotencyKey: 'late' });
    await expect(late).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' });
  });

  it('keeps only the hash of a key', async () => {
    const rows = rawSqlite(`${test.dataDir}/store.db`, 'select * from api_keys');
    const key = test.project.key.reveal();
    expect(JSON.stringify(rows)).not.toContain(key.slice(4));
    expect(rows.map(({ hash }) => hash)).toContain(sha256(key));
    expect(key).toMatch(/^fwk_[1-9A-HJ-NP-Za-km-z]{40,44}$/);
  });
});
