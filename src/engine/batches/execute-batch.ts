/** Execute: approvals, the transactions in order, then the verdict. Idempotent by batch (contract, section 1.2). */
import { setTimeout } from 'node:timers/promises';
import { decodeClock } from '../../chain/account.js';
import { CLOCK_SYSVAR } from '../../chain/programs.js';
import { votersOf } from '../../chain/squads/accounts.js';
import { proposalApprove } from '../../chain/squads/builders.js';
import type { Instruction } from '../../chain/transaction/message.js';
import type { Reply } from '../../contract/call.js';
import { executeBatchRequestSchema } from '../../contract/schemas/batch.js';
import type { AnswerOf } from '../../contract/service.js';
import { invalidRequest, parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Uuid } from '../../values/ids.js';
import { isoTime } from '../../values/time.js';
import { holdFromNow, releaseHolds } from '../caps.js';
import type { EngineDeps } from '../deps.js';
import { type Caller, isWorkedOn, type Lease } from '../lease.js';
import { noRepeat, openRequest, operation, type RequestIdentity } from '../operation.js';
import { type BatchWork, type End, type Failure, type Goal, type Next, workOnBatch } from './advance.js';
import {
  type BatchContext,
  claimBatch,
  contextOf,
  contextOfBatch,
  currentRecord,
  isFinal,
  isOver,
  messages,
  withCost,
} from './batch-context.js';
import { findPermitted } from './get-batch.js';
import {
  type BatchState,
  countExecuted,
  differenceFromPlan,
  isEnded,
  kindOf,
  pastOf,
  readBatchOnChain,
  requireOpenToVotes,
} from './on-chain.js';
import { checkSignedVote, isSignedByAll, landOwnerVote, type SignedVote } from './owner-vote.js';
import { executeTransactions } from './plan-batch.js';
import { closeAccounts, conclude, countForeign, foreignOf, needsClosing } from './verdict.js';

export const executeBatch = operation('executeBatch', {
  parse: (input) => parseInput(executeBatchRequestSchema, input),
  perform: async ({ deps, principal, input: { batchId, signedTx }, call, identity, earlier }) => {
    const batch = await deps.store.read((tx) => findPermitted(tx, principal, batchId));
    if (call.repeatOnly === true && !isFinal(batch)) throw noRepeat();
    const asked = { signedTx, identity, earlier };
    return execute(deps, contextOf(deps, principal), batch, call, asked);
  },
});

/** Resumes an execution without a lease, or closes its accounts; both approvals must be on chain. */
export async function carryOnExecution(deps: EngineDeps, batchId: string, caller: Caller): Promise<number> {
  const found = await deps.store.read(async (tx) => {
    const batch = await currentRecord(tx, batchId);
    return isWorkedOn(tx, batch) ? undefined : { batch, context: await contextOfBatch(deps, tx, batch) };
  });
  if (found === undefined) return 0;
  await deps.gaps.require(found.batch.tokenId);
  await execute(deps, found.context, found.batch, caller, null);
  return 1;
}

interface Asked {
  readonly signedTx: string | undefined;
  readonly identity: RequestIdentity;
  readonly earlier: RequestRecord | undefined;
}

/** @param asked - `null`: no caller; resumes an earlier request. */
async function execute(
  deps: EngineDeps,
  context: BatchContext,
  found: BatchHead,
  caller: Caller,
  asked: Asked | null,
): Promise<Reply<AnswerOf<'executeBatch'>>> {
  // After a crash between verdict and closing, the answer waits until the accounts are closed.
  if (isFinal(found) && !needsClosing(found)) return answer(deps, found.id, true);
  const taken = await deps.store.transaction((tx) => take(deps, tx, found.id, asked), found);
  if (taken === 'busy') return answer(deps, found.id, true);
  const { batch, request } = taken;
  await workOnBatch(deps, context, taken, caller, async (work) => {
    const ended = isOver(batch) ? batch : await bringToEnd(work, asked?.signedTx, request);
    if (needsClosing(ended))
      await close(work).catch((error: unknown) => {
        // The caller has the verdict and gets the rent back later; recovery fails so that it retries closing.
        if (asked === null) throw error;
      });
  });
  return answer(deps, batch.id, isFinal(batch));
}

/** `'busy'`: the batch is over, and another engine is closing its accounts. */
async function take(
  deps: EngineDeps,
  tx: StoreTransaction,
  batchId: string,
  asked: Asked | null,
): Promise<{ readonly batch: BatchRecord; readonly request: RequestRecord | null } | 'busy'> {
  const found = await currentRecord(tx, batchId);
  if (found.status === 'AVAILABLE_TO_QUEUE')
    throw new FlywheelError('ERR_BATCH_NOT_FINALIZED', `The set-up of batch ${batchId} is not finished yet.`);
  if (isOver(found) && isWorkedOn(tx, found)) return 'busy';
  // Without a caller, only a requested execution that no cancel has replaced is resumed.
  if (asked === null && !isFinal(found) && !(await tx.unfinished.isExecution(batchId)))
    throw new FlywheelError('ERR_BATCH_IN_PROGRESS', `Batch ${batchId} is another's by now.`);
  const batch = await claimBatch(deps, tx, batchId);
  if (asked?.identity.value === undefined || isFinal(found)) return { batch, request: null };
  return { batch, request: await openRequest(deps, tx, asked.identity, asked.earlier) };
}

/** Executes a batch. Of a failed batch nothing is sent; executions by members since then are counted. */
async function bringToEnd(
  work: BatchWork,
  signedTx: string | undefined,
  request: RequestRecord | null,
): Promise<BatchRecord> {
  const { batch } = work;
  const known = batch.executeResult;
  if (known !== null) {
    await work.settleAll();
    const state = await work.read('finalized');
    const position = await countExecuted(work, state);
    // Members may have cancelled it meanwhile: it then holds nothing of the caps.
    if (position !== known.totalSuccessful || isEnded(state))
      return judge(work, { state, failure: null }, request);
    await work.write();
    return batch;
  }
  const end = await work.run(executed(work, signedTx));
  invariant(end !== null, 'An execution waits for nobody.');
  if (end.failure === null || kindOf(end.state) !== 'Active') return judge(work, end, request);
  await work.write();
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `The operator's approval of batch ${batch.id} failed: ${end.failure.message}`,
  );
}

/** Pipelines that can still run on chain keep counting against the caps. */
const judge = (
  work: BatchWork,
  { state, failure }: End,
  request: RequestRecord | null,
): Promise<BatchRecord> =>
  conclude(
    work,
    state,
    (executed) => failureOf(work.batch, executed, state, failure),
    async (tx, { id, executeResult: result }) => {
      if (isEnded(state)) await releaseHolds(tx, work.batch);
      if (request === null) return;
      await tx.requests.complete(request.id, JSON.stringify({ batchId: id, result }));
    },
  );

async function close(work: BatchWork): Promise<void> {
  const reason = await closeAccounts(work);
  if (reason !== null)
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The accounts of batch ${work.batch.id} were not closed, so their rent stays locked. ${reason}`,
    );
}

const answer = (deps: EngineDeps, batchId: string, replayed: boolean) =>
  deps.store.read(async (tx) => {
    const { executeResult: result = null } = (await tx.batches.find({ id: batchId })) ?? {};
    invariant(result !== null, 'Batches are never removed, and a final one has its result.');
    return withCost(tx, batchId, { batchId: batchId as Uuid, result }, replayed);
  });

function executed(work: BatchWork, signedTx: string | undefined): Goal {
  let transactions: readonly (readonly Instruction[])[] | undefined;
  return {
    isReached: isEnded,
    async next(state) {
      if (kindOf(state) !== 'Approved') return approvalSteps(work, signedTx);
      transactions ??= await begin(work, state);
      const all = transactions;
      return {
        ...{ phase: 'EXECUTE', first: state.batch?.executedTransactionIndex ?? 0, end: all.length },
        instructions: (index) => all[index] ?? [],
      };
    },
  };
}

/** Pipelines that members executed are not held: they landed, and may count as part of a gap. */
async function begin(work: BatchWork, state: BatchState): Promise<readonly (readonly Instruction[])[]> {
  const { deps, context, batch, lease } = work;
  const { project } = context;
  await readPlanned(work);
  const isBegun = state.batch?.executedTransactionIndex !== 0;
  const final = isBegun ? (await work.read('finalized')).batch : null;
  // Not cached: members may execute more meanwhile.
  const readPast = pastOf(deps.chain, project, batch);
  const foreign = await foreignOf(work, final?.executedTransactionIndex ?? 0, readPast);
  if (foreign.length > 0) await lease.write((tx) => countForeign(tx, work, foreign));
  await lease.write((tx) => holdFromNow(tx, project, batch));
  await waitOutTimeLock(deps, batch.id, state, lease);
  return [...executeTransactions({ flywheel: project, batchIndex: batch.batchIndex }, messages(batch))];
}

const CLOSED = 'The accounts of the batch were closed on chain.';
const REST_NOT_TRIED = 'Members executed the failed transaction. The others were not tried.';

function failureOf(
  batch: BatchRecord,
  position: number,
  state: BatchState,
  failure: Failure | null,
): Failure | null {
  if (failure !== null || position === batch.pipelines.length) return failure;
  if (!isEnded(state)) return { message: REST_NOT_TRIED };
  const message =
    state.batch === null ? CLOSED : `The proposal was ${kindOf(state)?.toLowerCase()} on chain.`;
  return { failedTransaction: position, firstTransaction: position, message };
}

/**
 * Next step to approval by owner and operator. The batch counts against today's caps before the first vote is sent.
 * @throws `ERR_INVALID_SIGNED_TX`, `ERR_APPROVAL_EXPIRED`, `ERR_INSUFFICIENT_FUNDS`; `ERR_INVALID_REQUEST` when a signed approval
 * is required and missing; `ERR_DAILY_LIMIT_EXCEEDED`, which leaves the batch unchanged; `ERR_BATCH_IN_PROGRESS` while other
 * members must vote; `ERR_BATCH_EXECUTE_FAILED` when the chain differs from the plan.
 */
async function approvalSteps(work: BatchWork, signedTx: string | undefined): Promise<Next> {
  const { context, batch, lease } = work;
  const { project } = context;
  const found = await readPlanned(work);
  if (kindOf(found) !== 'Active') return 'again';
  requireOpenToVotes(found, batch);
  const vote = await givenVote(work, found, signedTx);
  // Either vote may complete the approval, so the batch counts before any vote is sent. It keeps counting if the vote fails: a
  // lagging node may not show the votes of others yet.
  await lease.write((tx) => holdFromNow(tx, project, batch));
  if (vote !== null) {
    await landApproval(work, vote);
    return 'again';
  }
  if (found.proposal?.approved.includes(project.operator) === true) throw votesMissing(batch.id, found);
  const { multisig, operator: member } = project;
  const approve = proposalApprove({ multisig, member, batchIndex: batch.batchIndex });
  return { phase: 'OPERATOR_APPROVAL', first: 0, end: 1, instructions: () => [approve] };
}

function votesMissing(batchId: string, { multisig, proposal }: BatchState): FlywheelError {
  const approved = proposal?.approved ?? [];
  const missing = multisig.threshold - approved.length;
  const others = votersOf(multisig).filter(({ key }) => !approved.includes(key));
  return new FlywheelError(
    'ERR_BATCH_IN_PROGRESS',
    `Owner and operator have approved batch ${batchId}. Its multisig needs ${missing} more approval${missing === 1 ? '' : 's'}, of ${others.map(({ key }) => key).join(' or ')}.`,
    {
      hint: 'Run `batch execute` again after that. A running server executes the batch by itself.',
    },
  );
}

/** A failure is ignored if an earlier approval of the owner landed first, or the proposal is no longer active. */
async function landApproval(work: BatchWork, vote: SignedVote): Promise<void> {
  try {
    await landOwnerVote(work, vote);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_BATCH_EXECUTE_FAILED')) throw error;
    const now = await readPlanned(work);
    if (kindOf(now) === 'Active' && !standsOnChain(work, now)) throw error;
  }
}

const standsOnChain = ({ context }: BatchWork, { proposal }: BatchState): boolean =>
  proposal?.approved.includes(context.project.owner) === true;

async function givenVote(
  work: BatchWork,
  found: BatchState,
  signedTx: string | undefined,
): Promise<SignedVote | null> {
  const given = signedTx === undefined ? null : await checkSignedVote(work, 'approve', signedTx);
  if (standsOnChain(work, found)) return null;
  if (given !== null) return given;
  // Sent before, but removed by a fork, or the earlier run ended before it landed.
  const earlier = work.openOf('OWNER_APPROVAL')?.transactions[0]?.bytes;
  if (earlier !== undefined && isSignedByAll(earlier))
    return checkSignedVote(work, 'approve', Buffer.from(earlier).toString('base64'));
  throw invalidRequest(['signedTx: expected base64 text, because the owner has not approved on chain']);
}

/**
 * Checks the batch on chain against its plan before every vote and execution.
 * @throws `ERR_BATCH_EXECUTE_FAILED` when the chain differs from the plan.
 */
async function readPlanned({ deps, context, batch }: BatchWork): Promise<BatchState> {
  const found = await readBatchOnChain(deps.chain, context.project, batch);
  // After its end, any member may close some of its accounts.
  if (isEnded(found)) return found;
  const difference = differenceFromPlan(found, batch, context.project);
  if (difference === null) return found;
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `Batch ${batch.id} on chain differs from its plan (${difference}). Nothing was approved or executed.`,
  );
}

const MAX_WAIT_SECONDS = 60n;
/** The time of the chain may be slow, or stand still. */
const MAX_WAIT_MS = 90_000;
/** Margin for a node whose clock is behind: a batch executed too early fails for good. */
const MARGIN_SECONDS = 5n;
const POLL_MS = 500;
const MS_PER_SECOND = 1_000;

async function chainSeconds({ chain, clock }: EngineDeps): Promise<bigint> {
  const [account] = await chain.getAccounts([CLOCK_SYSVAR]);
  return decodeClock(account)?.unixTimestamp ?? BigInt(Math.floor(clock.nowMs() / MS_PER_SECOND));
}

/**
 * Waits until the time lock of an approved batch ends, up to {@link MAX_WAIT_SECONDS}.
 * @throws `ERR_BATCH_IN_PROGRESS` with the end of a longer time lock, also if the chain stands still; the batch stays approved.
 */
async function waitOutTimeLock(
  deps: EngineDeps,
  batchId: string,
  { multisig, proposal }: BatchState,
  lease: Lease,
): Promise<void> {
  if (multisig.timeLockSeconds === 0 || proposal?.status.kind !== 'Approved') return;
  const untilMs = deps.clock.nowMs() + MAX_WAIT_MS;
  const end = proposal.status.timestamp + BigInt(multisig.timeLockSeconds) + MARGIN_SECONDS;
  for (;;) {
    const left = end - (await chainSeconds(deps));
    if (left <= 0n) return;
    const isTooLong = left > MAX_WAIT_SECONDS || deps.clock.nowMs() > untilMs;
    if (isTooLong || lease.signal?.aborted === true) {
      const until = isoTime(Number(end) * MS_PER_SECOND);
      throw new FlywheelError(
        'ERR_BATCH_IN_PROGRESS',
        `Batch ${batchId} is approved, but the time lock of the multisig ends at ${until}.`,
        {
          retryAfterSeconds: Number(left),
          hint: 'Run `batch execute` again after that time. A running server executes the batch by itself.',
        },
      );
    }
    await setTimeout(POLL_MS);
  }
}
