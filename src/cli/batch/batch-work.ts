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
import type { Pins } from '../../approval/pins.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { ChainReader, Flywheel } from '../../chain/chain.js';
import type {
  Batch,
  ExecuteResult,
  InitBatchRequest,
  InitBatchResult,
} from '../../contract/schemas/batch.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { KeypairSource } from '../../files/keypair-file.js';
import type { Session } from '../command.js';
import { canAsk } from '../consent.js';
import { cancelLine, nextCommand } from '../hints.js';
import { toSourcePipelines, totalsOf } from '../input/pipelines-plan.js';
import { type Element, type Entry, hasRest, isOver, type Notes } from '../journal/journal.js';
import { OwnerKeypair } from '../load-keypair.js';
import {
  findBatch,
  hasAllLanded,
  isEnded,
  isFinal,
  landedOf,
  lookingAgain,
  lostThere,
  noteDone,
  pipelinesDoneThere,
  requireThere,
} from '../operation/done-there.js';
import { pick, pipelineElements } from '../operation/elements.js';
import { beginRest, leftOfRest, wasCancelled } from '../operation/overlap.js';
import { agreedLine, commandLine } from '../operation/resume-line.js';
import type { Work } from '../operation/run-operation.js';
import { afterwards, notSent, saysNothingWasDone } from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import type { OutputFile } from '../output/output-file.js';
import { statusOf, totalFields, viewBatch, viewInitBatch } from '../views/batch.js';
import { countText } from '../views/unit.js';
import { againHint, type Repeat, repeatOf, requirePlanApprovable } from './approval-limits.js';
import { batchName, decodeBase64, writeApproval } from './approval-source.js';
import {
  approveBatch,
  approveInWallet,
  judge,
  requireWalletPays,
  type Signed,
  type ToApprove,
} from './approve-batch.js';
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

/** The project as it is on chain, if its votes can be checked. @throws `ERR_APPROVAL_REFUSED` */
async function requireVoters(session: Session, chain: ChainReader, pins: Pins): Promise<Flywheel> {
  const multisig = await readMultisigAccount(chain, pins.multisig);
  checkVoters(multisig, pins);
  const { facts, flywheel } = await readTokenOnChain(chain, pins);
  if (pins.facts !== undefined) requireAsPinned(pins.facts, { ...multisigFacts(multisig), ...facts });
  else if (!canAsk(session) || session.settings.yes) throw unpinned(pins);
  return flywheel;
}

/** The operation of a pipelines file. @param how - to end it as it was begun, `rest` and `allowChanged` are false. */
export function batchWork(
  session: Session,
  request: InitBatchRequest,
  how: Terms,
  { run, out, failedOut }: BatchOptions,
): Work<Outcome> & { readonly notes: Notes } {
  const elements = pipelineElements(request.pipelines);
  const ask = pipelinesDoneThere(session, request.pipelines);
  const looked = { ask, elements };
  const lookAgain = lookingAgain(session, 'ERR_APPROVAL_REFUSED');
  const isWallet = run?.wallet === true;
  const keypair = run?.keypair == null ? null : new OwnerKeypair(session.context, run.keypair);
  /** Of an operation that was over before this command; only printed. */
  let stored: RunResult | undefined;

  /** What `run` adds to the notes of its operation. */
  const noted = typeof run?.keypair === 'string' ? run.keypair : null;
  const notes: Notes = run ? { run: { keypair: noted, wallet: isWallet, failedOut } satisfies RunNote } : {};

  async function prepare(entry: Entry): Promise<boolean> {
    stored = storedResult(entry);
    // `done` with pipelines left: other batches landed them.
    if (stored !== undefined) return entry.state !== 'done' || stored.left.length === 0;
    // The operation may come from `batch init`; `resume` then runs it as `batch run`.
    if (run !== null && !entry.isNew) entry.note(notes);
    if (how.rest && hasRest(entry.state) && !(await startRest(entry))) return false;
    const stage = currentStage(entry);
    // A batch that is set up may be over by now; finding out needs no keypair.
    if (run !== null && stage.initAnswer === undefined) await requireApprovable(source(stage), entry);
    return session.isDryRun !== true || isOver(entry.state) || (await isLeft(entry));
  }

  /** The result of a run that is over, to print again. A failed batch that is not cancelled may have changed. */
  function storedResult(entry: Entry): RunResult | undefined {
    if (run === null) return undefined;
    const { runAnswer } = currentStage(entry);
    const mayChange = entry.state === 'partial' && runAnswer !== undefined && !isEnded(runAnswer.batch);
    return mayChange || (how.rest && hasRest(entry.state)) ? undefined : runAnswer;
  }

  const landedBut = (left: readonly number[]) =>
    elements.flatMap(({ digest }, index) => (left.includes(index) ? [] : [digest]));

  /** @returns false when other batches landed all that was left. */
  async function startRest(entry: Entry): Promise<boolean> {
    const stage = currentStage(entry);
    const { batchId } = stage.note;
    const own = stage.indexes(elements);
    let batch = batchId === undefined ? undefined : await seenBatch(session, batchId, stage);
    // A dry run assumes that the batch can be cancelled.
    if (batch !== undefined && !isEnded(batch) && session.isDryRun !== true) {
      const { id } = batch;
      const indexes = stage.runAnswer?.left ?? own;
      // What would refuse the rest is found before the owner votes.
      await noteDone(session, entry, looked, { keys: [stage.key], own: landedBut(indexes) });
      await leftOfRest(session, entry, { all: elements, indexes, allowChanged: how.allowChanged });
      await end(batch, indexes);
      batch = await afterwards(() => seenBatch(session, id, stage));
      // Members may have executed it to its end instead.
      if (batch?.dateCancelled !== undefined) session.output.tell(`Batch ${id} is cancelled.`);
    }
    // Members may have executed more meanwhile. A batch whose init has an unknown outcome is looked up below, by its key.
    const left = batch ? (await concludeStage(session, stage, batch, elements)).left : own;
    if (left.length === 0) {
      entry.settle({ state: 'done', landed: elements.map(({ digest }) => digest) });
      return true;
    }
    const hasLanded = landedBut(left);
    // In a dry run the batch is not cancelled, so its pipelines must not count as another batch's.
    await noteDone(session, entry, looked, { keys: [stage.key], own: hasLanded });
    return beginRest(session, entry, {
      ...{ all: elements, indexes: left, allowChanged: how.allowChanged, hasLanded },
      notes: (indexes) => nextStage(entry, indexes),
    });
  }

  /** Makes sure that nothing of a batch can land any more, if its rest could begin. @param left - indexes of that rest */
  async function end(batch: Batch, left: readonly number[]): Promise<void> {
    const cancel = cancelLine(session, batch.id);
    if (run === null)
      throw notSent(
        `Members of the multisig can still execute the rest of batch ${batch.id}.`,
        `Cancel the batch first: ${cancel}. \`batch run --rest\` cancels it and runs the rest.`,
      );
    await requireApprovable(toSourcePipelines(partOf(request, left).pipelines), null);
    await endBatch(session, batch, () => {
      if (!isWallet) return signing().signer();
      throw notSent(
        `To cancel the rest of batch ${batch.id}, the owner has to vote. --wallet signs approvals only.`,
        `Cancel it first: ${cancel}, or with the tools of the multisig.`,
      );
    });
  }

  /** Dry run only: makes the checks that `perform` makes after the set-up. */
  async function isLeft(entry: Entry): Promise<boolean> {
    const stage = currentStage(entry);
    const batchId = stage.note.batchId ?? (await ask([stage.key]))?.batch?.id;
    const batch = batchId && (await seenBatch(session, batchId, stage));
    if (!batch) return true;
    await requireWanted(entry, batch);
    if (batch.status === 'FINALIZED' && batch.dateCancelled === undefined) {
      const expectation = expectedPipelines(source(stage));
      const asked = { batch: batchName(batch), wire: null, expectation };
      await judge(session, asked, keypair);
    }
    return !isFinal(batch);
  }

  /**
   * @throws `ERR_INPUT_INVALID` when the first batch was cancelled and no batch landed a pipeline; the operation is over then.
   */
  async function requireWanted(entry: Entry, batch: Batch): Promise<void> {
    const stage = currentStage(entry);
    if (batch.dateCancelled === undefined || stage.at !== 0 || isOver(entry.state)) return;
    if ((await concludeStage(session, stage, batch, elements)).landed.length > 0) return;
    if (entry.since === 0) {
      await noteDone(session, entry, looked);
      if (entry.landed(elements).size > 0) return;
    }
    entry.settle({ state: 'cancelled', landed: [] });
    entry.markPrinted();
    const journal = await (await session.service()).journal();
    throw wasCancelled(journal, elements, batch.dateCancelled);
  }

  /** @param isSetUp - the batch waits, and nothing of it is executed before the look */
  const lookForOthers = (entry: Entry, isSetUp: boolean): Promise<void> =>
    lookAgain(entry, { ...looked, allowChanged: how.allowChanged }, unansweredOf(entry, elements), isSetUp);

  /** From here on other machines see the batch. */
  async function wait(entry: Entry, batch: Batch): Promise<void> {
    entry.settle({ state: 'waiting', landed: [] });
    if (!isFinal(batch)) await afterwards(() => lookForOthers(entry, true));
  }

  async function perform(entry: Entry): ReturnType<Work<Outcome>['perform']> {
    if (stored !== undefined) {
      await requireKnown(entry);
      return { result: await withRest(entry, stored) };
    }
    const isLast = run === null;
    const beforeTry = () => lookForOthers(entry, false);
    const initiated = await initiate(session, entry, request, {
      ...{ isLast, beforeTry, requireWanted: (batch) => requireWanted(entry, batch) },
    });
    const { batch } = initiated;
    if (!initiated.isNew) await requireWanted(entry, batch);
    // A batch that `batch run` has begun to execute is not waiting, even when init is asked for its approval.
    const isUnsigned = entry.state === 'open' && currentStage(entry).note.digest === undefined;
    if (isUnsigned && (isLast || !isExecuted(batch))) await wait(entry, batch);
    if (isLast) return { result: await setUp(entry, initiated) };
    if (isExecuted(batch)) return conclude(entry, batch);
    session.output.notice(`Batch ${batch.id} is set up. Checking the batch on chain.`);
    const executed = await execute(entry, initiated);
    return afterwards(() => conclude(entry, executed));
  }

  async function setUp(entry: Entry, initiated: Initiated): Promise<Outcome> {
    const { batch } = initiated;
    if (batch.status !== 'FINALIZED')
      session.output.tell(`Batch ${batch.id}: ${statusOf(batch)} (${batch.dateUpdated}).`);
    const isListed = failedOut !== null && isFinal(batch);
    const { left } = isListed
      ? await concludeStage(session, currentStage(entry), batch, elements)
      : { left: [] };
    const answer = await freshAnswer(session, initiated);
    return {
      answer: isFinal(batch) ? { ...answer, batch: { ...answer.batch, ...batch } } : answer,
      batch,
      left,
    };
  }

  async function present(outcome: Outcome): Promise<FlywheelError | undefined> {
    const { output, settings } = session;
    const { batch, left } = outcome;
    if ('answer' in outcome && !isFinal(batch))
      output.tell(`Approval file: ${writeApproval(settings, outcome.answer, out)}`);
    if (failedOut !== null) writeRest(session, failedOut, partOf(request, left));
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
    const landed = pick(request.pipelines, outcome.landed);
    output.result({ batch, result: outcome.result }, (style) =>
      viewBatch(batch, style, totalFields(totalsOf(landed), symbol)),
    );
    const hint = 'Other batches executed what this one did not. Nothing of the file is left to run.';
    return outcome.isRestDone ? failure?.with({ hint }) : failure;
  }

  function summary(outcome: Outcome): string {
    const { batch } = outcome;
    if ('answer' in outcome)
      return isFinal(batch)
        ? `Batch ${batch.id}: ${statusOf(batch)}.`
        : `Batch ${batch.id} is set up and waits for approval.`;
    const { totalSuccessful, total }: ExecuteResult = outcome.result;
    return `Batch ${batch.id}: ${statusOf(batch)}, ${totalSuccessful} of ${countText(total, 'transaction')}.`;
  }

  /** Where the service lost the batch, every landed pipeline is looked up: others may have landed them again, or before. */
  async function requireKnown(entry: Entry): Promise<void> {
    const stage = currentStage(entry);
    const { batchId } = stage.note;
    if (stored === undefined && batchId !== undefined) await seenBatch(session, batchId, stage);
    if (!isOver(entry.state)) return;
    const landed = landedOf(entry, elements);
    const find = () => lostOf(entry, stage, landed);
    await requireThere(session, entry, looked, landed, find, async () => {
      // Its hint says --again.
      for (const one of answeredBatches(entry)) await requireNothingOnChain(session, one.batch, one.indexes);
    });
  }

  /** Elements of `landed` that the service does not have; `null`: it cannot be asked. */
  async function lostOf(entry: Entry, { note }: CurrentStage, landed: readonly Element[]) {
    const batch = await findBatch(session, note.batchId ?? '');
    const own = new Set(pick(elements, note.indexes));
    if (batch?.status === 'EXECUTED' && landed.every((one) => own.has(one))) return [];
    const lost = await lostThere(ask, elements, landed, entry.before);
    return lost === null && batch === null ? landed : lost;
  }

  /** Another machine may have landed what this batch has not. */
  async function withRest(entry: Entry, result: RunResult): Promise<Outcome> {
    const isRestDone = result.left.length > 0 && (await hasAllLanded(ask, elements, entry));
    const own = currentStage(entry).indexes(elements);
    return { ...result, landed: own.filter((index) => !result.left.includes(index)), isRestDone };
  }

  function signing(): OwnerKeypair {
    invariant(keypair !== null, 'What signs has a keypair.');
    return keypair;
  }

  /**
   * Before a batch is set up, or ended for its rest, that the owner could not approve.
   * @param entry - `null`: of a rest. What landed elsewhere is left out of it later, so paid proofs are checked before it is signed.
   * @throws `ERR_APPROVAL_REFUSED`; `ERR_UNAVAILABLE`
   */
  async function requireApprovable(sources: readonly SourcePipeline[], entry: Entry | null): Promise<void> {
    const owner = await keypair?.address();
    const opened = await session.service();
    const chain = requireChain(opened);
    const pins = requirePins(opened.pins);
    if (owner != null) requireOwner(pins, owner);
    if (isWallet) await requireWalletPays(opened, pins.owner);
    const flywheel = await requireVoters(session, chain, pins);
    const content = sources.map((pipeline) => pipelineContent(pipeline, flywheel.decimals));
    const repeat = entry === null || isWallet ? null : repeatOfFile(entry);
    const part = entry !== null && how.rest ? currentStage(entry).indexes(elements) : undefined;
    await requirePlanApprovable(session, flywheel, content, repeat, part);
  }

  function repeatOfFile(entry: Entry): Repeat {
    const forget = commandLine(session.settings, 'pending', 'forget', entry.id);
    const hint =
      entry.isNew || how.rest
        ? againHint(session)
        : `If they were paid, drop this operation: \`${forget}\`. To pay again, drop it and run the file with --again.`;
    const setUp = async () => (await ask([currentStage(entry).key]))?.batch?.id;
    return repeatOf(entry, { ...how, hint, setUp });
  }

  async function execute(entry: Entry, initiated: Initiated): Promise<Executed> {
    const { state: before } = entry;
    const stage = currentStage(entry);
    const digest = pipelinesDigest(source(stage));
    const note = (approval: { readonly signedTx?: string }): void => {
      if (entry.state === 'waiting') entry.reopen([], {});
      addToStage(entry, { ...approval, digest });
    };
    const { signedTx } = stage.note;
    if (signedTx !== undefined) note({ signedTx });
    return executeUntilFinal(session, initiated.batch, {
      signedTx,
      sign: () => sign(entry, initiated, () => note({})),
      wasSent: stage.note.digest !== undefined,
      keep: ({ signedTx }) => note({ signedTx }),
      digest,
      beforeTry: () => lookForOthers(entry, true),
      key: (signedTx) => stage.executeKey(signedTx),
    }).catch((error: unknown) => {
      // Such as a day without room for the batch.
      if (
        before === 'waiting' &&
        entry.state === 'open' &&
        isFlywheelError(error) &&
        saysNothingWasDone(error)
      )
        entry.settle({ state: 'waiting', landed: [] });
      throw error;
    });
  }

  function source(stage: CurrentStage): readonly SourcePipeline[] {
    return toSourcePipelines(stage.partOf(request).pipelines);
  }

  /**
   * Checks, asks and signs. An error says that the batch still waits.
   * @param onSigned - called before a wallet's approval is sent. @returns `null`: the wallet's approval is on chain.
   */
  async function sign(entry: Entry, initiated: Initiated, onSigned: () => void): Promise<Signed | null> {
    const expectation = expectedPipelines(source(currentStage(entry)));
    const { id } = initiated.batch;
    const { settings } = session;
    const file = keypair?.file;
    const typed = file == null ? [] : ['--keypair', file];
    const expected = ['--expect', digestText(expectation.digest)];
    const again = agreedLine(settings, 'batch', 'execute', id, ...typed, ...expected, '--again');
    const repeat = repeatOf(entry, { ...how, hint: `To pay them again: \`${again}\`` });
    try {
      return await approve(initiated, { expectation, repeat }, onSigned);
    } catch (error) {
      if (!isFlywheelError(error) || entry.state !== 'waiting') throw error;
      // A file that cannot be read is in no line.
      const owner = error.code === 'ERR_KEYPAIR_INVALID' ? ['--keypair', 'OWNER.json'] : typed;
      throw await stillWaiting(error, id, { owner, expected, payAgain: repeat.hint });
    }
  }

  async function approve(
    initiated: Initiated,
    asked: Omit<ToApprove, 'batch' | 'wire'>,
    onSigned: () => void,
  ): Promise<Signed | null> {
    if (!isWallet) {
      const { proposalApproveTx, batch } = await freshAnswer(session, initiated);
      const wire = decodeBase64('proposalApproveTx', proposalApproveTx);
      return approveBatch(session, { ...asked, wire, batch: batchName(batch) }, signing());
    }
    const batch = batchName(initiated.batch);
    await approveInWallet(session, { ...asked, batch }, 'the pipelines file', onSigned);
    const needsApproval = () => requireExecutesFromChain(session, batch.id);
    await lookUntil(session, needsApproval, (isNeeded) => !isNeeded);
    return null;
  }

  /** A batch is set up before the question. */
  async function stillWaiting(
    error: FlywheelError,
    id: string,
    {
      owner,
      expected,
      payAgain,
    }: { owner: readonly string[]; expected: readonly string[]; payAgain: string },
  ): Promise<FlywheelError> {
    const { settings } = session;
    const { hint } = error.options;
    const line = isWallet
      ? commandLine(settings, 'batch', 'approve', id, '--wallet')
      : settings.yes
        ? agreedLine(settings, 'batch', 'execute', id, ...owner, ...expected)
        : await nextCommand(session, id, { typed: owner[1] });
    // What a limit, a check or the service refused is not advised.
    const isRefused = REFUSED.has(error.code) || hint?.endsWith(payAgain) === true;
    const next = isRefused ? hint : `Approve and execute it: \`${line}\``;
    // The hint may name the cancellation itself.
    const others = next?.includes(`batch cancel ${id}`) === true ? undefined : next?.replace(/\.$/, '');
    const cancel = `Cancel it: ${cancelLine(session, id, owner)}`;
    const kept = 'still waits for approval. Its rent and its share of the daily caps stay reserved';
    return new FlywheelError(error.code, `${error.message.replace(' or changed', '')} Batch ${id} ${kept}.`, {
      ...error.options,
      hint: [...(others === undefined ? [] : [others]), cancel].join('. '),
      cause: error,
    });
  }

  async function conclude(entry: Entry, batch: Executed) {
    const { pipelines } = request;
    const stage = currentStage(entry);
    const approved = { digest: pipelinesDigest(source(stage)), wasSent: true };
    const found = await concludeStage(session, stage, batch, pipelines, { approved });
    const ran = { batch, result: batch.executeResult, left: found.left };
    return {
      result: await withRest(entry, ran),
      verdict: verdictOf(entry, stage, batch, found, pipelines),
    };
  }

  return {
    ...looked,
    ...{ rest: how.rest, allowChanged: how.allowChanged, notes },
    ...{ prepare, perform, present, summary, requireKnown },
    outputs: [out, failedOut].filter((file) => file !== null),
    // For a waiting batch `init` only fetches a fresh approval.
    isRepeat: (state) => isOver(state) || (state === 'waiting' && run === null),
    unanswered: (operation) => unansweredOf(operation, elements),
    leaveOut: (entry, indexes) => {
      const left = currentStage(entry)
        .indexes(elements)
        .filter((index) => !indexes.has(index));
      if (left.length > 0) addToStage(entry, { indexes: left });
      return left.length > 0;
    },
  };
}
