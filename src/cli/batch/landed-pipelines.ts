/** Which pipelines of a batch have landed. */
import { type Batch, MAX_PAGE_ITEMS } from '../../contract/schemas/batch.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { callWith } from '../send.js';

/**
 * Indexes of the pipelines that have landed, as the service lists them; of one that does not list them the first ones, because
 * a multisig executes a batch in order.
 */
export async function landedPipelines(session: Session, batch: Batch): Promise<readonly number[]> {
  const opened = await session.service();
  const landed: number[] = [];
  try {
    for (let cursor: string | undefined, more = true; more; ) {
      const asked = { batchId: batch.id, limit: MAX_PAGE_ITEMS, ...(cursor === undefined ? {} : { cursor }) };
      const { value } = await opened.service.batchPipelines(asked, callWith(session, opened));
      for (const { index, state } of value.items) if (state === 'EXECUTED') landed.push(index);
      cursor = value.nextCursor ?? undefined;
      more = cursor !== undefined;
    }
    return landed;
  } catch (error) {
    if (!isNotOffered(error)) throw error;
    return Array.from({ length: batch.executeResult?.totalSuccessful ?? 0 }, (_, index) => index);
  }
}

/** Does the service not know the operation at all? */
export const isNotOffered = (error: unknown): boolean =>
  isFlywheelError(error, 'ERR_NOT_FOUND') || isFlywheelError(error, 'ERR_METHOD_NOT_ALLOWED');
