/** `batch execute` as an operation: the approval that was sent is kept, so that what came of it can be asked for again. */
import type { Batch, ExecuteBatchResult, ExecuteResult } from '../../contract/schemas/batch.js';
import type { FlywheelError } from '../../errors/flywheel-error.js';
import { derivedUuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import type { Entry, Notes } from '../journal/journal.js';
import type { Performed, Work } from '../operation/run-operation.js';
import { viewExecuteResult } from '../views/batch.js';
import { batchFailure } from './batch-failure.js';
import { requireChainAgrees } from './chain-agrees.js';
import { executeUntilFinal } from './execute-until-final.js';
import { getBatch, isFinal } from './initiate.js';
import { settleBatch } from './settle-batch.js';
import type { SigningTerms } from './signing.js';

/** What execute is given. */
export interface ExecuteOptions {
  /** Signed before, base64. */
  readonly signedTx: string | null;
  /** Checks, asks and signs; `null` where the command has no keypair. */
  readonly sign: (() => Promise<string>) | null;
  /** How it signs. */
  readonly terms: SigningTerms | null;
}

/** What is noted of an execution. */
export interface ExecuteNote {
  /** Signed approvals, the latest last. */
  readonly sent: readonly string[];
  readonly terms: SigningTerms | null;
}

/** The note with which an execution begins. */
export const noteOf = ({ signedTx, terms }: ExecuteOptions): Notes => ({
  sent: signedTx === null ? [] : [signedTx],
  terms,
});

/** How it ended, with the batch as it is then. */
export interface Executed {
  readonly batch: Batch;
  readonly value: ExecuteBatchResult;
}

const ANSWER = 'execute';

export class ExecuteWork implements Work<Executed> {
  readonly #session: Session;
  readonly #batchId: string;
  readonly #options: ExecuteOptions;

  constructor(session: Session, batchId: string, options: ExecuteOptions) {
    this.#session = session;
    this.#batchId = batchId;
    this.#options = options;
  }

  async perform(entry: Entry): Promise<Performed<Executed>> {
    const stored = entry.answer(ANSWER) as Executed | undefined;
    if (stored !== undefined) return { result: stored };
    const batch = await getBatch(this.#session, this.#batchId);
    if (isFinal(batch) && batch.executeResult !== undefined) {
      const since = `batch ${batch.id} is ${batch.status} since ${batch.dateUpdated}`;
      if (entry.isNew) this.#session.output.tell(`Done before: ${since}.`);
      return this.#conclude(batch, batch.executeResult);
    }
    const result = await this.#execute(entry, batch);
    return this.#conclude(await getBatch(this.#session, batch.id), result);
  }

  async #execute(entry: Entry, batch: Batch): Promise<ExecuteResult> {
    const { signedTx, sign } = this.#options;
    const sent = (): readonly string[] => (entry.notes as unknown as ExecuteNote).sent;
    if (signedTx !== null) keep(entry, sent(), signedTx);
    return executeUntilFinal(this.#session, batch, {
      current: () => signedTx ?? sent().at(-1),
      sign,
      keep: (signed) => keep(entry, sent(), signed),
      // The first goes out under the operation's own key, which may be the user's.
      key: (signed) => {
        // Another body than that of any approval: it must never meet one under the same key.
        if (signed === undefined) return derivedUuid(entry.key, 'approved on chain');
        const at = sent().indexOf(signed);
        return at <= 0 ? entry.key : derivedUuid(entry.key, String(at));
      },
    });
  }

  async #conclude(batch: Batch, result: ExecuteResult): Promise<Performed<Executed>> {
    await requireChainAgrees(await this.#session.service(), batch, result);
    await settleBatch(this.#session, batch);
    const executed = { batch, value: { batchId: batch.id, result } };
    const state = batchFailure(batch, result) === undefined ? 'done' : 'failed';
    return { result: executed, verdict: { state, landed: [], answers: { [ANSWER]: executed } } };
  }

  present({ batch, value }: Executed): FlywheelError | undefined {
    const failure = batchFailure(batch, value.result);
    this.#session.output.result(value, (style) => [
      failure === undefined
        ? style.good(`Batch ${batch.id} is executed.`)
        : style.bad(`Batch ${batch.id} failed.`),
      ...viewExecuteResult(value.result, style),
    ]);
    return failure;
  }

  summary({ batch, value: { result } }: Executed): string {
    return `Batch ${batch.id} is ${batch.status}: ${result.totalSuccessful} of ${result.total} transactions were executed.`;
  }
}

function keep(entry: Entry, sent: readonly string[], signedTx: string): void {
  if (!sent.includes(signedTx)) entry.note({ sent: [...sent, signedTx] });
}
