/**
 * Whether the user's own chain bears out what a service says of a batch: how much of it ran, and that this is what was approved. Of
 * two that differ, none is believed. The embedded engine and its ledger are one.
 */
import { digestText, pipelinesDigest } from '../../actions/pipelines.js';
import { isSourceAction } from '../../actions/registry.js';
import { type PastDescription, readPastContent } from '../../approval/batch-content.js';
import { checkBatchContent, type JudgedContent } from '../../approval/check-content.js';
import { readBatch } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import type { Flywheel } from '../../chain/flywheel.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { readPastBatch } from '../../chain/squads/history.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import type { Batch, ExecuteResult, PipelineState } from '../../contract/schemas/batch.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import { allOf } from '../operation/service-record.js';
import { outcomeUnknown } from '../operation/verdicts.js';
import { callWith, isNotOffered } from '../send.js';
import type { CurrentStage } from './batch-stages.js';
import { refusalOf } from './review.js';

type NamedBatch = Pick<Batch, 'id' | 'batchIndex'>;

const refOf = ({ multisig }: { readonly multisig: Address }, { batchIndex }: NamedBatch): BatchRef => ({
  multisig,
  batchIndex: BigInt(batchIndex),
});

/** A node that is further behind than this is no help, and what has not come by then is not there. */
const MAX_BEHIND_MS = 10_000;
const LOOK_MS = 400;
const MS_PER_SECOND = 1_000;

/** An honest node may see what the service did a little later: looks again and again, until it is there or nobody waits any longer. */
export async function lookUntil(
  { context, settings }: Session,
  isThere: () => Promise<boolean>,
): Promise<void> {
  const waitMs = Math.min(settings.maxWaitSeconds.value * MS_PER_SECOND, MAX_BEHIND_MS);
  for (let waitedMs = 0; !(await isThere()) && waitedMs + LOOK_MS <= waitMs; waitedMs += LOOK_MS)
    await context.sleep(LOOK_MS);
}

/** Waits for a batch that the service has set up; whether it is as it should be, or there at all, is judged by others. */
export async function awaitSetUp(
  session: Session,
  { kind, chain }: Pick<OpenedService, 'kind' | 'chain'>,
  ref: BatchRef,
): Promise<void> {
  if (kind === 'embedded' || chain === null) return;
  await lookUntil(session, async () => {
    const { proposal } = await readBatchAccounts(chain, ref, 0);
    // The proposal is activated last.
    return proposal.value !== null && proposal.value.status.kind !== 'Draft';
  });
}

/** How far a batch is on chain; `null`: its accounts are closed. */
async function readProgress(chain: ChainReader, ref: BatchRef) {
  const { multisig, batch, proposal } = await readBatchAccounts(chain, ref, 0);
  if (multisig.value === null || batch.value === null || proposal.value === null) return null;
  const { kind } = proposal.value.status;
  // A proposal that settings of the multisig have overtaken takes no more votes; an approved one is executed nevertheless.
  const takesVotes = ref.batchIndex > multisig.value.staleTransactionIndex;
  const isOpen = kind === 'Approved' || (takesVotes && (kind === 'Draft' || kind === 'Active'));
  return { kind, executed: batch.value.executedTransactionIndex, isOpen };
}

/** What somebody else than the service knows of a batch. */
interface KnownBatch {
  /** Its accounts were on chain. */
  readonly wasSetUp?: boolean;
  /** Transactions that it was set up with. */
  readonly size?: number;
}

/** Does the service say that anything of the batch got there? */
export const isSetUp = ({ initResult }: Pick<Batch, 'initResult'>): boolean =>
  (initResult?.totalSuccessful ?? 0) > 0;

/** What contradicts a service, in a sentence; `null`: nothing. */
async function contradictionOf(
  { kind, chain, pins }: Pick<OpenedService, 'kind' | 'chain' | 'pins'>,
  batch: Pick<Batch, 'id' | 'batchIndex' | 'dateCancelled' | 'initResult'>,
  { totalSuccessful: landed, total }: Pick<ExecuteResult, 'totalSuccessful' | 'total'>,
  { wasSetUp = isSetUp(batch), size = total }: KnownBatch,
): Promise<string | null> {
  if (total !== size)
    return `The service says that batch ${batch.id} holds ${total} transactions, not ${size}.`;
  if (kind === 'embedded' || chain === null || pins === null) return null;
  // Of what never got there nothing is on chain, and its index may be another's.
  if (!wasSetUp) return null;
  const ref = refOf(pins, batch);
  const found = await readProgress(chain, ref);
  const isCancelled = batch.dateCancelled !== undefined;
  const said = `The service says that ${landed} of ${total} transactions of batch ${batch.id} were executed${isCancelled ? ' and that it is cancelled' : ''}`;
  if (found !== null)
    return found.executed === landed && !(isCancelled && found.isOpen)
      ? null
      : `${said}. The chain says ${found.executed}, and that the proposal is ${found.kind}.`;
  if (landed === total && total > 0 && !isCancelled) return null;
  const closed = `${said}. On chain the batch is closed`;
  if (!isCancelled) return `${closed}.`;
  const past = await readPastBatch(chain, ref);
  const executed = past?.transactions.filter((one) => one.executed !== null).length;
  if (executed === landed) return null;
  return `${closed}, and ${executed === undefined ? 'the RPC node does not know how many transactions were executed' : `${executed} were executed`}.`;
}

/**
 * Holds what a service says against the user's own chain, if there is one, once the chain has had the time to show it.
 * @param result - what the service says was executed.
 * @param known - of the batch, whatever the service says of it now; else its word is taken.
 * @throws `ERR_OUTCOME_UNKNOWN` when the chain says otherwise.
 */
export async function requireChainAgrees(
  session: Session,
  opened: Parameters<typeof contradictionOf>[0],
  batch: Parameters<typeof contradictionOf>[1],
  result: Parameters<typeof contradictionOf>[2],
  known: KnownBatch = {},
): Promise<void> {
  let found: string | null = null;
  await lookUntil(session, async () => {
    found = await contradictionOf(opened, batch, result, known);
    return found === null;
  });
  if (found === null) return;
  throw outcomeUnknown(
    found,
    `Do not run this batch again before you know which is right. Compare \`flywheel batch status ${batch.id}\` with a block explorer.`,
  );
}

/**
 * Indexes of the pipelines of a batch that is over or failed, which have landed: the first ones, because a multisig executes a
 * batch in order. What is done once more, or never, is decided by it, so that it is held against the chain each time.
 * @param stage - what is known of the batch beside what the service says now.
 * @param size - pipelines that it was set up with.
 * @throws `ERR_OUTCOME_UNKNOWN` when the service contradicts itself or the chain.
 */
export async function landedPipelines(
  session: Session,
  { wasSetUp }: Pick<CurrentStage, 'wasSetUp'>,
  batch: Batch,
  size: number,
): Promise<readonly number[]> {
  const opened = await session.service();
  const { totalSuccessful = 0, total = size } = batch.executeResult ?? {};
  const landed = Array.from({ length: totalSuccessful }, (_, index) => index);
  // An engine in this process answers both from the same record: asking it for every pipeline would only say it twice.
  const listed = opened.kind === 'embedded' ? null : await listedPipelines(session, opened, batch);
  const executed = listed?.flatMap(({ index, state }) => (state === 'EXECUTED' ? [index] : []));
  if (executed !== undefined && executed.join() !== landed.join())
    throw outcomeUnknown(
      `The service says that ${totalSuccessful} transactions of batch ${batch.id} were executed, but lists ${executed.length === 0 ? 'none' : executed.map((index) => index + 1).join(', ')}.`,
      `Do not run this batch again before you know which is right: \`${commandLine(session.settings, 'batch', 'show', batch.id)}\``,
    );
  await requireChainAgrees(session, opened, batch, { totalSuccessful, total }, { wasSetUp, size });
  return landed;
}

/** Numbers in the file of what the batch of a stage has landed, and of what it has not. @throws as {@link landedPipelines}. */
export async function landedInFile(
  session: Session,
  stage: CurrentStage,
  batch: Batch,
  { length }: readonly unknown[],
): Promise<{ readonly landed: ReadonlySet<number>; readonly left: readonly number[] }> {
  const own = stage.inFile([...Array(length).keys()]);
  const landed = new Set(stage.inFile(await landedPipelines(session, stage, batch, own.length)));
  return { landed, left: own.filter((index) => !landed.has(index)) };
}

/** The digest of a batch as its service lists it, to hold against a chain; `null` where it lists none, or no chain can be read. */
export async function listedDigest(
  session: Session,
  opened: OpenedService,
  batch: Batch,
): Promise<Sha256 | null> {
  if (opened.chain === null || opened.pins === null) return null;
  const listed = await listedPipelines(session, opened, batch);
  return (
    listed &&
    pipelinesDigest(
      listed.map(({ type, proofHash, actions }) => ({
        ...{ type, proofHash: proofHash as Sha256, actions: actions.filter(isSourceAction) },
      })),
    )
  );
}

/** As the service lists them; `null` where it lists none of any batch. */
export async function listedPipelines(
  session: Session,
  opened: OpenedService,
  batch: Batch,
): Promise<readonly PipelineState[] | null> {
  try {
    const listed = await allOf(async (page) => {
      const asked = { batchId: batch.id, ...page };
      return (await opened.service.batchPipelines(asked, callWith(session, opened))).value;
    });
    return listed.toSorted((a, b) => a.index - b.index);
  } catch (error) {
    if (!isNotOffered(error)) throw error;
    return null;
  }
}

/** How a batch on chain differs from the one that was approved, or `null`. */
async function difference(
  content: JudgedContent,
  flywheel: Flywheel,
  digest: Sha256,
): Promise<string | null> {
  const refusal = await refusalOf(() => checkBatchContent(content, flywheel));
  if (refusal !== null) return refusal.message.replace(/\.$/, '');
  return content.digest === digest
    ? null
    : `the digest is ${content.digest === null ? 'none' : digestText(content.digest)}, but ${digestText(digest)} was approved`;
}

const howToCompare = ({ id }: NamedBatch): { readonly hint: string } => ({
  hint: `Stop and investigate: run \`flywheel batch inspect ${id}\`, also with another RPC node, and look at a block explorer.`,
});

/** Why what was approved cannot be held against the chain, or what it is to be held against. */
async function groundOf(
  opened: Pick<OpenedService, 'chain' | 'pins' | 'trusted'>,
): Promise<{ readonly chain: ChainReader; readonly flywheel: Flywheel } | string> {
  const { chain, pins } = opened;
  if (chain === null) return 'no RPC node is set';
  if (pins === null) return 'no project is pinned';
  const flywheel = await opened.trusted();
  return flywheel === null ? `the account ${pins.mint} is not a mint` : { chain, flywheel };
}

/**
 * Just before a batch is executed. One that is over is not looked at: nothing more of it can run.
 * @param digest - of what was approved or is expected; `null`: the user has said nothing of it.
 * @throws `ERR_APPROVAL_REFUSED` where it is not that, or nobody can tell; `ERR_OUTCOME_UNKNOWN` when that comes too late.
 */
export async function requireWillRun(
  opened: Pick<OpenedService, 'chain' | 'pins' | 'trusted'>,
  batch: NamedBatch,
  digest: Sha256 | null,
  wasSent: boolean,
): Promise<void> {
  if (digest === null) return;
  const code = wasSent ? 'ERR_OUTCOME_UNKNOWN' : 'ERR_APPROVAL_REFUSED';
  const ending = wasSent ? '' : ' Nothing was executed.';
  const ground = await groundOf(opened);
  if (typeof ground === 'string')
    throw new FlywheelError(
      code,
      `Batch ${batch.id} cannot be compared with the approved one: ${ground}.${ending}`,
      {
        hint: 'Set FLYWHEEL_RPC_URL to your own RPC node and pin the project (`flywheel profile pin`, or --pins FILE).',
      },
    );
  const { chain, flywheel } = ground;
  const ref = refOf(flywheel, batch);
  const found = await readBatchAccounts(chain, ref, 0);
  const kind = found.proposal.value?.status.kind ?? '';
  // Of what is over anybody may close all accounts, or some of them.
  if (found.batch.value === null || ['Executed', 'Rejected', 'Cancelled'].includes(kind)) return;
  const differs = await difference(await readBatch(chain, ref), flywheel, digest);
  if (differs === null) return;
  const message = `Batch ${batch.id} is not the approved one: ${differs}.${ending}`;
  throw new FlywheelError(code, message, howToCompare(batch));
}

/**
 * After a batch was executed, as the service says.
 * @param digest - as above; without it only how much ran is looked at.
 * @param wasSent - this command may have sent an approval; else what ran is none of its doing.
 * @throws `ERR_OUTCOME_UNKNOWN` when what ran is not what was approved, or not as much as the service says;
 *   `ERR_APPROVAL_REFUSED` when it is not what was expected, and nothing was approved here.
 */
export async function requireRanAsApproved(
  session: Session,
  opened: Pick<OpenedService, 'kind' | 'chain' | 'pins' | 'trusted'>,
  batch: NamedBatch,
  { totalSuccessful }: Pick<ExecuteResult, 'totalSuccessful'>,
  digest: Sha256 | null,
  wasSent: boolean,
): Promise<void> {
  if (opened.kind === 'embedded' || totalSuccessful === 0) return;
  const ground = await groundOf(opened);
  const seen: { past: PastDescription | null; other: string | null; found: string | null } = {
    ...{ past: null, other: null, found: null },
  };
  // A node tells of accounts at once, and of the past of a batch later.
  await lookUntil(session, async () => {
    if (typeof ground === 'string') return true;
    const ref = refOf(ground.flywheel, batch);
    seen.past = await readPastContent(ground.chain, ref).catch(forgotten);
    if (seen.past === null) return false;
    seen.other = digest && (await difference(seen.past, ground.flywheel, digest));
    const ran = seen.past.executions.filter((execution) => execution !== null).length;
    const isAsMany = ran === totalSuccessful;
    seen.found =
      seen.other ??
      (isAsMany ? null : `${ran} transactions were executed, but the service says ${totalSuccessful}`);
    return seen.found === null;
  });
  const { past, other, found } = seen;
  if (past === null) {
    const unknown = `the RPC node does not have the history of batch ${batch.id}`;
    if (digest !== null)
      session.output.warn(
        `Batch ${batch.id} was not compared with the approved one: ${typeof ground === 'string' ? ground : unknown}. Compare both: \`flywheel batch verify\`.`,
      );
    return;
  }
  if (found === null) return;
  const by = past.executions.flatMap((execution) => execution?.signature ?? []);
  const what = `${found}; executed by ${by.join(', ') || 'no transaction'}.`;
  // What ran was approved by others, and nothing was done here that could have an outcome.
  if (other !== null && !wasSent)
    throw new FlywheelError(
      'ERR_APPROVAL_REFUSED',
      `Batch ${batch.id} is finished and is not the expected one: ${what} This command approved nothing.`,
      { hint: `Show what the batch did: \`flywheel batch inspect ${batch.id}\`` },
    );
  const message = `Batch ${batch.id} was executed on chain and is not the approved one: ${what}`;
  throw new FlywheelError('ERR_OUTCOME_UNKNOWN', message, howToCompare(batch));
}

/** A node that does not answer knows nothing either. */
function forgotten(error: unknown): null {
  if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return null;
  throw error;
}
