/** Who may do what: one answer for every key that is not good, and the scope that each operation asks for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import { type Sha256, sha256 } from '../../../src/values/digest.js';
import { randomIds } from '../../../src/values/ids.js';
import type { Scope } from '../../../src/values/schemas.js';
import { Secret } from '../../../src/values/secret.js';
import { replacing } from '../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  type TestEngine,
} from '../../support/engine.js';
import { rawSqlite } from '../../support/store.js';

let test: TestEngine;
beforeAll(async () => {
  test = await openTestEngine();
});
afterAll(() => test.destroy());

const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';

/** Every operation, called as well as it can be. */
const operations: readonly (readonly [string, (call: Call) => Promise<unknown>])[] = [
  ['burn', (call) => test.engine.burn(aBurnRequest(1), call)],
  [
    'burnBatch',
    (call) => test.engine.burnBatch([aBurnRequest(1)], { ...call, idempotencyKey: randomIds.uuid() }),
  ],
  ['getBatch', (call) => test.engine.getBatch({ batchId: BATCH_ID }, call)],
  ['currentBatch', (call) => test.engine.currentBatch(call)],
  ['initBatch', (call) => test.engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, call)],
  [
    'executeBatch',
    (call) => test.engine.executeBatch({ batchId: BATCH_ID, signedTx: 'AAAA' } as never, call),
  ],
  ['authenticate', ({ credential }) => test.engine.authenticate(credential)],
];

const answerOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'accepted',
    ({ code, message, hint, status }) => ({ code, message, hint, status }),
  );

const credentialWith = async (scopes: readonly Scope[]): Promise<Secret> =>
  new Secret((await test.engine.createKey({ scopes, proofTypes: null })).key);

describe('authenticate', () => {
  it.each(operations)(
    'gives %s the same answer for a missing, an unknown and a revoked key',
    async (_name, run) => {
      const { id, key } = await test.engine.createKey({ scopes: ['burn', 'airdrop'], proofTypes: null });
      await test.engine.revokeKey(id);
      const good = test.project.key.reveal();
      const bad = [
        null,
        new Secret(''),
        new Secret('fwk_unknown'),
        new Secret(key),
        new Secret(`${good} `),
        new Secret(good.slice(0, -1)),
      ];
      const answers = await Promise.all(bad.map((credential) => answerOf(run({ credential }))));
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
      expect(answers[0]).toMatchObject({
        code: 'ERR_UNAUTHORIZED',
        message: 'The API key is missing or not valid.',
        status: 401,
      });
    },
  );

  it('stops a key from the moment it is revoked', async () => {
    const { id, key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: null });
    const call = { credential: new Secret(key) };
    expect((await test.engine.currentBatch(call)).value).toBeNull();
    await test.engine.revokeKey(id);
    expect(await answerOf(test.engine.currentBatch(call))).toMatchObject({ code: 'ERR_UNAUTHORIZED' });
  });

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
      read: (work) =>
        test.store.read((tx) => {
          const withProject = (hash: Sha256) => {
            asked.push(hash);
            return tx.apiKeys.withProject(hash);
          };
          return work(replacing(tx, { apiKeys: replacing(tx.apiKeys, { withProject }) }));
        }),
    });
    const engine = engineBeside(test, { store });
    const answers = await Promise.all(
      keys.map((key) => answerOf(engine.authenticate(new Secret(key)).then(() => 'accepted'))),
    );
    expect([...asked].sort()).toEqual(keys.map((key) => sha256(key)).sort());
    expect(answers.map((answer) => answer === 'accepted')).toEqual([true, false, false, false]);
  });

  it('keeps only the hash of a key', async () => {
    const rows = rawSqlite(`${test.dataDir}/store.db`, 'select * from api_keys');
    const key = test.project.key.reveal();
    expect(JSON.stringify(rows)).not.toContain(key.slice(4));
    expect(rows.map(({ hash }) => hash)).toContain(sha256(key));
    expect(key).toMatch(/^fwk_[1-9A-HJ-NP-Za-km-z]{40,44}$/);
  });
});

describe('scopes', () => {
  it.each([
    ['burn', ['airdrop'], '`burn`'],
    ['burnBatch', ['airdrop'], '`burn`'],
    ['getBatch', [], '`burn` or `airdrop`'],
    ['currentBatch', [], '`burn` or `airdrop`'],
    ['initBatch', [], '`burn` or `airdrop`'],
    ['executeBatch', [], '`burn` or `airdrop`'],
  ] as const)('%s is refused to a key with the scopes %j, which names %s', async (name, scopes, needed) => {
    const [, run] = operations.find(([operation]) => operation === name) ?? expect.fail();
    const answer = await answerOf(run({ credential: await credentialWith(scopes) }));
    expect(answer).toMatchObject({
      code: 'ERR_KEY_SCOPES_UNAUTHORIZED',
      message: `The API key needs the scope ${needed}.`,
      status: 403,
    });
  });

  it.each([[['burn']], [['airdrop']]] as const)('batches can be read with %j', async (scopes) => {
    const credential = await credentialWith(scopes);
    expect((await test.engine.currentBatch({ credential })).value).toBeNull();
    expect(await answerOf(test.engine.getBatch({ batchId: BATCH_ID }, { credential }))).toMatchObject({
      code: 'ERR_BATCH_NOT_FOUND',
    });
  });

  it('come before the judgement of the input', async () => {
    const credential = await credentialWith(['airdrop']);
    expect(await answerOf(test.engine.burn({} as never, { credential }))).toMatchObject({
      code: 'ERR_KEY_SCOPES_UNAUTHORIZED',
    });
    expect(await answerOf(test.engine.burn({} as never, { credential: null }))).toMatchObject({
      code: 'ERR_UNAUTHORIZED',
    });
  });
});

describe('getBatch', () => {
  it('finds none for what is no UUID', async () => {
    expect(await answerOf(test.engine.getBatch({ batchId: 'x' }, test.project.call()))).toMatchObject({
      code: 'ERR_BATCH_NOT_FOUND',
      message: 'There is no batch x.',
    });
  });
});
