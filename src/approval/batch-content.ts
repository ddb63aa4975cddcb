/** Decodes the transactions of a batch and recognizes the pipelines that they were compiled from. */
import { isMemo, isSignedBy } from '../actions/memo.js';
import { contentDigest, type PipelineContent } from '../actions/pipelines.js';
import {
  type DecodedInstruction,
  describeInstruction,
  type PipelineAction,
  readAction,
} from '../actions/registry.js';
import type { ChainReader, TransactionRecord } from '../chain/chain.js';
import { proofMemoText } from '../chain/small-programs.js';
import { vaultAddress } from '../chain/squads/addresses.js';
import type { BatchRef } from '../chain/squads/builders.js';
import { type PastBatch, readPastBatch } from '../chain/squads/history.js';
import { vaultMessageInstructions } from '../chain/squads/message.js';
import type { Instruction, Message } from '../chain/transaction/message.js';
import type { Address } from '../values/address.js';
import { isSha256, type Sha256 } from '../values/digest.js';

type Proof = Pick<PipelineContent, 'type' | 'proofHash'>;

/** Type and hash of a proof memo. Only text that equals flywheel's own encoding counts. */
function readProof(one: DecodedInstruction | undefined, vault: Address): Proof | undefined {
  if (!isMemo(one) || !isSignedBy(one, vault)) return undefined;
  try {
    const { type, hash } = JSON.parse(one.text) as { type?: unknown; hash?: unknown };
    if (typeof type !== 'string' || typeof hash !== 'string' || !isSha256(hash)) return undefined;
    return proofMemoText(type, hash) === one.text ? { type, proofHash: hash } : undefined;
  } catch {
    return undefined;
  }
}

function readPipeline({ decoded, problem }: DecodedTransaction, vault: Address): PipelineContent | string {
  if (problem !== null) return problem;
  const proof = readProof(decoded[0], vault);
  if (proof === undefined) return 'the first instruction is not the memo of a proof';
  const actions: PipelineAction[] = [];
  for (let at = 1; at < decoded.length; ) {
    const read = readAction(decoded.slice(at), vault);
    if (typeof read === 'string') return read;
    actions.push(read.action);
    at += read.length;
  }
  return { ...proof, actions };
}

export interface DecodedTransaction {
  readonly number: number;
  readonly address: Address;
  readonly decoded: readonly DecodedInstruction[];
  /** With account rights of the message; empty if they cannot be decoded. */
  readonly instructions: readonly Instruction[];
  /** As stored, with the rights of each account. */
  readonly message: Message;
  /** Signers that the multisig program would add; normally 0. */
  readonly ephemeralSigners: number;
  readonly problem: string | null;
}

/** Decodes one transaction. Unclear content becomes its `problem`. */
export function decodedTransaction(
  stored: Pick<DecodedTransaction, 'number' | 'address' | 'message' | 'ephemeralSigners'>,
): DecodedTransaction {
  const { message } = stored;
  const instructions = vaultMessageInstructions(message);
  if (instructions !== undefined)
    return { ...stored, instructions, decoded: instructions.map(describeInstruction), problem: null };
  const problem =
    message.lookups.length > 0 ? 'the accounts come from a lookup table' : 'the message is malformed';
  return { ...stored, instructions: [], decoded: [], problem };
}

export interface BatchContent {
  /** Re-derived; all transactions act for it. */
  readonly vault: Address;
  readonly transactions: readonly DecodedTransaction[];
  readonly pipelines: readonly PipelineContent[] | null;
  readonly pipelinesProblem: string | null;
  /** The digest of a pipelines file with the same content, or `null`. */
  readonly digest: Sha256 | null;
}

export function contentOf(transactions: readonly DecodedTransaction[], vault: Address): BatchContent {
  const unclear = (problem: string): BatchContent => {
    return { vault, transactions, pipelines: null, pipelinesProblem: problem, digest: null };
  };
  const pipelines: PipelineContent[] = [];
  const decimals = new Set<number>();
  for (const transaction of transactions) {
    const pipeline = readPipeline(transaction, vault);
    if (typeof pipeline === 'string')
      return unclear(`Transaction ${transaction.number} is not a pipeline: ${pipeline}`);
    pipelines.push(pipeline);
    for (const one of transaction.decoded) if ('decimals' in one) decimals.add(one.decimals);
  }
  if (decimals.size > 1) return unclear('The amounts of the batch state different decimals');
  const [only = 0] = decimals;
  const digest = contentDigest(pipelines, only);
  return { vault, transactions, pipelines, pipelinesProblem: null, digest };
}

export interface PastDescription extends BatchRef, BatchContent {
  readonly batch: Pick<PastBatch, 'creator'>;
  readonly votes: PastBatch['votes'];
  /** The transaction that executed each one, in order; `null`: not executed. */
  readonly executions: readonly (TransactionRecord | null)[];
}

/** The transaction did more than this batch, so its balance changes are not the batch's. */
function withoutBalances({ tokenChanges: _, ...record }: TransactionRecord): TransactionRecord {
  return record;
}

/** @returns `null` when the node lacks part of the history, or part of it cannot be decoded. */
export async function readPastContent(chain: ChainReader, ref: BatchRef): Promise<PastDescription | null> {
  const past = await readPastBatch(chain, ref);
  if (past === null) return null;
  const { address: vault } = vaultAddress(ref.multisig, past.vaultIndex);
  const transactions = past.transactions.map(({ number, address, message, ephemeralSigners }) =>
    decodedTransaction({ number, address, ephemeralSigners, message }),
  );
  return {
    multisig: ref.multisig,
    batchIndex: ref.batchIndex,
    batch: { creator: past.creator },
    votes: past.votes,
    executions: past.transactions.map(({ executed, isAlone }) =>
      executed === null || isAlone ? executed : withoutBalances(executed),
    ),
    ...contentOf(transactions, vault),
  };
}
