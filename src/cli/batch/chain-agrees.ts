/**
 * Compares what a service says of a batch with the user's own chain: how much ran, and that the approved content ran. A
 * contradiction is an unknown outcome. The embedded engine shares its ledger, so it is not compared.
 */

import { digestText, pipelinesDigest } from '../../actions/pipelines.js';
import { isSourceAction } from '../../actions/registry.js';
import { readPastContent } from '../../approval/batch-content.js';
import { checkBatchContent, type JudgedContent } from '../../approval/check-content.js';
import { readBatch, readMultisigAccount } from '../../approval/read-batch.js';
import type { ChainReader, Flywheel } from '../../chain/chain.js';
import { isStale } from '../../chain/squads/accounts.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { readPastBatch } from '../../chain/squads/history.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import type { Batch, ExecuteResult, PipelineState } from '../../contract/schemas/batch.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { allOf } from '../operation/done-there.js';
import { namedText } from '../operation/elements.js';
import { commandLine } from '../operation/resume-line.js';
import { outcomeUnknown } from '../operation/verdicts.js';
import { callWith, isNotOffered } from '../send.js';
import { refusalOf } from './review.js';

type NamedBatch = Pick<Batch, 'id' | 'batchIndex'>;

const refOf = (
  { multisig }: { readonly multisig: Address },
  { batchIndex }: Pick<Batch, 'batchIndex'>,
): BatchRef => ({
  multisig,
  batchIndex: BigInt(batchIndex),
});

/** Maximum wait for a node that lags behind the service. */
const MAX_BEHIND_MS = 10_000;
const LOOK_MS = 400;
const MS_PER_SECOND = 1_000;

/** Looks again until it is good or the time is over: an honest node may lag behind the service. @returns the last look */
export async function lookUntil<Seen>(
  { context, settings }: Session,
  look: () => Promise<Seen>,
  isGood: (seen: Seen) => boolean,
): Promise<Seen> {
  const waitMs = Math.min(settings.maxWaitSeconds.value * MS_PER_SECOND, MAX_BEHIND_MS);
  for (let waitedMs = LOOK_MS; ; waitedMs += LOOK_MS) {
    const seen = await look();
    if (isGood(seen) || waitedMs > waitMs) return seen;
    await context.sleep(LOOK_MS);
  }
}

/** A batch on the user's chain; `null`: no chain can be asked. */
export async function accountsOnChain(session: Session, batch: Pick<Batch, 'batchIndex'>) {
  const { chain, pins } = await session.service();
  return chain && pins && readBatchAccounts(chain, refOf(pins, batch), 0);
}

/** Executed transactions of a batch whose accounts are closed; `undefined`: the node does not know. */
async function executedBefore(chain: ChainReader, ref: BatchRef): Promise<number | undefined> {
  const past = await readPastBatch(chain, ref);
  return past?.isClosed === true
    ? past.transactions.filter((one) => one.executed !== null).length
    : undefined;
}

/** Progress on chain; `null`: the accounts are closed. */
async function readProgress(chain: ChainReader, ref: BatchRef) {
  const { multisig, batch, proposal } = await readBatchAccounts(chain, ref, 0);
  if (multisig.value === null || batch.value === null || proposal.value === null) return null;
  const { kind } = proposal.value.status;
  const takesVotes = !isStale(multisig.value, ref.batchIndex);
  const isOpen = kind === 'Approved' || (takesVotes && (kind === 'Draft' || kind === 'Active'));
  return { kind, executed: batch.value.executedTransactionIndex, isOpen };
}

/** Facts about a batch from this machine's journal, not from the service. */
interface KnownBatch {
  readonly wasSetUp?: boolean;
  readonly size?: number;
}

export const isSetUp = ({ initResult }: Pick<Batch, 'initResult'>): boolean =>
  (initResult?.totalSuccessful ?? 0) > 0;

/** How chain and service differ, as a sentence; `null`: they agree. */
async function contradictionOf(
  { kind, chain, pins }: Pick<OpenedService, 'kind' | 'chain' | 'pins'>,
  batch: Pick<Batch, 'id' | 'batchIndex' | 'status' | 'dateCancelled' | 'initResult'>,
  { totalSuccessful: landed, total }: Pick<ExecuteResult, 'totalSuccessful' | 'total'>,
  { wasSetUp = false, size = total }: KnownBatch,
): Promise<string | null> {
  if (total !== size)
    return `The service says that batch ${batch.id} holds ${total} transactions, not ${size}.`;
  if (kind === 'embedded' || chain === null || pins === null) return null;
  const isCancelled = batch.dateCancelled !== undefined;
  const isOver = isCancelled || batch.status === 'EXECUTED';
  // A batch that was never set up is not on chain, and its index may belong to another batch.
  if (![wasSetUp, isSetUp(batch), batch.status === 'EXECUTED'].includes(true)) return null;
  const ref = refOf(pins, batch);
  const found = await readProgress(chain, ref);
  const said = `The service says that ${landed} of ${total} transactions of batch ${batch.id} were executed${isCancelled ? ' and that it is cancelled' : ''}`;
  if (found !== null)
    return found.executed === landed && !(isOver && found.isOpen)
      ? null
      : `${said}. The chain says ${found.executed}, and that the proposal is ${found.kind}.`;
  if (landed === total && total > 0 && !isCancelled) return null;
  const closed = `${said}. On chain the batch is closed`;
  // Members may have ended it with their own tools, which the service tells as failed until it is cancelled here.
  return batch.status === 'FAILED' ? closedContradiction(chain, ref, landed, closed) : `${closed}.`;
}

async function closedContradiction(
  chain: ChainReader,
  ref: BatchRef,
  landed: number,
  closed: string,
): Promise<string | null> {
  const executed = (await executedBefore(chain, ref)) ?? 'the RPC node does not know how many transactions';
  return executed === landed ? null : `${closed}, and ${executed} were executed.`;
}

/**
 * Requires that the user's chain, if any, confirms the service. A lagging node gets time to catch up.
 * @param result - executed transactions according to the service.
 * @param known - facts from the journal; without them the service is trusted on these.
 * @throws `ERR_OUTCOME_UNKNOWN` when the chain contradicts the service.
 */
export async function requireChainAgrees(
  session: Session,
  opened: Parameters<typeof contradictionOf>[0],
  batch: Parameters<typeof contradictionOf>[1],
  result: Parameters<typeof contradictionOf>[2],
  known: KnownBatch = {},
): Promise<void> {
  const look = () => contradictionOf(opened, batch, result, known);
  const found = await lookUntil(session, look, (contradiction) => contradiction === null);
  if (found === null) return;
  throw outcomeUnknown(
    found,
    `Do not run this batch again before you know which is right. Compare \`flywheel batch status ${batch.id}\` with a block explorer.`,
  );
}

function lagsBehind(batch: NamedBatch): never {
  throw outcomeUnknown(
    `The service does not know batch ${batch.id}, and the RPC node does not have number ${batch.batchIndex} of the multisig, which was set up from this machine.`,
    'The node may lag behind. Run the same command again, or use another node: --rpc-url.',
  );
}

/**
 * Before anything of a batch that its service lost is sent again.
 * @param indexes - of its pipelines in the file; `null`: all
 * @returns whether a chain could be asked
 * @throws `ERR_OUTCOME_UNKNOWN` if something of it was executed on the user's chain, or still can be
 */
export async function requireNothingOnChain(
  session: Session,
  batch: Batch,
  indexes: readonly number[] | null,
): Promise<boolean> {
  const { chain, pins, isOnThisMachine } = await session.service();
  if (chain === null || pins === null) return false;
  const ref = refOf(pins, batch);
  const hasNumber = async () =>
    (await readMultisigAccount(chain, pins.multisig)).transactionIndex >= ref.batchIndex;
  const isThere = await lookUntil(session, hasNumber, (has) => has || isOnThisMachine || !isSetUp(batch));
  // The ledger of this machine may have been restored too. A node may lag behind.
  if (!isThere) return isOnThisMachine || !isSetUp(batch) || lagsBehind(batch);
  const found = await readProgress(chain, ref);
  const executed = found === null ? await executedBefore(chain, ref) : found.executed;
  const lost = `The service does not know batch ${batch.id} (number ${batch.batchIndex} of the multisig), which was set up from this machine`;
  if (executed === undefined)
    throw outcomeUnknown(`${lost}. On chain it is closed, and the RPC node does not know what was executed.`);
  // A multisig executes in order.
  const numbers = Array.from({ length: executed }, (_, at) => (indexes?.[at] ?? at) + 1);
  const landed =
    executed === 0 ? '' : ` On chain these pipelines of the file were executed: ${namedText(numbers)}.`;
  const way = `${executed === 0 ? 'Run the file' : 'If others have not landed, put them into a new file, and run it'} with --again.`;
  if (found?.isOpen === true)
    throw outcomeUnknown(
      `${lost}.${landed} On chain it can still be executed: its proposal is ${found.kind}.`,
      `First reject or cancel it with another Squads client. Then see what landed. ${way}`,
    );
  if (executed > 0) throw outcomeUnknown(`${lost}.${landed}`, way);
  return true;
}

/**
 * How many pipelines of a final batch landed, after comparing the service's result with the chain and with its own list. Retries
 * depend on this, so each call compares again.
 * @throws `ERR_OUTCOME_UNKNOWN` when the service contradicts itself or the chain.
 */
export async function landedCount(session: Session, batch: Batch, known: KnownBatch): Promise<number> {
  const opened = await session.service();
  const { totalSuccessful = 0, total = known.size ?? batch.initResult?.total ?? 0 } =
    batch.executeResult ?? {};
  // The embedded engine answers both from one record, so a second query proves nothing.
  const listed = opened.kind === 'embedded' ? null : await listedPipelines(session, opened, batch);
  const wasSetUp = known.wasSetUp === true || (await isOnChain(opened, batch, listed));
  await requireChainAgrees(session, opened, batch, { totalSuccessful, total }, { ...known, wasSetUp });
  const executed = listed?.flatMap(({ index, state }) => (state === 'EXECUTED' ? [index] : []));
  // A multisig executes in order, so the landed ones are the first.
  if (executed !== undefined && executed.join() !== [...Array(totalSuccessful).keys()].join())
    throw outcomeUnknown(
      `The service says that ${totalSuccessful} transactions of batch ${batch.id} were executed, but lists ${executed.length === 0 ? 'none' : executed.map((index) => index + 1).join(', ')}.`,
      `Do not run this batch again before you know which is right: \`${commandLine(session.settings, 'batch', 'show', batch.id)}\``,
    );
  return totalSuccessful;
}

/**
 * Whether the chain has these pipelines at the index of a batch that was never set up, as the service says. Without a list it is
 * assumed, because the index may belong to another batch.
 */
async function isOnChain(
  { kind, chain, pins }: OpenedService,
  batch: Batch,
  listed: readonly PipelineState[] | null,
): Promise<boolean> {
  if (kind === 'embedded' || chain === null || pins === null || isSetUp(batch)) return false;
  const ref = refOf(pins, batch);
  const size = (await readBatchAccounts(chain, ref, 0)).batch.value?.size ?? 0;
  if (size === 0 || listed === null || listed.length === 0) return size > 0;
  // What is half closed is over.
  const found = await readBatch(chain, ref).catch((error: unknown) => {
    if (isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) return null;
    throw error;
  });
  return found?.digest === digestOf(listed.slice(0, size));
}

export const digestOf = (listed: readonly PipelineState[]): Sha256 =>
  pipelinesDigest(
    listed.map(({ type, proofHash, actions }) => ({
      ...{ type, proofHash: proofHash as Sha256, actions: actions.filter(isSourceAction) },
    })),
  );

/** Digest of the pipelines that the service lists, to compare with the chain; `null`: no list, or no chain to compare with. */
export async function listedDigest(
  session: Session,
  opened: OpenedService,
  batch: Batch,
): Promise<Sha256 | null> {
  if (opened.chain === null || opened.pins === null) return null;
  const listed = await listedPipelines(session, opened, batch);
  return listed && digestOf(listed);
}

/** In order of their index; `null`: the service has no such list. */
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
 * Compares a batch with the approved content just before its execution. A batch that is over is not compared: nothing more can
 * run.
 * @param digest - of the approved or expected content; `null`: the user named none, no comparison.
 * @throws `ERR_APPROVAL_REFUSED` when the content differs or cannot be compared; `ERR_OUTCOME_UNKNOWN` for the same after an
 * approval was sent.
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
  // Anybody may close accounts of a batch that is over.
  if (found.batch.value === null || ['Executed', 'Rejected', 'Cancelled'].includes(kind)) return;
  const differs = await difference(await readBatch(chain, ref), flywheel, digest);
  if (differs === null) return;
  const message = `Batch ${batch.id} is not the approved one: ${differs}.${ending}`;
  throw new FlywheelError(code, message, howToCompare(batch));
}

export interface Approved {
  /** Of the approved or expected content; `null`: none was named. */
  readonly digest: Sha256 | null;
  /** This user may have sent an approval. If not, others approved what ran. */
  readonly wasSent: boolean;
}

/**
 * Compares a batch after its execution with the chain. Without a digest only the number of executed transactions is compared.
 * @throws `ERR_OUTCOME_UNKNOWN` when other content ran than approved, or another number of transactions than the service says;
 * `ERR_APPROVAL_REFUSED` when the content is not the expected one and this user approved nothing.
 */
export async function requireRanAsApproved(
  session: Session,
  opened: Pick<OpenedService, 'kind' | 'chain' | 'pins' | 'trusted'>,
  batch: NamedBatch,
  totalSuccessful: number,
  { digest, wasSent }: Approved,
): Promise<void> {
  if (opened.kind === 'embedded' || totalSuccessful === 0) return;
  const uncompared = (why: string): void => {
    const text = `Batch ${batch.id} was not compared with the approved one: ${why}. Compare both: \`flywheel batch verify\`.`;
    if (digest !== null) session.output.warn(text);
  };
  const ground = await groundOf(opened);
  if (typeof ground === 'string') return uncompared(ground);
  const { chain, flywheel } = ground;
  const look = async () => {
    const past = await readPastContent(chain, refOf(flywheel, batch)).catch(forgotten);
    if (past === null) return null;
    const by = past.executions.flatMap((execution) => execution?.signature ?? []);
    const other = digest && (await difference(past, flywheel, digest));
    const count = `${by.length} transactions were executed, but the service says ${totalSuccessful}`;
    const found = other ?? (by.length === totalSuccessful ? null : count);
    return { found, isOther: other !== null, by: by.join(', ') || 'no transaction' };
  };
  // A node shows accounts at once, and the history of a batch later.
  const seen = await lookUntil(session, look, (one) => one?.found === null);
  if (seen === null) return uncompared(`the RPC node does not have the history of batch ${batch.id}`);
  if (seen.found === null) return;
  const what = `${seen.found}; executed by ${seen.by}.`;
  // Others approved what ran. This command sent nothing, so its outcome is known.
  if (seen.isOther && !wasSent)
    throw new FlywheelError(
      'ERR_APPROVAL_REFUSED',
      `Batch ${batch.id} is finished and is not the expected one: ${what} This command approved nothing.`,
      { hint: `Show what the batch did: \`flywheel batch inspect ${batch.id}\`` },
    );
  const message = `Batch ${batch.id} was executed on chain and is not the approved one: ${what}`;
  throw new FlywheelError('ERR_OUTCOME_UNKNOWN', message, howToCompare(batch));
}

function forgotten(error: unknown): null {
  if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return null;
  throw error;
}
