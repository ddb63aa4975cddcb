/** JSON-RPC of the node: calls, batches, errors. */
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { HandClock, namedSigner, treasury } from '../../support/chain.js';
import { rpcAnswer, rpcPost, rpcResult } from '../../support/rpc-call.js';
import { closeTestNodes, startPlainNode } from '../../test-cluster/node.js';
import { payee, payment, sent } from './rpc-payments.js';

afterEach(closeTestNodes);
const post = async (url: string, body: string): Promise<unknown> => (await rpcPost(url, body)).json();

describe('a call', () => {
  it('is answered under its id, a batch in one list, a notification not at all', async () => {
    const { url } = await startPlainNode();
    expect(await post(url, '{"jsonrpc":"2.0","id":"x","method":"getHealth"}')).toEqual({
      jsonrpc: '2.0',
      result: 'ok',
      id: 'x',
    });
    const batch = await post(
      url,
      '[{"jsonrpc":"2.0","id":1,"method":"getHealth"},{"jsonrpc":"2.0","method":"getHealth"},{"jsonrpc":"2.0","id":2,"method":"nope"},5]',
    );
    expect(batch).toEqual([
      { jsonrpc: '2.0', result: 'ok', id: 1 },
      { jsonrpc: '2.0', error: { code: -32_601, message: 'Method not found' }, id: 2 },
      { jsonrpc: '2.0', error: { code: -32_600, message: 'Invalid request' }, id: null },
    ]);
    expect((await rpcPost(url, '{"jsonrpc":"2.0","method":"getHealth"}')).status).toBe(204);
  });

  it.each([
    ['{"jsonrpc":"2.0","id":1,', -32_700],
    ['[]', -32_600],
    ['{"id":1,"method":"getSlot"}', -32_600],
    ['{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32_601],
    ['{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["no address"]}', -32_602],
    ['{"jsonrpc":"2.0","id":1,"method":"getBalance","params":{"a":1}}', -32_600],
    ['{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"commitment":"sure"}]}', -32_602],
  ])('%s is answered with an error', async (body, code) => {
    const { url, failures } = await startPlainNode();
    expect(await post(url, body)).toMatchObject({ error: { code } });
    expect(failures).toEqual([]);
  });

  it('may come from a page of any origin', async () => {
    const { url } = await startPlainNode();
    const asked = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-headers': 'content-type,solana-client',
      },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-headers')).toBe('content-type,solana-client');
    const answer = await rpcPost(url, '{"jsonrpc":"2.0","id":1,"method":"getHealth"}');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('is refused when it is too large, and one that breaks off does no harm', async () => {
    const { url, failures } = await startPlainNode();
    expect((await rpcPost(url, `"${'x'.repeat(1_100_000)}"`)).status).toBe(413);
    await new Promise<void>((resolve) => {
      const half = request(url, { method: 'POST', headers: { 'content-length': '100' } });
      half.on('error', () => resolve());
      half.write('{"jsonrpc"', () => half.destroy());
    });
    expect(await rpcResult(url, 'getHealth')).toBe('ok');
    expect(failures).toEqual([]);
  });
});

describe('sendTransaction', () => {
  it('says what is wrong with a signature, the encoding, the size and the bytes', async () => {
    const { url } = await startPlainNode();
    const { bytes } = await payment(url);
    const forged = Uint8Array.from(bytes);
    forged[5] = (forged[5] ?? 0) ^ 1;
    expect((await sent(url, { bytes: forged })).error?.code).toBe(-32_003);
    expect((await rpcAnswer(url, 'sendTransaction', '!!', { encoding: 'base64' })).error?.code).toBe(-32_602);
    expect((await rpcAnswer(url, 'sendTransaction', '0OIl')).error?.code).toBe(-32_602);
    expect((await sent(url, { bytes: new Uint8Array(1_300) })).error?.message).toContain(
      'too large: 1300 bytes',
    );
    expect((await sent(url, { bytes: Uint8Array.of(1, 2, 3) })).error?.message).toContain(
      'failed to deserialize',
    );
  });

  it('lands a failing one without preflight, which is then told as failed', async () => {
    const { url } = await startPlainNode();
    const all = await rpcResult<{ value: number }>(url, 'getBalance', treasury.address);
    const tx = await payment(url, BigInt(all.value));
    expect((await sent(url, tx, { skipPreflight: true })).result).toBe(tx.signature);
    const { value } = await rpcResult<{ value: object[] }>(url, 'getSignatureStatuses', [tx.signature]);
    expect(value[0]).toMatchObject({
      err: { InstructionError: [0, { Custom: 1 }] },
      status: { Err: { InstructionError: [0, { Custom: 1 }] } },
    });
  });
});

describe('simulateTransaction', () => {
  it('shows what would be, and nothing of it is', async () => {
    const { url } = await startPlainNode();
    const { bytes } = await payment(url, 3_000_000n);
    const wire = Buffer.from(bytes).toString('base64');
    // At the commitment of the blockhash: a finalized state lacks it if starting the node took longer than a slot.
    const options = {
      ...{ encoding: 'base64', commitment: 'processed' },
      accounts: { encoding: 'base64', addresses: [payee] },
    };
    const { value } = await rpcResult<{ value: Record<string, unknown> }>(
      url,
      'simulateTransaction',
      wire,
      options,
    );
    expect(value).toMatchObject({ err: null, unitsConsumed: 150, accounts: [{ lamports: 3_000_000 }] });
    expect((await rpcResult<{ value: number }>(url, 'getBalance', payee)).value).toBe(0);
  });

  it('takes bytes without signatures and with an old blockhash, where it is told to', async () => {
    const clock = new HandClock();
    const { url } = await startPlainNode({ clock });
    const { bytes } = await payment(url, 3_000_000n);
    const unsigned = Buffer.from(bytes).fill(0, 1, 65).toString('base64');
    clock.timeMs += 200 * 400;
    const simulate = (options: object) =>
      rpcAnswer(url, 'simulateTransaction', unsigned, { encoding: 'base64', ...options });
    expect(await simulate({})).toMatchObject({ result: { value: { err: 'BlockhashNotFound' } } });
    expect(await simulate({ replaceRecentBlockhash: true })).toMatchObject({
      result: { value: { err: null, replacementBlockhash: { blockhash: expect.any(String) } } },
    });
    expect((await simulate({ sigVerify: true })).error?.code).toBe(-32_003);
    expect((await simulate({ sigVerify: true, replaceRecentBlockhash: true })).error?.code).toBe(-32_602);
  });
});

describe('blocks', () => {
  it('have times, but for slots to come and those before the first', async () => {
    const { url } = await startPlainNode();
    expect((await rpcAnswer(url, 'getBlockTime', 5_000_000)).error?.code).toBe(-32_004);
    expect((await rpcAnswer(url, 'getBlockTime', 999)).error?.code).toBe(-32_001);
    expect(await rpcResult<number>(url, 'getBlockTime', 1_000)).toBeGreaterThan(1_600_000_000);
  });
});

describe('an airdrop', () => {
  it('is of 100 SOL at most, and comes as often as it is asked for', async () => {
    const clock = new HandClock();
    const { url } = await startPlainNode({ clock });
    const alice = namedSigner('alice').address;
    expect((await rpcAnswer(url, 'requestAirdrop', alice, 100_000_000_001)).error?.code).toBe(-32_602);
    await rpcResult(url, 'requestAirdrop', alice, 100_000_000_000);
    clock.timeMs += 400;
    await rpcResult(url, 'requestAirdrop', alice, 1);
    expect((await rpcResult<{ value: number }>(url, 'getBalance', alice)).value).toBe(100_000_000_001);
  });
});
