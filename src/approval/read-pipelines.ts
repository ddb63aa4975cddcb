/** Decoded transactions → the pipelines they stand for: the inverse of `pipelineInstructions`. Rights are checked elsewhere. */

import { isMemo, isSignedBy } from '../actions/memo.js';
import type { PipelineContent } from '../actions/pipelines.js';
import { type Operation, type PipelineAction, readAction } from '../actions/registry.js';
import { proofMemoText } from '../chain/memo.js';
import type { Address } from '../values/address.js';
import { isSha256 } from '../values/digest.js';
import type { DecodedTransaction } from './decoded-transaction.js';

/** The pipelines of a batch and the one number of decimals that all amounts state, or what does not fit. */
export type ReadPipelines =
  | { readonly pipelines: readonly PipelineContent[]; readonly decimals: number }
  | { readonly problem: string };

type Proof = Pick<PipelineContent, 'type' | 'proofHash'>;

/** Type and hash of a proof memo; only text that is exactly what would be written for them counts. */
function readProof(operation: Operation | undefined, vault: Address): Proof | undefined {
  if (!isMemo(operation) || !isSignedBy(operation, vault)) return undefined;
  try {
    const { type, hash } = JSON.parse(operation.text) as { type?: unknown; hash?: unknown };
    if (typeof type !== 'string' || typeof hash !== 'string' || !isSha256(hash)) return undefined;
    return proofMemoText(type, hash) === operation.text ? { type, proofHash: hash } : undefined;
  } catch {
    return undefined;
  }
}

function readPipeline({ operations, problem }: DecodedTransaction, vault: Address): PipelineContent | string {
  if (problem !== null) return problem;
  const proof = readProof(operations[0], vault);
  if (proof === undefined) return 'it does not begin with the memo of a proof';
  const actions: PipelineAction[] = [];
  for (let at = 1; at < operations.length; ) {
    const read = readAction(operations.slice(at), vault);
    if (typeof read === 'string') return read;
    actions.push(read.action);
    at += read.length;
  }
  return { ...proof, actions };
}

/** Reads each transaction as one pipeline; the first that is none is the problem. */
export function readPipelines(transactions: readonly DecodedTransaction[], vault: Address): ReadPipelines {
  const pipelines: PipelineContent[] = [];
  const decimals = new Set<number>();
  for (const transaction of transactions) {
    const pipeline = readPipeline(transaction, vault);
    if (typeof pipeline === 'string')
      return { problem: `Transaction ${transaction.number} is no pipeline: ${pipeline}` };
    pipelines.push(pipeline);
    for (const operation of transaction.operations) {
      if ('decimals' in operation) decimals.add(operation.decimals);
    }
  }
  if (decimals.size > 1) return { problem: 'The amounts of the batch state different decimals' };
  const [only = 0] = decimals;
  return { pipelines, decimals: only };
}
