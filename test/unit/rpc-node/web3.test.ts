/** A program with web3.js works on the node as on a cluster. */
import {
  type AccountInfo,
  type AddressLookupTableAccount,
  AddressLookupTableProgram,
  ComputeBudgetProgram,
  type Connection,
  type Context,
  Keypair,
  LAMPORTS_PER_SOL,
  PublicKey,
  SendTransactionError,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openLocalChain } from '../../../src/chain/local/local-chain.js';
import { SQUADS_PROGRAM, TOKEN_PROGRAM } from '../../../src/chain/programs.js';
import { base58Encode } from '../../../src/values/bytes.js';
import { systemClock } from '../../../src/values/time.js';
import { chainOptions, createToken, type TestToken, treasury } from '../../support/chain.js';
import { emptyDirectory } from '../../support/spawn.js';
import { closeConnections, connectionTo } from '../../support/web3.js';
import { closeTestNodes, type PlainNode, startPlainNode } from '../../test-cluster/node.js';

const PATIENCE_MS = 60_000;

/** Subscriptions that the node has confirmed. */
const subscribedIn = (connection: Connection): number =>
  Object.values(
    Reflect.get(connection, '_subscriptionsByHash') as Record<string, { readonly state: string }>,
  ).filter(({ state }) => state === 'subscribed').length;

afterEach(async () => {
  closeConnections();
  await closeTestNodes();
});
const transfer = (from: Keypair, to: PublicKey, lamports: number) =>
  SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: to, lamports });

describe('web3.js on slots of 40 ms', () => {
  let node: PlainNode;
  let connection: Connection;
  const alice = Keypair.generate();
  const bob = Keypair.generate().publicKey;

  beforeEach(async () => {
    node = await startPlainNode({ slotMs: 40 });
    connection = connectionTo(node.url);
    const signature = await connection.requestAirdrop(alice.publicKey, LAMPORTS_PER_SOL);
    await connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) });
  });

  it('pays, hears over WebSocket that it is confirmed, and reads it back', async () => {
    const signature = await sendAndConfirmTransaction(
      connection,
      new Transaction().add(transfer(alice, bob, 5_000_000)),
      [alice],
    );
    expect(await connection.getBalance(bob)).toBe(5_000_000);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    expect(found?.meta).toMatchObject({ err: null, fee: 5_000 });
    expect(found?.meta?.preBalances).toEqual([LAMPORTS_PER_SOL, 0, 1]);
    expect(found?.meta?.postBalances).toEqual([LAMPORTS_PER_SOL - 5_005_000, 5_000_000, 1]);
    const past = await connection.getSignaturesForAddress(bob);
    expect(past.map((one) => one.signature)).toEqual([signature]);
    expect(await connection.getBlockTime(found?.slot ?? 0)).toBe(found?.blockTime);
    expect(node.failures).toEqual([]);
  });

  it('is told of its transaction by level, of accounts and slots', async () => {
    const heard: string[] = [];
    const slots: number[] = [];
    connection.onAccountChange(bob, (account: AccountInfo<Buffer>, { slot }: Context) => {
      expect(slot).toBeGreaterThanOrEqual(1_000);
      heard.push(`account ${account.lamports}`);
    });
    connection.onSlotChange(({ slot, parent, root }) => {
      expect(parent).toBeLessThan(slot);
      expect(root).toBeLessThan(slot);
      slots.push(slot);
    });
    await vi.waitUntil(() => slots.length > 0, PATIENCE_MS);
    const { blockhash } = await connection.getLatestBlockhash();
    const message = new TransactionMessage({
      payerKey: alice.publicKey,
      recentBlockhash: blockhash,
      instructions: [transfer(alice, bob, 2_000_000)],
    }).compileToV0Message();
    const transaction = new VersionedTransaction(message);
    transaction.sign([alice]);
    const signature = base58Encode(transaction.signatures[0] ?? new Uint8Array());
    connection.onSignature(signature, () => void heard.push('signature confirmed'), 'confirmed');
    await vi.waitUntil(() => subscribedIn(connection) === 3, PATIENCE_MS);
    expect(await connection.sendTransaction(transaction)).toBe(signature);
    await vi.waitUntil(() => heard.length >= 2, PATIENCE_MS);
    expect([...heard].sort()).toEqual(['account 2000000', 'signature confirmed']);
    expect(slots).toEqual([...new Set(slots)].sort((left, right) => left - right));
  });

  it('sees that a transaction would fail, and why', async () => {
    const poor = Keypair.generate();
    const paying = sendAndConfirmTransaction(connection, new Transaction().add(transfer(poor, bob, 1)), [
      poor,
    ]);
    await expect(paying).rejects.toThrow(/no record of a prior credit/);
    const tooMuch = sendAndConfirmTransaction(
      connection,
      new Transaction().add(transfer(alice, bob, 2 * LAMPORTS_PER_SOL)),
      [alice],
    );
    const error = await tooMuch.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SendTransactionError);
    expect((error as SendTransactionError).logs?.join()).toContain('insufficient lamports');
  });

  it('learns fees before and after', async () => {
    const { blockhash } = await connection.getLatestBlockhash();
    const priced = new Transaction({ feePayer: alice.publicKey, recentBlockhash: blockhash }).add(
      ComputeBudgetProgram.setComputeUnitLimit({ units: 10_000 }),
      ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 250_000 }),
      transfer(alice, bob, 3_000_000),
    );
    const { value: fee } = await connection.getFeeForMessage(priced.compileMessage());
    expect(fee).toBe(7_500);
    const signature = await sendAndConfirmTransaction(connection, priced, [alice]);
    expect(
      (await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 }))?.meta?.fee,
    ).toBe(fee);
    const fees = await connection.getRecentPrioritizationFees({ lockedWritableAccounts: [bob] });
    expect(fees.map(({ prioritizationFee }) => prioritizationFee)).toEqual([0]);
  });

  it('makes a lookup table and pays through it', async () => {
    const land = async (instructions: TransactionInstruction[], table?: AddressLookupTableAccount) => {
      const latest = await connection.getLatestBlockhash();
      const message = new TransactionMessage({
        payerKey: alice.publicKey,
        recentBlockhash: latest.blockhash,
        instructions,
      }).compileToV0Message(table === undefined ? [] : [table]);
      const transaction = new VersionedTransaction(message);
      transaction.sign([alice]);
      const signature = await connection.sendTransaction(transaction);
      const { value } = await connection.confirmTransaction({ signature, ...latest });
      expect(value.err).toBeNull();
      return signature;
    };
    const by = { authority: alice.publicKey, payer: alice.publicKey };
    const recentSlot = await connection.getSlot('confirmed');
    const [create, address] = AddressLookupTableProgram.createLookupTable({ ...by, recentSlot });
    const extend = AddressLookupTableProgram.extendLookupTable({
      ...by,
      lookupTable: address,
      addresses: [bob, TOKEN.publicKey],
    });
    await land([create, extend]);
    const { value: table } = await connection.getAddressLookupTable(address);
    expect(table?.state.addresses).toEqual([bob, TOKEN.publicKey]);
    const signature = await land([transfer(alice, TOKEN.publicKey, 4_000_000)], table ?? undefined);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    expect(found?.meta?.loadedAddresses?.writable).toEqual([TOKEN.publicKey]);
    expect(found?.transaction.message.staticAccountKeys).not.toContainEqual(TOKEN.publicKey);
  });

  it('knows the cluster', async () => {
    const { absoluteSlot, blockHeight, epoch, slotsInEpoch } = await connection.getEpochInfo();
    expect(absoluteSlot).toBe((blockHeight ?? 0) + 1_000);
    expect([epoch, slotsInEpoch]).toEqual([0, 432_000]);
    expect(await connection.getSlot('finalized')).toBeLessThanOrEqual(await connection.getSlot('processed'));
    expect(await connection.getVersion()).toMatchObject({ 'solana-core': '2.2.0' });
    expect(new PublicKey(await connection.getGenesisHash()).toBytes()).toHaveLength(32);
    expect(await connection.getMinimumBalanceForRentExemption(165)).toBe(2_039_280);
    expect(await connection.getFirstAvailableBlock()).toBe(1_000);
    const { blockhash } = await connection.getLatestBlockhash();
    expect((await connection.isBlockhashValid(blockhash, { commitment: 'processed' })).value).toBe(true);
    expect((await connection.getAccountInfo(new PublicKey(SQUADS_PROGRAM)))?.executable).toBe(true);
    expect((await connection.getAccountInfo(new PublicKey(TOKEN_PROGRAM)))?.executable).toBe(true);
  });
});

const TOKEN = Keypair.generate();

describe('web3.js on a token', () => {
  let token: TestToken;
  let connection: Connection;
  const owner = new PublicKey(treasury.address);

  beforeEach(async () => {
    const directory = emptyDirectory();
    const chain = await openLocalChain(chainOptions(directory, systemClock));
    token = await createToken(chain, 1_234_500_000n);
    await chain.close();
    const { url } = await startPlainNode({ directory });
    connection = connectionTo(url);
  });

  it('reads balances, supply, and the accounts of an owner', async () => {
    const amount = { amount: '1234500000', decimals: 6, uiAmount: 1_234.5, uiAmountString: '1234.5' };
    const mint = new PublicKey(token.mint);
    expect((await connection.getTokenAccountBalance(new PublicKey(token.account))).value).toEqual(amount);
    expect((await connection.getTokenSupply(mint)).value).toEqual(amount);
    const byMint = await connection.getTokenAccountsByOwner(owner, { mint });
    const byProgram = await connection.getTokenAccountsByOwner(owner, {
      programId: new PublicKey(TOKEN_PROGRAM),
    });
    expect(byMint.value.map(({ pubkey }) => pubkey.toBase58())).toEqual([token.account]);
    expect(byProgram.value).toEqual(byMint.value);
    const parsed = await connection.getParsedTokenAccountsByOwner(owner, { mint });
    expect(parsed.value[0]?.account.data.parsed.info.tokenAmount).toEqual(amount);
  });

  it('gets several accounts at once, with none where there is none', async () => {
    const addresses = [token.mint, TOKEN.publicKey, token.account].map((each) => new PublicKey(each));
    const accounts = await connection.getMultipleAccountsInfo(addresses);
    expect(accounts.map((account) => account?.data.length ?? null)).toEqual([82, null, 165]);
  });
});
