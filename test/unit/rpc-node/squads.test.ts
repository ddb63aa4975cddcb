/** Runs flows of the Squads SDK on the node, over web3.js. */
import {
  type Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  type PublicKey,
  SystemProgram,
  TransactionMessage,
} from '@solana/web3.js';
import * as multisig from '@sqds/multisig';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeDirectories } from '../../support/chain.js';
import { closeTestNodes, startPlainNode } from '../../support/local-rpc.js';
import { REAL_SQUADS } from '../../support/real-squads.js';
import { closeConnections, connectionTo } from '../../support/web3.js';

afterEach(async () => {
  closeConnections();
  await closeTestNodes();
});
afterAll(removeDirectories);

const { Permissions } = multisig.types;

describe('@sqds/multisig', () => {
  const [owner, operator, createKey] = [Keypair.generate(), Keypair.generate(), Keypair.generate()];
  const [multisigPda] = multisig.getMultisigPda({ createKey: createKey.publicKey });
  const [vaultPda] = multisig.getVaultPda({ multisigPda, index: 0 });
  const bob = Keypair.generate().publicKey;
  let connection: Connection;

  const confirmed = async (signature: string): Promise<void> => {
    const { value } = await connection.confirmTransaction(
      { signature, ...(await connection.getLatestBlockhash()) },
      'confirmed',
    );
    expect(value.err).toBeNull();
  };
  const fund = async (address: PublicKey): Promise<void> =>
    confirmed(await connection.requestAirdrop(address, 2 * LAMPORTS_PER_SOL));

  beforeEach(async () => {
    const { url } = await startPlainNode({ slotMs: 20 });
    connection = connectionTo(url);
    await fund(owner.publicKey);
    await fund(operator.publicKey);
    await fund(vaultPda);
    const [programConfigPda] = multisig.getProgramConfigPda({});
    const { treasury } = await multisig.accounts.ProgramConfig.fromAccountAddress(
      connection,
      programConfigPda,
    );
    const members = [owner, operator].map((key) => ({ key: key.publicKey, permissions: Permissions.all() }));
    await confirmed(
      await multisig.rpc.multisigCreateV2({
        connection,
        treasury,
        createKey,
        creator: operator,
        multisigPda,
        configAuthority: null,
        threshold: 2,
        members,
        timeLock: 0,
        rentCollector: operator.publicKey,
      }),
    );
  });

  const payment = async (lamports: number): Promise<TransactionMessage> =>
    new TransactionMessage({
      payerKey: vaultPda,
      recentBlockhash: (await connection.getLatestBlockhash()).blockhash,
      instructions: [SystemProgram.transfer({ fromPubkey: vaultPda, toPubkey: bob, lamports })],
    });

  const approve = async (transactionIndex: bigint): Promise<void> => {
    for (const member of [owner, operator])
      await confirmed(
        await multisig.rpc.proposalApprove({
          connection,
          feePayer: member,
          member,
          multisigPda,
          transactionIndex,
        }),
      );
  };

  it('creates a multisig, proposes, approves and executes a vault transaction', async () => {
    const account = await multisig.accounts.Multisig.fromAccountAddress(connection, multisigPda);
    expect([account.threshold, account.members.length]).toEqual([2, 2]);
    const common = { connection, feePayer: operator, multisigPda, transactionIndex: 1n };
    await confirmed(
      await multisig.rpc.vaultTransactionCreate({
        ...common,
        creator: operator.publicKey,
        vaultIndex: 0,
        ephemeralSigners: 0,
        transactionMessage: await payment(1_500_000),
      }),
    );
    await confirmed(await multisig.rpc.proposalCreate({ ...common, creator: operator }));
    await approve(1n);
    await confirmed(await multisig.rpc.vaultTransactionExecute({ ...common, member: operator.publicKey }));
    expect(await connection.getBalance(bob)).toBe(1_500_000);
  });

  it('runs a batch', async () => {
    const common = { connection, feePayer: operator, multisigPda };
    const batchIndex = 1n;
    await confirmed(
      await multisig.rpc.batchCreate({ ...common, batchIndex, creator: operator, vaultIndex: 0 }),
    );
    await confirmed(
      await multisig.rpc.proposalCreate({
        ...common,
        creator: operator,
        transactionIndex: 1n,
        isDraft: true,
      }),
    );
    for (const transactionIndex of [1, 2])
      await confirmed(
        await multisig.rpc.batchAddTransaction({
          ...common,
          member: operator,
          batchIndex,
          transactionIndex,
          vaultIndex: 0,
          ephemeralSigners: 0,
          transactionMessage: await payment(1_000_000 * transactionIndex),
        }),
      );
    await confirmed(
      await multisig.rpc.proposalActivate({ ...common, member: operator, transactionIndex: batchIndex }),
    );
    await approve(batchIndex);
    for (const transactionIndex of [1, 2])
      await confirmed(
        await multisig.rpc.batchExecuteTransaction({
          ...common,
          member: operator,
          batchIndex,
          transactionIndex,
        }),
      );
    expect(await connection.getBalance(bob)).toBe(3_000_000);
  });

  it('is told by its error what the native program lacks', async () => {
    const transaction = multisig.transactions.configTransactionCreate({
      blockhash: (await connection.getLatestBlockhash()).blockhash,
      feePayer: operator.publicKey,
      multisigPda,
      transactionIndex: 1n,
      creator: operator.publicKey,
      actions: [{ __kind: 'ChangeThreshold', newThreshold: 1 }],
    });
    transaction.sign([operator]);
    const asking = connection.sendTransaction(transaction);
    if (REAL_SQUADS === undefined)
      await expect(asking).rejects.toThrow(/not supported by the embedded program/);
    else await confirmed(await asking);
  });
});
