/** Holds what was approved against what will run, and afterwards against what ran: both from the user's own chain. */
import { digestText } from '../../actions/pipelines.js';
import { checkBatchContent, type JudgedContent } from '../../approval/check-content.js';
import { type PastDescription, readPastContent } from '../../approval/past-content.js';
import { type BatchDescription, isAsDescribed, readBatch } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import type { Flywheel } from '../../chain/flywheel.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import type { Batch, ExecuteResult } from '../../contract/schemas/batch.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { lookUntil } from './catch-up.js';
import { refusalOf } from './review.js';

type NamedBatch = Pick<Batch, 'id' | 'batchIndex'>;

const refOf = ({ multisig }: Flywheel, { batchIndex }: NamedBatch): BatchRef => ({
  multisig,
  batchIndex: BigInt(batchIndex),
});

/** Can it still run? Of what is over anybody may close all accounts, or some of them. */
async function canRun(chain: ChainReader, ref: BatchRef): Promise<boolean> {
  const { batch, proposal } = await readBatchAccounts(chain, ref, 0);
  const kind = proposal.value?.status.kind;
  return batch.value !== null && kind !== 'Executed' && kind !== 'Rejected' && kind !== 'Cancelled';
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
    : `its digest is ${content.digest === null ? 'none' : digestText(content.digest)}, but ${digestText(digest)} was approved`;
}

const contradiction = (code: ErrorCode, { id }: NamedBatch, message: string): FlywheelError =>
  new FlywheelError(code, message, {
    hint: `Stop and investigate: \`flywheel batch inspect ${id}\`, another RPC node, and a block explorer.`,
  });

/** Why what was approved cannot be held against the chain, or what it is to be held against. */
async function groundOf(
  opened: Pick<OpenedService, 'chain' | 'pins' | 'trusted'>,
): Promise<{ readonly chain: ChainReader; readonly flywheel: Flywheel } | string> {
  const { chain, pins } = opened;
  if (chain === null) return 'no chain can be read';
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
  { wasSent, reviewed }: Sending,
): Promise<void> {
  if (digest === null) return;
  const code = wasSent ? 'ERR_OUTCOME_UNKNOWN' : 'ERR_APPROVAL_REFUSED';
  const ending = wasSent ? '' : ' Nothing was executed.';
  const ground = await groundOf(opened);
  if (typeof ground === 'string')
    throw new FlywheelError(
      code,
      `Batch ${batch.id} cannot be compared with what was approved: ${ground}.${ending}`,
      { hint: HOW_TO_HOLD },
    );
  const { chain, flywheel } = ground;
  const ref = refOf(flywheel, batch);
  if (!(await canRun(chain, ref))) return;
  // What was judged to be signed need not be judged again where not a byte of it has changed.
  if (reviewed?.digest === digest && (await isAsDescribed(chain, reviewed))) return;
  const found = await difference(await readBatch(chain, ref), flywheel, digest);
  if (found === null) return;
  throw contradiction(code, batch, `Batch ${batch.id} differs from what was approved: ${found}.${ending}`);
}

const HOW_TO_HOLD =
  'Set FLYWHEEL_RPC_URL to your own RPC node and pin the project (`flywheel profile pin`, or --pins FILE).';

/** How an execution is asked for. */
export interface Sending {
  /** An approval may have been sent before. */
  readonly wasSent: boolean;
  /** What has just been signed, as it stood then. */
  readonly reviewed: BatchDescription | null;
}

/**
 * After a batch was executed, as the service says. The embedded engine and its ledger are one.
 * @param digest - as above; without it only how much ran is looked at.
 * @param wasSent - this command may have sent an approval; else what ran is none of its doing.
 * @throws `ERR_OUTCOME_UNKNOWN` when what ran is not what was approved, or not as much as the service says;
 *   `ERR_APPROVAL_REFUSED` when it is not what was expected, and nothing was approved here.
 */
export async function requireRanAsApproved(
  session: Session,
  opened: Pick<OpenedService, 'kind' | 'chain' | 'history' | 'pins' | 'trusted'>,
  batch: NamedBatch,
  { totalSuccessful }: Pick<ExecuteResult, 'totalSuccessful'>,
  digest: Sha256 | null,
  wasSent: boolean,
): Promise<void> {
  const { kind, history } = opened;
  if (kind === 'embedded' || totalSuccessful === 0) return;
  const ground = await groundOf(opened);
  const seen: { past: PastDescription | null; other: string | null; found: string | null } = {
    ...{ past: null, other: null, found: null },
  };
  // A node tells of accounts at once, and of the past of a batch later.
  await lookUntil(session, async () => {
    if (typeof ground === 'string' || history === null) return true;
    const ref = refOf(ground.flywheel, batch);
    seen.past = await readPastContent(ground.chain, history, ref).catch(forgotten);
    if (seen.past === null) return false;
    seen.other = digest === null ? null : await difference(seen.past, ground.flywheel, digest);
    seen.found = seen.other ?? miscount(seen.past, totalSuccessful);
    return seen.found === null;
  });
  const { past, other, found } = seen;
  if (past === null) {
    if (digest !== null) session.output.warn(notHeld(batch, ground));
    return;
  }
  if (found === null) return;
  const ran = past.executions.flatMap((execution) => (execution === null ? [] : [execution.signature]));
  const what = `${found}; executed by ${ran.join(', ') || 'no transaction'}.`;
  if (other !== null && !wasSent) throw unexpected(batch, what);
  throw contradiction(
    'ERR_OUTCOME_UNKNOWN',
    batch,
    `Batch ${batch.id} ran on chain and differs from what was approved: ${what}`,
  );
}

/** @param ground - why nothing could be looked at, or what could. */
function notHeld({ id }: NamedBatch, ground: object | string): string {
  const why = typeof ground === 'string' ? ground : `the RPC node does not have the history of batch ${id}`;
  return `Batch ${id} was not compared with what was approved: ${why}. Compare it with \`flywheel batch verify\`.`;
}

/** What ran was approved by others, and nothing was done here that could have an outcome. */
const unexpected = ({ id }: NamedBatch, what: string): FlywheelError =>
  new FlywheelError(
    'ERR_APPROVAL_REFUSED',
    `Batch ${id} is finished and differs from what was expected: ${what} This command approved nothing.`,
    { hint: `See what it did: \`flywheel batch inspect ${id}\`` },
  );

/** A node that does not answer knows nothing either. */
function forgotten(error: unknown): null {
  if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return null;
  throw error;
}

function miscount({ executions }: PastDescription, said: number): string | null {
  const ran = executions.filter((execution) => execution !== null).length;
  return ran === said ? null : `${ran} of its transactions were executed, but the service says ${said}`;
}
