/** Reads a batch from chain and says in JSON what it will do, and whether all of that is allowed. */

import { digestText } from '../../actions/pipelines.js';
import { inText } from '../../actions/registry.js';
import { checkBatchContent } from '../../approval/check-content.js';
import { type BatchDescription, readBatch } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import type { Flywheel } from '../../chain/flywheel.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';

import { contentTotals } from '../views/batch-content.js';
import type { BatchName } from './approval-source.js';

export interface Inspection {
  readonly description: BatchDescription;
  readonly decimals: number;
  /** Why it should not be approved, or `null`. */
  readonly problem: string | null;
  /** What is printed as JSON. */
  readonly value: unknown;
}

/** Reads and judges a batch; where nothing is pinned it is only described. */
export async function inspectBatch(
  chain: ChainReader,
  trusted: Flywheel | null,
  batch: BatchName,
): Promise<Inspection> {
  const multisig = address(trusted?.multisig ?? batch.multisig);
  const description = await readBatch(chain, { multisig, batchIndex: batch.batchIndex });
  const decimals = trusted?.decimals ?? statedDecimals(description);
  const problem =
    trusted === null ? 'nothing is pinned for this flywheel' : contentProblem(description, trusted);
  return { description, decimals, problem, value: toJson(batch, description, decimals, problem) };
}

function contentProblem(description: BatchDescription, trusted: Flywheel): string | null {
  try {
    checkBatchContent(description, trusted);
    return description.pipelinesProblem;
  } catch (error) {
    if (isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) return error.message;
    throw error;
  }
}

/** The decimals that the amounts of the batch state themselves. */
function statedDecimals({ transactions }: BatchDescription): number {
  for (const { operations } of transactions)
    for (const operation of operations)
      if (operation.kind === 'burn' || operation.kind === 'transfer') return operation.decimals;
  return 0;
}

function toJson(
  batch: BatchName,
  description: BatchDescription,
  decimals: number,
  problem: string | null,
): unknown {
  const { proposal, pipelines, digest } = description;
  return plain({
    batchId: batch.id,
    multisig: description.multisig,
    batchIndex: description.batchIndex,
    vault: description.vault,
    proposal: {
      address: description.proposalAddress,
      status: proposal.status.kind,
      approved: proposal.approved,
    },
    transactions: description.transactions.map(({ number, address: at, operations, problem: reason }) => ({
      number,
      address: at,
      operations,
      ...(reason === null ? {} : { problem: reason }),
    })),
    pipelines:
      pipelines?.map(({ type, proofHash, actions }) => ({
        type,
        proofHash,
        actions: actions.map((action) => inText(action, decimals)),
      })) ?? null,
    totals: contentTotals(description, { decimals }),
    digest: digest === null ? null : digestText(digest),
    problem,
  });
}

/** Large integers as text; everything else as it is. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, field: unknown) => (typeof field === 'bigint' ? field.toString() : field)),
  );
