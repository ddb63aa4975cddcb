/**
 * `batch run` as one operation: set up, check, approve, execute, report. A repeat continues from the state of the batch; the
 * same file never becomes a second batch.
 */
import {
  digestText,
  type PipelineContent,
  pipelineContent,
  pipelinesDigest,
  type SourcePipeline,
} from '../../actions/pipelines.js';
import { checkVoters } from '../../approval/check-content.js';
import { multisigFacts, readTokenOnChain } from '../../approval/flywheel-facts.js';
import { outflowOf, totalOutflow } from '../../approval/limits.js';
import { requireUnchanged } from '../../approval/pins.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { Batch, InitBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Session } from '../command.js';
import { canAsk } from '../consent.js';
import { nextCommand, ownerFlags } from '../hints.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import type { Entry, Notes } from '../journal/journal.js';
import { hasAllLanded, requireThere } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { agreedLine, commandLine } from '../operation/resume-line.js';
import type { Performed, Work } from '../operation/run-operation.js';
import { findBatch, isEnded } from '../operation/service-record.js';
import { notSent } from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import type { OutputFile } from '../output/output-file.js';
import { statusOf, viewBatch } from '../views/batch.js';
import { countText } from '../views/unit.js';
import type { KeypairSource } from '../wallet/keypair-source.js';
import { OwnerKeypair } from '../wallet/load-keypair.js';
import { againHint, type Repeat, repeatOf, requirePlanApprovable } from './approval-limits.js';
import { batchName, decodeBase64 } from './approval-source.js';
import { approveBatch, type Signed } from './approve-batch.js';
import { addToStage, CurrentStage, pick, type RunResult } from './batch-stages.js';
import { lookUntil } from './chain-agrees.js';
import { batchFailure, concludeStage, verdictOf, writeRest } from './conclude-batch.js';
import { endBatch } from './end-batch.js';
import { type Executed, executeUntilFinal, isExecuted, requireExecutesFromChain } from './execute-batch.js';
import { freshAnswer, type Initiated, initiate } from './initiate.js';
import { requireChain, requireOwner, requirePins, unpinned } from './pins.js';
import { PipelinesWork } from './pipelines-work.js';
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

interface Ran extends RunResult {
  /** Other batches landed everything that this batch has not. */
  readonly isRestDone: boolean;
}

export class RunWork extends PipelinesWork implements Work<Ran> {
  readonly outputs: readonly OutputFile[];
  readonly #options: RunOptions;
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
    const stored = this.#stored(entry);
    // `done` with pipelines left: other batches landed them.
    if (stored !== undefined) return entry.state !== 'done' || stored.left.length === 0;
    const stage = new CurrentStage(entry);
    // A batch that is set up may be over by now; finding out needs no keypair. A rest is checked before its batch is ended.
    if (stage.initAnswer === undefined) await this.#requireApprovable(this.#source(stage), entry, stage);
    // The operation may come from `batch init`; `resume` then runs it as `batch run`.
    if (!entry.isNew) entry.note(this.notes);
    return super.prepare(entry);
  }

  /** The result of an operation that is over, to print again. A failed batch that is not cancelled may have changed. */
  #stored(entry: Entry): RunResult | undefined {
    const stored = new CurrentStage(entry).runAnswer;
    const isOpen = entry.state === 'partial' && (this.rest || (stored && !isEnded(stored.batch)));
    return isOpen ? undefined : stored;
  }

  /** Without the tokens, limits and pins for its rest a batch is not cancelled. */
  override async rehearseRest(indexes: readonly number[]): Promise<void> {
    await this.#requireApprovable(toSourcePipelines(pick(this.request.pipelines, indexes)));
  }

  override async end(batch: Batch): Promise<void> {
    if (!this.#options.wallet)
      return void (await endBatch(this.session, batch, () => this.#signing.signer()));
    const { settings } = this.session;
    const cancel = commandLine(settings, 'batch', 'cancel', batch.id, ...ownerFlags(settings));
    await endBatch(this.session, batch, () => {
      throw notSent(
        `Cancelling what is left of batch ${batch.id} takes a vote of the owner, and --wallet signs approvals only.`,
        `Cancel it first: \`${cancel}\`, or with the tools of the multisig.`,
      );
    });
  }

  async perform(entry: Entry): Promise<Performed<Ran>> {
    const { session } = this;
    const stored = this.#stored(entry);
    if (stored !== undefined) {
      await this.requireKnown(entry);
      return { result: await this.#withRest(entry, stored) };
    }
    const initiated = await initiate(session, entry, this.request, { isLast: false });
    const { batch } = initiated;
    if (!initiated.isNew) await this.requireWanted(entry, batch);
    if (isExecuted(batch)) return this.#conclude(entry, batch);
    if (entry.state === 'open' && new CurrentStage(entry).note.digest === undefined)
      entry.settle({ state: 'waiting', landed: [] });
    session.output.notice(`Batch ${batch.id} is set up. Checking the batch on chain.`);
    return this.#conclude(entry, await this.#execute(entry, initiated));
  }

  present({ batch, result, left, isRestDone }: Ran): FlywheelError | undefined {
    const { failedOut } = this.#options;
    if (failedOut !== null) writeRest(this.session, failedOut, pick(this.request.pipelines, left));
    this.session.output.result({ batch, result }, (style) => viewBatch(batch, style));
    const hint = 'Other batches executed what this one did not. Nothing of the file is left to run.';
    const failure = batchFailure(this.session, batch);
    return isRestDone ? failure?.with({ hint }) : failure;
  }

  /** Another machine may have landed what this batch has not. */
  async #withRest(entry: Entry, result: RunResult): Promise<Ran> {
    const elements = pipelineElements(this.request.pipelines);
    const isRestDone = result.left.length > 0 && (await hasAllLanded(this.ask, elements, entry));
    return { ...result, isRestDone };
  }

  summary({ batch, result }: RunResult): string {
    return `Batch ${batch.id}: ${statusOf(batch)}, ${result.totalSuccessful} of ${countText(result.total, 'transaction')}.`;
  }

  /** After a rest, batches of earlier stages may still be known to the service, so every landed pipeline is looked up. */
  override async requireKnown(entry: Entry): Promise<void> {
    if (this.#stored(entry) === undefined) return super.requireKnown(entry);
    const stage = new CurrentStage(entry);
    const { batchId = '' } = stage.note;
    const elements = pipelineElements(this.request.pipelines);
    const lacking = new Set(entry.lacking(elements));
    const landed = elements.filter((_, index) => !lacking.has(index));
    const own = stage.pipelines(elements).filter((one) => landed.includes(one));
    await requireThere(this.session, elements, landed, async () =>
      (await findBatch(this.session, batchId)) === null ? own : [],
    );
  }

  get #signing(): OwnerKeypair {
    invariant(this.#keypair !== null, 'What signs has a keypair.');
    return this.#keypair;
  }

  /**
   * Before a batch is set up, or ended for its rest, that the owner could not approve.
   * @param entry - `undefined`: of a rest, whose tokens are counted here, because its service is not asked before the cancel. What
   * landed is left out of it later, so paid proofs are checked before it is signed.
   * @throws `ERR_APPROVAL_REFUSED`; `ERR_UNAVAILABLE`; `ERR_INSUFFICIENT_FUNDS`
   */
  async #requireApprovable(
    sources: readonly SourcePipeline[],
    entry?: Entry,
    stage?: CurrentStage,
  ): Promise<void> {
    const { session } = this;
    const { wallet } = this.#options;
    const owner = (await this.#keypair?.address()) ?? null;
    const opened = await session.service();
    const chain = requireChain(opened);
    const pins = requirePins(opened.pins);
    if (owner !== null) requireOwner(pins, owner);
    if (wallet) await requireWalletPays(opened, pins.owner);
    const multisig = await readMultisigAccount(chain, pins.multisig);
    checkVoters(multisig, pins);
    const token = await readTokenOnChain(chain, pins);
    if (pins.facts !== undefined)
      requireUnchanged(pins.facts, { ...multisigFacts(multisig), ...token.facts });
    else if (!canAsk(session) || session.settings.yes) throw unpinned(pins);
    const { flywheel } = token;
    const content = sources.map((pipeline) => pipelineContent(pipeline, flywheel.decimals));
    if (entry === undefined || stage === undefined) {
      requireTokens(token, content);
      return requirePlanApprovable(session, flywheel, content, null);
    }
    const { settings } = session;
    const hint = entry.isNew
      ? againHint(session)
      : `If they were paid, drop this operation: \`${commandLine(settings, 'pending', 'forget', entry.id)}\`. To pay again, drop it and run the file with --again.`;
    const setUp = async () => (await this.ask([stage.key]))?.batch?.id;
    const repeat = wallet || this.rest ? null : { ...this.#repeat(entry, hint), setUp };
    await requirePlanApprovable(session, flywheel, content, repeat);
  }

  #repeat(entry: Entry, hint: string): Repeat {
    return repeatOf(entry, { ...this.#how, hint });
  }

  get notes(): Notes {
    const { keypair, wallet, failedOut } = this.#options;
    const file = typeof keypair === 'string' ? keypair : null;
    return { run: { keypair: file, wallet, failedOut } satisfies RunNote };
  }

  #execute(entry: Entry, initiated: Initiated): Promise<Executed> {
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
    const line = settings.yes
      ? agreedLine(settings, 'batch', 'execute', id, ...keypair, '--expect', digest)
      : nextCommand(settings, id, file);
    const cancel = `Cancel it: \`${agreedLine(settings, 'batch', 'cancel', id, ...keypair)}\``;
    try {
      if (this.#options.wallet) {
        const batch = batchName(initiated.batch);
        const asked = { batch, expectation, repeat };
        await approveInWallet(this.session, asked, 'the pipelines file', onSigned);
        const needsApproval = () => requireExecutesFromChain(this.session, batch.id);
        await lookUntil(this.session, needsApproval, (isNeeded) => !isNeeded);
        return null;
      }
      const { proposalApproveTx, batch } = await freshAnswer(this.session, initiated);
      const wire = decodeBase64('proposalApproveTx', proposalApproveTx);
      const asked = { wire, batch: batchName(batch), expectation, repeat };
      return await approveBatch(this.session, asked, this.#signing);
    } catch (error) {
      if (!isFlywheelError(error) || entry.state !== 'waiting') throw error;
      const { hint } = error.options;
      const next = hint?.endsWith(repeat.hint) === true ? hint : `Approve and execute it: \`${line}\``;
      throw new FlywheelError(error.code, `${error.message} Batch ${id} still waits for approval.`, {
        ...{ ...error.options, hint: `${next}. ${cancel}`, cause: error },
      });
    }
  }

  async #conclude(entry: Entry, batch: Executed): Promise<Performed<Ran>> {
    const { session } = this;
    const { pipelines } = this.request;
    const stage = new CurrentStage(entry);
    const approved = { digest: pipelinesDigest(this.#source(stage)), wasSent: true };
    const found = await concludeStage(session, stage, batch, pipelines, approved);
    const ran = { batch, result: batch.executeResult, left: found.left };
    return {
      result: await this.#withRest(entry, ran),
      verdict: verdictOf(stage, batch, found, pipelines),
    };
  }
}

/** @throws `ERR_INSUFFICIENT_FUNDS` */
function requireTokens(
  { vaultAccount, flywheel: { vault, decimals } }: Awaited<ReturnType<typeof readTokenOnChain>>,
  pipelines: readonly PipelineContent[],
): void {
  const needed = totalOutflow(outflowOf(pipelines));
  const held = vaultAccount?.amount ?? 0n;
  if (held >= needed) return;
  const [needs, has] = [needed, held].map((amount) => formatTokenAmount(amount, decimals));
  throw new FlywheelError(
    'ERR_INSUFFICIENT_FUNDS',
    `The rest needs ${needs} tokens, and the vault ${vault} has ${has}. Nothing was cancelled or sent.`,
  );
}
