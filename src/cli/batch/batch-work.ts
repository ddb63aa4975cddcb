/**
 * A pipelines file from `batch init` or `run` to the end of its batches: set up, check, approve, execute, report. A repeat
 * continues from the state of the batch; the same file never becomes a second batch.
 */
import {
  digestText,
  pipelineContent,
  pipelinesDigest,
  type SourcePipeline,
} from '../../actions/pipelines.js';
import { checkVoters } from '../../approval/check-content.js';
import { multisigFacts, readTokenOnChain } from '../../approval/flywheel-facts.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type {
  Batch,
  ExecuteResult,
  InitBatchRequest,
  InitBatchResult,
} from '../../contract/schemas/batch.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { canAsk } from '../consent.js';
import { cancelLine, nextCommand } from '../hints.js';
import { toSourcePipelines, totalsOf } from '../input/pipelines-plan.js';
import { type Element, type Entry, hasRest, isOver, type Notes } from '../journal/journal.js';
import type { KeypairSource } from '../keypair-source.js';
import { OwnerKeypair } from '../load-keypair.js';
import {
  type AskDoneThere,
  findBatch,
  hasAllLanded,
  isEnded,
  isFinal,
  landedOf,
  lostThere,
  noteDone,
  pipelinesDoneThere,
  requireThere,
} from '../operation/done-there.js';
import { pick, pipelineElements } from '../operation/elements.js';
import { beginRest, wasCancelled } from '../operation/overlap.js';
import { agreedLine, commandLine } from '../operation/resume-line.js';
import type { Work } from '../operation/run-operation.js';
import { afterwards, notSent } from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import type { OutputFile } from '../output/output-file.js';
import { statusOf, totalFields, viewBatch, viewInitBatch } from '../views/batch.js';
import { countText } from '../views/unit.js';
import { againHint, type Repeat, repeatOf, requirePlanApprovable } from './approval-limits.js';
import { batchName, decodeBase64, writeApproval } from './approval-source.js';
import { approveBatch, judge, type Signed } from './approve-batch.js';
import {
  addToStage,
  answeredBatches,
  type CurrentStage,
  currentStage,
  nextStage,
  partOf,
  type RunResult,
} from './batch-stages.js';
import { lookUntil, requireNothingOnChain } from './chain-agrees.js';
import { endBatch } from './end-batch.js';
import { type Executed, executeUntilFinal, isExecuted, requireExecutesFromChain } from './execute-batch.js';
import {
  batchFailure,
  concludeStage,
  freshAnswer,
  initiate,
  seenBatch,
  unansweredOf,
  verdictOf,
  writeRest,
} from './own-batch.js';
import { requireAsPinned, requireChain, requireOwner, requirePins, unpinned } from './pins.js';
import { expectedPipelines } from './review.js';
import { approveInWallet, requireWalletPays } from './wallet-approval.js';

type Initiated = Awaited<ReturnType<typeof initiate>>;

type Terms = Pick<HowOften, 'rest' | 'allowChanged'> & Partial<Pick<HowOften, 'again'>>;

interface BatchOptions {
  /** `null`: the batch is only set up. */
  readonly run: {
    /** `null`: the wallet signs, or nothing will be signed. */
    readonly keypair: KeypairSource | null;
    readonly wallet: boolean;
  } | null;
  /** For the approval of a batch that is only set up. */
  readonly out: OutputFile | null;
  readonly failedOut: OutputFile | null;
}

/** Stored so that `resume` needs no options. The keypair itself is never stored. */
interface RunNote {
  /** `null`: not from a file. */
  readonly keypair: string | null;
  readonly wallet: boolean;
  readonly failedOut: OutputFile | null;
}

export const runNoteOf = ({ notes }: Pick<Entry, 'notes'>): RunNote | undefined =>
  notes['run'] as RunNote | undefined;

type Outcome =
  | { readonly batch: Batch; readonly left: readonly number[]; readonly answer: InitBatchResult }
  /** `landed`: indexes of its own pipelines; `isRestDone`: other batches landed everything that this batch has not. */
  | (RunResult & { readonly landed: readonly number[]; readonly isRestDone: boolean });

const REFUSED: ReadonlySet<string> = new Set(['ERR_APPROVAL_REFUSED', 'ERR_INVALID_REQUEST']);

/** @param next - may name the cancellation itself. */
const besides = (next: string | undefined, batchId: string, cancel: string): string =>
  next === undefined || next.includes(`batch cancel ${batchId}`)
    ? cancel
    : `${next.replace(/\.$/, '')}. ${cancel}`;

export class BatchWork implements Work<Outcome> {
  readonly ask: AskDoneThere;
  readonly elements: readonly Element[];
  readonly rest: boolean;
  readonly allowChanged: boolean;
  readonly outputs: readonly OutputFile[];
  readonly #session: Session;
  readonly #request: InitBatchRequest;
  readonly #how: Terms;
  readonly #options: BatchOptions;
  readonly #wallet: boolean;
  readonly #keypair: OwnerKeypair | null;
  /** Of an operation that was over before this command; only printed. */
  #stored: RunResult | undefined;

  constructor(session: Session, request: InitBatchRequest, how: Terms, options: BatchOptions) {
    const { run, out, failedOut } = options;
    this.#session = session;
    this.#request = request;
    this.elements = pipelineElements(request.pipelines);
    this.#how = how;
    this.#options = options;
    this.#wallet = run?.wallet === true;
    this.#keypair = run?.keypair == null ? null : new OwnerKeypair(session.context, run.keypair);
    this.ask = pipelinesDoneThere(session, request.pipelines);
    this.rest = how.rest;
    this.allowChanged = how.allowChanged;
    this.outputs = [out, failedOut].filter((file) => file !== null);
  }

  /** What `run` adds to the notes of its operation. */
  get notes(): Notes {
    const { run, failedOut } = this.#options;
    if (run === null) return {};
    const keypair = typeof run.keypair === 'string' ? run.keypair : null;
    return { run: { keypair, wallet: run.wallet, failedOut } satisfies RunNote };
  }

  /** For a waiting batch `init` only fetches a fresh approval. */
  isRepeat(state: Entry['state']): boolean {
    return isOver(state) || (state === 'waiting' && this.#options.run === null);
  }

  readonly unanswered = (operation: Entry) => unansweredOf(operation, this.elements);

  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean {
    const all = currentStage(entry).indexes(this.elements);
    const left = all.filter((index) => !indexes.has(index));
    if (left.length > 0) addToStage(entry, { indexes: left });
    return left.length > 0;
  }

  async prepare(entry: Entry): Promise<boolean> {
    const stored = this.#storedResult(entry);
    this.#stored = stored;
    // `done` with pipelines left: other batches landed them.
    if (stored !== undefined) return entry.state !== 'done' || stored.left.length === 0;
    // The operation may come from `batch init`; `resume` then runs it as `batch run`.
    if (this.#options.run !== null && !entry.isNew) entry.note(this.notes);
    if (this.rest && hasRest(entry.state) && !(await this.#beginRest(entry))) return false;
    const stage = currentStage(entry);
    // A batch that is set up may be over by now; finding out needs no keypair.
    if (this.#options.run !== null && stage.initAnswer === undefined)
      await this.#requireApprovable(this.#source(stage), entry);
    return this.#session.isDryRun !== true || isOver(entry.state) || (await this.#isLeft(entry));
  }

  /** The result of a run that is over, to print again. A failed batch that is not cancelled may have changed. */
  #storedResult(entry: Entry): RunResult | undefined {
    if (this.#options.run === null) return undefined;
    const stored = currentStage(entry).runAnswer;
    const mayChange = entry.state === 'partial' && stored !== undefined && !isEnded(stored.batch);
    return mayChange || (this.rest && hasRest(entry.state)) ? undefined : stored;
  }

  /** @returns false when other batches landed all that was left. */
  async #beginRest(entry: Entry): Promise<boolean> {
    const session = this.#session;
    const stage = currentStage(entry);
    const { batchId } = stage.note;
    const all = this.elements;
    const own = stage.indexes(all);
    let batch = batchId === undefined ? undefined : await seenBatch(session, batchId, stage);
    // A dry run assumes that the batch can be cancelled.
    if (batch !== undefined && !isEnded(batch) && session.isDryRun !== true) {
      await this.#end(batch, stage.runAnswer?.left ?? own);
      batch = await seenBatch(session, batch.id, stage);
    }
    // Members may have executed more meanwhile. A batch whose init has an unknown outcome is looked up below, by its key.
    const left = batch ? (await concludeStage(session, stage, batch, all)).left : own;
    if (left.length === 0) {
      entry.settle({ state: 'done', landed: all.map(({ digest }) => digest) });
      return true;
    }
    const hasLanded = all.flatMap(({ digest }, index) => (left.includes(index) ? [] : [digest]));
    // In a dry run the batch is not cancelled, so its pipelines must not count as another batch's.
    await noteDone(session, entry, this, { keys: [stage.key], own: hasLanded });
    return beginRest(session, entry, {
      ...{ all, indexes: left, allowChanged: this.allowChanged, hasLanded },
      notes: (indexes) => nextStage(entry, indexes),
    });
  }

  /** Makes sure that nothing of a batch can land any more, if its rest could begin. @param left - indexes of that rest */
  async #end(batch: Batch, left: readonly number[]): Promise<void> {
    const session = this.#session;
    const cancel = cancelLine(session, batch.id);
    if (this.#options.run === null)
      throw notSent(
        `Members of the multisig can still execute the rest of batch ${batch.id}.`,
        `Cancel the batch first: ${cancel}. \`batch run --rest\` cancels it and runs the rest.`,
      );
    await this.#requireApprovable(toSourcePipelines(partOf(this.#request, left).pipelines), null);
    await endBatch(session, batch, () => {
      if (!this.#wallet) return this.#signing.signer();
      throw notSent(
        `To cancel the rest of batch ${batch.id}, the owner has to vote. --wallet signs approvals only.`,
        `Cancel it first: ${cancel}, or with the tools of the multisig.`,
      );
    });
  }

  /** Dry run only: makes the checks that `perform` makes after the set-up. */
  async #isLeft(entry: Entry): Promise<boolean> {
    const stage = currentStage(entry);
    const batchId = stage.note.batchId ?? (await this.ask([stage.key]))?.batch?.id;
    const batch = batchId && (await seenBatch(this.#session, batchId, stage));
    if (!batch) return true;
    await this.#requireWanted(entry, batch);
    if (batch.status === 'FINALIZED' && batch.dateCancelled === undefined) {
      const expectation = expectedPipelines(this.#source(stage));
      const asked = { batch: batchName(batch), wire: null, expectation };
      await judge(this.#session, asked, this.#keypair);
    }
    return !isFinal(batch);
  }

  /**
   * @throws `ERR_INPUT_INVALID` when the first batch was cancelled and no batch landed a pipeline; the operation is over then.
   */
  async #requireWanted(entry: Entry, batch: Batch): Promise<void> {
    const session = this.#session;
    const elements = this.elements;
    const stage = currentStage(entry);
    if (batch.dateCancelled === undefined || stage.at !== 0 || isOver(entry.state)) return;
    if ((await concludeStage(session, stage, batch, elements)).landed.length > 0) return;
    if (entry.since === 0) {
      await noteDone(session, entry, this);
      if (entry.landed(elements).size > 0) return;
    }
    entry.settle({ state: 'cancelled', landed: [] });
    entry.markPrinted();
    const journal = await (await session.service()).journal();
    throw wasCancelled(journal, elements, batch.dateCancelled);
  }

  async perform(entry: Entry): ReturnType<Work<Outcome>['perform']> {
    const session = this.#session;
    if (this.#stored !== undefined) {
      await this.requireKnown(entry);
      return { result: await this.#withRest(entry, this.#stored) };
    }
    const isLast = this.#options.run === null;
    const initiated = await initiate(session, entry, this.#request, { isLast });
    const { batch } = initiated;
    if (!initiated.isNew) await this.#requireWanted(entry, batch);
    const isUnsigned = entry.state === 'open' && currentStage(entry).note.digest === undefined;
    if (isLast) {
      const result = await this.#setUp(entry, initiated);
      // A batch that `batch run` has begun to execute is not waiting, even when init is asked for its approval.
      return isUnsigned ? { result, verdict: { state: 'waiting', landed: [] } } : { result };
    }
    if (isExecuted(batch)) return this.#conclude(entry, batch);
    if (isUnsigned) entry.settle({ state: 'waiting', landed: [] });
    session.output.notice(`Batch ${batch.id} is set up. Checking the batch on chain.`);
    const executed = await this.#execute(entry, initiated);
    return afterwards(() => this.#conclude(entry, executed));
  }

  async #setUp(entry: Entry, initiated: Initiated): Promise<Outcome> {
    const session = this.#session;
    const { batch } = initiated;
    if (batch.status !== 'FINALIZED')
      session.output.tell(`Batch ${batch.id}: ${statusOf(batch)} (${batch.dateUpdated}).`);
    const isListed = this.#options.failedOut !== null && isFinal(batch);
    const { left } = isListed
      ? await concludeStage(session, currentStage(entry), batch, this.elements)
      : { left: [] };
    const answer = await freshAnswer(session, initiated);
    return {
      answer: isFinal(batch) ? { ...answer, batch: { ...answer.batch, ...batch } } : answer,
      batch,
      left,
    };
  }

  async present(outcome: Outcome): Promise<FlywheelError | undefined> {
    const session = this.#session;
    const { output, settings } = session;
    const { out, failedOut } = this.#options;
    const { batch, left } = outcome;
    if ('answer' in outcome && !isFinal(batch))
      output.tell(`Approval file: ${writeApproval(settings, outcome.answer, out)}`);
    if (failedOut !== null) writeRest(session, failedOut, partOf(this.#request, left));
    const failure = batchFailure(session, batch);
    const { symbol } = await session.service();
    if ('answer' in outcome) {
      const next = `Next: ${await nextCommand(session, batch.id, { verb: 'approve' })}`;
      output.result(outcome.answer, (style) => [
        ...viewInitBatch(outcome.answer, symbol, style),
        ...(isFinal(batch) ? [] : [next]),
      ]);
      return failure;
    }
    const landed = pick(this.#request.pipelines, outcome.landed);
    output.result({ batch, result: outcome.result }, (style) =>
      viewBatch(batch, style, totalFields(totalsOf(landed), symbol)),
    );
    const hint = 'Other batches executed what this one did not. Nothing of the file is left to run.';
    return outcome.isRestDone ? failure?.with({ hint }) : failure;
  }

  summary(outcome: Outcome): string {
    const { batch } = outcome;
    if ('answer' in outcome)
      return isFinal(batch)
        ? `Batch ${batch.id}: ${statusOf(batch)}.`
        : `Batch ${batch.id} is set up and waits for approval.`;
    const { totalSuccessful, total }: ExecuteResult = outcome.result;
    return `Batch ${batch.id}: ${statusOf(batch)}, ${totalSuccessful} of ${countText(total, 'transaction')}.`;
  }

  /** Where the service lost the batch, every landed pipeline is looked up: others may have landed them again, or before. */
  async requireKnown(entry: Entry): Promise<void> {
    const session = this.#session;
    const stage = currentStage(entry);
    const { batchId } = stage.note;
    if (this.#stored === undefined && batchId !== undefined) await seenBatch(session, batchId, stage);
    if (!isOver(entry.state)) return;
    const elements = this.elements;
    const landed = landedOf(entry, elements);
    await requireThere(session, entry, this, landed, async () => {
      const batch = await findBatch(session, batchId ?? '');
      const own = new Set(pick(elements, stage.note.indexes));
      if (batch?.status === 'EXECUTED' && landed.every((one) => own.has(one))) return [];
      const lost = await lostThere(this.ask, elements, landed, entry.before);
      if (lost === null && batch === null) return landed;
      // Its hint says --again.
      for (const one of lost?.length ? answeredBatches(entry) : [])
        await requireNothingOnChain(session, one.batch, one.indexes);
      return lost;
    });
  }

  /** Another machine may have landed what this batch has not. */
  async #withRest(entry: Entry, result: RunResult): Promise<Outcome> {
    const isRestDone = result.left.length > 0 && (await hasAllLanded(this.ask, this.elements, entry));
    const own = currentStage(entry).indexes(this.elements);
    return { ...result, landed: own.filter((index) => !result.left.includes(index)), isRestDone };
  }

  get #signing(): OwnerKeypair {
    invariant(this.#keypair !== null, 'What signs has a keypair.');
    return this.#keypair;
  }

  /**
   * Before a batch is set up, or ended for its rest, that the owner could not approve.
   * @param entry - `null`: of a rest. What landed elsewhere is left out of it later, so paid proofs are checked before it is signed.
   * @throws `ERR_APPROVAL_REFUSED`; `ERR_UNAVAILABLE`
   */
  async #requireApprovable(sources: readonly SourcePipeline[], entry: Entry | null): Promise<void> {
    const session = this.#session;
    const owner = (await this.#keypair?.address()) ?? null;
    const opened = await session.service();
    const chain = requireChain(opened);
    const pins = requirePins(opened.pins);
    if (owner !== null) requireOwner(pins, owner);
    if (this.#wallet) await requireWalletPays(opened, pins.owner);
    const multisig = await readMultisigAccount(chain, pins.multisig);
    checkVoters(multisig, pins);
    const token = await readTokenOnChain(chain, pins);
    if (pins.facts !== undefined) requireAsPinned(pins.facts, { ...multisigFacts(multisig), ...token.facts });
    else if (!canAsk(session) || session.settings.yes) throw unpinned(pins);
    const { flywheel } = token;
    const content = sources.map((pipeline) => pipelineContent(pipeline, flywheel.decimals));
    const repeat = entry === null || this.#wallet ? null : this.#repeatOfFile(entry);
    const part = entry !== null && this.rest ? currentStage(entry).indexes(this.elements) : undefined;
    await requirePlanApprovable(session, flywheel, content, repeat, part);
  }

  #repeatOfFile(entry: Entry): Repeat {
    const forget = commandLine(this.#session.settings, 'pending', 'forget', entry.id);
    const hint =
      entry.isNew || this.rest
        ? againHint(this.#session)
        : `If they were paid, drop this operation: \`${forget}\`. To pay again, drop it and run the file with --again.`;
    const setUp = async () => (await this.ask([currentStage(entry).key]))?.batch?.id;
    return { ...this.#repeat(entry, hint), setUp };
  }

  #repeat(entry: Entry, hint: string): Repeat {
    return repeatOf(entry, { ...this.#how, hint });
  }

  #execute(entry: Entry, initiated: Initiated): Promise<Executed> {
    const stage = currentStage(entry);
    const digest = pipelinesDigest(this.#source(stage));
    const note = (approval: { readonly signedTx?: string }): void => {
      if (entry.state === 'waiting') entry.reopen([], {});
      addToStage(entry, { ...approval, digest });
    };
    return executeUntilFinal(this.#session, initiated.batch, {
      signedTx: stage.note.signedTx,
      sign: () => this.#sign(entry, initiated, () => note({})),
      wasSent: stage.note.digest !== undefined,
      keep: ({ signedTx }) => note({ signedTx }),
      digest,
      key: (signedTx) => stage.executeKey(signedTx),
    });
  }

  #source(stage: CurrentStage): readonly SourcePipeline[] {
    return toSourcePipelines(stage.partOf(this.#request).pipelines);
  }

  /**
   * Checks, asks and signs. An error says that the batch still waits.
   * @param onSigned - called before a wallet's approval is sent. @returns `null`: the wallet's approval is on chain.
   */
  async #sign(entry: Entry, initiated: Initiated, onSigned: () => void): Promise<Signed | null> {
    const expectation = expectedPipelines(this.#source(currentStage(entry)));
    const { id } = initiated.batch;
    const { settings } = this.#session;
    const file = this.#keypair?.file;
    const keypair = file == null ? [] : ['--keypair', file];
    const digest = digestText(expectation.digest);
    const again = agreedLine(settings, 'batch', 'execute', id, ...keypair, '--expect', digest, '--again');
    const repeat = this.#repeat(entry, `To pay them again: \`${again}\``);
    try {
      if (this.#wallet) {
        const batch = batchName(initiated.batch);
        const asked = { batch, expectation, repeat };
        await approveInWallet(this.#session, asked, 'the pipelines file', onSigned);
        const needsApproval = () => requireExecutesFromChain(this.#session, batch.id);
        await lookUntil(this.#session, needsApproval, (isNeeded) => !isNeeded);
        return null;
      }
      const { proposalApproveTx, batch } = await freshAnswer(this.#session, initiated);
      const wire = decodeBase64('proposalApproveTx', proposalApproveTx);
      const asked = { wire, batch: batchName(batch), expectation, repeat };
      return await approveBatch(this.#session, asked, this.#signing);
    } catch (error) {
      if (!isFlywheelError(error) || entry.state !== 'waiting') throw error;
      const { hint } = error.options;
      // A file that cannot be read is in no line.
      const owner = error.code === 'ERR_KEYPAIR_INVALID' ? ['--keypair', 'OWNER.json'] : keypair;
      const line = await this.#approveLine(id, owner, digest);
      const cancel = `Cancel it: ${cancelLine(this.#session, id, owner)}`;
      // What a limit, a check or the service refused is not advised.
      const isRefused = REFUSED.has(error.code) || hint?.endsWith(repeat.hint) === true;
      const next = isRefused ? hint : `Approve and execute it: \`${line}\``;
      // A batch is set up before the question.
      const said = error.message.replace(' or changed', '');
      const kept = 'still waits for approval. Its rent and its share of the daily caps stay reserved';
      throw new FlywheelError(error.code, `${said} Batch ${id} ${kept}.`, {
        ...{
          ...error.options,
          hint: besides(next, id, cancel),
          cause: error,
        },
      });
    }
  }

  async #approveLine(id: string, owner: readonly string[], digest: string): Promise<string> {
    const { settings } = this.#session;
    if (this.#wallet) return commandLine(settings, 'batch', 'approve', id, '--wallet');
    return settings.yes
      ? agreedLine(settings, 'batch', 'execute', id, ...owner, '--expect', digest)
      : nextCommand(this.#session, id, { typed: owner[1] });
  }

  async #conclude(entry: Entry, batch: Executed) {
    const session = this.#session;
    const { pipelines } = this.#request;
    const stage = currentStage(entry);
    const approved = { digest: pipelinesDigest(this.#source(stage)), wasSent: true };
    const found = await concludeStage(session, stage, batch, pipelines, approved);
    const ran = { batch, result: batch.executeResult, left: found.left };
    return {
      result: await this.#withRest(entry, ran),
      verdict: verdictOf(entry, stage, batch, found, pipelines),
    };
  }
}
