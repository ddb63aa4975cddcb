/** A program with @solana/kit works on the node as on a cluster. */
import {
  type Address,
  address,
  airdropFactory,
  appendTransactionMessageInstruction,
  assertIsTransactionWithBlockhashLifetime,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  type KeyPairSigner,
  lamports,
  pipe,
  type Signature,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeTestNodes, type PlainNode, startPlainNode } from '../../test-cluster/node.js';

afterEach(closeTestNodes);
/** A system program transfer, encoded by hand. */
function transfer(from: KeyPairSigner, to: Address, amount: bigint) {
  const data = new Uint8Array(12);
  new DataView(data.buffer).setUint32(0, 2, true);
  new DataView(data.buffer).setBigUint64(4, amount, true);
  return {
    programAddress: address('11111111111111111111111111111111'),
    accounts: [
      { address: from.address, role: 3, signer: from },
      { address: to, role: 1 },
    ],
    data,
  } as const;
}

describe('@solana/kit', () => {
  let node: PlainNode;
  let alice: KeyPairSigner;
  let bob: Address;
  let rpc: ReturnType<typeof createSolanaRpc>;
  let rpcSubscriptions: ReturnType<typeof createSolanaRpcSubscriptions>;

  beforeEach(async () => {
    node = await startPlainNode({ slotMs: 40 });
    rpc = createSolanaRpc(node.url);
    rpcSubscriptions = createSolanaRpcSubscriptions(node.webSocketUrl);
    alice = await generateKeyPairSigner();
    bob = (await generateKeyPairSigner()).address;
    // The cluster types of kit do not include this node.
    const airdrop = airdropFactory({ rpc, rpcSubscriptions } as never);
    await airdrop({
      recipientAddress: alice.address,
      lamports: lamports(1_000_000_000n),
      commitment: 'confirmed',
    });
  });

  const signedTransfer = async (amount: bigint) => {
    const { value: latest } = await rpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (tx) => setTransactionMessageFeePayerSigner(alice, tx),
      (tx) => setTransactionMessageLifetimeUsingBlockhash(latest, tx),
      (tx) => appendTransactionMessageInstruction(transfer(alice, bob, amount), tx),
    );
    const signed = await signTransactionMessageWithSigners(message);
    assertIsTransactionWithBlockhashLifetime(signed);
    return signed;
  };

  const pay = async (amount: bigint): Promise<Signature> => {
    const signed = await signedTransfer(amount);
    const send = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions } as never);
    await send(signed as never, { commitment: 'confirmed' });
    return getSignatureFromTransaction(signed);
  };

  it('sends, confirms over a subscription and reads back, with 64-bit numbers whole', async () => {
    const signature = await pay(1_234_567n);
    expect((await rpc.getBalance(bob, { commitment: 'confirmed' }).send()).value).toBe(1_234_567n);
    const { value } = await rpc.getAccountInfo(bob, { commitment: 'confirmed', encoding: 'base64' }).send();
    expect(value).toMatchObject({ lamports: 1_234_567n, space: 0n });
    const { value: statuses } = await rpc.getSignatureStatuses([signature]).send();
    expect(statuses[0]).toMatchObject({ err: null });
    const found = await rpc
      .getTransaction(signature, {
        commitment: 'confirmed',
        encoding: 'base64',
        maxSupportedTransactionVersion: 0,
      })
      .send();
    const bytes = getBase64Encoder().encode(found?.transaction[0] ?? '');
    const compiled = getCompiledTransactionMessageDecoder().decode(bytes.slice(65));
    expect(compiled.staticAccounts.slice(0, 2)).toEqual([alice.address, bob]);
    const past = await rpc.getSignaturesForAddress(bob, { commitment: 'confirmed' }).send();
    expect(past.map((each) => each.signature)).toEqual([signature]);
    expect(node.failures).toEqual([]);
  });
});
