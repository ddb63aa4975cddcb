/** `flywheel local rpc` as a program: beside commands and `serve`, across restarts, and its shutdown. */
import { request } from 'node:http';
import {
  Keypair,
  LAMPORTS_PER_SOL,
  PublicKey,
  type SignatureStatus,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
} from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { besides } from '../support/flywheel-here.js';
import {
  ask,
  initHome,
  killServers,
  listening,
  type ServedHome,
  type ServeProcess,
  serve,
} from '../support/http-serve.js';
import { itLong } from '../support/long.js';
import { rpcResult, statusOf } from '../support/rpc-call.js';
import { closeConnections, connectionTo } from '../support/web3.js';

interface EpochInfo {
  readonly absoluteSlot: number;
  readonly blockHeight: number;
}

/** Waits until the node reports a transaction at this commitment or higher. */
async function landed({ url }: ServeProcess, signature: string, level: string): Promise<SignatureStatus> {
  for (;;) {
    const status = await statusOf(url, signature);
    const isSure = status?.confirmationStatus === level || status?.confirmationStatus === 'finalized';
    if (status !== null && isSure) return status;
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
}

const BURN = { type: 'PRODUCT_BUY', proof: { order: 1 }, burnAmount: 3, persistOnchain: true };

describe('flywheel local rpc', () => {
  let home: ServedHome;

  beforeEach(async () => {
    home = await initHome();
  });
  afterEach(async () => {
    closeConnections();
    await killServers();
  });
  const startRpc = (...words: string[]): Promise<ServeProcess> =>
    listening(home, 'local', 'rpc', '--port', '0', ...words);
  const burn = async (): Promise<string> => {
    const words = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"n":1}', '--amount', '2', '--json'];
    const { stdout } = await besides(home, ...words);
    return (JSON.parse(stdout) as { txHash: string }).txHash;
  };

  it('shows what commands and a server do, and they see what was sent to it', async () => {
    const [rpc, server] = [await startRpc(), await serve(home)];
    expect(await landed(rpc, await burn(), 'confirmed')).toMatchObject({ err: null });
    const answer = await ask(`${server.url}/v1/tokenomics/burn`, home.key, {
      body: BURN,
      idempotencyKey: 'k-1',
    });
    const { txHash } = (await answer.json()) as { txHash: string };
    const { slot } = await landed(rpc, txHash, 'confirmed');
    expect(slot).toBeGreaterThan(1_000);

    const connection = connectionTo(rpc.url);
    const alice = Keypair.generate();
    const signature = await connection.requestAirdrop(alice.publicKey, LAMPORTS_PER_SOL);
    await connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) });
    const owner = JSON.parse((await besides(home, 'local', 'status', '--json')).stdout) as {
      owner: { address: string };
      balances: { owner: { lamports: string } };
    };
    const pay = SystemProgram.transfer({
      fromPubkey: alice.publicKey,
      toPubkey: new PublicKey(owner.owner.address),
      lamports: 123_456_789,
    });
    await sendAndConfirmTransaction(connection, new Transaction().add(pay), [alice]);
    const after = JSON.parse((await besides(home, 'local', 'status', '--json')).stdout) as typeof owner;
    const gained = BigInt(after.balances.owner.lamports) - BigInt(owner.balances.owner.lamports);
    expect(gained).toBe(123_456_789n);
    // Store and ledger still agree.
    expect(JSON.parse((await besides(home, 'doctor', '--json')).stdout)).toMatchObject({ ok: true });
  });

  it('ends with 0 on a signal, even while a request is not whole, and goes on where it was', async () => {
    const first = await startRpc();
    const genesis = await rpcResult<string>(first.url, 'getGenesisHash');
    const signature = await burn();
    const { slot } = await landed(first, signature, 'confirmed');
    const before = await rpcResult<EpochInfo>(first.url, 'getEpochInfo', { commitment: 'processed' });
    const hanging = new Promise((resolve) => {
      const half = request(first.url, { method: 'POST', headers: { 'content-length': '100' } });
      half.on('error', () => resolve('cut'));
      half.write('{"jsonrpc"');
    });
    expect(await first.end('SIGINT')).toEqual({ exit: 0, signal: null });
    expect(await hanging).toBe('cut');

    const second = await startRpc();
    const after = await rpcResult<EpochInfo>(second.url, 'getEpochInfo', { commitment: 'processed' });
    expect(after.absoluteSlot).toBeGreaterThanOrEqual(before.absoluteSlot);
    expect(after.blockHeight).toBeGreaterThanOrEqual(before.blockHeight);
    expect(await rpcResult(second.url, 'getGenesisHash')).toBe(genesis);
    expect(await statusOf(second.url, signature)).toMatchObject({ slot, err: null });
    expect(await second.end('SIGTERM')).toEqual({ exit: 0, signal: null });
  });

  itLong('loses nothing that was in a block when it is killed', async () => {
    const rpc = await startRpc();
    const alice = Keypair.generate().publicKey.toBase58();
    const signatures: string[] = [];
    const confirmed: string[] = [];
    let killing: Promise<unknown> | undefined;
    try {
      for (;;) {
        signatures.push(await rpcResult<string>(rpc.url, 'requestAirdrop', alice, LAMPORTS_PER_SOL));
        const newest = signatures.at(-1) ?? '';
        if (confirmed.length > 2) killing ??= rpc.end('SIGKILL');
        if ((await landed(rpc, newest, 'confirmed')).err === null) confirmed.push(newest);
      }
    } catch {
      await killing;
    }
    const again = await startRpc();
    const found = await Promise.all(signatures.map((signature) => statusOf(again.url, signature)));
    const there = signatures.filter((_, at) => found[at] !== null);
    expect(confirmed.length).toBeGreaterThan(2);
    expect(there).toEqual(expect.arrayContaining(confirmed));
    const { value } = await rpcResult<{ value: number }>(again.url, 'getBalance', alice);
    expect(value).toBe(there.length * LAMPORTS_PER_SOL);
  });

  it('holds the data directory against being wiped, and says why it cannot listen', async () => {
    const rpc = await startRpc();
    const reset = await besides(home, 'local', 'reset', '--yes');
    expect(reset.stderr).toContain('another flywheel process uses the data directory');
    const port = String(new URL(rpc.url).port);
    const other = await besides(home, 'local', 'rpc', '--port', port);
    expect([other.exit, other.stderr]).toEqual([2, expect.stringContaining('one of them is in use')]);
  });
});
