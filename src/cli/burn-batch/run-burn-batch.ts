/** Runs a burn-batch: the operation that a file is, or those elements of it that are new. */
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { Session } from '../command.js';
import type { OperationRequest } from '../journal/journal.js';
import { runOperation } from '../operation/run-operation.js';
import type { HowOften } from '../options/once.js';
import type { OutputFile } from '../output/output-file.js';
import type { KeptBody } from './body.js';
import { BurnBatchWork } from './burn-batch-work.js';
import { spoolBurns } from './burn-list.js';
import { stageOf } from './stages.js';

/** How a burn-batch is run. */
export interface RunTerms extends HowOften {
  readonly strict: boolean;
  /** `null`: not asked for. */
  readonly failedOut: OutputFile | null;
}

/**
 * @param burns - as they are read and checked; put away first, so that nothing is sent before all of them are, and nothing but these.
 * @throws `ERR_PARTIAL` when an element failed, and whatever reading throws, or left the operation in the middle.
 */
export async function runBurnBatch(
  session: Session,
  burns: AsyncIterable<BurnRequest>,
  { origin, again, rest, onlyNew, strict, failedOut }: RunTerms,
): Promise<void> {
  const spool = (await (await session.service()).journal()).spool();
  const list = await spoolBurns(spool, burns);
  const body: KeptBody = { failedOut, counts: list.counts, equal: list.equal ?? null };
  /** @param indexes - of the elements that are sent; `null`: all of them. */
  const request = (indexes: readonly number[] | null): OperationRequest => ({
    kind: 'burn-batch',
    content: spool.content,
    origin,
    body: () => JSON.stringify(body),
    parts: spool,
    notes: () => ({ stages: [stageOf(list, indexes)] }),
    command: session.commandLine,
    elements: indexes === null ? spool : list.digests(indexes),
    again,
  });
  const without = (left: ReadonlySet<string>): OperationRequest | null => {
    const indexes = list.without(left as Parameters<typeof list.without>[0]);
    return indexes.length === 0 ? null : request(indexes);
  };
  const work = new BurnBatchWork(session, { list, failedOut }, { rest, strict });
  const narrowing = { noun: 'burn', onlyNew, without };
  if (await runOperation(session, request(null), work, narrowing)) return;
  await work.present();
}
