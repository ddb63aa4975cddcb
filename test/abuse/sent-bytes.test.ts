/** What a batch sends to a cluster, instruction by instruction, is what the SDK of Squads builds for the same. */
import { randomUUID } from 'node:crypto';
import {
  Connection,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import * as sqds from '@sqds/multisig';
import { expect, it } from 'vitest';
import { pipelineContent, pipelineInstructions } from '../../src/actions/pipelines.js';
import { SQUADS_PROGRAM } from '../../src/chain/programs.js';
import { flywheelOf } from '../../src/engine/batches/batch-context.js';
import type { Sha256 } from '../../src/values/digest.js';
import { aPipeline } from '../contract/service/examples.js';
import { publicKey, toWeb3 } from '../support/oracle.js';
import { nodeWithPrice, openOnCluster, signApproval } from '../support/service.js';

/** Instructions of the Squads program in a transaction, as text that says all of them. */
function squadsIn(wire: string): readonly string[] {
  const { message } = VersionedTransaction.deserialize(Buffer.from(wire, 'base64'));
  return message.compiledInstructions.flatMap(({ programIdIndex, accountKeyIndexes, data }) => {
    const key = (index: number) => message.staticAccountKeys[index]?.toBase58();
    if (key(programIdIndex) !== SQUADS_PROGRAM) return [];
    return [JSON.stringify([accountKeyIndexes.map(key), Buffer.from(data).toString('hex')])];
  });
}

const text = ({ keys, data }: TransactionInstruction): string =>
  JSON.stringify([keys.map(({ pubkey }) => pubkey.toBase58()), Buffer.from(data).toString('hex')]);

it('a batch is set up, approved, run and closed by the instructions of the SDK', async () => {
  const wires = new Set<string>();
  const under = await openOnCluster([], 1, (node) => {
    const priced = nodeWithPrice(1_000)(node);
    return {
      ...priced,
      post: (body, terms) => {
        const { method, params } = JSON.parse(body);
        if (method === 'sendTransaction') wires.add(params[0]);
        return priced.post(body, terms);
      },
    };
  });
  const { service, test, node } = under;
  const { project } = test;
  const pipelines = [aPipeline(), aPipeline()];
  const { value: init } = await service.initBatch(
    { pipelines },
    project.call({ idempotencyKey: randomUUID() }),
  );

  const { token, flywheel } = await test.store.read(async (tx) => {
    const found = (await tx.tokens.list())[0];
    const record = found && (await tx.flywheels.ofToken(found.id));
    if (found === undefined || record === undefined) throw new TypeError('Nothing is registered.');
    return { token: found, flywheel: record };
  });
  const place = flywheelOf(token, flywheel);
  const { multisig, operator, owner, vault } = place;
  const [multisigPda, member] = [publicKey(multisig), publicKey(operator)];
  const batchIndex = BigInt(init.batch.initResult?.batchIndex ?? 0);
  const at = { multisigPda, batchIndex };
  const vote = { multisigPda, transactionIndex: batchIndex };
  const messages = init.batch.pipelines.map(({ type, proofHash }) => {
    const actions = [{ action: 'BURN', amount: 1 }] as const;
    const content = pipelineContent({ type, actions, proofHash: proofHash as Sha256 }, token.decimals);
    return new TransactionMessage({
      payerKey: publicKey(vault),
      recentBlockhash: vault,
      instructions: pipelineInstructions(content, place).map(toWeb3),
    });
  });
  const connection = new Connection(node.url, 'confirmed');
  const { instructions } = sqds;
  const numbers = messages.map((_, index) => index + 1);
  const executes = await Promise.all(
    numbers.map((transactionIndex) =>
      instructions.batchExecuteTransaction({ connection, ...at, member, transactionIndex }),
    ),
  );
  const signedTx = signApproval(init.proposalApproveTx, project.owner);
  await service.executeBatch({ batchId: init.batch.id, signedTx }, project.call());

  const expected = [
    instructions.batchCreate({ ...at, creator: member, rentPayer: member, vaultIndex: 0 }),
    instructions.proposalCreate({ ...vote, creator: member, rentPayer: member, isDraft: true }),
    ...messages.map((transactionMessage, index) =>
      instructions.batchAddTransaction({
        ...{ ...at, vaultIndex: 0, member, rentPayer: member },
        ...{ transactionIndex: index + 1, ephemeralSigners: 0, transactionMessage },
      }),
    ),
    instructions.proposalActivate({ ...vote, member }),
    instructions.proposalApprove({ ...vote, member: publicKey(owner) }),
    instructions.proposalApprove({ ...vote, member }),
    ...executes.map(({ instruction }) => instruction),
    ...[...numbers]
      .reverse()
      .map((transactionIndex) =>
        instructions.vaultBatchTransactionAccountClose({ ...at, transactionIndex, rentCollector: member }),
      ),
    instructions.batchAccountsClose({ ...at, rentCollector: member }),
  ].map(text);
  expect([...wires].flatMap(squadsIn)).toEqual(expected);
  await under.dispose();
}, 60_000);
