/** `batch init` as the beginning of a batch's operation. */
import type { Batch, InitBatchRequest, InitBatchResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { type Entry, isOver, type OperationState } from '../journal/journal.js';
import { agreedLine, commandLine } from '../operation/resume-line.js';
import type { Performed, Work } from '../operation/run-operation.js';
import type { OutputFile } from '../output/output-file.js';
import { viewInitBatch } from '../views/batch.js';
import { writeApproval } from './approval-file.js';
import { CurrentStage } from './batch-stages.js';
import { initiate, isFinal, upToDate, withFreshApproval } from './initiate.js';
import { leftInFile } from './landed-pipelines.js';
import { PipelinesWork } from './pipelines-work.js';
import { writeRest } from './rest-file.js';

/** How init was asked for. */
interface InitOptions {
  readonly rest: boolean;
  readonly allowChanged: boolean;
  /** The approval file; `null`: among those of the flywheel. */
  readonly out: OutputFile | null;
  /** For the pipelines that did not land; `null`: not asked for. */
  readonly failedOut: OutputFile | null;
}

export class InitWork extends PipelinesWork implements Work<InitBatchResult> {
  readonly outputs: readonly OutputFile[];
  readonly #session: Session;
  readonly #request: InitBatchRequest;
  readonly #options: InitOptions;
  /** Indexes in the file of what has not landed, of a batch that is over. */
  #left: readonly number[] = [];

  constructor(session: Session, request: InitBatchRequest, options: InitOptions) {
    super(session, request, options);
    this.#session = session;
    this.#request = request;
    this.#options = options;
    this.outputs = [options.out, options.failedOut].filter((file) => file !== null);
  }

  /** Of a batch that waits it only gets a fresh approval. */
  isRepeat(state: OperationState): boolean {
    return isOver(state) || state === 'waiting';
  }

  override end({ id }: Batch): Promise<void> {
    return refuseOpenRest(this.#session, id);
  }

  async perform(entry: Entry): Promise<Performed<InitBatchResult> | null> {
    const session = this.#session;
    const initiated = await initiate(session, entry, this.#request);
    const batch = await upToDate(session, initiated.batch);
    if (!initiated.isNew) await this.requireWanted(entry, batch);
    if (batch.status !== 'FINALIZED')
      session.output.tell(`Batch ${batch.id} is ${batch.status} since ${batch.dateUpdated}.`);
    if (this.#options.failedOut !== null && isFinal(batch))
      this.#left = await leftInFile(session, new CurrentStage(entry), batch, this.#request);
    const result = await withFreshApproval(session, initiated);
    // What `batch run` has begun to execute is not waiting, even if somebody asks for its approval.
    if (entry.state !== 'open' || new CurrentStage(entry).note.signedTx !== undefined) return { result };
    return { result, verdict: { state: 'waiting', landed: [] } };
  }

  present(result: InitBatchResult): undefined {
    const { output, settings } = this.#session;
    const path = writeApproval(settings, result, this.#options.out);
    output.tell(`Approval file: ${path}`);
    const { failedOut } = this.#options;
    if (failedOut !== null) writeRest(this.#session, failedOut, this.#request.pipelines, this.#left);
    const next = agreedLine(settings, 'batch', 'approve', result.batch.id);
    output.result(result, (style) => [...viewInitBatch(result, style), `Next: ${next} --keypair FILE`]);
  }

  summary({ batch }: InitBatchResult): string {
    return `Batch ${batch.id} is set up and waiting for the owner's approval.`;
  }
}

/** A batch that failed stays executable until it is cancelled, and that may need the owner's vote, which init does not have. */
function refuseOpenRest({ settings }: Session, batchId: string): Promise<void> {
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `A member of the multisig can still execute the rest of batch ${batchId}. Nothing was sent.`,
    {
      hint: `Cancel it first: \`${commandLine(settings, 'batch', 'cancel', batchId)} --keypair FILE\`. \`batch run --rest\` does both.`,
    },
  );
}
