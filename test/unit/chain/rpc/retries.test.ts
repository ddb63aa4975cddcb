import { afterEach, describe, expect, it } from 'vitest';
import { nodeAddress } from '../../../../src/chain/node-address.js';
import type { RpcNode } from '../../../../src/chain/rpc/ask.js';
import { ClusterChain } from '../../../../src/chain/rpc/cluster-chain.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import {
  closeStubs,
  DEVNET,
  endless,
  type Fault,
  hangUp,
  inContext,
  MAINNET,
  says,
  silence,
  stated,
  status,
  youngNode,
} from '../../../support/rpc-stub.js';
import { failureOf } from '../../../support/service.js';

afterEach(closeStubs);

const heightAt = (lastValidBlockHeight: number) => ({
  getLatestBlockhash: () => inContext({ blockhash: namedAddress('blockhash'), lastValidBlockHeight }),
});
const height = heightAt(200);
const heightOf = async (reader: ClusterChain): Promise<bigint> =>
  (await reader.latestBlockhash()).lastValidBlockHeight;

/** The error of a single node that always fails in this way. */
async function wordsOf(fault: Fault, timeoutMs = 5_000) {
  const node = await youngNode(height);
  node.always = fault;
  const error = await failureOf(heightOf(rpcChain([node.url], { timeoutMs }).chain));
  const host = new URL(node.url).host;
  expect(`${error.message} ${error.hint} ${error.stack} ${error.cause}`).not.toContain('secret-key');
  return {
    message: error.message.replaceAll(host, 'HOST'),
    hint: error.hint,
    exit: error.exitCode,
    code: error.code,
  };
}

const LIMITED = (code: number) => `The RPC node HOST limits the request rate (${code}).`;
const REFUSED = 'The RPC node HOST refuses getLatestBlockhash';
const STRANGE = 'HOST is not a Solana RPC node: it answered getLatestBlockhash';

describe('what went wrong at a node', () => {
  it.each([
    ['a status 429', status(429), LIMITED(429), /--max-wait/],
    ['a rate limit in JSON', stated(-32_429), LIMITED(-32_429), /--max-wait/],
    [
      'an unhealthy node',
      stated(-32_005, '', { numSlotsBehind: 42 }),
      'The RPC node HOST is behind the cluster by 42 slots.',
      /--max-wait/,
    ],
    [
      'an unhealthy node with a status',
      stated(-32_005, '', {}, 503),
      'The RPC node HOST is behind the cluster.',
      /--max-wait/,
    ],
    [
      'a slot that is not reached',
      stated(-32_016, '', { contextSlot: 5 }),
      'The RPC node HOST is behind the cluster.',
      /--max-wait/,
    ],
    ['an HTML page', says('<!doctype html><p>hi', 'text/html'), `${STRANGE} with an HTML page.`, /address/],
    [
      'JSON of another service',
      says('{"data":[]}'),
      `${STRANGE} with JSON with another structure.`,
      /address/,
    ],
    ['no JSON', says('ok'), `${STRANGE} with something that is not JSON.`, /address/],
    ['nothing', says(''), `${STRANGE} with nothing.`, /address/],
    [
      'another JSON-RPC service',
      stated(-32_601, 'no'),
      `${STRANGE} that it does not know this method (-32601).`,
      /address/,
    ],
    ['a status 404', status(404), `${STRANGE} with the status 404.`, /address/],
    [
      'a redirect',
      status(301, { location: 'https://elsewhere.example' }),
      `${STRANGE} with a redirect (301), which is not followed.`,
      /address/,
    ],
    ['a status 502', status(502), 'The RPC node HOST answered with the status 502.', /later/],
    ['an error of its own', stated(-32_011, 'No history.'), `${REFUSED} (-32011): No history.`, undefined],
    [
      'its key said back',
      stated(-32_000, 'no quota for secret-key\u001b[2J\nnow'),
      `${REFUSED} (-32000): no quota for ***[2J now.`,
      undefined,
    ],
    ['a connection that breaks', hangUp, 'The connection to HOST broke (UND_ERR_SOCKET).', /another node/],
    ['a status 401', status(401), 'The RPC node HOST does not allow getLatestBlockhash (401).', /key/, 4],
    [
      'a status 403',
      stated(403, 'no', {}, 403),
      'The RPC node HOST does not allow getLatestBlockhash (403).',
      /key/,
      4,
    ],
  ] as const)('is named: %s', async (_name, fault, message, hint, exit?: number) => {
    const words = await wordsOf(fault);
    expect(words).toMatchObject({ message, exit: exit ?? 6, code: 'ERR_UNAVAILABLE' });
    if (hint === undefined) expect(words.hint).toBeUndefined();
    else expect(words.hint).toMatch(hint);
  });

  it('is named: silence, a closed port', async () => {
    // A busy machine may not even connect in this time.
    const { message } = await wordsOf(silence, 40);
    expect(message).toMatch(/^No (answer from|connection to) HOST within 0\.04 s\.$/);
    const node = await youngNode();
    await node.close();
    const { host } = new URL(node.url);
    expect(await failureOf(heightOf(rpcChain([node.url]).chain))).toMatchObject({
      message: `The RPC node ${host} cannot be reached (ECONNREFUSED).`,
      hint: 'Run the command again later, or use another node: --rpc-url.',
    });
  });

  it('is an answer that never ends, of which no more is kept than may be', async () => {
    const node = await youngNode();
    node.always = endless;
    const before = process.memoryUsage().rss;
    const error = await failureOf(heightOf(rpcChain([node.url], { timeoutMs: 30_000 }).chain));
    expect(error.code).toBe('ERR_RESPONSE_INVALID');
    expect(error.message).toContain('with more than 33554432 bytes');
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1_024 * 1_024);
  });
});

describe('a node that fails for a while', () => {
  it.each([
    ['429', status(429)],
    ['503', status(503)],
    ['an internal error', stated(-32_603)],
    ['being behind', stated(-32_005)],
    ['a broken connection', hangUp],
  ])('is asked again until it answers: %s', async (_name, fault) => {
    const node = await youngNode(height);
    node.faults.push(fault, fault, fault);
    const chain = rpcChain([node.url], { maxWaitMs: 60_000 });
    expect(await heightOf(chain.chain)).toBe(200n);
    expect(chain.waits).toEqual([375, 750, 1_500]);
    expect(node.calls).toHaveLength(4);
  });

  it('is left alone for as long as it asks, at most 30 s', async () => {
    const node = await youngNode(height);
    node.faults.push(status(429, { 'retry-after': '7' }), status(429, { 'retry-after': '999999' }));
    const chain = rpcChain([node.url], { maxWaitMs: 60_000 });
    expect(await heightOf(chain.chain)).toBe(200n);
    expect(chain.waits).toEqual([7_000, 30_000]);
  });

  it('is not asked without end when it asks for no time at all', async () => {
    const node = await youngNode();
    node.always = status(429, { 'retry-after': '0' });
    await failureOf(heightOf(rpcChain([node.url], { maxWaitMs: 60_000 }).chain));
    expect(node.calls.length).toBeLessThan(15);
  });

  it('is given up when the time for waiting is over, and never waited for beyond it', async () => {
    const node = await youngNode();
    node.always = status(429);
    const chain = rpcChain([node.url], { maxWaitMs: 20_000, random: Math.random });
    const startedMs = chain.nowMs();
    expect((await failureOf(heightOf(chain.chain))).message).toContain('(429)');
    expect(chain.nowMs() - startedMs).toBeLessThan(20_000);
    expect(chain.nowMs() - startedMs).toBeGreaterThan(11_000);
    const late = await youngNode();
    late.always = status(429, { 'retry-after': '25' });
    const impatient = rpcChain([late.url], { maxWaitMs: 20_000 });
    await failureOf(heightOf(impatient.chain));
    expect(impatient.waits).toEqual([]);
  });

  it.each([
    ['401', status(401)],
    ['HTML', says('<html>')],
    ['a refusal', stated(-32_602)],
  ])('is not asked again where that is of no use: %s', async (_name, fault) => {
    const node = await youngNode(height);
    node.always = fault;
    const chain = rpcChain([node.url], { maxWaitMs: 60_000 });
    await failureOf(heightOf(chain.chain));
    expect(node.calls).toHaveLength(1);
    expect(chain.waits).toEqual([]);
  });

  it('ends at once when the user interrupts, in a wait and in a request', async () => {
    const node = await youngNode();
    node.always = status(503);
    const waiting = new AbortController();
    const inWait = rpcChain([node.url], {
      maxWaitMs: 60_000,
      signal: waiting.signal,
      sleep: (_ms, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
          waiting.abort();
        }),
    });
    expect((await failureOf(heightOf(inWait.chain))).code).toBe('ERR_INTERRUPTED');
    const asking = new AbortController();
    node.always = () => asking.abort();
    const inRequest = rpcChain([node.url], { maxWaitMs: 60_000, signal: asking.signal });
    expect((await failureOf(heightOf(inRequest.chain))).code).toBe('ERR_INTERRUPTED');
  });
});

describe('several nodes', () => {
  it('are asked in their order, the next one at once when one fails', async () => {
    const [first, second] = [await youngNode(height), await youngNode(heightAt(300))];
    const chain = rpcChain([first.url, second.url], { maxWaitMs: 60_000 });
    expect(await heightOf(chain.chain)).toBe(200n);
    expect(second.calls).toHaveLength(0);
    first.always = status(429);
    expect(await heightOf(chain.chain)).toBe(300n);
    expect(chain.waits).toEqual([]);
  });

  it('are left alone by every question for as long as one of them asks, while others answer', async () => {
    const nodes = [await youngNode(height), await youngNode(heightAt(300))] as const;
    const [first, second] = nodes;
    const chain = rpcChain([first.url, second.url], { maxWaitMs: 60_000 });
    await heightOf(chain.chain);
    first.faults.push(status(429, { 'retry-after': '7' }));
    const asked = first.calls.length + 1;
    expect(await heightOf(chain.chain)).toBe(300n);
    second.always = hangUp;
    const heights = [heightOf(chain.chain), heightOf(chain.chain)];
    expect(first.calls).toHaveLength(asked);
    expect(await Promise.all(heights)).toEqual([200n, 200n]);
    expect(chain.nowMs()).toBeGreaterThanOrEqual(1_007_000);
  });

  it('are named together when none answers', async () => {
    const [first, second] = [await youngNode(), await youngNode()];
    first.always = status(401);
    second.always = says('<html>');
    const error = await failureOf(heightOf(rpcChain([first.url, second.url]).chain));
    expect(error.message).toContain('does not allow getGenesisHash (401). ');
    expect(error.message).toContain('with an HTML page.');
    expect(error.exitCode).toBe(4);
  });

  it('do not go back in time: a later answer of another node is at least as new', async () => {
    const addresses = Array.from({ length: 150 }, (_, n) => namedAddress(`account ${n}`));
    const none = (slot: number) => (keys: readonly string[]) =>
      inContext(
        keys.map(() => null),
        slot,
      );
    const first = await youngNode({ getMultipleAccounts: none(100) });
    const second = await youngNode({ getMultipleAccounts: none(90) });
    const chain = rpcChain([first.url, second.url], { maxWaitMs: 20_000 });
    first.faults.push(undefined, undefined);
    first.always = status(503);
    const error = await failureOf(chain.chain.getAccounts(addresses));
    expect(error.message).toContain(`${new URL(second.url).host} is behind the cluster by 10 slots.`);
    second.methods = { getMultipleAccounts: none(101) };
    first.faults.push(undefined);
    expect(await chain.chain.getAccounts(addresses)).toHaveLength(150);
  });

  it('have to be of one cluster', async () => {
    const first = await youngNode(height);
    const second = await youngNode({ ...height, getGenesisHash: () => DEVNET });
    const chain = rpcChain([first.url, second.url], { quorum: 2 });
    const error = await failureOf(chain.chain.genesisHash());
    expect(error.code).toBe('ERR_CHAIN_MISMATCH');
    const { host } = new URL(second.url);
    expect(error.message).toBe(
      `The RPC node ${host} belongs to devnet (genesis ${DEVNET}), expected mainnet-beta (genesis ${MAINNET}).`,
    );
  });
});

it('a dead node holds the first question for 5 seconds, where another one answers', async () => {
  const good = await youngNode(height);
  const { options } = rpcChain([good.url], { timeoutMs: 30_000 });
  const limits: number[] = [];
  const dead: RpcNode = {
    address: nodeAddress('http://127.0.0.1:1', 'the test'),
    post: async (_body, { timeoutMs }) => {
      limits.push(timeoutMs);
      return { kind: 'failure', reason: 'no answer', retryable: true, maybeSent: false, cause: undefined };
    },
  };
  const reader = new ClusterChain({ ...options, nodes: [dead, ...options.nodes] });
  expect([await heightOf(reader), await heightOf(reader), limits]).toEqual([200n, 200n, [5_000]]);
});
