/** Runs a burn-batch: the operation that a file is, or those elements of it that are new. */
import type { Session } from '../command.js';
import type { OperationRequest } from '../journal/journal.js';
import { burnDigests, contentDigest } from '../operation/elements.js';
import { runOperation } from '../operation/run-operation.js';
import type { HowOften } from '../options/once.js';
import { type BurnBatchBody, BurnBatchWork } from './burn-batch-work.js';
import { pick, stageOf } from './stages.js';

/** @throws `ERR_PARTIAL` when an element failed, and whatever left the operation in the middle. */
export async function runBurnBatch(
  session: Session,
  body: BurnBatchBody,
  { origin, again, rest, onlyNew, strict }: HowOften & { readonly strict: boolean },
): Promise<void> {
  const { burns } = body;
  const digests = burnDigests(burns);
  const content = contentDigest(digests);
  /** @param indexes - of the elements that are sent; `null`: all of them. */
  const request = (indexes: readonly number[] | null): OperationRequest => ({
    kind: 'burn-batch',
    content,
    origin,
    body: () => JSON.stringify(body),
    notes: () => ({ stages: [stageOf(burns, indexes)] }),
    command: session.commandLine,
    elements: indexes === null ? digests : pick(digests, indexes),
    again,
  });
  const without = (left: ReadonlySet<string>): OperationRequest | null => {
    const indexes = digests.flatMap((digest, index) => (left.has(digest) ? [] : [index]));
    return indexes.length === 0 ? null : request(indexes);
  };
  const work = new BurnBatchWork(session, body, { rest, strict });
  const narrowing = { noun: 'burn', onlyNew, without };
  if (await runOperation(session, request(null), work, narrowing)) return;
  work.present();
}
