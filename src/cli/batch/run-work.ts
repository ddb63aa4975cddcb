/**
 * `batch run` as one operation: set up, check, approve, execute, report. A repeat continues from the state of the batch; the
 * same file never becomes a second batch.
 */
import {
  digestText,
  pipelineContent,
  pipelinesDigest,
  type SourcePipeline,
} from '../../actions/pipelines.js';
import { checkVoters } from '../../approval/check-content.js';
import { multisigFacts, readTokenOnChain } from '../../approval/flywheel-facts.js';
import { requireUnchanged } from '../../approval/pins.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { Batch, ExecuteResult, InitBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { canAsk } from '../consent.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import type { Entry, Notes } from '../journal/journal.js';
import { hasAllLanded, requireThere } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { agreedLine, commandLine, resumeLine } from '../operation/resume-line.js';
import type { Performed, Work } from '../operation/run-operation.js';
import { findBatch, getBatch, isEnded, isFinal } from '../operation/service-record.js';
import { notSent } from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import type { OutputFile } from '../output/output-file.js';
import { statusOf, viewBatch } from '../views/batch.js';
import { countText } from '../views/unit.js';
import type { KeypairSource } from '../wallet/keypair-source.js';
import { OwnerKeypair } from '../wallet/load-keypair.js';
import { againHint, noteExecuted, type Repeat, repeatOf, requirePlanApprovable } from './approval-limits.js';
import { batchName, decodeBase64 } from './approval-source.js';
import { approveBatch, requireSigned, type Signed } from './approve-batch.js';
import { addToStage, CurrentStage, type RunResult } from './batch-stages.js';
import { landedInFile, lookUntil, requireChainAgrees, requireRanAsApproved } from './chain-agrees.js';
import { endBatch } from './end-batch.js';
import { batchFailure, executeUntilFinal, requireExecutesFromChain } from './execute-batch.js';
import { type Initiated, initiate, upToDate, withFreshApproval } from './initiate.js';
import { requireChain, requireOwner, requirePins, unpinned } from './pins.js';
import { PipelinesWork, verdictOf, writeRest } from './pipelines-work.js';
import { approveInWallet, requireWalletPays } from './wallet-approval.js';

type Terms = Pick<HowOften, 'rest' | 'allowChanged'> & Partial<Pick<HowOften, 'again'>>;

interface RunOptions {
  /** `null`: the wallet signs, or nothing will be signed. */
  readonly keypair: KeypairSource | null;
  readonly wallet: boolean;
  readonly failedOut: OutputFile | null;
}

/** Stored so that `resume` needs no options. The keypair itself is never stored. */
export interface RunNote {
  /** `null`: not from a file. */
  readonly keypair: string | null;
  readonly wallet: boolean;
  readonly failedOut: OutputFile | null;
}

export class RunWork extends PipelinesWork implements Work<RunResult> {
  readonly outputs: readonly OutputFile[];
  readonly #options: RunOptions;
  #isOver = false;
  /** Other batches landed everything that this batch has not. */
  #isRestDone = false;
  readonly #keypair: OwnerKeypair | null;
  readonly #how: Terms;

  constructor(session: Session, request: InitBatchRequest, how: Terms, options: RunOptions) {
    super(session, request, how);
    this.#options = options;
    this.#how = how;
    this.#keypair = options.keypair === null ? null : new OwnerKeypair(session.context, options.keypair);
    this.outputs = options.failedOut === null ? [] : [options.failedOut];
  }

  override async prepare(entry: Entry): Promise<boolean> {
    const stage = new CurrentStage(entry);
    const stored = stage.runAnswer;
    this.#isOver =
      stored !== undefined && !(entry.state === 'partial' && (this.rest || !isEnded(stored.batch)));
    // `done` with pipelines left: other batches landed them.
    if (this.#isOver) return entry.state !== 'done' || stored?.left.length === 0;
    // A batch that is set up may be over by now; finding out needs no keypair.
    if (stage.initAnswer === undefined) await this.#requireApprovable(entry, stage);
    // The operation may come from `batch init`; `resume` then runs it as `batch run`.
    if (!entry.isNew) entry.note(this.notes);
    return super.prepare(entry);
  }

  override async end(batch: Batch): Promise<void> {
    if (!this.#options.wallet)
      return void (await endBatch(this.session, batch, () => this.#signing.signer()));
    const cancel = commandLine(this.session.settings, 'batch', 'cancel', batch.id);
    await endBatch(this.session, batch, () => {
      throw notSent(
        `Cancelling what is left of batch ${batch.id} takes a vote of the owner, and --wallet signs approvals only.`,
        `Cancel it first: \`${cancel} --keypair FILE\`, or with the tools of the multisig.`,
      );
    });
  }

  async perform(entry: Entry): Promise<Performed<RunResult>> {
    const { session } = this;
    if (this.#isOver) {
      await this.requireKnown(entry);
      const result = new CurrentStage(entry).runAnswer as RunResult;
      await this.#lookForRest(entry, result);
      return { result };
    }
    const initiated = await initiate(session, entry, this.request, { isLast: false });
    const batch = await upToDate(session, initiated.batch);
    if (!initiated.isNew) await this.requireWanted(entry, batch);
    if (isFinal(batch)) {
      const { executeResult } = batch;
      invariant(executeResult !== undefined, `The final batch ${batch.id} has a result.`);
      return this.#conclude(entry, batch, executeResult);
    }
    if (entry.state === 'open' && new CurrentStage(entry).note.digest === undefined)
      entry.settle({ state: 'waiting', landed: [] });
    session.output.notice(`Batch ${batch.id} is set up. Checking the batch on chain.`);
    const result = await this.#execute(entry, initiated);
    return this.#conclude(entry, await getBatch(session, batch.id), result);
  }

  present({ batch, result, left }: RunResult): FlywheelError | undefined {
    const { failedOut } = this.#options;
    if (failedOut !== null) writeRest(this.session, failedOut, this.request.pipelines, left);
    this.session.output.result({ batch, result }, (style) => viewBatch(batch, style));
    const failure = batchFailure(this.session, batch, result);
    return this.#isRestDone
      ? failure?.with({
          hint: 'Other batches executed what this one did not. Nothing of the file is left to run.',
        })
      : failure;
  }

  /** Another machine may have landed what this batch has not. */
  async #lookForRest(entry: Entry, { left }: RunResult): Promise<void> {
    const elements = pipelineElements(this.request.pipelines);
    this.#isRestDone = left.length > 0 && (await hasAllLanded(this.ask, elements, entry));
  }

  summary({ batch, result }: RunResult): string {
    return `Batch ${batch.id}: ${statusOf(batch)}, ${result.totalSuccessful} of ${countText(result.total, 'transaction')}.`;
  }

  /** After a rest, batches of earlier stages may still be known to the service, so every landed pipeline is looked up. */
  override async requireKnown(entry: Entry): Promise<void> {
    if (!this.#isOver) return super.requireKnown(entry);
    const { batchId = '' } = new CurrentStage(entry).note;
    const elements = pipelineElements(this.request.pipelines);
    const lacking = new Set(entry.lacking(elements));
    const landed = elements.filter((_, index) => !lacking.has(index));
    const own = new CurrentStage(entry).pipelines(elements).filter((one) => landed.includes(one));
    await requireThere(this.session, elements, landed, async () =>
      (await findBatch(this.session, batchId)) === null ? own : [],
    );
  }

  get #signing(): OwnerKeypair {
    invariant(this.#keypair !== null, 'What signs has a keypair.');
    return this.#keypair;
  }

  /** Before a batch is set up that the owner could not approve. @throws `ERR_APPROVAL_REFUSED`; `ERR_UNAVAILABLE` */
  async #requireApprovable(entry: Entry, stage: CurrentStage): Promise<void> {
    const { session } = this;
    const { wallet } = this.#options;
    const owner = (await this.#keypair?.address()) ?? null;
    const canBePinned = canAsk(session) && !session.settings.yes;
    const opened = await session.service();
    const chain = requireChain(opened);
    if (opened.pins === null && canBePinned) return;
    const pins = requirePins(opened.pins);
    if (owner !== null) requireOwner(pins, owner);
    if (wallet) await requireWalletPays(opened, pins.owner);
    const multisig = await readMultisigAccount(chain, pins.multisig);
    checkVoters(multisig, pins);
    const token = await readTokenOnChain(chain, pins);
    if (pins.facts !== undefined)
      requireUnchanged(pins.facts, { ...multisigFacts(multisig), ...token.facts });
    else if (!canBePinned) throw unpinned(pins);
    const { flywheel } = token;
    const content = this.#source(stage).map((pipeline) => pipelineContent(pipeline, flywheel.decimals));
    const { settings } = session;
    const hint = entry.isNew
      ? againHint(session)
      : `If they were paid, drop this operation: \`${commandLine(settings, 'pending', 'forget', entry.id)}\`. To pay again, drop it and run the file with --again.`;
    // A rest leaves out what landed; its batch is checked before it is signed.
    const repeat = wallet || this.rest ? null : this.#repeat(entry, hint);
    const setUp = async () => (await this.ask([stage.key]))?.batch?.id;
    await requirePlanApprovable(session, flywheel, content, repeat, setUp);
  }

  #repeat(entry: Entry, hint: string): Repeat {
    return repeatOf(entry, { ...this.#how, hint });
  }

  get notes(): Notes {
    const { keypair, wallet, failedOut } = this.#options;
    const file = typeof keypair === 'string' ? keypair : null;
    return { run: { keypair: file, wallet, failedOut } satisfies RunNote };
  }

  async #execute(entry: Entry, initiated: Initiated): Promise<ExecuteResult> {
    const stage = new CurrentStage(entry);
    const digest = pipelinesDigest(this.#source(stage));
    const note = (approval: { readonly signedTx?: string }): void => {
      if (entry.state === 'waiting') entry.reopen([], {});
      addToStage(entry, { ...approval, digest });
    };
    let wasSent = stage.note.digest !== undefined;
    const onSigned = (): void => {
      wasSent = true;
      note({});
    };
    return executeUntilFinal(this.session, initiated.batch, {
      signedTx: stage.note.signedTx,
      sign: () => this.#sign(entry, initiated, onSigned),
      wasSent: () => wasSent,
      keep: ({ signedTx }) => note({ signedTx }),
      digest,
      key: (signedTx) => stage.executeKey(signedTx),
    });
  }

  #source(stage: CurrentStage): readonly SourcePipeline[] {
    return toSourcePipelines(stage.pipelines(this.request.pipelines));
  }

  /**
   * Checks, asks and signs. An error says that the batch still waits.
   * @param onSigned - called before a wallet's approval is sent. @returns `null`: the wallet's approval is on chain.
   */
  async #sign(entry: Entry, initiated: Initiated, onSigned: () => void): Promise<Signed | null> {
    const expectation = { pipelines: this.#source(new CurrentStage(entry)) };
    const { id } = initiated.batch;
    const { settings } = this.session;
    const file = this.#keypair?.file;
    const keypair = file == null ? [] : ['--keypair', file];
    const digest = digestText(pipelinesDigest(expectation.pipelines));
    const again = agreedLine(settings, 'batch', 'execute', id, ...keypair, '--expect', digest, '--again');
    const repeat = this.#repeat(entry, `To pay them again: \`${again}\``);
    const cancel = `Cancel it: \`${agreedLine(settings, 'batch', 'cancel', id, ...keypair)}\``;
    try {
      if (this.#options.wallet) {
        const batch = batchName(initiated.batch);
        const asked = { batch, expectation, repeat };
        await approveInWallet(this.session, asked, 'the pipelines file', onSigned);
        await lookUntil(this.session, async () => !(await requireExecutesFromChain(this.session, batch.id)));
        return null;
      }
      const { proposalApproveTx, batch } = await withFreshApproval(this.session, initiated);
      const wire = decodeBase64('proposalApproveTx', proposalApproveTx);
      const asked = { wire, batch: batchName(batch), expectation, repeat };
      return requireSigned(await approveBatch(this.session, asked, this.#signing));
    } catch (error) {
      if (!isFlywheelError(error) || entry.state !== 'waiting') throw error;
      const isTwice = error.options.hint === repeat.hint;
      const next = isTwice ? repeat.hint : `Resume it: \`${resumeLine(this.session, entry)}\``;
      throw new FlywheelError(error.code, `${error.message} Batch ${id} still waits for approval.`, {
        ...{ ...error.options, hint: `${next}. ${cancel}`, cause: error },
      });
    }
  }

  async #conclude(entry: Entry, batch: Batch, result: ExecuteResult): Promise<Performed<RunResult>> {
    const { session } = this;
    const { pipelines } = this.request;
    const opened = await session.service();
    const stage = new CurrentStage(entry);
    const source = this.#source(stage);
    const known = { wasSetUp: stage.wasSetUp, size: source.length };
    await requireChainAgrees(session, opened, batch, result, known);
    await requireRanAsApproved(session, opened, batch, result, pipelinesDigest(source), true);
    await noteExecuted(session, batch);
    const found = await landedInFile(session, stage, batch, pipelines);
    const ran: RunResult = { batch, result, left: found.left };
    await this.#lookForRest(entry, ran);
    return { result: ran, verdict: verdictOf(stage, batch, found, pipelines, ran) };
  }
}
