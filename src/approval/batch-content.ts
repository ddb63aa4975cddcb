/** What the transactions of a batch do together, and the pipelines that they stand for, as far as they can be told. */

import { contentDigest, type PipelineContent } from '../actions/pipelines.js';
import type { Address } from '../values/address.js';
import type { Sha256 } from '../values/digest.js';
import type { DecodedTransaction } from './decoded-transaction.js';
import { readPipelines } from './read-pipelines.js';

/** The content of a batch, wherever it was read. */
export interface BatchContent {
  /** The vault that all transactions act for, re-derived. */
  readonly vault: Address;
  readonly transactions: readonly DecodedTransaction[];
  /** The pipelines that the content stands for, or `null` if it is not that of pipelines. */
  readonly pipelines: readonly PipelineContent[] | null;
  /** Why it is not, or `null`. */
  readonly pipelinesProblem: string | null;
  /** Digest that a pipelines file of the same content has, or `null`. */
  readonly digest: Sha256 | null;
}

/** Decoded transactions with what they stand for. */
export function contentOf(transactions: readonly DecodedTransaction[], vault: Address): BatchContent {
  const read = readPipelines(transactions, vault);
  if ('problem' in read)
    return { vault, transactions, pipelines: null, pipelinesProblem: read.problem, digest: null };
  const { pipelines, decimals } = read;
  const digest = contentDigest(pipelines, decimals);
  return { vault, transactions, pipelines, pipelinesProblem: null, digest };
}
