/** Decoded transactions → the pipelines they stand for: the inverse of `pipelineInstructions`. Rights are checked elsewhere. */
import type { Address } from '../../values/address.js';
import { isSha256 } from '../../values/digest.js';
import { proofMemoText } from '../memo.js';
import type { Operation } from '../transaction/describe.js';
import type { DecodedTransaction } from './decoded-transaction.js';
import type { PipelineAction, PipelineContent } from './pipelines.js';

/** The pipelines of a batch and the one number of decimals that all amounts state, or what does not fit. */
export type ReadPipelines =
  | { readonly pipelines: readonly PipelineContent[]; readonly decimals: number }
  | { readonly problem: string };

type Proof = Pick<PipelineContent, 'type' | 'proofHash'>;

/** Type and hash of a proof memo; only text that is exactly what would be written for them counts. */
function readProof(operation: Operation | undefined, vault: Address): Proof | undefined {
  if (operation?.kind !== 'memo' || !isSignedBy(operation.signers, vault)) return undefined;
  try {
    const { type, hash } = JSON.parse(operation.text) as { type?: unknown; hash?: unknown };
    if (typeof type !== 'string' || typeof hash !== 'string' || !isSha256(hash)) return undefined;
    return proofMemoText(type, hash) === operation.text ? { type, proofHash: hash } : undefined;
  } catch {
    return undefined;
  }
}

const isSignedBy = (signers: readonly Address[], vault: Address): boolean =>
  signers.length === 1 && signers[0] === vault;

/** The action that begins with this operation, and how many operations it takes. */
function readAction(
  operation: Operation,
  next: Operation | undefined,
  vault: Address,
): { readonly action: PipelineAction; readonly length: number } | string {
  switch (operation.kind) {
    case 'memo':
      if (!isSignedBy(operation.signers, vault)) return 'a memo is not signed by the vault alone';
      return { action: { action: 'MEMO', message: operation.text }, length: 1 };
    case 'burn':
      return { action: { action: 'BURN', amount: operation.amount }, length: 1 };
    case 'createTokenAccount':
      if (next?.kind !== 'transfer' || next.to !== operation.account)
        return `the creation of a token account of ${operation.owner} is not followed by a transfer to it`;
      return { action: { action: 'AIRDROP', toAddress: operation.owner, amount: next.amount }, length: 2 };
    case 'transfer':
      return `a transfer to ${operation.to} does not say whose token account that is`;
    case 'unknown':
      return operation.reason;
  }
}

function readPipeline({ operations, problem }: DecodedTransaction, vault: Address): PipelineContent | string {
  if (problem !== null) return problem;
  const proof = readProof(operations[0], vault);
  if (proof === undefined) return 'it does not begin with the memo of a proof';
  const actions: PipelineAction[] = [];
  for (let at = 1; at < operations.length; ) {
    const read = readAction(operations[at] as Operation, operations[at + 1], vault);
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
      if (operation.kind === 'burn' || operation.kind === 'transfer') decimals.add(operation.decimals);
    }
  }
  if (decimals.size > 1) return { problem: 'The amounts of the batch state different decimals' };
  const [only = 0] = decimals;
  return { pipelines, decimals: only };
}
