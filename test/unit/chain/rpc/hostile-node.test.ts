import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { SYSTEM_PROGRAM } from '../../../../src/chain/programs.js';
import { memo } from '../../../../src/chain/small-programs.js';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/sign.js';
import { compileV0Message } from '../../../../src/chain/transaction/wire.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import { signTransaction } from '../../../support/chain.js';
import { isLong } from '../../../support/long.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import { closeStubs, inContext, result, says, wireAccount, youngNode } from '../../../support/rpc-stub.js';

afterEach(closeStubs);

const [one, two] = [namedAddress('one'), namedAddress('two')];
const good = wireAccount(Uint8Array.of(1, 2, 3), SYSTEM_PROGRAM);

/** The error when a node gives this result to a reader's call. */
async function refusal(
  value: unknown,
  ask: (reader: ReturnType<typeof rpcChain>['chain']) => Promise<unknown>,
) {
  const node = await youngNode();
  node.always = typeof value === 'string' ? says(value) : result(value);
  try {
    await ask(rpcChain([node.url], { maxWaitMs: 60_000 }).chain);
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    expect(node.calls).toHaveLength(1);
    return { code: error.code, message: error.message.replaceAll(new URL(node.url).host, 'HOST') };
  }
  throw new TypeError('it was believed');
}

const withAccount = (change: object) => inContext([{ ...good, ...change }, null]);
const said = (what: string) => ({
  code: 'ERR_RESPONSE_INVALID',
  message: `The RPC node HOST answered getMultipleAccounts with a malformed result (${what}).`,
});

const ENCODING = '0.data: expected base64';
const SIZE = '0: its size is not that of its data';
const OWNER = '0.owner: expected an address';
const BALANCE = '0.lamports: expected a 64-bit number';

describe('accounts that cannot be', () => {
  it.each([
    [inContext([good]), 'not as many items as requested'],
    [inContext([good, good, good]), 'not as many items as requested'],
    [inContext({}), 'expected array, received object'],
    [inContext({ length: { toString: null } }), 'expected array, received object'],
    [{ value: [good, good] }, 'context: expected object, received undefined'],
    [{ context: { slot: -1 }, value: [good, good] }, 'context.slot: Too small: expected number to be >=0'],
    [null, 'expected object, received null'],
    [inContext(['x', null]), '0: expected object, received string'],
  ])('are not believed in an answer such as %j', async (value, what) => {
    expect(await refusal(value, (reader) => reader.getAccounts([one, two]))).toEqual(said(what));
  });

  it.each([
    [{ data: ['abc', 'base58'] }, ENCODING],
    [{ data: 'AQID' }, ENCODING],
    [{ data: { program: 'spl-token', parsed: {} } }, ENCODING],
    [{ data: ['AQI?', 'base64'] }, ENCODING],
    [{ data: ['AQJ=', 'base64'], space: undefined }, ENCODING],
    [{ data: ['AQ==', 'base64'] }, SIZE],
    [{ space: 4_294_967_295 }, SIZE],
    [{ owner: 'me' }, OWNER],
    [{ lamports: -1 }, BALANCE],
    [{ lamports: 0.5 }, BALANCE],
    [{ lamports: '5' }, BALANCE],
    [{ executable: 'yes' }, '0.executable: expected boolean, received string'],
    [{ executable: { toString: 1 } }, '0.executable: expected boolean, received object'],
  ])('are not believed with %j', async (change, what) => {
    expect(await refusal(withAccount(change), (reader) => reader.getAccounts([one, two]))).toEqual(
      said(what),
    );
  });

  it('are not believed: a balance beyond 64 bits, an answer to another question, an error beside the result', async () => {
    const raw = (lamports: string) =>
      `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":9},"value":[{"lamports":${lamports},"owner":"${SYSTEM_PROGRAM}","data":["","base64"],"executable":false,"rentEpoch":18446744073709551615}]}}`;
    const ask = (text: string) => refusal(text, (reader) => reader.getAccounts([one]));
    expect(await ask(raw('18446744073709551616'))).toEqual(said(BALANCE));
    expect((await ask(raw('1').replace('"id":1', '"id":2'))).message).toContain(
      'JSON with another structure',
    );
    expect(
      (await ask(raw('1').replace('"id":1', '"id":1,"error":{"code":-1,"message":"x"}'))).message,
    ).toContain('refuses');
  });

  it('keep every digit of a balance that a double would round', async () => {
    const node = await youngNode();
    node.always = says(
      `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":9},"value":[{"lamports":18446744073709551615,"owner":"${SYSTEM_PROGRAM}","data":["","base64"],"executable":false,"rentEpoch":18446744073709551615}]}}`,
    );
    const [state] = await rpcChain([node.url]).chain.getAccounts([one]);
    expect(state?.lamports).toBe(18_446_744_073_709_551_615n);
  });

  it('are passed over for those of the next node', async () => {
    const liar = await youngNode({ getMultipleAccounts: () => inContext([]) });
    const honest = await youngNode({ getMultipleAccounts: () => inContext([good]) });
    const [state] = await rpcChain([liar.url, honest.url]).chain.getAccounts([one]);
    expect(state?.lamports).toBe(1n);
  });
});

describe('JSON that is there to take memory', () => {
  it.each([
    ['deep', '['.repeat(5_000_000)],
    ['wide', `[${'[],'.repeat(5_000_000)}[]]`],
    ['a key given twice', '{"jsonrpc":"2.0","id":1,"result":1,"result":2}'],
  ])('is not read: %s', async (_name, text) => {
    const before = process.memoryUsage().heapUsed;
    const refused = await refusal(text, (reader) => reader.latestBlockhash());
    expect(refused.message).toMatch(/^HOST is not a Solana RPC node/);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1_024 * 1_024);
  });
});

const signer = createKeypairSigner(generateKeypair());
const signed = (text: string) =>
  signTransaction(
    compileV0Message({
      payer: signer.address,
      instructions: [memo(text, [signer.address])],
      blockhash: namedAddress('blockhash'),
    }),
    [signer],
  );

describe('other answers that cannot be', () => {
  const asBase64 = (bytes: Uint8Array) => ({
    slot: 1,
    blockTime: 1,
    meta: { err: null, fee: 5_000, logMessages: [] },
    transaction: [Buffer.from(bytes).toString('base64'), 'base64'],
  });

  it('are not believed: a transaction of another signature, one that was changed or is too long, bytes that are none', async () => {
    const { bytes, signature: own } = signed('hi');
    const long = signed('x'.repeat(1_200));
    const changed = Buffer.from(bytes);
    changed[changed.length - 2] = (changed[changed.length - 2] ?? 0) ^ 1;
    for (const [wire, signature] of [
      [signed('ho').bytes, own],
      [changed, own],
      [long.bytes, long.signature],
      [Uint8Array.of(1, 2, 3), own],
    ] as const) {
      const landed = { slot: 3, err: null, confirmations: null, confirmationStatus: 'finalized' };
      const { url } = await youngNode({
        getSignatureStatuses: () => inContext([landed]),
        getTransaction: () => asBase64(wire),
      });
      await expect(rpcChain([url]).chain.lookUp([signature])).rejects.toMatchObject({
        code: 'ERR_RESPONSE_INVALID',
        message: `The RPC node ${new URL(url).host} answered getTransaction with a malformed result (not the transaction of the signature).`,
      });
    }
  });

  it('are not believed: statuses, blockhashes, heights and pages of another form', async () => {
    for (const [value, ask] of [
      [inContext([]), (reader) => reader.lookUp(['s'])],
      [inContext([{ confirmationStatus: 'confirmed', slot: 'x' }]), (reader) => reader.lookUp(['s'])],
      [
        inContext([{ slot: 5, err: null, status: { Err: 'x' }, confirmations: null }]),
        (reader) => reader.lookUp(['s']),
      ],
      [inContext({ blockhash: 'short', lastValidBlockHeight: 1 }), (reader) => reader.latestBlockhash()],
      [inContext({ blockhash: one, lastValidBlockHeight: 1e300 }), (reader) => reader.latestBlockhash()],
      [inContext('true'), (reader) => reader.isBlockhashValid(one)],
      [
        Array.from({ length: 1_001 }, () => ({ signature: 's', err: null })),
        (reader) => reader.history(one, {}),
      ],
      [[{ err: null }], (reader) => reader.history(one, {})],
    ] as readonly (readonly [unknown, (reader: ReturnType<typeof rpcChain>['chain']) => Promise<unknown>])[])
      expect((await refusal(value, ask)).code).toBe('ERR_RESPONSE_INVALID');
  });

  it('that say that a transaction failed in words of their own are failures all the same', async () => {
    const node = await youngNode({
      getSignatureStatuses: () =>
        inContext([
          {
            slot: 3,
            err: { [`x${'y'.repeat(99)}`]: [[]] },
            confirmations: null,
            confirmationStatus: 'finalized',
          },
        ]),
      getTransaction: () => null,
    });
    const [record] = await rpcChain([node.url]).chain.lookUp(['s']);
    expect(record?.error).toMatchObject({ kind: 'transaction' });
  });
});

const { bytes: wire, signature } = signed('any');
const FIELDS = (
  'context slot value lamports owner data executable rentEpoch space err confirmations confirmationStatus blockhash memo ' +
  'lastValidBlockHeight signature blockTime meta transaction logMessages toString valueOf constructor __proto__ length map'
).split(' ');

/** JSON of the words in real answers, and of property names that break object readers. */
const anyJson = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1, 1.5, 1e300, 2 ** 53, '', 'x', 'base64', 'AQ==', one, signature),
    fc.array(tie('json'), { maxLength: 2 }),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), tie('json')), { selector: ([key]) => key })
      .map(Object.fromEntries),
  ),
})).json;

describe('any answer at all', () => {
  it('is read or refused, and never ends in an error of another kind', async () => {
    const node = await youngNode();
    const { chain, sender, nowMs } = rpcChain([node.url]);
    const asks = [
      () => chain.getAccounts([one]),
      () => chain.latestBlockhash(),
      () => chain.expiredHeight(),
      () => chain.isBlockhashValid(one),
      () => chain.lookUp([signature]),
      () => chain.trace([{ signature, lastValidBlockHeight: 0n }]),
      () => chain.history(one, {}),
      () => sender(wire, { lastValidBlockHeight: 1n, deadlineMs: nowMs() + 1 }),
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...asks), anyJson, fc.boolean(), async (ask, json, inside) => {
        node.always = result(inside ? { context: { slot: 1 }, value: json } : json);
        await ask().catch((error: unknown) => {
          if (!isFlywheelError(error, 'ERR_RESPONSE_INVALID') && !isFlywheelError(error, 'ERR_UNAVAILABLE'))
            throw error;
        });
      }),
      { numRuns: isLong ? 1_000 : 100 },
    );
  });
});

it.each([
  ['comes again', (_page: number, at: number) => [`entry ${at}`, 5_000 - at]],
  ['is newer than the one before', (page: number, at: number) => [`page ${page}, entry ${at}`, 5_000 - at]],
] as const)('a page of a history that %s ends the list', async (_what, entryOf) => {
  let pages = 0;
  const node = await youngNode({
    getSignaturesForAddress: () => {
      pages += 1;
      return Array.from({ length: pages > 3 ? 0 : 1_000 }, (_, at) => {
        const [signature, slot] = entryOf(pages, at);
        return { signature, slot, err: null, memo: null, blockTime: null };
      });
    },
  });
  await expect(rpcChain([node.url]).chain.history(one, {})).rejects.toMatchObject({
    code: 'ERR_RESPONSE_INVALID',
  });
  expect(pages).toBe(2);
});
