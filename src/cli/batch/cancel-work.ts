/** `batch cancel` as an operation; cancelling twice is cancelling once, so that it is simply asked for until it is known. */
import type { Batch } from '../../contract/schemas/batch.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import type { Entry } from '../journal/journal.js';
import type { Performed, Work } from '../operation/run-operation.js';
import { viewBatch } from '../views/batch.js';
import { endBatch, type OwnerVoting } from './end-batch.js';
import { getBatch } from './initiate.js';
import { settleBatch } from './settle-batch.js';

const ANSWER = 'cancel';

export class CancelWork implements Work<Batch> {
  readonly #session: Session;
  readonly #batchId: string;
  readonly #voting: OwnerVoting;

  constructor(session: Session, batchId: string, voting: OwnerVoting) {
    this.#session = session;
    this.#batchId = batchId;
    this.#voting = voting;
  }

  async perform(entry: Entry): Promise<Performed<Batch>> {
    const stored = entry.answer(ANSWER) as Batch | undefined;
    if (stored !== undefined) return { result: stored };
    const batch = await endBatch(this.#session, this.#batchId, this.#voting).catch((error: unknown) =>
      this.#refused(error),
    );
    await settleBatch(this.#session, batch);
    return { result: batch, verdict: { state: 'done', landed: [], answers: { [ANSWER]: batch } } };
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
