/** `batch execute` as an operation: the approval that was sent is kept, so that what came of it can be asked for again. */
import type { Batch, ExecuteBatchResult, ExecuteResult, Pipeline } from '../../contract/schemas/batch.js';
import type { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import type { Entry, Notes } from '../journal/journal.js';
import type { Performed, Work } from '../operation/run-operation.js';
import type { OutputFile } from '../output/output-file.js';
import { viewExecuteResult } from '../views/batch.js';
import { countText } from '../views/unit.js';
import type { Signed } from './approve-batch.js';
import { batchFailure } from './batch-failure.js';
import { requireChainCatchesUp } from './catch-up.js';
import { executeUntilFinal } from './execute-until-final.js';
import { requireRanAsApproved } from './hold-digest.js';
import { getBatch, isFinal, isOver, upToDate } from './initiate.js';
import { landedPipelines } from './landed-pipelines.js';
import { writeRest } from './rest-file.js';
import { settleBatch } from './settle-batch.js';
import type { SigningTerms } from './signing.js';

/** What execute is given. */
export interface ExecuteOptions {
  /** Signed before, base64. */
  readonly signedTx: string | null;
  /** Checks, asks and signs; `null` where the command has no keypair. */
  readonly sign: (() => Promise<Signed>) | null;
  /** How it signs. */
  readonly terms: SigningTerms | null;
  /** Digest of what the batch is to hold, as far as the user has said. */
  readonly digest: Sha256 | null;
  /** Go on where what will run cannot be looked at. */
  readonly allowUnverified: boolean;
  /** File for the pipelines that did not land; `null`: not asked for. */
  readonly failedOut: FailedOut | null;
}

/** Where to write what did not land, of the pipelines of the batch; `null` where these are not known. */
export interface FailedOut {
  readonly file: OutputFile;
  readonly pipelines: readonly Pipeline[] | null;
}

/** What is noted of an execution. */
export interface ExecuteNote {
  /** Signed approvals, the latest last. */
  readonly sent: readonly string[];
  readonly terms: SigningTerms | null;
  /** Of what was approved. Missing in what earlier versions have noted. */
  readonly digest?: Sha256 | null;
  /** Missing in what earlier versions have noted. */
  readonly allowUnverified?: boolean;
  /** Missing in what earlier versions have noted. */
  readonly failedOut?: OutputFile | string | null;
}

const noted = (entry: Entry): ExecuteNote => entry.notes as unknown as ExecuteNote;

/** The note with which an execution begins. */
export const noteOf = ({ signedTx, terms, digest, allowUnverified, failedOut }: ExecuteOptions): Notes => ({
  sent: signedTx === null ? [] : [signedTx],
  terms,
  digest,
  allowUnverified,
  failedOut: failedOut?.file ?? null,
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
  readonly outputs: readonly OutputFile[];
  /** Indexes of what has not landed. */
  #left: readonly number[] = [];

  constructor(session: Session, batchId: string, options: ExecuteOptions) {
    this.#session = session;
    this.#batchId = batchId;
    this.#options = options;
    this.outputs = options.failedOut === null ? [] : [options.failedOut.file];
  }

  async perform(entry: Entry): Promise<Performed<Executed>> {
    const stored = entry.answer(ANSWER) as Executed | undefined;
    if (stored !== undefined && isOver(stored.batch)) {
      await this.#findLeft(stored.batch);
      return { result: stored };
    }
    const batch = await upToDate(this.#session, await getBatch(this.#session, this.#batchId));
    if (isFinal(batch) && batch.executeResult !== undefined) {
      const since = `batch ${batch.id} is ${batch.status} since ${batch.dateUpdated}`;
      if (entry.isNew) this.#session.output.tell(`Done before: ${since}.`);
      return this.#conclude(entry, batch, batch.executeResult);
    }
    const result = await this.#execute(entry, batch);
    return this.#conclude(entry, await getBatch(this.#session, batch.id), result);
  }

  async #execute(entry: Entry, batch: Batch): Promise<ExecuteResult> {
    const { signedTx, sign, allowUnverified } = this.#options;
    const sent = (): readonly string[] => noted(entry).sent;
    if (signedTx !== null) keep(entry, signedTx);
    return executeUntilFinal(this.#session, batch, {
      current: () => signedTx ?? sent().at(-1),
      sign,
      wasSent: !entry.isNew,
      allowUnverified,
      keep: (signed) => {
        entry.note({ digest: signed.description?.digest ?? this.#digest(entry) });
        keep(entry, signed.signedTx);
      },
      digest: () => this.#digest(entry),
      // The first goes out under the operation's own key, which may be the user's.
      key: (signed) => {
        // Another body than that of any approval: it must never meet one under the same key.
        if (signed === undefined) return derivedUuid(entry.key, 'approved on chain');
        const at = sent().indexOf(signed);
        return at <= 0 ? entry.key : derivedUuid(entry.key, String(at));
      },
    });
  }

  #digest(entry: Entry): Sha256 | null {
    return this.#options.digest ?? noted(entry).digest ?? null;
  }

  async #conclude(entry: Entry, batch: Batch, result: ExecuteResult): Promise<Performed<Executed>> {
    const opened = await this.#session.service();
    await requireChainCatchesUp(this.#session, opened, batch, result);
    // Without a keypair it may have been asked for what was approved elsewhere.
    const wasSent = this.#options.sign === null || noted(entry).sent.length > 0;
    await requireRanAsApproved(this.#session, opened, batch, result, this.#digest(entry), wasSent);
    await settleBatch(this.#session, batch);
    await this.#findLeft(batch);
    const executed = { batch, value: { batchId: batch.id, result } };
    const state = batchFailure(this.#session, batch, result) === undefined ? 'done' : 'failed';
    return { result: executed, verdict: { state, landed: [], answers: { [ANSWER]: executed } } };
  }

  /** What of the batch has not landed, as service and chain both say: of what is not known nothing is written. */
  async #findLeft(batch: Batch): Promise<void> {
    const pipelines = this.#options.failedOut?.pipelines ?? null;
    if (pipelines === null) return;
    const landed = new Set(await landedPipelines(this.#session, { wasSetUp: true }, batch, pipelines.length));
    this.#left = pipelines.flatMap((_, index) => (landed.has(index) ? [] : [index]));
  }

  #writeLeft(): void {
    const { failedOut } = this.#options;
    if (failedOut === null) return;
    const { file, pipelines } = failedOut;
    if (pipelines !== null) writeRest(this.#session, file, pipelines, this.#left);
    else
      this.#session.output.warn(
        `${file.path} was not written: the pipelines of the batch are not known here.`,
      );
  }

  present({ batch, value }: Executed): FlywheelError | undefined {
    this.#writeLeft();
    const failure = batchFailure(this.#session, batch, value.result);
    this.#session.output.result(value, (style) => [
      failure === undefined
        ? style.good(`Batch ${batch.id} is executed.`)
        : style.bad(`Batch ${batch.id} failed.`),
      ...viewExecuteResult(value.result, style),
    ]);
    return failure;
  }

  summary({ batch, value: { result } }: Executed): string {
    return `Batch ${batch.id} is ${batch.status}: ${result.totalSuccessful} of ${countText(result.total, 'transaction')} executed.`;
  }
}

function keep(entry: Entry, signedTx: string): void {
  const { sent } = noted(entry);
  if (!sent.includes(signedTx)) entry.note({ sent: [...sent, signedTx] });
}
