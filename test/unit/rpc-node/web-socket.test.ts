/** What a node tells over WebSocket, word by word, and what it does with those who misuse it. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { rentExemptLamports } from '../../../src/chain/account.js';
import { TOKEN_PROGRAM } from '../../../src/chain/programs.js';
import { createAccount } from '../../../src/chain/system.js';
import type { FaultRule } from '../../../src/rpc-node/faults/fault-rules.js';
import { namedSigner, removeDirectories, signedWith, treasury } from '../../support/chain.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { rpcResult } from '../../support/rpc-call.js';
import { payee, payment, sent } from '../../support/rpc-payments.js';
import { waitFor } from '../../support/web3.js';

const TERMS = { confirmedAfter: 2, finalizedAfter: 31 } as const;
const sockets: WebSocket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await closeTestNodes();
});
afterAll(removeDirectories);

interface Heard {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly code: number };
  readonly params?: { readonly subscription: number; readonly result: unknown };
}

/** A socket that asks and notes all that it hears. */
async function dial(url: string) {
  const socket = new WebSocket(url);
  sockets.push(socket);
  const heard: Heard[] = [];
  socket.on('message', (data) => heard.push(JSON.parse(String(data)) as Heard));
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('open', resolve));
  let id = 0;
  const ask = async (method: string, ...params: readonly unknown[]): Promise<Heard> => {
    id += 1;
    const own = id;
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: own, method, params }));
    await waitFor(() => heard.some((each) => each.id === own));
    return heard.find((each) => each.id === own) as Heard;
  };
  const told = () => heard.filter(({ method }) => method !== undefined);
  return { socket, ask, heard, told };
}

const subscribing = (count: number): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 10_000 + count, method: 'slotSubscribe' });

const start = (...faults: FaultRule[]): Promise<TestNode> => startTestNode({ ...TERMS, faults });

describe('signatureSubscribe', () => {
  it('tells that the node has it, then what became of it at its level, and ends', async () => {
    const { url, webSocketUrl, advance, cluster, ...node } = await start();
    const { ask, told } = await dial(webSocketUrl);
    const tx = await payment(url);
    const { result: subscription } = await ask('signatureSubscribe', tx.signature, {
      commitment: 'confirmed',
      enableReceivedNotification: true,
    });
    const slot = cluster.slotOf('processed');
    await sent(url, tx);
    await waitFor(() => told().length === 1);
    advance(2);
    await waitFor(() => told().length === 2);
    const notification = (at: number, value: unknown) => ({
      jsonrpc: '2.0',
      method: 'signatureNotification',
      params: { subscription, result: { context: { slot: at }, value } },
    });
    expect(told()).toEqual([
      notification(slot, 'receivedSignature'),
      notification(cluster.slotOf('confirmed'), { err: null }),
    ]);
    expect((await ask('signatureUnsubscribe', subscription)).error).toMatchObject({ code: -32_602 });
    expect(node.failures).toEqual([]);
  });

  it('tells at once of what has come to pass before', async () => {
    const { url, webSocketUrl } = await start();
    const { ask, told } = await dial(webSocketUrl);
    const tx = await payment(url);
    await sent(url, tx);
    await ask('signatureSubscribe', tx.signature, { commitment: 'processed' });
    await waitFor(() => told().length === 1);
    await ask('signatureSubscribe', tx.signature, { commitment: 'confirmed' });
    expect(told()).toHaveLength(1);
  });

  it('says nothing more of a transaction that is taken back before its level', async () => {
    const { url, webSocketUrl, advance } = await start({ fault: 'rollback', slots: 4, lost: true, times: 1 });
    const { ask, told } = await dial(webSocketUrl);
    const tx = await payment(url);
    await ask('signatureSubscribe', tx.signature, { commitment: 'finalized' });
    await ask('accountSubscribe', payee, { commitment: 'processed', encoding: 'base64' });
    await sent(url, tx);
    advance(60);
    await waitFor(() => told().length === 2);
    const lamports = told().map(
      ({ params }) => (params as { result: { value: { lamports: number } } }).result.value.lamports,
    );
    expect(lamports).toEqual([1_000_000, 0]);
  });
});

describe('accountSubscribe', () => {
  it('says of data that is too long for base58 that it is, and everybody else still hears', async () => {
    const { url, webSocketUrl, ...node } = await start();
    const { ask, told } = await dial(webSocketUrl);
    const large = namedSigner('large');
    await ask('accountSubscribe', large.address, { commitment: 'processed' });
    await ask('accountSubscribe', large.address, { commitment: 'processed', encoding: 'base64' });
    const { value } = await rpcResult<{ value: { blockhash: string } }>(url, 'getLatestBlockhash');
    const opening = createAccount({
      from: treasury.address,
      account: large.address,
      lamports: rentExemptLamports(200),
      sizeBytes: 200,
      owner: TOKEN_PROGRAM,
    });
    await sent(url, signedWith(value.blockhash, [treasury, large], [opening]));
    await waitFor(() => told().length === 2);
    const data = told().map(
      ({ params }) => (params as { result: { value: { data: unknown } } }).result.value.data,
    );
    expect(data).toEqual([
      'error: data too large for bs58 encoding',
      [Buffer.alloc(200).toString('base64'), 'base64'],
    ]);
    expect(node.failures).toEqual([]);
  });
});

describe('faults', () => {
  it('leave a notification out, or send it twice', async () => {
    const { url, webSocketUrl, faults } = await start({
      fault: 'mute',
      methods: ['accountSubscribe'],
      times: 1,
    });
    const { ask, told } = await dial(webSocketUrl);
    await ask('accountSubscribe', payee, { commitment: 'processed', encoding: 'base64' });
    await sent(url, await payment(url, 1_000_000n));
    await sent(url, await payment(url, 2_000_000n));
    await waitFor(() => told().length === 1);
    faults.set([{ fault: 'duplicate', methods: ['accountSubscribe'] }]);
    await sent(url, await payment(url, 3n));
    await waitFor(() => told().length === 3);
    expect(told()[1]).toEqual(told()[2]);
  });
});

describe('a connection', () => {
  it('is served on the port of HTTP as well', async () => {
    const { url } = await start();
    const { ask } = await dial(url.replace('http', 'ws'));
    expect((await ask('slotSubscribe')).result).toBe(1);
  });

  it('gets errors for what there is none of, and cannot end what another began', async () => {
    const { webSocketUrl } = await start();
    const [one, other] = [await dial(webSocketUrl), await dial(webSocketUrl)];
    const { result } = await one.ask('rootSubscribe');
    expect((await other.ask('rootUnsubscribe', result)).error).toMatchObject({ code: -32_602 });
    expect((await other.ask('blockSubscribe', 'all')).error).toMatchObject({ code: -32_601 });
    expect((await other.ask('accountSubscribe', 'nobody')).error).toMatchObject({ code: -32_602 });
    expect((await one.ask('rootUnsubscribe', result)).result).toBe(true);
  });

  it('ends when its client does not take what it is sent, and nobody else is kept waiting', async () => {
    const node = await start();
    const { socket, ask } = await dial(node.webSocketUrl);
    for (let count = 0; count < 1_000; count += 1) socket.send(subscribing(count));
    await waitFor(() => node.subscriptionCount === 1_000);
    expect((await ask('rootSubscribe')).error).toMatchObject({ code: -32_603 });
    const lively = await dial(node.webSocketUrl);
    await lively.ask('slotSubscribe');
    socket.pause();
    for (let slot = 0; slot < 300 && node.subscriptionCount > 1; slot += 1) {
      node.advance(1);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    await waitFor(() => node.subscriptionCount === 1);
    const before = lively.told().length;
    node.advance(1);
    await waitFor(() => lively.told().length === before + 1);
  });

  it('ends with its subscriptions when its client goes or sends too much', async () => {
    const node = await start();
    const { socket, ask } = await dial(node.webSocketUrl);
    await ask('slotSubscribe');
    expect(node.subscriptionCount).toBe(1);
    socket.terminate();
    await waitFor(() => node.subscriptionCount === 0);
    const greedy = await dial(node.webSocketUrl);
    greedy.socket.send('x'.repeat(100_000));
    await waitFor(() => greedy.socket.readyState === WebSocket.CLOSED);
    const noisy = await dial(node.webSocketUrl);
    noisy.socket.send('no json');
    await waitFor(() => noisy.heard.length === 1);
    expect(noisy.heard[0]?.error).toMatchObject({ code: -32_700 });
    expect(await rpcResult(node.url, 'getHealth')).toBe('ok');
    expect(node.failures).toEqual([]);
  });
});
