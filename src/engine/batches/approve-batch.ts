/** Brings the two approvals onto the chain: the owner's as it was signed, then the operator's own. */
import { SQUADS_PROGRAM } from '../../chain/programs.js';
import {
  BATCH,
  type Batch,
  decodeAccount,
  PROPOSAL,
  type Proposal,
  VAULT_BATCH_TRANSACTION,
} from '../../chain/squads/layouts/accounts.js';
import { encode } from '../../chain/squads/layouts/codec.js';
import { argumentMessage } from '../../chain/squads/layouts/message.js';
import { describeTransactionError } from '../../chain/transaction/program-errors.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, BundleRecord } from '../../store/records.js';
import { type EngineDeps, LEASE_MS } from '../deps.js';
import { isExpiry } from '../expiry.js';
import { countApprovals } from './approval-cost.js';
import { runPhase } from './run-phase.js';
import { approveInstructions, type BatchScene, batchAccounts } from './scene.js';
import { checkSignedApproval, type SignedApproval } from './signed-approval.js';

export interface ApproveInput {
  readonly deps: EngineDeps;
  readonly scene: BatchScene;
  readonly batch: BatchRecord;
  readonly stored: readonly BundleRecord[];
  readonly signedTx: string;
}

/** What stands on chain before a transaction of the batch runs. */
interface OnChain {
  readonly proposal: Proposal;
  readonly batch: Batch;
}

/**
 * Makes the batch approved by owner and operator.
 * @returns why it can never run (it was rejected or cancelled with other tools), or `null`.
 * @throws `ERR_INVALID_SIGNED_TX`, `ERR_APPROVAL_EXPIRED`, `ERR_INSUFFICIENT_FUNDS`
 */
export async function approveBatch(input: ApproveInput): Promise<string | null> {
  const { deps, scene, batch, signedTx } = input;
  const before = await readOnChain(input);
  const approval = checkSignedApproval(scene, batch, signedTx, await deps.chain.blockHeight());
  // An earlier run may have landed approvals and not lived to count what they cost.
  await countApprovals({ deps, batch, stored: input.stored, approval });
  const blocked = blockedReason(before);
  if (blocked !== null) return blocked;
  if (before.proposal.status.kind !== 'Active') return null;
  if (!before.proposal.approved.includes(scene.flywheel.owner)) await landOwnerApproval(input, approval);
  const owned = await readOnChain(input);
  if (owned.proposal.status.kind === 'Active') await landOperatorApproval(input);
  return blockedReason(await readOnChain(input));
}

/**
 * Reads the batch and checks that it holds exactly what was planned, before the operator adds its own approval.
 * @throws `ERR_BATCH_EXECUTE_FAILED` when anything on chain differs from the plan.
 */
async function readOnChain({ deps, scene, batch }: ApproveInput): Promise<OnChain> {
  const accounts = await deps.chain.getAccounts(
    batchAccounts(scene, batch.batchIndex, batch.pipelines.length),
  );
  const [batchData, proposalData, ...transactions] = accounts.map((account) =>
    account?.owner === SQUADS_PROGRAM ? account.data : undefined,
  );
  const found = batchData && decodeAccount(BATCH, batchData);
  const proposal = proposalData && decodeAccount(PROPOSAL, proposalData);
  if (!found || !proposal) throw differs(batch, 'its accounts are gone');
  if (found.size !== batch.pipelines.length) throw differs(batch, `it holds ${found.size} transactions`);
  if (found.vaultIndex !== scene.flywheel.vaultIndex)
    throw differs(batch, `it acts for vault ${found.vaultIndex}`);
  for (const [index, pipeline] of batch.pipelines.entries()) {
    const data = transactions[index];
    const stored = data && decodeAccount(VAULT_BATCH_TRANSACTION, data);
    const message = stored && Buffer.from(encode(argumentMessage, stored.message)).toString('base64');
    if (message !== pipeline.message) throw differs(batch, `transaction ${index} is another one`);
  }
  return { proposal, batch: found };
}

const differs = (batch: BatchRecord, what: string): FlywheelError =>
  new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `Batch ${batch.id} on chain is not what was planned: ${what}. Nothing was approved or executed.`,
  );

function blockedReason({ proposal }: OnChain): string | null {
  const { kind } = proposal.status;
  return kind === 'Rejected' || kind === 'Cancelled'
    ? `The proposal was ${kind.toLowerCase()} on chain.`
    : null;
}

async function landOwnerApproval(
  { deps, batch, scene }: ApproveInput,
  approval: SignedApproval,
): Promise<void> {
  const [rejection] = await deps.chain.submit([approval.bytes]);
  if (rejection != null) {
    if (isExpiry(rejection)) {
      throw new FlywheelError(
        'ERR_APPROVAL_EXPIRED',
        `The blockhash of the signed approval of batch ${batch.id} is too old, and it has not landed. Approve again: POST /v1/flywheel/batch/${batch.id}/approval gives a fresh one, as \`flywheel batch approve ${batch.id}\` does.`,
      );
    }
    const reason = describeTransactionError(rejection.error, rejection.logs);
    throw new FlywheelError(
      'ERR_INSUFFICIENT_FUNDS',
      `The fee payer ${approval.payer} of the approval cannot pay for it: ${reason}.`,
    );
  }
  const [record] = await deps.chain.lookUp([approval.signature]);
  if (record == null) {
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The chain has not told yet whether the approval ${approval.signature} landed.`,
    );
  }
  const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id));
  await countApprovals({ deps, batch, stored, approval });
  if (record.error !== null) {
    const reason = describeTransactionError(record.error, record.logs);
    throw new FlywheelError(
      'ERR_BATCH_EXECUTE_FAILED',
      `The approval ${approval.signature} of ${scene.flywheel.owner} failed on chain: ${reason}.`,
    );
  }
}

async function landOperatorApproval({ deps, scene, batch, stored }: ApproveInput): Promise<void> {
  const phase = await runPhase(deps, {
    batchId: batch.id,
    phase: 'OPERATOR_APPROVAL',
    signer: scene.operator,
    drafts: [[approveInstructions(scene, batch.batchIndex)]],
    stored: stored.filter((bundle) => bundle.phase === 'OPERATOR_APPROVAL'),
    renewLease: (tx) => tx.batches.claim(batch.id, deps.instances.id, deps.clock.nowMs() + LEASE_MS),
  });
  await deps.store.transaction(phase.settle);
  if (phase.failure === null) return;
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `The operator's approval of batch ${batch.id} failed: ${phase.failure.message}`,
  );
}
