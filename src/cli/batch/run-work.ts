/**
 * `batch run` as one operation: set up, check, approve, execute, report. Wherever it was left, the batch itself says what is
 * next; a second one is never made of the same file.
 */
import { pipelineContent, pipelinesDigest } from '../../actions/pipelines.js';
import { outflowOf } from '../../approval/outflow.js';
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import type { Batch, ExecuteResult, InitBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import { canAsk } from '../consent.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import type { Entry, Notes, Verdict } from '../journal/journal.js';
import { requireThere } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { agreedLine, resumeLine } from '../operation/resume-line.js';
import type { Performed, Work } from '../operation/run-operation.js';
import type { OutputFile } from '../output/output-file.js';
import { viewBatch } from '../views/batch.js';
import { countText } from '../views/unit.js';
import type { KeypairSource } from '../wallet/keypair-source.js';
import { keypairOwner, loadKeypair } from '../wallet/load-keypair.js';
import { requirePlanWithinLimits } from './approval-limits.js';
import { batchName, decodeBase64 } from './approval-source.js';
import { approveBatch, requireSigned, type Signed } from './approve-batch.js';
import { batchFailure } from './batch-failure.js';
import { addToStage, CurrentStage, type RunResult } from './batch-stages.js';
import { requireChainCatchesUp } from './catch-up.js';
import { endBatch } from './end-batch.js';
import { executeUntilFinal } from './execute-batch.js';
import { requireRanAsApproved } from './hold-digest.js';
import {
  getBatch,
  type Initiated,
  initiate,
  isFinal,
  isOver,
  isThere,
  upToDate,
  withFreshApproval,
} from './initiate.js';
import { landedPipelines } from './landed-pipelines.js';
import { requirePins } from './pins.js';
import { PipelinesWork } from './pipelines-work.js';
import { requireApprovable } from './preflight.js';
import { writeRest } from './rest-file.js';

/** What carrying on needs beside the pipelines. */
export interface RunOptions {
  readonly rest: boolean;
  readonly allowChanged: boolean;
  readonly keypair: KeypairSource;
  /** For the pipelines that did not land; `null`: not asked for. */
  readonly failedOut: OutputFile | null;
}

/** What is noted of a run, to carry it on without its command line; a keypair itself is never written down. */
export interface RunNote {
  /** Absolute path of the keypair file; `null` when it came from elsewhere. */
  readonly keypair: string | null;
  readonly failedOut: OutputFile | null;
}

/** How a run ended, and what of its file has not landed. */
interface Ran extends RunResult {
  readonly left: readonly number[];
}

export class RunWork extends PipelinesWork implements Work<Ran> {
  readonly outputs: readonly OutputFile[];
  readonly #session: Session;
  readonly #request: InitBatchRequest;
  readonly #options: RunOptions;
  /** It has its result, and nothing more is asked for. */
  #isOver = false;
  /** Once: standard input can be read only once. */
  #loaded: Promise<KeypairSigner> | undefined;

  constructor(session: Session, request: InitBatchRequest, options: RunOptions) {
    super(session, request, options);
    this.#session = session;
    this.#request = request;
    this.#options = options;
    this.outputs = options.failedOut === null ? [] : [options.failedOut];
  }

  override async prepare(entry: Entry): Promise<boolean> {
    const stage = new CurrentStage(entry);
    const stored = stage.runAnswer as Ran | undefined;
    this.#isOver =
      stored !== undefined && !(entry.state === 'partial' && (this.rest || !isOver(stored.batch)));
    // Others have landed what it has not.
    if (this.#isOver) return entry.state !== 'done' || stored?.left.length === 0;
    // What is set up already may be over by now, and learning that takes no keypair.
    if (stage.initAnswer === undefined) await this.#requireApprovable(stage);
    // What `batch init` has begun is run from here on.
    if (!entry.isNew) entry.note(this.notes);
    return super.prepare(entry);
  }

  override async end(batch: Batch): Promise<void> {
    await endBatch(this.#session, batch, () => this.#signer());
  }

  async perform(entry: Entry): Promise<Performed<Ran>> {
    if (this.#isOver) {
      const result = new CurrentStage(entry).runAnswer as Ran;
      await this.#requireThere(entry, result.batch.id);
      return { result };
    }
    const initiated = await initiate(this.#session, entry, this.#request, { isLast: false });
    const batch = await upToDate(this.#session, initiated.batch);
    if (!initiated.isNew) await this.requireWanted(entry, batch);
    if (isFinal(batch)) return this.#conclude(entry, batch, requireResult(batch));
    if (entry.state === 'open' && new CurrentStage(entry).note.signedTx === undefined)
      entry.settle({ state: 'waiting', landed: [] });
    this.#session.output.notice(`Batch ${batch.id} is set up. Checking it.`);
    const result = await this.#execute(entry, initiated);
    return this.#conclude(entry, await getBatch(this.#session, batch.id), result);
  }

  present({ batch, result, left }: Ran): FlywheelError | undefined {
    const { failedOut } = this.#options;
    if (failedOut !== null) writeRest(this.#session, failedOut, this.#request.pipelines, left);
    this.#session.output.result({ batch, result }, (style) => viewBatch(batch, style));
    return batchFailure(this.#session, batch, result);
  }

  summary({ batch, result }: Ran): string {
    return `Batch ${batch.id} is ${batch.status}: ${result.totalSuccessful} of ${countText(result.total, 'transaction')} executed.`;
  }

  /** Of a file whose rest was done too the batch before that may be there still. */
  async #requireThere(entry: Entry, batchId: string): Promise<void> {
    const elements = pipelineElements(this.#request.pipelines);
    const lacking = new Set(entry.lacking(elements));
    const landed = elements.filter((_, index) => !lacking.has(index));
    const own = new CurrentStage(entry).pipelines(elements).filter((one) => landed.includes(one));
    await requireThere(this.#session, elements, landed, async () =>
      (await isThere(this.#session, batchId)) === 'lost' ? own : [],
    );
  }

  #signer(): Promise<KeypairSigner> {
    this.#loaded ??= loadKeypair(this.#session.context, this.#options.keypair);
    return this.#loaded;
  }

  /** All that approving will need: before anything is set up that could not be approved. */
  async #requireApprovable(stage: CurrentStage): Promise<void> {
    const owner = await keypairOwner(this.#session.context, this.#options.keypair);
    const canBePinned = canAsk(this.#session) && !this.#session.settings.yes;
    const opened = await this.#session.service();
    const token = await requireApprovable(opened, { owner, canBePinned });
    if (token === null) return;
    const { decimals } = token.flywheel;
    const pipelines = toSourcePipelines(stage.pipelines(this.#request.pipelines));
    const outflow = outflowOf(pipelines.map((pipeline) => pipelineContent(pipeline, decimals)));
    await requirePlanWithinLimits(this.#session, requirePins(opened.pins), {
      ...{ outflow, decimals, supply: token.mint.supply },
    });
  }

  get notes(): Notes {
    const { keypair, failedOut } = this.#options;
    return { run: { keypair: typeof keypair === 'string' ? keypair : null, failedOut } satisfies RunNote };
  }

  async #execute(entry: Entry, initiated: Initiated): Promise<ExecuteResult> {
    const stage = new CurrentStage(entry);
    return executeUntilFinal(this.#session, initiated.batch, {
      signedTx: stage.note.signedTx,
      sign: () => this.#sign(entry, initiated),
      wasSent: stage.note.signedTx !== undefined,
      keep: ({ signedTx }) => {
        if (entry.state === 'waiting') entry.reopen([], {});
        addToStage(entry, { signedTx, digest: this.#digest(entry) });
      },
      // The file itself is what is approved.
      digest: this.#digest(entry),
      key: (signedTx) => stage.executeKey(signedTx),
    });
  }

  #digest(entry: Entry): Sha256 {
    return pipelinesDigest(toSourcePipelines(new CurrentStage(entry).pipelines(this.#request.pipelines)));
  }

  /** Checks, asks and signs. What remains when it comes to nothing is a batch that waits, and that is said. */
  async #sign(entry: Entry, initiated: Initiated): Promise<Signed> {
    const pipelines = new CurrentStage(entry).pipelines(this.#request.pipelines);
    try {
      const answer = await withFreshApproval(this.#session, initiated);
      const approved = await approveBatch(this.#session, {
        approval: {
          wire: decodeBase64('proposalApproveTx', answer.proposalApproveTx),
          batch: batchName(answer.batch),
        },
        signer: () => this.#signer(),
        // The file itself is what is expected: what stands on chain must equal it.
        expectation: { pipelines: toSourcePipelines(pipelines) },
        mayBeApproved: true,
      });
      return requireSigned(approved);
    } catch (error) {
      throw isFlywheelError(error) && entry.state === 'waiting'
        ? this.#stillWaiting(entry, initiated.batch.id, error)
        : error;
    }
  }

  #stillWaiting(entry: Entry, batchId: string, error: FlywheelError): FlywheelError {
    const { settings } = this.#session;
    const { keypair } = this.#options;
    const wallet = typeof keypair === 'string' ? ['--keypair', keypair] : [];
    const cancel = agreedLine(settings, 'batch', 'cancel', batchId, ...wallet);
    return new FlywheelError(
      error.code,
      `${error.message} Batch ${batchId} stays set up and waits for approval.`,
      {
        ...error.options,
        hint: `Resume it: \`${resumeLine(this.#session, entry)}\`. Cancel it: \`${cancel}\``,
        cause: error,
      },
    );
  }

  async #conclude(entry: Entry, batch: Batch, result: ExecuteResult): Promise<Performed<Ran>> {
    const opened = await this.#session.service();
    const stage = new CurrentStage(entry);
    const size = stage.pipelines(this.#request.pipelines).length;
    await requireChainCatchesUp(this.#session, opened, batch, result, { wasSetUp: stage.wasSetUp, size });
    await requireRanAsApproved(this.#session, opened, batch, result, this.#digest(entry), true);
    const landed = new Set(stage.inFile(await landedPipelines(this.#session, stage, batch, size)));
    const own = stage.inFile(this.#request.pipelines.map((_, index) => index));
    const left = own.filter((index) => !landed.has(index));
    const ran: Ran = { batch, result, left };
    const verdict: Verdict = {
      state: left.length === 0 ? 'done' : 'partial',
      landed: pipelineElements(this.#request.pipelines).flatMap(({ digest }, index) =>
        landed.has(index) ? [digest] : [],
      ),
      mayLand: batch.dateCancelled === undefined,
      answers: { [stage.runAnswerName]: ran },
    };
    return { result: ran, verdict };
  }
}

function requireResult({ id, executeResult }: Batch): ExecuteResult {
  invariant(executeResult !== undefined, `The final batch ${id} has a result.`);
  return executeResult;
}
