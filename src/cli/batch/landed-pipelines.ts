/** Which pipelines of a batch have landed, as its service and the user's own chain both say. */
import { pipelinesDigest } from '../../actions/pipelines.js';
import { isSourceAction } from '../../actions/registry.js';
import type { Batch, InitBatchRequest, PipelineState } from '../../contract/schemas/batch.js';
import { MAX_PAGE_ITEMS } from '../../contract/schemas/page.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import { callWith, isNotOffered } from '../send.js';
import type { CurrentStage } from './batch-stages.js';
import { requireChainCatchesUp } from './catch-up.js';

/**
 * Indexes of the pipelines of a batch that is over or failed, which have landed: the first ones, because a multisig executes a
 * batch in order. What is done once more, or never, is decided by it, so that it is held against the chain each time.
 * @param stage - what is known of the batch beside what the service says now.
 * @param size - pipelines that it was set up with.
 * @throws `ERR_OUTCOME_UNKNOWN` when the service contradicts itself or the chain.
 */
export async function landedPipelines(
  session: Session,
  { wasSetUp }: Pick<CurrentStage, 'wasSetUp'>,
  batch: Batch,
  size: number,
): Promise<readonly number[]> {
  const opened = await session.service();
  const { totalSuccessful = 0, total = size } = batch.executeResult ?? {};
  const landed = Array.from({ length: totalSuccessful }, (_, index) => index);
  // An engine in this process answers both from the same record: asking it for every pipeline would only say it twice.
  const listed = opened.kind === 'embedded' ? null : await listedPipelines(session, opened, batch);
  const executed = listed?.flatMap(({ index, state }) => (state === 'EXECUTED' ? [index] : []));
  if (executed !== undefined && executed.join() !== landed.join())
    throw new FlywheelError(
      'ERR_OUTCOME_UNKNOWN',
      `The service says that ${totalSuccessful} transactions of batch ${batch.id} were executed, and lists ${executed.length === 0 ? 'none' : executed.join(', ')}.`,
      {
        hint: `Do not run it again before you know which is right: \`${commandLine(session.settings, 'batch', 'show', batch.id)}\``,
      },
    );
  await requireChainCatchesUp(session, opened, batch, { totalSuccessful, total }, { wasSetUp, size });
  return landed;
}

/** Indexes in the file of those of a batch that is over which have not landed. @throws as {@link landedPipelines}. */
export async function leftInFile(
  session: Session,
  stage: CurrentStage,
  batch: Batch,
  { pipelines }: InitBatchRequest,
): Promise<readonly number[]> {
  const own = stage.pipelines(pipelines).map((_, index) => index);
  const landed = new Set(await landedPipelines(session, stage, batch, own.length));
  return stage.inFile(own.filter((index) => !landed.has(index)));
}

/** The digest of a batch as its service lists it, to hold against a chain; `null` where it lists none, or no chain can be read. */
export async function listedDigest(
  session: Session,
  opened: OpenedService,
  batch: Batch,
): Promise<Sha256 | null> {
  if (opened.chain === null || opened.pins === null) return null;
  const listed = await listedPipelines(session, opened, batch);
  if (listed === null) return null;
  return pipelinesDigest(
    listed.map(({ type, proofHash, actions }) => ({
      ...{ type, proofHash: proofHash as Sha256, actions: actions.filter(isSourceAction) },
    })),
  );
}

/** As the service lists them; `null` where it lists none of any batch. */
export async function listedPipelines(
  session: Session,
  opened: OpenedService,
  batch: Batch,
): Promise<readonly PipelineState[] | null> {
  const listed: PipelineState[] = [];
  try {
    for (let cursor: string | undefined, more = true; more; ) {
      const asked = { batchId: batch.id, limit: MAX_PAGE_ITEMS, ...(cursor === undefined ? {} : { cursor }) };
      const { value } = await opened.service.batchPipelines(asked, callWith(session, opened));
      listed.push(...value.items);
      cursor = value.nextCursor ?? undefined;
      more = cursor !== undefined;
    }
    return listed.sort((a, b) => a.index - b.index);
  } catch (error) {
    if (!isNotOffered(error)) throw error;
    return null;
  }
}
