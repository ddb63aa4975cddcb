/** What a program that uses web3.js sees of a node. */
import {
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
} from '@solana/web3.js';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { removeDirectories } from '../../support/chain.js';
import { closeTestNodes, startTestNode } from '../../support/local-rpc.js';

afterEach(closeTestNodes);
afterAll(removeDirectories);

describe('web3.js', () => {
  it('funds a wallet, pays, and hears over WebSocket that it is confirmed', async () => {
    const node = await startTestNode({ pace: 'clock', slotMs: 50 });
    const connection = new Connection(node.url, 'confirmed');
    const alice = Keypair.generate();
    const bob = Keypair.generate();
    const funded = await connection.requestAirdrop(alice.publicKey, LAMPORTS_PER_SOL);
    await connection.confirmTransaction({ signature: funded, ...(await connection.getLatestBlockhash()) });
    expect(await connection.getBalance(alice.publicKey)).toBe(LAMPORTS_PER_SOL);
    const pay = SystemProgram.transfer({
      fromPubkey: alice.publicKey,
      toPubkey: bob.publicKey,
      lamports: 5_000_000,
    });
    const signature = await sendAndConfirmTransaction(connection, new Transaction().add(pay), [alice]);
    expect(await connection.getBalance(bob.publicKey)).toBe(5_000_000);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    expect(found?.meta?.err).toBeNull();
    expect(found?.meta?.fee).toBe(5000);
    const past = await connection.getSignaturesForAddress(bob.publicKey);
    expect(past.map((one) => one.signature)).toEqual([signature]);
    expect(await connection.getSlot()).toBeGreaterThan((await connection.getBlockHeight()) + 900);
    expect(node.failures).toEqual([]);
  });
});
