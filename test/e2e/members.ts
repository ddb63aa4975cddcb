/** Members of the multisig who use the Squads SDK over `flywheel local rpc`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Connection,
  Keypair,
  PublicKey,
  Transaction,
  type TransactionInstruction,
} from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { closeConnections, connectionTo } from '../support/web3.js';
import { startNodeBeside } from '../test-cluster/node.js';
import type { Operator } from './operator.js';

export type Vote = 'approve' | 'reject' | 'cancel';

export type Members = Awaited<ReturnType<typeof membersOf>>;

const keypairIn = (path: string): Keypair =>
  Keypair.fromSecretKey(Uint8Array.from(JSON.parse(readFileSync(path, 'utf8'))));

export async function membersOf({ dataDir, owner: ownerFile, template }: Operator) {
  const { made } = template;
  const rpc = await startNodeBeside(dataDir);
  const connection: Connection = connectionTo(rpc.url);
  const multisigPda = new PublicKey(made.multisig);
  const owner = keypairIn(ownerFile);
  const operator = keypairIn(join(dataDir, 'keys', `${made.operator}.json`));

  /** @returns whether the transaction landed and succeeded. */
  const send = async (signer: Keypair, ...instructions: TransactionInstruction[]): Promise<boolean> => {
    const transaction = new Transaction().add(...instructions);
    const signature = await connection.sendTransaction(transaction, [signer], { skipPreflight: true });
    // The node lands what it is sent at once.
    const { value } = await connection.getSignatureStatus(signature);
    return value !== null && value.err === null;
  };
  const batchAt = (batchIndex: number) =>
    squads.accounts.Batch.fromAccountAddress(
      connection,
      squads.getTransactionPda({ multisigPda, index: BigInt(batchIndex) })[0],
    );

  return {
    url: rpc.url,
    /** Executes the next transactions of a batch. @returns how many landed. */
    async execute(batchIndex: number, count: number, who: 'owner' | 'operator' = 'owner'): Promise<number> {
      const member = { owner, operator }[who];
      const { executedTransactionIndex: from } = await batchAt(batchIndex);
      for (let done = 0; done < count; done += 1) {
        const terms = { batchIndex: BigInt(batchIndex), transactionIndex: from + done + 1 };
        const next = await squads.instructions
          .batchExecuteTransaction({ connection, multisigPda, member: member.publicKey, ...terms })
          // A command beside it may have closed the batch.
          .catch(() => null);
        if (next === null || !(await send(member, next.instruction))) return done;
      }
      return count;
    },
    /** Opens the vote on a batch whose set-up is incomplete. */
    async activate(batchIndex: number): Promise<void> {
      const terms = { multisigPda, transactionIndex: BigInt(batchIndex), member: operator.publicKey };
      await send(operator, squads.instructions.proposalActivate(terms));
    },
    /** Owner and operator vote; a member with the same vote is skipped. */
    async vote(batchIndex: number, vote: Vote): Promise<void> {
      for (const member of [owner, operator]) {
        const terms = { multisigPda, transactionIndex: BigInt(batchIndex), member: member.publicKey };
        const instruction = {
          approve: squads.instructions.proposalApprove,
          reject: squads.instructions.proposalReject,
          cancel: squads.instructions.proposalCancelV2,
        }[vote](terms);
        await send(member, instruction);
      }
    },
    /** Closes the accounts of a finished batch, or only this many of its transactions. */
    async close(batchIndex: number, count?: number): Promise<void> {
      const { size } = await batchAt(batchIndex);
      const terms = { multisigPda, rentCollector: operator.publicKey, batchIndex: BigInt(batchIndex) };
      for (let index = size; index > size - (count ?? size); index -= 1)
        await send(
          operator,
          squads.instructions.vaultBatchTransactionAccountClose({ ...terms, transactionIndex: index }),
        );
      if (count === undefined) await send(operator, squads.instructions.batchAccountsClose(terms));
    },
    /** How often each proof is in a successful transaction, from the records of the chain. */
    async executions(proofHashes: readonly string[]): Promise<readonly number[]> {
      const [vault] = squads.getVaultPda({ multisigPda, index: 0 });
      const named = await connection.getSignaturesForAddress(vault, {}, 'confirmed');
      const texts = await Promise.all(
        named
          .filter(({ err }) => err === null)
          .map(async ({ signature }) => {
            const found = await connection.getTransaction(signature, {
              ...{ commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
            });
            return found?.meta?.logMessages?.join('\n') ?? '';
          }),
      );
      return proofHashes.map((hash) => texts.filter((text) => text.includes(hash)).length);
    },
    async leave(): Promise<void> {
      closeConnections();
      await rpc.close(100);
    },
  };
}
