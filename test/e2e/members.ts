/** Members of the multisig who use the Squads SDK over `flywheel local rpc`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AddressLookupTableAccount,
  AddressLookupTableProgram,
  type Connection,
  Keypair,
  PublicKey,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { startNodeBeside } from '../support/local-rpc.js';
import { closeConnections, connectionTo } from '../support/web3.js';
import type { Operator } from './operator.js';

export type Vote = 'approve' | 'reject' | 'cancel';

export interface Members {
  readonly url: string;
  /** Executes the next transactions of a batch. @param who - @default the owner @returns how many landed. */
  execute(batchIndex: number, count: number, who?: 'owner' | 'operator'): Promise<number>;
  /** Executes a new batch as the owner, in one transaction that names its accounts by a lookup table only. */
  executeThroughTable(batchIndex: number): Promise<void>;
  /** Owner and operator approve a batch and the owner executes it, inside transactions of another multisig of the owner. */
  finishThroughSquads(batchIndex: number): Promise<void>;
  /** Opens the vote on a batch whose set-up is incomplete. */
  activate(batchIndex: number): Promise<void>;
  /** Owner and operator vote; a member with the same vote is skipped. */
  vote(batchIndex: number, vote: Vote): Promise<void>;
  /** Closes the accounts of a finished batch, or only this many of its transactions. */
  close(batchIndex: number, count?: number): Promise<void>;
  /** How often each proof is in a successful transaction, from the records of the chain. */
  executions(proofHashes: readonly string[]): Promise<readonly number[]>;
  leave(): Promise<void>;
}

const keypairIn = (path: string): Keypair =>
  Keypair.fromSecretKey(Uint8Array.from(JSON.parse(readFileSync(path, 'utf8'))));

export async function membersOf({ dataDir, owner: ownerFile, template }: Operator): Promise<Members> {
  const { made } = template;
  const rpc = await startNodeBeside(dataDir);
  const connection: Connection = connectionTo(rpc.url);
  const multisigPda = new PublicKey(made.multisig);
  const owner = keypairIn(ownerFile);
  const operator = keypairIn(join(dataDir, 'keys', `${made.operator}.json`));

  /** @returns whether the transaction landed and succeeded. */
  const send = (signer: Keypair, ...instructions: TransactionInstruction[]): Promise<boolean> =>
    sendWith([], [signer], instructions);
  const sendAll = (signers: readonly Keypair[], ...instructions: TransactionInstruction[]) =>
    sendWith([], signers, instructions);
  const sendWith = async (
    tables: readonly AddressLookupTableAccount[],
    signers: readonly Keypair[],
    instructions: TransactionInstruction[],
  ): Promise<boolean> => {
    const [payer] = signers as [Keypair];
    const { blockhash } = await connection.getLatestBlockhash();
    const message = new TransactionMessage({
      ...{ payerKey: payer.publicKey, recentBlockhash: blockhash, instructions },
    });
    const transaction = new VersionedTransaction(message.compileToV0Message([...tables]));
    transaction.sign([...signers]);
    const signature = await connection.sendRawTransaction(transaction.serialize(), { skipPreflight: true });
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
    async execute(batchIndex, count, who = 'owner') {
      const member = { owner, operator }[who];
      const { executedTransactionIndex: from } = await batchAt(batchIndex);
      for (let done = 0; done < count; done += 1) {
        const { instruction } = await squads.instructions.batchExecuteTransaction({
          ...{ connection, multisigPda, member: member.publicKey },
          ...{ batchIndex: BigInt(batchIndex), transactionIndex: from + done + 1 },
        });
        if (!(await send(member, instruction))) return done;
      }
      return count;
    },
    async executeThroughTable(batchIndex) {
      const { size } = await batchAt(batchIndex);
      const executing: TransactionInstruction[] = [];
      for (let transactionIndex = 1; transactionIndex <= size; transactionIndex += 1) {
        const { instruction } = await squads.instructions.batchExecuteTransaction({
          ...{
            connection,
            multisigPda,
            member: owner.publicKey,
            batchIndex: BigInt(batchIndex),
            transactionIndex,
          },
        });
        executing.push(instruction);
      }
      const named = executing.flatMap(({ keys }) => keys).filter(({ isSigner }) => !isSigner);
      const addresses = [...new Set(named.map(({ pubkey }) => pubkey.toBase58()))].map(
        (key) => new PublicKey(key),
      );
      const by = { authority: owner.publicKey, payer: owner.publicKey };
      const recentSlot = await connection.getSlot('finalized');
      const [create, lookupTable] = AddressLookupTableProgram.createLookupTable({ ...by, recentSlot });
      const extend = AddressLookupTableProgram.extendLookupTable({ ...by, lookupTable, addresses });
      await send(owner, create, extend);
      const { value: table } = await connection.getAddressLookupTable(lookupTable);
      if (table === null) throw new TypeError('The lookup table has not landed.');
      // Entries of a lookup table are usable from the next slot on.
      while ((await connection.getSlot()) <= table.state.lastExtendedSlot);
      if (!(await sendWith([table], [owner], executing))) throw new TypeError('The execution has failed.');
    },
    async finishThroughSquads(batchIndex) {
      const createKey = Keypair.generate();
      const [own] = squads.getMultisigPda({ createKey: createKey.publicKey });
      const [vault] = squads.getVaultPda({ multisigPda: own, index: 0 });
      const [config] = squads.getProgramConfigPda({});
      const { treasury } = await squads.accounts.ProgramConfig.fromAccountAddress(connection, config);
      const mask = squads.types.Permissions.all().mask;
      const member = owner.publicKey;
      const create = squads.instructions.multisigCreateV2({
        ...{ multisigPda: own, createKey: createKey.publicKey, creator: member, treasury },
        ...{ members: [{ key: member, permissions: { mask } }], threshold: 1, timeLock: 0 },
        ...{ configAuthority: null, rentCollector: null },
      });
      await sendAll([owner, createKey], create);
      let transactionIndex = 0n;
      const within = async (inner: TransactionInstruction): Promise<void> => {
        transactionIndex += 1n;
        const terms = { multisigPda: own, transactionIndex, creator: member, member };
        const recentBlockhash = PublicKey.default.toBase58();
        const transactionMessage = new TransactionMessage({
          ...{ payerKey: vault, recentBlockhash, instructions: [inner] },
        });
        const { vaultTransactionCreate, proposalCreate, proposalApprove } = squads.instructions;
        const created = vaultTransactionCreate({
          ...{ ...terms, vaultIndex: 0, ephemeralSigners: 0, transactionMessage },
        });
        const isSent = await send(owner, created, proposalCreate(terms), proposalApprove(terms));
        const { instruction } = await squads.instructions.vaultTransactionExecute({ ...terms, connection });
        if (!isSent || !(await send(owner, instruction))) throw new TypeError('It has not run.');
      };
      const vote = { multisigPda, transactionIndex: BigInt(batchIndex) };
      await within(squads.instructions.proposalApprove({ ...vote, member }));
      await send(operator, squads.instructions.proposalApprove({ ...vote, member: operator.publicKey }));
      const { size } = await batchAt(batchIndex);
      for (let index = 1; index <= size; index += 1) {
        const { instruction } = await squads.instructions.batchExecuteTransaction({
          ...{ connection, multisigPda, member, batchIndex: BigInt(batchIndex), transactionIndex: index },
        });
        await within(instruction);
      }
    },
    async activate(batchIndex) {
      const terms = { multisigPda, transactionIndex: BigInt(batchIndex), member: operator.publicKey };
      await send(operator, squads.instructions.proposalActivate(terms));
    },
    async vote(batchIndex, vote) {
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
    async close(batchIndex, count) {
      const { size } = await batchAt(batchIndex);
      const terms = { multisigPda, rentCollector: operator.publicKey, batchIndex: BigInt(batchIndex) };
      for (let index = size; index > size - (count ?? size); index -= 1)
        await send(
          operator,
          squads.instructions.vaultBatchTransactionAccountClose({ ...terms, transactionIndex: index }),
        );
      if (count === undefined) await send(operator, squads.instructions.batchAccountsClose(terms));
    },
    async executions(proofHashes) {
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
    async leave() {
      closeConnections();
      await rpc.close(100);
    },
  };
}
