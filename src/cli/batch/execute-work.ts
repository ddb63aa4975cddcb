/** `batch execute` as an operation: the approval that was sent is kept, so that what came of it can be asked for again. */
import type { Batch, ExecuteBatchResult } from '../../contract/schemas/batch.js';
import type { FlywheelError } from '../../errors/flywheel-error.js';
import { derivedUuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import type { Entry } from '../journal/journal.js';
import type { Performed, Work } from '../operation/run-operation.js';
import { viewExecuteResult } from '../views/batch.js';
import { batchFailure } from './batch-failure.js';
import { executeUntilFinal } from './execute-until-final.js';
import { getBatch } from './initiate.js';
import { settleBatch } from './settle-batch.js';

/** What execute is given. */
export interface ExecuteOptions {
  /** Signed before, base64. */
  readonly signedTx: string | null;
  /** Checks, asks and signs; `null` where the command has no keypair. */
  readonly sign: (() => Promise<string>) | null;
}

/** How it ended, with the batch as it is then. */
export interface Executed {
  readonly batch: Batch;
  readonly value: ExecuteBatchResult;
}

const ANSWER = 'execute';

export class ExecuteWork implements Work<Executed> {
  readonly #session: Session;
  readonly #batch: Batch;
  readonly #options: ExecuteOptions;

  constructor(session: Session, batch: Batch, options: ExecuteOptions) {
    this.#session = session;
    this.#batch = batch;
    this.#options = options;
  }

  async perform(entry: Entry): Promise<Performed<Executed>> {
    const stored = entry.answer(ANSWER) as Executed | undefined;
    if (stored !== undefined) return { result: stored };
    const { id } = this.#batch;
    const { signedTx, sign } = this.#options;
    const sent = (): readonly string[] => (entry.notes['sent'] as readonly string[] | undefined) ?? [];
    if (signedTx !== null) keep(entry, sent(), signedTx);
    const result = await executeUntilFinal(this.#session, this.#batch, {
      current: () => signedTx ?? sent().at(-1),
      sign,
      keep: (signed) => keep(entry, sent(), signed),
      // The first goes out under the operation's own key, which may be the user's.
      key: (signed) => {
        const at = sent().indexOf(signed);
        return at <= 0 ? entry.key : derivedUuid(entry.key, String(at));
      },
    });
    const batch = await getBatch(this.#session, id);
    await settleBatch(this.#session, batch);
    const executed = { batch, value: { batchId: batch.id, result } };
    const state = batchFailure(batch, result) === undefined ? 'done' : 'failed';
    return { result: executed, verdict: { state, landed: [], answers: { [ANSWER]: executed } } };
  }

  present(executed: Executed): FlywheelError | undefined {
    return presentExecuted(this.#session, executed);
  }

  summary({ batch, value: { result } }: Executed): string {
    return `Batch ${batch.id} is ${batch.status}: ${result.totalSuccessful} of ${result.total} transactions were executed.`;
  }
}

function keep(entry: Entry, sent: readonly string[], signedTx: string): void {
  if (!sent.includes(signedTx)) entry.note({ sent: [...sent, signedTx] });
}

/** Prints how a batch ended. @returns what a failed one amounts to. */
export function presentExecuted(session: Session, { batch, value }: Executed): FlywheelError | undefined {
  const failure = batchFailure(batch, value.result);
  session.output.result(value, (style) => [
    failure === undefined
      ? style.good(`Batch ${batch.id} is executed.`)
      : style.bad(`Batch ${batch.id} failed.`),
    ...viewExecuteResult(value.result, style),
  ]);
  return failure;
}
