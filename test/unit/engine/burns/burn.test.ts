/** The two burn operations: what burns, what is refused and how it says so, and what caps and keys allow. */
import { afterEach, describe, expect, it } from 'vitest';
import { MEMO_PROGRAM, TOKEN_2022_PROGRAM } from '../../../../src/chain/programs.js';
import { decodeTransaction } from '../../../../src/chain/transaction/wire.js';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { MAX_JSON_DEPTH } from '../../../../src/values/canonical-json.js';
import { proofHash } from '../../../../src/values/digest.js';
import { InexactNumber, jsonText } from '../../../../src/values/exact-number.js';
import { randomIds } from '../../../../src/values/ids.js';
import { Secret } from '../../../../src/values/secret.js';
import { HandClock } from '../../../support/chain.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aBurnRequest,
  engineBeside,
  lamportsOf,
  openTestEngine,
  type TestEngine,
  tokensOf,
} from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const burn = (request: unknown, key?: string) =>
  test.engine.burn(
    request as BurnRequest,
    test.project.call(key === undefined ? {} : { idempotencyKey: key }),
  );

const burnBatch = (requests: unknown, key: string = randomIds.uuid()) =>
  test.engine.burnBatch(requests as BurnRequest[], test.project.call({ idempotencyKey: key }));

/** Refused so, and not a token, lamport or block later. */
async function expectRefused(work: () => Promise<unknown>, code: string, ...parts: string[]): Promise<void> {
  const before = [await test.chain.blockHeight(), await test.engine.status()];
  const error = await work().then(
    () => expect.fail('was accepted'),
    (reason: { code: string; message: string }) => reason,
  );
  expect(error).toMatchObject({ code });
  for (const part of parts) expect(error.message).toContain(part);
  expect([await test.chain.blockHeight(), await test.engine.status()]).toEqual(before);
}

describe('burn', () => {
  it('burns, and says what stands on chain', async () => {
    test = await openTestEngine();
    const request = aBurnRequest(12.5, { proof: { b: [1, 'é'], a: { c: null } } });
    const { value, meta } = await burn(request);
    const [record] = await test.chain.lookUp([value.txHash]);
    expect(value).toEqual({
      result: 'SUCCESS',
      hash: proofHash(request.proof),
      txHash: record?.signature,
      type: 'PRODUCT_BUY',
      dateBurned: new Date(record?.blockTimeMs ?? 0).toISOString(),
    });
    expect(meta).toEqual({ replayed: false });
    expect(await test.engine.status()).toMatchObject({ burned: '12.5', usedToday: { burn: '12.5' } });
    const { burnWallet } = test.project.registration;
    expect(await tokensOf(test.chain, test.project, burnWallet)).toBe(1_000_000_000_000n - 12_500_000n);
    expect(await lamportsOf(test.chain, burnWallet)).toBe(10_000_000_000n - 5_000n);
  });

  it.each(['token', 'token-2022'] as const)(
    'records the proof on chain when asked to (%s)',
    async (tokenProgram) => {
      test = await openTestEngine({ tokenProgram, decimals: 9, supply: '1000000000' });
      const request = aBurnRequest(0.000000001, { persistOnchain: true, type: 'WATCH_AD' });
      const { value } = await burn(request);
      const wire = await test.chain.getTransaction(value.txHash);
      const { message } = decodeTransaction(wire ?? new Uint8Array());
      const memos = message.instructions.filter(
        ({ programIndex }) => message.staticKeys[programIndex] === MEMO_PROGRAM,
      );
      expect(memos.map(({ data }) => Buffer.from(data).toString())).toEqual([
        `{"type":"WATCH_AD","hash":"${proofHash(request.proof)}"}`,
      ]);
      expect(message.staticKeys.includes(TOKEN_2022_PROGRAM)).toBe(tokenProgram === 'token-2022');
      expect((await test.engine.status()).burned).toBe('0.000000001');
    },
  );

  it('records no proof when not asked to', async () => {
    test = await openTestEngine();
    const { value } = await burn(aBurnRequest(1));
    const wire = await test.chain.getTransaction(value.txHash);
    expect(decodeTransaction(wire ?? new Uint8Array()).message.staticKeys).not.toContain(MEMO_PROGRAM);
  });

  it('works for v1 tokens only', async () => {
    test = await openTestEngine({ tokenGeneration: 'v2' });
    await expectRefused(() => burn(aBurnRequest(1)), 'ERR_TOKEN_NOT_FOUND', 'generation v2');
    const { value } = await burnBatch([aBurnRequest(1), aBurnRequest(0)]);
    expect(value.success).toEqual([]);
    expect(value.errors.map(({ type }) => type)).toEqual(['ERR_TOKEN_NOT_FOUND', 'ERR_TOKEN_NOT_FOUND']);
  });

  it.each([
    ['more decimals than the mint has', { burnAmount: 0.0000001 }, 'The amount 1e-7 has more decimals'],
    ['zero', { burnAmount: 0 }, 'got 0'],
    ['a negative amount', { burnAmount: -1 }, 'got -1'],
    ['NaN', { burnAmount: Number.NaN }, 'got NaN'],
    ['infinity', { burnAmount: Number.POSITIVE_INFINITY }, 'got Infinity'],
    ['more than a u64', { burnAmount: 1e19 }, 'more than a token account can hold'],
    ['an inexact one', { burnAmount: new InexactNumber('0.10000000000000000001') }, '0.10000000000000000001'],
  ])('refuses as an amount %s', async (_name, more, part) => {
    test = await openTestEngine();
    await expectRefused(
      () => burn({ ...aBurnRequest(1), ...more }),
      'ERR_BURN_TOKENOMICS_FAILED',
      'burnAmount',
      part,
    );
  });

  it.each([
    ['a list as proof', { proof: [] }, 'expected a JSON object'],
    ['null as proof', { proof: null }, 'expected a JSON object'],
    ['an empty type', { type: '' }, 'The proof type "" is not known'],
    ['a type that is too long', { type: 'T'.repeat(65) }, `"${'T'.repeat(64)}…"`],
    [
      'a number that no double carries',
      { proof: { a: [new InexactNumber('9007199254740993')] } },
      '9007199254740993 is not kept exactly by JSON readers; write it as text',
    ],
  ])('refuses as a proof %s', async (_name, more, part) => {
    test = await openTestEngine();
    await expectRefused(() => burn({ ...aBurnRequest(1), ...more }), 'ERR_INVALID_PROOF', part);
  });

  it.each([
    ['an amount as text', { burnAmount: '1' }, 'burnAmount: expected a number'],
    ['no proof', { proof: undefined }, 'proof: expected a JSON object'],
    ['a number as type', { type: 1 }, 'type: expected text'],
    ['a text for persistOnchain', { persistOnchain: 'yes' }, 'persistOnchain: expected true or false'],
  ])('refuses as another shape %s', async (_name, more, part) => {
    test = await openTestEngine();
    await expectRefused(() => burn({ ...aBurnRequest(1), ...more }), 'ERR_INVALID_REQUEST', part);
  });

  it('ignores other properties, and knows a request by all of them', async () => {
    test = await openTestEngine();
    const { value } = await burn({ ...aBurnRequest(1), note: 'a' }, 'key-1');
    expect(value.hash).toBe(proofHash(aBurnRequest(1).proof));
    expect((await burn({ ...aBurnRequest(1), note: 'a' }, 'key-1')).meta.replayed).toBe(true);
    await expectRefused(() => burn({ ...aBurnRequest(1), note: 'b' }, 'key-1'), 'ERR_IDEMPOTENCY_KEY_REUSED');
  });

  it('refuses proof types that are unknown, or not for this key', async () => {
    test = await openTestEngine();
    const { key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const credential = new Secret(key);
    await expectRefused(() => burn(aBurnRequest(1, { type: 'OTHER' })), 'ERR_INVALID_PROOF', '"OTHER"');
    await expectRefused(() => test.engine.burn(aBurnRequest(1), { credential }), 'ERR_INVALID_PROOF');
    const { value } = await test.engine.burn(aBurnRequest(1, { type: 'WATCH_AD' }), { credential });
    expect(value.type).toBe('WATCH_AD');
  });

  it('refuses proofs that are too large or cannot be written', async () => {
    test = await openTestEngine();
    const large = { text: 'x'.repeat(65_536) };
    await expectRefused(() => burn(aBurnRequest(1, { proof: large })), 'ERR_INVALID_PROOF', '65547 bytes');
    const exact = { text: 'x'.repeat(65_536 - 11) };
    expect((await burn(aBurnRequest(1, { proof: exact }))).value.hash).toBe(proofHash(exact));
    const broken = { text: '\ud800' };
    await expectRefused(() => burn(aBurnRequest(1, { proof: broken })), 'ERR_INVALID_PROOF', 'surrogate');
  });

  it('names the wallet and what it lacks', async () => {
    test = await openTestEngine({ burnWalletTokens: '2', burnWalletSol: '0.0009' });
    const { burnWallet } = test.project.registration;
    await expectRefused(
      () => burn(aBurnRequest(2.5)),
      'ERR_BURN_TOKENOMICS_FAILED',
      `The burn wallet ${burnWallet} has 2 FLY left, 2.5 FLY are needed`,
    );
    // 0.0009 SOL are one fee above the 0.00089088 that the wallet needs to exist.
    await burn(aBurnRequest(1));
    await expectRefused(
      () => burn(aBurnRequest(1)),
      'ERR_BURN_TOKENOMICS_FAILED',
      `The burn wallet ${burnWallet} has 0.00000412 SOL left for fees, 0.000005 SOL are needed`,
    );
  });

  it('tells of a burn that failed on chain, gives its cap back and its key free', async () => {
    test = await openTestEngine({ burnWalletTokens: '5', dailyBurn: '100' });
    const call = test.project.call({ idempotencyKey: 'key-1' });
    // Somebody else burns between the look at the balance and the landing.
    const late = chainOver(test.chain, {
      submit: async (transactions) => {
        await burn(aBurnRequest(4));
        return test.chain.submit(transactions);
      },
    });
    await expect(engineBeside(test, { chain: late }).burn(aBurnRequest(2), call)).rejects.toMatchObject({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
      message: expect.stringMatching(/insufficient funds.*\(transaction [1-9A-HJ-NP-Za-km-z]{80,90}\)\.$/),
    });
    expect(await test.engine.status()).toMatchObject({ burned: '4', usedToday: { burn: '4' } });
    await test.engine.fund({ to: 'burn-wallet', tokens: '1' });
    const { meta } = await test.engine.burn(aBurnRequest(2), call);
    expect(meta.replayed).toBe(false);
    expect((await test.engine.status()).burned).toBe('6');
  });

  it('counts the daily cap by UTC day', async () => {
    const clock = new HandClock(Date.UTC(2026, 0, 31, 23, 59, 59, 999));
    test = await openTestEngine({ dailyBurn: '10' }, { clock });
    await burn(aBurnRequest(7));
    await expectRefused(
      () => burn(aBurnRequest(3.000001)),
      'ERR_DAILY_LIMIT_EXCEEDED',
      'The daily burn cap of 10 FLY would be passed: 7 FLY are used on 2026-01-31 (UTC), 3.000001 FLY were asked for.',
    );
    await burn(aBurnRequest(3));
    expect((await test.engine.status()).usedToday.burn).toBe('10');
    clock.timeMs += 1;
    expect((await test.engine.status()).usedToday.burn).toBe('0');
    await burn(aBurnRequest(10));
    await expectRefused(() => burn(aBurnRequest(0.000001)), 'ERR_DAILY_LIMIT_EXCEEDED', '2026-02-01');
  });
});

describe('burnBatch', () => {
  it('burns equal elements each, and answers in the order of the request', async () => {
    test = await openTestEngine();
    const same = aBurnRequest(1, { proof: { order: 'same' } });
    const seen: number[] = [];
    const { value } = await test.engine.burnBatch(
      [same, aBurnRequest(2, { type: 'OTHER' }), same, same],
      test.project.call({ idempotencyKey: randomIds.uuid(), onElement: ({ index }) => seen.push(index) }),
    );
    expect(value.success.map(({ hash }) => hash)).toEqual(Array(3).fill(proofHash(same.proof)));
    expect(new Set(value.success.map(({ txHash }) => txHash)).size).toBe(3);
    expect(value.errors).toEqual([
      {
        message: 'The proof type "OTHER" is not known or not permitted for this key.',
        type: 'ERR_INVALID_PROOF',
        proof: { order: 2 },
        proofType: 'OTHER',
      },
    ]);
    expect(seen).toEqual([0, 1, 2, 3]);
    expect((await test.engine.status()).burned).toBe('3');
  });

  it('judges amounts, proofs and types element by element', async () => {
    test = await openTestEngine();
    const { value } = await burnBatch([
      aBurnRequest(1),
      aBurnRequest(0.0000001),
      { ...aBurnRequest(2), proof: [1] },
      { ...aBurnRequest(2), proof: { n: new InexactNumber('1e-400') } },
      aBurnRequest(1e15),
      { ...aBurnRequest(4), note: 'ignored' },
    ]);
    expect(value.success).toHaveLength(2);
    expect(value.errors.map(({ type, proof }) => [type, JSON.parse(jsonText(proof))])).toEqual([
      ['ERR_BURN_TOKENOMICS_FAILED', { order: 1e-7 }],
      ['ERR_INVALID_PROOF', [1]],
      ['ERR_INVALID_PROOF', { n: 0 }],
      ['ERR_BURN_TOKENOMICS_FAILED', { order: 1e15 }],
    ]);
    expect(jsonText(value.errors[2]?.proof)).toBe('{"n":1e-400}');
    expect((await test.engine.status()).burned).toBe('5');
  });

  it('stores no refused proof, and repeats the answer all the same', async () => {
    test = await openTestEngine();
    const requests = Array.from({ length: 20 }, (_, index) => ({
      ...aBurnRequest(1, { proof: { index, note: 'x'.repeat(50_000) } }),
      ...(index % 2 === 0 ? { type: `UNKNOWN ${'y'.repeat(10_000)}` } : {}),
    }));
    const key = randomIds.uuid();
    const first = await burnBatch(requests, key);
    expect([first.value.success.length, first.value.errors.length]).toEqual([10, 10]);
    const stored = await test.store.read(async (tx) => {
      const [token] = await tx.tokens.list();
      return tx.requests.find(token?.id ?? '', 'burnBatch', key);
    });
    expect(stored?.reply?.length).toBeLessThan(10_000);
    const repeat = await burnBatch(requests, key);
    expect([repeat.meta.replayed, jsonText(repeat.value)]).toEqual([true, jsonText(first.value)]);
  });

  it('gives proofs back as they were sent, digit by digit, also when the answer is repeated', async () => {
    test = await openTestEngine();
    const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)]);
    const proofs = [
      { id: new InexactNumber('9007199254740993'), list: [new InexactNumber('1e400'), 2 ** 53 + 2] },
      { n: new InexactNumber('0.1000000000000000055511151231257827') },
      // As deep as a proof may be, and one more than a body may be with the answer around it.
      { deep: nest(MAX_JSON_DEPTH - 2), id: new InexactNumber('-9007199254740993') },
    ];
    const requests = [aBurnRequest(1), ...proofs.map((proof) => ({ ...aBurnRequest(1), proof }))];
    const key = randomIds.uuid();
    const first = await burnBatch(requests, key);
    expect(first.value.errors.map(({ proof }) => jsonText(proof))).toEqual(proofs.map(jsonText));
    const repeat = await burnBatch(requests, key);
    expect(repeat.meta.replayed).toBe(true);
    expect(jsonText(repeat.value)).toBe(jsonText(first.value));
  });

  it('refuses another structure as a whole, and names the first 20 problems', async () => {
    test = await openTestEngine();
    await expectRefused(
      () => burnBatch([aBurnRequest(1), { ...aBurnRequest(1), burnAmount: '1', persistOnchain: 1 }, 5]),
      'ERR_INVALID_REQUEST',
      '[1].burnAmount: expected a number',
      '[1].persistOnchain: expected true or false',
      '[2]',
    );
    await expectRefused(() => burnBatch(Array(30).fill(1)), 'ERR_INVALID_REQUEST', '[19]', 'and 10 more');
  });

  it.each([
    ['an object', {}, 'expected an array of burns'],
    ['too many', Array(4).fill(aBurnRequest(1)), 'expected at most 3 burns, got 4'],
  ])('refuses %s', async (_name, input, part) => {
    test = await openTestEngine({}, { limits: { maxBurnBatchElements: 3 } });
    await expectRefused(() => burnBatch(input), 'ERR_INVALID_REQUEST', part);
  });

  it('needs a UUID as its key', async () => {
    test = await openTestEngine();
    const call = test.project.call();
    await expectRefused(
      () => test.engine.burnBatch([aBurnRequest(1)], call),
      'ERR_INVALID_REQUEST',
      'required',
    );
    await expectRefused(() => burnBatch([aBurnRequest(1)], 'key-1'), 'ERR_INVALID_REQUEST', 'must be a UUID');
  });

  it('burns what the wallet and the cap allow, element by element', async () => {
    test = await openTestEngine({ burnWalletTokens: '10', dailyBurn: '8' });
    const { value } = await burnBatch([3, 6, 4, 9, 1].map((amount) => aBurnRequest(amount)));
    // 3; 6 would pass the cap; 4; 9 is more than the wallet holds; 1.
    expect(value.success).toHaveLength(3);
    expect(value.errors.map(({ type, proof }) => [type, proof])).toEqual([
      ['ERR_DAILY_LIMIT_EXCEEDED', { order: 6 }],
      ['ERR_BURN_TOKENOMICS_FAILED', { order: 9 }],
    ]);
    expect(await test.engine.status()).toMatchObject({ burned: '8', usedToday: { burn: '8' } });
  });

  it('judges a proof that cannot be written by itself', async () => {
    test = await openTestEngine();
    const { value } = await burnBatch([aBurnRequest(1), aBurnRequest(2, { proof: { text: '\udc00' } })]);
    expect(value.success).toHaveLength(1);
    expect(value.errors).toMatchObject([{ type: 'ERR_INVALID_PROOF', proof: { text: '\udc00' } }]);
  });

  it('stops between intents when aborted, keeps what was done, and carries on', async () => {
    test = await openTestEngine();
    const abort = new AbortController();
    const key = randomIds.uuid();
    const requests = Array.from({ length: 300 }, () => aBurnRequest(1));
    const call = test.project.call({
      idempotencyKey: key,
      signal: abort.signal,
      onElement: () => abort.abort(),
    });
    await expect(test.engine.burnBatch(requests, call)).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    const { burned } = await test.engine.status();
    expect(Number(burned)).toBeGreaterThan(0);
    expect(Number(burned)).toBeLessThan(300);
    const { value } = await burnBatch(requests, key);
    expect(value.success).toHaveLength(300);
    expect((await test.engine.status()).burned).toBe('300');
  });
});
