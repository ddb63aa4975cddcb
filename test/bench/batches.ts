/** A batch of a hundred pipelines from init to executed, beside the same transactions run without store and ledger. */

import type { AccountState } from '../../src/chain/account.js';
import { createRuntime } from '../../src/chain/local/runtime/runtime.js';
import { proposalApprove } from '../../src/chain/squads/instructions/proposal.js';
import { compileLegacyMessage, signTransaction } from '../../src/chain/transaction/compile.js';
import type { Instruction } from '../../src/chain/transaction/instruction.js';
import { decodeTransaction } from '../../src/chain/transaction/wire.js';
import { createFileKeyring } from '../../src/compose/file-keyring.js';
import { dataFiles } from '../../src/compose/local-config.js';
import type { InitBatchRequest } from '../../src/contract/schemas/batch.js';
import { executeTransactions, setupTransactions } from '../../src/engine/batches/plan-batch.js';
import type { Address } from '../../src/values/address.js';
import type { Uuid } from '../../src/values/ids.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import type { BenchRatio } from './ratio.js';

const PIPELINES = 100;

const pipelines = (owner: string): InitBatchRequest => ({
  pipelines: Array.from({ length: PIPELINES }, (_, index) => ({
    type: 'WATCH_AD',
    payload: JSON.stringify({ index }),
    actions: [
      { action: 'BURN' as const, amount: 2 },
      { action: 'AIRDROP' as const, toAddress: owner as Address, amount: 0.5 },
    ],
  })),
});

export async function benchBatch(): Promise<BenchRatio[]> {
  // Once to warm up, so that both sides are compiled.
  await measure();
  const { engineMs, bareMs } = await measure();
  return [
    {
      name: `batch of ${PIPELINES} pipelines, init to executed: rate : the bare limit`,
      ratio: bareMs / engineMs,
      target: 1 / 3,
      atLeast: true,
    },
  ];
}

async function measure(): Promise<{ engineMs: number; bareMs: number }> {
  const opened = await openTestEngine();
  try {
    const bareMs = await bareBatchMs(opened);
    const { engine, project } = opened;
    const start = performance.now();
    const init = await engine.initBatch(pipelines(project.owner.address), project.call());
    const signedTx = sign(init.value.proposalApproveTx, opened);
    const { value } = await engine.executeBatch(
      { batchId: init.value.batch.id as Uuid, signedTx },
      project.call(),
    );
    if (value.result.totalSuccessful !== PIPELINES) throw new Error('The batch of the measurement failed.');
    return { engineMs: performance.now() - start, bareMs };
  } finally {
    await opened.destroy();
  }
}

function sign(approval: string, { project }: TestEngine): string {
  const bytes = Buffer.from(approval, 'base64');
  const { message, messageBytes } = decodeTransaction(bytes);
  const place = message.staticKeys.indexOf(project.owner.address);
  bytes.set(project.owner.signNow(messageBytes), 1 + 64 * place);
  return bytes.toString('base64');
}

/** The batch's transactions, planned beforehand; building, signing and running them is timed. */
async function bareBatchMs(opened: TestEngine): Promise<number> {
  const { chain, store, project, dataDir } = opened;
  const { messages, flywheel } = await planned(opened);
  const operator = createFileKeyring(dataFiles(dataDir).keys).get(flywheel.operator);
  const { blockhash } = await chain.latestBlockhash();
  const place = { flywheel, batchIndex: 1n };
  const approve = (member: Address) => [
    proposalApprove({ multisig: flywheel.multisig, batchIndex: 1n, member }),
  ];
  const runtime = createRuntime();
  const states = new Map<Address, AccountState | null>();
  const source = { get: (address: Address) => states.get(address) ?? null };
  const run = (instructions: readonly Instruction[], signer = operator): void => {
    const message = compileLegacyMessage({ payer: signer.address, instructions, blockhash });
    const { changes, error } = runtime.execute(signTransaction(message, [signer]).bytes, source, {
      slot: 1n,
      epoch: 0n,
      unixTimestamp: 1n,
    });
    if (error !== null) throw new Error(`A bare transaction failed: ${JSON.stringify(error)}`);
    for (const [address, state] of changes) states.set(address, state);
  };
  const token = await store.read((tx) => tx.tokens.list());
  const needed = [
    flywheel.multisig,
    flywheel.vault,
    flywheel.vaultTokenAccount,
    flywheel.operator,
    project.owner.address,
    token[0]!.mintAddress,
  ];
  for (const [index, state] of (await chain.getAccounts(needed)).entries()) states.set(needed[index]!, state);
  const start = performance.now();
  for (const instructions of setupTransactions(place, messages)) run(instructions);
  run(approve(project.owner.address), project.owner);
  run(approve(operator.address));
  for (const instructions of executeTransactions(place, messages)) run(instructions);
  return performance.now() - start;
}

/** The vault messages that the engine would make, by way of its own planner. */
async function planned({ store, project }: TestEngine) {
  const { planPipeline } = await import('../../src/engine/batches/plan-batch.js');
  const { flywheelOf } = await import('../../src/engine/batches/batch-context.js');
  const { sha256 } = await import('../../src/values/digest.js');
  return store.read(async (tx) => {
    const [token] = await tx.tokens.list();
    const flywheel = token && (await tx.flywheels.ofToken(token.id));
    if (token === undefined || flywheel === undefined) throw new Error('Nothing is registered.');
    const sources = pipelines(project.owner.address).pipelines.map(({ type, payload, actions }) => ({
      type,
      proofHash: sha256(payload),
      actions: actions as never,
    }));
    const onChain = flywheelOf(token, flywheel);
    const messages = sources.map((source) => {
      const plan = planPipeline(source, onChain);
      if (typeof plan === 'string') throw new Error(plan);
      return plan.message;
    });
    return { flywheel, messages };
  });
}
