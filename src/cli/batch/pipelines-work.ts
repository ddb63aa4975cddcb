/** Runs a pipelines file as an operation: finds what is left to send, starts the rest, and implements `batch init`. */
import { pipelineContent, pipelinesDigest, type SourcePipeline } from '../../actions/pipelines.js';
import { LAMPORTS_PER_SIGNATURE } from '../../chain/account.js';
import type { Batch, InitBatchRequest, InitBatchResult } from '../../contract/schemas/batch.js';
import { type FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { canonicalJson, isJsonObject } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import type { BatchForesight } from '../context.js';
import { outlookOf } from '../dry-run.js';
import { nextCommand, ownerFlags } from '../hints.js';
import { knownDecimals, sumAmounts } from '../input/amount.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import { type PipelinesPlan, planPipelines, toSourcePipelines } from '../input/pipelines-plan.js';
import type { Input } from '../input/read-input.js';
import {
  type Element,
  type Entry,
  isOver,
  type Notes,
  type OperationRequest,
  type OperationState,
} from '../journal/journal.js';
import { type Preparation, takenByDryRun, wasCancelled } from '../operation/begin-operation.js';
import { noteDone, type Unanswered } from '../operation/done-there.js';
import { contentOf, pipelineElements, warnOfEqual } from '../operation/elements.js';
import { beginRest } from '../operation/overlap.js';
import { commandLine } from '../operation/resume-line.js';
import { type Performed, runOperation, tellAllSkipped, type Work } from '../operation/run-operation.js';
import { type AskDoneThere, isEnded, isFinal, pipelinesDoneThere } from '../operation/service-record.js';
import { notSent } from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import type { OutputFile } from '../output/output-file.js';
import type { Summed } from '../views/approval.js';
import { statusOf, viewInitBatch, viewPipelinesPlan } from '../views/batch.js';
import { solText } from '../views/unit.js';
import { againHint, earlierOf, repeatOf, requireUnpaid } from './approval-limits.js';
import { writeApproval } from './approval-source.js';
import { addToStage, CurrentStage, nextStage, pick } from './batch-stages.js';
import { batchFailure, concludeStage, writeRest } from './conclude-batch.js';
import { freshAnswer, initiate, seenBatch } from './initiate.js';
import { pinnedFlywheel } from './pins.js';

/** Payloads become canonical JSON, so that a file is the same request however its payloads are formatted. */
export async function checkedPipelines(
  session: Session,
  input: Input,
  dryRun: boolean,
): Promise<InitBatchRequest> {
  const { pipelines } = readPipelinesFile(input, await knownDecimals(session, dryRun));
  return { pipelines: pipelines.map((one) => ({ ...one, payload: canonicalPayload(one.payload) })) };
}

const canonicalPayload = (payload: string): string => {
  const proof = parseStrictJson(payload).value;
  invariant(isJsonObject(proof), 'A checked payload is an object.');
  return canonicalJson(proof);
};

/** @param notes - of a new operation, beside its stages */
const operationOf = (
  session: Session,
  { pipelines }: InitBatchRequest,
  { origin, again, allowChanged }: HowOften,
  notes: Notes = {},
): OperationRequest => ({
  ...{ kind: 'batch', origin, again, allowChanged },
  content: contentOf(pipelines),
  body: () => JSON.stringify({ pipelines } satisfies InitBatchRequest),
  notes: (taken) => ({ ...notes, stages: [{ indexes: taken }] }),
  command: session.commandLine,
  elements: pipelineElements(pipelines),
  taken: null,
});

export async function runBatchOperation<Result>(
  session: Session,
  request: InitBatchRequest,
  how: HowOften,
  work: Work<Result>,
  notes: Notes = {},
): Promise<void> {
  const { pipelines } = request;
  warnOfEqual(session, pipelineElements(pipelines), 'pipeline', 'executed');
  if (!(await runOperation(session, operationOf(session, request, how, notes), work)))
    tellAllSkipped(session, pipelines.length);
}

export interface BatchPlan extends PipelinesPlan {
  /** `null`: no forecast here. */
  readonly foreseen: BatchForesight | null;
}

/**
 * @param signs - the command itself approves, so proofs that were paid before are refused.
 * @throws `ERR_INPUT_INVALID` for those, and all that the command would refuse
 */
export async function showPipelinesPlan(
  session: Session,
  whole: InitBatchRequest,
  how: HowOften,
  workOf: (session: Session) => Preparation,
  signs: boolean,
): Promise<undefined> {
  const request = operationOf(session, whole, how);
  const { kind, content: ofFile, origin } = request;
  const taken = await takenByDryRun(session, request, workOf);
  const pipelines = whole.pipelines.filter((_, index) => taken === null || taken.includes(index));
  const equal =
    pipelines.length === 0
      ? []
      : warnOfEqual(session, pipelineElements(whole.pipelines), 'pipeline', 'executed');
  const outlook = await outlookOf(session);
  const opened = await session.service().catch(() => null);
  const journal = await opened?.journal();
  const entry = journal?.known(kind, ofFile, origin);
  const stage = entry && new CurrentStage(entry);
  // The costs of a batch that is set up are already counted.
  const isCounted = entry !== undefined && !isOver(entry.state) && stage?.note.batchId !== undefined;
  const foreseen =
    outlook.foresight === null || pipelines.length === 0 || isCounted
      ? null
      : await outlook.foresight.batch({ pipelines }, outlook.credential);
  const plan: BatchPlan = { ...planPipelines(pipelines), foreseen };
  const flywheel = pinnedFlywheel(opened?.pins ?? null);
  const sources = toSourcePipelines(pipelines);
  const decimals = flywheel?.decimals ?? mostFractionDigits(sources);
  const content = sources.map((source) => pipelineContent(source, decimals));
  const ask = pipelinesDoneThere({ ...session, isDryRun: true }, whole.pipelines);
  const setUp = async () =>
    journal && (await ask([stage?.key ?? journal.keyOf(kind, ofFile, origin)]))?.batch?.id;
  const repeat = repeatOf(entry, { ...how, setUp, hint: againHint(session) });
  const earlier = flywheel && (await earlierOf(session, flywheel, { pipelines: content }, repeat));
  if (signs && earlier !== null) requireUnpaid(session, earlier, content, repeat);
  const alarms = earlier?.alarms ?? [];
  for (const text of alarms) session.output.warn(text);
  const warnings = [...equal, ...alarms];
  const summed: Summed = {
    ...{ pipelines: content, digest: pipelinesDigest(sources), signer: flywheel?.owner ?? null, earlier },
    vault: foreseen?.vault ?? null,
    vaultSol: foreseen && `${solText(foreseen.costs.vaultRentLamports)} of rent for new recipients`,
    executionFees: LAMPORTS_PER_SIGNATURE * BigInt(content.length),
  };
  session.output.result({ ...plan, warnings }, (style) =>
    viewPipelinesPlan(plan, { summed, decimals }, outlook, style),
  );
}

const mostFractionDigits = (sources: readonly SourcePipeline[]): number =>
  sources
    .flatMap(({ actions }) => actions)
    .reduce((most, action) => {
      const [, fraction = ''] = 'amount' in action ? sumAmounts([action.amount]).split('.') : [];
      return Math.max(most, fraction.length);
    }, 0);

export class PipelinesWork implements Preparation {
  readonly ask: AskDoneThere;
  readonly rest: boolean;
  readonly allowChanged: boolean;
  readonly session: Session;
  readonly request: InitBatchRequest;
  readonly #elements: readonly Element[];

  constructor(
    session: Session,
    request: InitBatchRequest,
    { rest, allowChanged }: Pick<HowOften, 'rest' | 'allowChanged'>,
  ) {
    this.session = session;
    this.request = request;
    this.ask = pipelinesDoneThere(session, request.pipelines);
    this.rest = rest;
    this.allowChanged = allowChanged;
    this.#elements = pipelineElements(request.pipelines);
  }

  readonly unanswered = (operation: Entry): Unanswered | undefined => {
    const stage = new CurrentStage(operation);
    // An approved batch is executed, and a stored result is printed; neither needs a query.
    if (stage.runAnswer !== undefined || stage.note.signedTx !== undefined) return undefined;
    const indexes = stage.pipelines([...this.#elements.keys()]);
    return { ask: this.ask, elements: this.#elements, requests: [{ key: stage.key, indexes }] };
  };

  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean {
    const all = new CurrentStage(entry).pipelines([...this.#elements.keys()]);
    const left = all.filter((index) => !indexes.has(index));
    if (left.length > 0) addToStage(entry, { indexes: left });
    return left.length > 0;
  }

  async prepare(entry: Entry): Promise<boolean> {
    if (this.rest && entry.state === 'partial' && !(await this.#beginRest(entry))) return false;
    return this.session.isDryRun !== true || isOver(entry.state) || (await this.#isLeft(entry));
  }

  async requireKnown(entry: Entry): Promise<void> {
    const { batchId } = new CurrentStage(entry).note;
    if (batchId !== undefined) await seenBatch(this.session, batchId);
  }

  /** Before a batch is ended for its rest: could the rest begin? */
  rehearseRest(_indexes: readonly number[]): Promise<void> {
    return Promise.resolve();
  }

  /** Makes sure that nothing of a batch can land any more. */
  end(_batch: Batch): Promise<void> {
    return Promise.resolve();
  }

  /** @returns false when other batches landed all that was left. */
  async #beginRest(entry: Entry): Promise<boolean> {
    const { session } = this;
    const stage = new CurrentStage(entry);
    const { batchId } = stage.note;
    const all = this.#elements;
    let batch = batchId === undefined ? undefined : await seenBatch(session, batchId);
    // A dry run assumes that the batch can be cancelled.
    if (batch !== undefined && !isEnded(batch) && session.isDryRun !== true) {
      await this.rehearseRest(stage.runAnswer?.left ?? stage.pipelines([...all.keys()]));
      await this.end(batch);
      batch = await seenBatch(session, batch.id);
    }
    // Members may have executed more meanwhile. A batch whose init has an unknown outcome is looked up below, by its key.
    const { left: notLanded } = batch
      ? await concludeStage(session, stage, batch, all)
      : { left: stage.pipelines([...all.keys()]) };
    if (notLanded.length === 0) {
      entry.settle({ state: 'done', landed: all.map(({ digest }) => digest) });
      return true;
    }
    const hasLanded = all.flatMap(({ digest }, index) => (notLanded.includes(index) ? [] : [digest]));
    // In a dry run the batch is not cancelled, so its pipelines must not count as another batch's.
    await noteDone(session, entry, { ask: this.ask, keys: [stage.key], elements: all, own: hasLanded });
    return beginRest(session, entry, {
      ...{ all, indexes: notLanded, allowChanged: this.allowChanged, hasLanded },
      notes: (left) => nextStage(entry, left),
    });
  }

  /** Dry run only: makes the checks that `perform` makes after the set-up. */
  async #isLeft(entry: Entry): Promise<boolean> {
    const stage = new CurrentStage(entry);
    const batchId = stage.note.batchId ?? (await this.ask([stage.key]))?.batch?.id;
    const batch = batchId && (await seenBatch(this.session, batchId));
    if (batch) await this.requireWanted(entry, batch);
    return !batch || !isFinal(batch);
  }

  /**
   * @throws `ERR_INPUT_INVALID` when the first batch was cancelled and no batch landed a pipeline; the operation is over then.
   */
  async requireWanted(entry: Entry, batch: Batch): Promise<void> {
    const { session, ask } = this;
    const elements = this.#elements;
    const stage = new CurrentStage(entry);
    if (batch.dateCancelled === undefined || stage.at !== 0 || isOver(entry.state)) return;
    if ((await concludeStage(session, stage, batch, elements)).landed.length > 0) return;
    await noteDone(session, entry, { ask, elements });
    if (entry.lacking(elements).length < elements.length) return;
    entry.settle({ state: 'cancelled', landed: [] });
    entry.markPrinted();
    throw wasCancelled(batch.dateCancelled);
  }
}

interface InitFiles {
  readonly out: OutputFile | null;
  readonly failedOut: OutputFile | null;
}

interface SetUp {
  readonly answer: InitBatchResult;
  readonly batch: Batch;
  readonly left: readonly number[];
}

export class InitWork extends PipelinesWork implements Work<SetUp> {
  readonly outputs: readonly OutputFile[];
  readonly #files: InitFiles;

  constructor(
    session: Session,
    request: InitBatchRequest,
    how: Pick<HowOften, 'rest' | 'allowChanged'>,
    files: InitFiles,
  ) {
    super(session, request, how);
    this.#files = files;
    this.outputs = [files.out, files.failedOut].filter((file) => file !== null);
  }

  /** For a waiting batch only a fresh approval is fetched. */
  isRepeat(state: OperationState): boolean {
    return isOver(state) || state === 'waiting';
  }

  /** Members can execute a failed batch until it is cancelled. That may need the owner's vote, and init has no keypair. */
  override end({ id }: Batch): Promise<void> {
    throw notSent(
      `Members of the multisig can still execute the rest of batch ${id}.`,
      `Cancel the batch first: \`${commandLine(this.session.settings, 'batch', 'cancel', id, ...ownerFlags(this.session.settings))}\`. \`batch run --rest\` cancels it and runs the rest.`,
    );
  }

  async perform(entry: Entry): Promise<Performed<SetUp>> {
    const { session, request } = this;
    const initiated = await initiate(session, entry, request);
    const { batch } = initiated;
    if (!initiated.isNew) await this.requireWanted(entry, batch);
    if (batch.status !== 'FINALIZED')
      session.output.tell(`Batch ${batch.id}: ${statusOf(batch)} (${batch.dateUpdated}).`);
    const stage = new CurrentStage(entry);
    const left =
      this.#files.failedOut !== null && isFinal(batch)
        ? (await concludeStage(session, stage, batch, request.pipelines)).left
        : [];
    const result = { answer: await freshAnswer(session, initiated), batch, left };
    // A batch that `batch run` has begun to execute is not waiting, even when init is asked for its approval.
    if (entry.state !== 'open' || stage.note.digest !== undefined) return { result };
    return { result, verdict: { state: 'waiting', landed: [] } };
  }

  present({ answer, batch, left }: SetUp): FlywheelError | undefined {
    const { session } = this;
    const { output, settings } = session;
    const { out, failedOut } = this.#files;
    const path = writeApproval(settings, answer, out);
    output.tell(`Approval file: ${path}`);
    if (failedOut !== null) writeRest(session, failedOut, pick(this.request.pipelines, left));
    const next = nextCommand(settings, batch.id);
    output.result(answer, (style) => [...viewInitBatch(answer, style), `Next: ${next}`]);
    return batchFailure(session, batch);
  }

  summary({ batch }: SetUp): string {
    return `Batch ${batch.id} is set up and waits for approval.`;
  }
}
