/** Multisig members change a batch with other tools than this engine. */

import { memo, transfer } from '../../src/chain/small-programs.js';
import { ALL_PERMISSIONS, decodeAccount, encodeAccount, MULTISIG } from '../../src/chain/squads/accounts.js';
import { transactionAddress } from '../../src/chain/squads/addresses.js';
import {
  proposalActivate,
  proposalApprove,
  proposalCancelV2,
  proposalReject,
} from '../../src/chain/squads/builders.js';
import { encodeVaultMessage } from '../../src/chain/squads/message.js';
import { compile, type Instruction } from '../../src/chain/transaction/message.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../src/chain/transaction/sign.js';
import { dataFiles } from '../../src/compose/local-config.js';
import type { InitBatchResult } from '../../src/contract/schemas/batch.js';
import { closeTransactions, messages } from '../../src/engine/batches/batch-context.js';
import { readBatchOnChain } from '../../src/engine/batches/on-chain.js';
import { addInstructions, executeTransactions } from '../../src/engine/batches/plan-batch.js';
import { invariant } from '../../src/errors/flywheel-error.js';
import { type Address, addressBytes } from '../../src/values/address.js';
import { copyBytes, type ReadonlyBytes } from '../../src/values/bytes.js';
import { land, type TestEngine, tryLand } from './engine.js';
import { rawSqlite } from './store.js';

async function recordOf({ store, deps, project }: TestEngine, { batch: { id } }: InitBatchResult) {
  const batch = await store.read((tx) => tx.batches.get(id));
  const record = await store.read((tx) => tx.projects.find({ id: batch?.tokenId ?? '' }));
  invariant(batch !== undefined && record !== undefined, 'It was just made.');
  const operator = deps.keyring.get(project.registration.operator as Address);
  const at = { multisig: record.multisig, batchIndex: batch.batchIndex };
  return { batch, context: { project: record, operator }, at };
}

export const memoMessage = ({ project }: TestEngine): Uint8Array =>
  encodeVaultMessage(compile(project.registration.vaultAddress as Address, [memo('of its members', [])]));

/** Adds transactions to a batch in set-up. @param from - how many the batch has. */
export async function addOutside(
  test: TestEngine,
  init: InitBatchResult,
  from: number,
  added: readonly Uint8Array[],
): Promise<void> {
  const { batch, context } = await recordOf(test, init);
  const { project: flywheel, operator } = context;
  for (const [at, message] of added.entries())
    await land(test, operator, [
      ...addInstructions({ flywheel, batchIndex: batch.batchIndex, number: from + at + 1, message }),
    ]);
}

/**
 * Executes the next transactions of an approved batch, at most this many. @returns whether any landed. @param what - the messages
 * in the batch. @default the planned ones
 */
export async function executeOutside(
  test: TestEngine,
  init: InitBatchResult,
  count: number,
  beside: readonly Instruction[] = [],
  what?: readonly Uint8Array[],
): Promise<boolean> {
  const { batch, context } = await recordOf(test, init);
  const found = await readBatchOnChain(test.chain, context.project, batch);
  const from = found.batch?.executedTransactionIndex ?? 0;
  const all = await executionsOutside(test, init, what);
  let landed = 0;
  for (const instructions of all.slice(from, from + count)) {
    if ((await tryLand(test, test.project.owner, [...instructions, ...beside])) !== null) break;
    landed += 1;
  }
  return landed > 0;
}

export async function executionsOutside(
  test: TestEngine,
  init: InitBatchResult,
  what?: readonly Uint8Array[],
): Promise<readonly (readonly Instruction[])[]> {
  const { batch, context } = await recordOf(test, init);
  const flywheel = { ...context.project, operator: test.project.owner.address };
  return [...executeTransactions({ flywheel, batchIndex: batch.batchIndex }, what ?? messages(batch))];
}

/** An instruction that names the account of a batch and changes nothing. */
export const naming = ({ project }: TestEngine, { batch }: InitBatchResult): Instruction =>
  transfer({
    from: project.owner.address,
    to: transactionAddress(batch.multisig as Address, BigInt(batch.batchIndex)).address,
    lamports: 0n,
  });

/** @param who - @default both members */
export async function approveOutside(
  test: TestEngine,
  init: InitBatchResult,
  who: readonly ('owner' | 'operator' | KeypairSigner)[] = ['owner', 'operator'],
): Promise<void> {
  const { context, at } = await recordOf(test, init);
  const members = { owner: test.project.owner, operator: context.operator };
  for (const member of who.map((one) => (typeof one === 'string' ? members[one] : one)))
    await land(test, member, [proposalApprove({ ...at, member: member.address })]);
}

const byOperator =
  (instruction: typeof proposalActivate) =>
  async (test: TestEngine, init: InitBatchResult): Promise<void> => {
    const { context, at } = await recordOf(test, init);
    const { operator } = context;
    await land(test, operator, [instruction({ ...at, member: operator.address })]);
  };

/** The operator activates a batch whose set-up is incomplete, so that members can approve it. */
export const activateOutside = byOperator(proposalActivate);
export const rejectOutside = byOperator(proposalReject);

export async function cancelOutside(test: TestEngine, init: InitBatchResult): Promise<void> {
  const { context, at } = await recordOf(test, init);
  // A member may have voted already.
  for (const member of [test.project.owner, context.operator])
    await tryLand(test, member, [proposalCancelV2({ ...at, member: member.address })]);
}

/** Closes the accounts of a finished batch; any signer may. */
export async function closeOutside(test: TestEngine, init: InitBatchResult): Promise<void> {
  const { batch, context } = await recordOf(test, init);
  const { batch: account, multisig } = await readBatchOnChain(test.chain, context.project, batch);
  invariant(account !== null && multisig.rentCollector !== null, 'It is there to be closed.');
  for (const instructions of closeTransactions(context.project, batch, account.size, multisig.rentCollector))
    await land(test, context.operator, instructions);
}

/** Adds a member that has SOL, and whose vote is needed too. */
export async function addThirdMember({ chain, dataDir, project }: TestEngine): Promise<KeypairSigner> {
  const third = createKeypairSigner(generateKeypair());
  const multisig = project.registration.multisig as Address;
  const [account, owner] = await chain.getAccounts([multisig, project.owner.address]);
  const before = account && decodeAccount(MULTISIG, account.data);
  invariant(before != null && owner != null, 'They were just registered.');
  const members = [...before.members, { key: third.address, permissions: ALL_PERMISSIONS }].toSorted((a, b) =>
    Buffer.compare(copyBytes(addressBytes(a.key)), copyBytes(addressBytes(b.key))),
  );
  const hex = (bytes: ReadonlyBytes): string => `x'${Buffer.from(copyBytes(bytes)).toString('hex')}'`;
  const data = encodeAccount(MULTISIG, { ...before, members, threshold: 3 });
  const run = (statement: string) => rawSqlite(dataFiles(dataDir).ledger, statement);
  run(`update accounts set data = ${hex(data)} where address = ${hex(addressBytes(multisig))}`);
  run(`insert into accounts select ${hex(addressBytes(third.address))}, lamports, owner, data, executable
    from accounts where address = ${hex(addressBytes(project.owner.address))}`);
  return third;
}

/** Accounts after the multisig's members changed, once all its batches were set up. @param removed - the former member. */
export const staleAccounts =
  ({ chain }: TestEngine, removed?: string): TestEngine['chain']['getAccounts'] =>
  async (...asked) =>
    (await chain.getAccounts(...asked)).map((account) => {
      const multisig = account && decodeAccount(MULTISIG, account.data);
      if (account === null || multisig == null) return account;
      const staleTransactionIndex = multisig.transactionIndex;
      const members = multisig.members.filter(({ key }) => key !== removed);
      return { ...account, data: encodeAccount(MULTISIG, { ...multisig, staleTransactionIndex, members }) };
    });
