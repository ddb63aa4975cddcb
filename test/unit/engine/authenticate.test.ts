/** Authentication: one answer for every invalid key, and the scope of each operation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/values/digest.js';
import { Secret } from '../../../src/values/secret.js';
import { replacing } from '../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../support/engine.js';
import { rawSqlite } from '../../support/store.js';

let test: TestEngine;
beforeAll(async () => {
  test = await openTestEngine();
});
afterAll(() => test.destroy());

const answerOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'accepted',
    ({ code, message, hint, status }) => ({ code, message, hint, status }),
  );

describe('authenticate', () => {
  it('looks for nothing but the digest of the whole key, however much of it is right', async () => {
    const right = test.project.key.reveal();
    const keys = [
      right,
      `${right.slice(0, -1)}${right.endsWith('1') ? '2' : '1'}`,
      `fwk_${'z'.repeat(44)}`,
      '',
    ];
    const asked: string[] = [];
    const store = replacing(test.store, {
      findKey: (hash, of) => {
        asked.push(hash);
        return test.store.findKey(hash, of);
      },
    });
    const engine = engineBeside(test, { store });
    const answers = await Promise.all(
      keys.map((key) => {
        const credential = new Secret(key);
        return answerOf(engine.authenticate('burn', { credential }).then(() => 'accepted'));
      }),
    );
    expect([...asked].sort()).toEqual(keys.map((key) => sha256(key)).sort());
    expect(answers.map((answer) => answer === 'accepted')).toEqual([true, false, false, false]);
  });

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
