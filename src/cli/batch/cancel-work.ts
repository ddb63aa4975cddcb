/** `batch cancel` and `batch reject` as one operation; cancelling twice is cancelling once, so that it is simply asked for until it is known. */
import type { Batch } from '../../contract/schemas/batch.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import type { Entry } from '../journal/journal.js';
import type { Performed, Work } from '../operation/run-operation.js';
import { viewBatch } from '../views/batch.js';
import { requireChainCatchesUp } from './catch-up.js';
import { isSetUp } from './chain-agrees.js';
import { endBatch, type OwnerVoting } from './end-batch.js';
import { getBatch } from './initiate.js';
import { agreeToReject } from './reject-batch.js';
import { settleBatch } from './settle-batch.js';

const ANSWER = 'cancel';

export interface CancelTerms extends Omit<OwnerVoting, 'agreed'> {
  /** Only what has not been approved yet, and not without a look at it. */
  readonly isRejection: boolean;
}

export class CancelWork implements Work<Batch> {
  readonly #session: Session;
  readonly #batchId: string;
  readonly #terms: CancelTerms;

  constructor(session: Session, batchId: string, terms: CancelTerms) {
    this.#session = session;
    this.#batchId = batchId;
    this.#terms = terms;
  }

  async perform(entry: Entry): Promise<Performed<Batch>> {
    const stored = entry.answer(ANSWER) as Batch | undefined;
    if (stored !== undefined) return { result: stored };
    const batch = await this.#end();
    await settleBatch(this.#session, batch);
    return { result: batch, verdict: { state: 'done', landed: [], answers: { [ANSWER]: batch } } };
  }

  async #end(): Promise<Batch> {
    const { isRejection, ...voting } = this.#terms;
    const [session, batchId] = [this.#session, this.#batchId];
    const before = await getBatch(session, batchId);
    if (isRejection) await agreeToReject(session, before, voting);
    const agreed = { kind: 'reject', batchIndex: BigInt(before.batchIndex) } as const;
    const terms: OwnerVoting = isRejection ? { ...voting, agreed } : voting;
    const batch = await endBatch(session, batchId, terms).catch((error: unknown) => this.#refused(error));
    const { totalSuccessful = 0, total = batch.initResult?.total ?? 0 } = batch.executeResult ?? {};
    const wasSetUp = before.status === 'FINALIZED' || isSetUp(batch);
    await requireChainCatchesUp(
      session,
      await session.service(),
      batch,
      { totalSuccessful, total },
      { wasSetUp },
    );
    return batch;
  }

  /** What is executed is refused, also to a command that has asked before: then nothing of it was cancelled, and nothing will be. */
  async #refused(error: unknown): Promise<never> {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    const { status } = await getBatch(this.#session, this.#batchId);
    throw status === 'EXECUTED' ? error.with({ keyUnused: true }) : error;
  }

  present(batch: Batch): undefined {
    this.#session.output.result(batch, (style) => [
      style.good(`Batch ${batch.id} is over: nothing more of it can be executed.`),
      ...viewBatch(batch, style),
    ]);
  }

  summary({ id }: Batch): string {
    return `Batch ${id} is over: nothing more of it can be executed.`;
  }
}
