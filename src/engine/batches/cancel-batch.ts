/**
 * Ends whatever of a batch has not been executed: by its state on chain it is voted down, its accounts are closed, and what it
 * held of caps and rent is given back (contract, section 1.7; squads-v4.md, sections 6 and 7.12).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Commitment } from '../../chain/chain.js';
import { type BundleExecution, CANCELLED, cancelBatchRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, VoteKind } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import { isWorkedOn, type Lease, underLease } from '../lease.js';
import { operation } from '../operation.js';
import { awaitFates } from '../settle/look-up.js';
import { Advance, type End, type Goal, type Next } from './advance.js';
import type { ApprovalInput } from './approve-batch.js';
import { batchHolding, claimBatch, currentRecord, isOver } from './batch-claim.js';
import { type BatchContext, contextOf } from './batch-context.js';
import { batchView } from './batch-view.js';
import { closeAccounts, isCloseable, needsClosing } from './close-accounts.js';
import { foreignOf, resultOf } from './execute-result.js';
import { findBatch } from './get-batch.js';
import { countForeign, releaseHolds } from './holds.js';
import { landOwnerVote } from './land-vote.js';
import { nextVote } from './next-vote.js';
import { type BatchOnChain, countExecuted, readBatchOnChain } from './on-chain.js';
import { checkSignedVote, issueVote } from './owner-vote.js';

export const cancelBatch = operation('cancelBatch', {
  parse: (input) => parseInput(cancelBatchRequestSchema, input),
  perform: async ({ deps, principal, input: { batchId, signedTx }, call }) => {
    const found = await findBatch(deps, principal, batchId);
    const context = contextOf(deps, principal);
    const batch = await deps.store.transaction((tx) => claim(deps, tx, found), found);
    const cancelTx = await underLease(deps, batchHolding(batch), call, async (lease) => {
      const advance = await Advance.open(deps, { batch, operator: context.operator, lease });
      const asked = await new Cancellation(deps, { context, batch, lease, advance }).run(signedTx);
      await lease.giveUp();
      return asked;
    });
    const current = await deps.store.read((tx) => currentRecord(tx, batch.id));
    const meta = { replayed: batch.dateCancelled !== null, cost: current.cost };
    if (cancelTx !== null) return { value: { ownerVoteNeeded: true, cancelTx }, meta };
    return { value: { ownerVoteNeeded: false, batch: batchView(current, context) }, meta };
  },
});

/** Takes the batch, unless its init is still at it; an init that is cut off is not carried on while the batch is taken. */
async function claim(deps: EngineDeps, tx: StoreTransaction, { id }: BatchHead): Promise<BatchRecord> {
  const batch = await claimBatch(deps, tx, id);
  // One whose accounts could not be closed when it was executed has them closed now.
  if (batch.status === 'EXECUTED' && !needsClosing(batch)) {
    throw new FlywheelError('ERR_INVALID_REQUEST', `Batch ${id} is EXECUTED. There is nothing to cancel.`);
  }
  if (batch.status !== 'AVAILABLE_TO_QUEUE') return batch;
  const init = await tx.requests.get(batch.requestId);
  if (init?.status !== 'running') return batch;
  if (isWorkedOn(tx, init)) {
    throw new FlywheelError('ERR_BATCH_IN_PROGRESS', `Batch ${id} is being set up.`, {
      retryAfterSeconds: 1,
    });
  }
  // An init that stood still until its lease was over writes nothing more.
  if (init.holder !== null) await tx.requests.release(init.id, init.holder);
  return batch;
}

class Cancellation {
  readonly #deps: EngineDeps;
  readonly #context: BatchContext;
  readonly #batch: BatchRecord;
  readonly #lease: Lease;
  readonly #advance: Advance;

  constructor(
    deps: EngineDeps,
    { context, batch, lease, advance }: Omit<ApprovalInput, 'deps' | 'signedTx'>,
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#batch = batch;
    this.#lease = lease;
    this.#advance = advance;
  }

  /** @returns the vote that the owner has to sign first, base64, or `null` when the batch is over. */
  async run(signedTx: string | undefined): Promise<string | null> {
    const batch = this.#batch;
    const isOnChain = batch.status !== 'AVAILABLE_TO_QUEUE' || (await this.#isOpened());
    if (isOnChain) {
      const ended = await this.#end(signedTx);
      if ('kind' in ended) return this.#askOwner(ended.kind);
      if (!isOver(batch)) await this.#conclude(ended.state);
    } else await this.#conclude(null);
    const current = await this.#deps.store.read((tx) => currentRecord(tx, batch.id));
    if (isOnChain && current.dateClosed === null)
      await closeAccounts(this.#deps, this.#context, current, this.#lease);
    return null;
  }

  /** Is anything of an unfinished set-up on chain? The accounts at its index may be another's. */
  async #isOpened(): Promise<boolean> {
    const opening = this.#advance.openOf('SETUP', 0);
    if (opening !== undefined) {
      const [fate] = await awaitFates(this.#deps.chain, [opening], this.#lease);
      if (fate?.kind === 'open') {
        throw new FlywheelError(
          'ERR_UNAVAILABLE',
          `Set-up transactions of batch ${this.#batch.id} may still land. Try again in a minute, after they have expired.`,
        );
      }
    }
    await this.#advance.settleAll();
    return this.#advance.hasLanded('SETUP', 0);
  }

  /** Votes until the program lets the accounts be closed. @returns how it stands then, or the vote that the owner has to give. */
  async #end(signedTx: string | undefined): Promise<End<BatchOnChain> | { readonly kind: VoteKind }> {
    const batch = this.#batch;
    let signed = signedTx;
    let asked: VoteKind | undefined;
    const next = async (found: BatchOnChain): Promise<Next> => {
      const { proposal, multisig } = found;
      invariant(proposal !== null, 'What has no proposal is over.');
      const vote = nextVote(multisig, proposal, this.#context);
      if (vote.by === 'operator') {
        const first = this.#advance.countLanded('CANCEL');
        return {
          phase: 'CANCEL',
          first,
          end: first + 1,
          instructions: () => vote.instructions(batch.batchIndex),
        };
      }
      asked = vote.kind;
      if (signed === undefined) return 'wait';
      const given = signed;
      signed = undefined;
      await this.#landOwner(given, vote.kind).catch(async (error: unknown) => {
        // Members may have been faster, with votes or with the last transaction: then what is next is decided anew.
        if (isDeepStrictEqual((await this.#read()).proposal, proposal)) throw error;
      });
      return 'again';
    };
    const goal: Goal<BatchOnChain> = {
      read: (commitment) => this.#read(commitment),
      isReached: (found) => found.proposal === null || isCloseable(found, batch),
      next,
    };
    let end = await this.#advance.run(goal);
    // What an earlier run has signed may be the vote that was due then.
    if (end !== null && end.failure !== null) {
      await this.#lease.write((tx) => this.#advance.write(tx));
      end = await this.#advance.run(goal);
    }
    if (end === null) return { kind: asked as VoteKind };
    if (end.failure === null) return end;
    await this.#lease.write((tx) => this.#advance.write(tx));
    // A vote of an earlier try may have landed only now; the chain as it is then decides what is next.
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The operator's vote on batch ${batch.id} failed: ${end.failure.message} Try again.`,
    );
  }

  #read(commitment?: Commitment): Promise<BatchOnChain> {
    return readBatchOnChain(this.#deps.chain, this.#context.flywheel, this.#batch, commitment);
  }

  async #landOwner(signedTx: string, kind: VoteKind): Promise<void> {
    const issued = await this.#deps.store.read((tx) => tx.batches.votes(this.#batch.id));
    const expected = { context: this.#context, batch: this.#batch, kind, issued };
    await landOwnerVote(this.#deps, this.#batch, this.#advance, checkSignedVote(signedTx, expected));
  }

  async #askOwner(kind: VoteKind): Promise<string> {
    const vote = await issueVote(this.#deps, this.#context, this.#batch, kind);
    await this.#lease.write(async (tx) => {
      await this.#advance.write(tx);
      await tx.batches.addVote(vote);
    });
    return Buffer.from(vote.transaction).toString('base64');
  }

  /** Writes that it is over. @param found - `null` where nothing of it was ever on chain. */
  async #conclude(found: BatchOnChain | null): Promise<void> {
    const batch = this.#batch;
    const { flywheel } = this.#context;
    const position = found === null ? 0 : await countExecuted(this.#deps.chain, flywheel, batch, found);
    await this.#lease.write(async (tx) => {
      await this.#advance.write(tx);
      await countForeign(tx, batch, foreignOf(batch, position, this.#advance));
      await releaseHolds(tx, batch);
      const landed = this.#advance.executions('EXECUTE');
      await writeEnd(tx, batch, { position, landed, found, date: isoTime(tx.nowMs) });
    });
  }
}

/** The verdict, and what the accounts of an unfinished set-up have cost. */
async function writeEnd(
  tx: StoreTransaction,
  batch: BatchRecord,
  end: {
    /** Of the first pipeline that was not executed. */
    readonly position: number;
    readonly landed: readonly BundleExecution[];
    readonly found: BatchOnChain | null;
    readonly date: string;
  },
): Promise<void> {
  const { id } = batch;
  const { position, found, date } = end;
  const isExecuted = position === batch.pipelines.length;
  const executeResult = resultOf(batch, position, end.landed, isExecuted ? null : { message: CANCELLED });
  // Its members have finished a draft with tools of their own.
  if (isExecuted && batch.status === 'AVAILABLE_TO_QUEUE')
    await tx.batches.transition(id, 'FINALIZED', {}, date);
  await tx.batches.transition(id, isExecuted ? 'EXECUTED' : 'FAILED', { executeResult }, date);
  if (!isExecuted) await tx.batches.setCancelled(id, date);
  // The key of its init is free again where nothing has come of it, and nothing will.
  if (batch.status === 'AVAILABLE_TO_QUEUE' && position === 0) await tx.requests.remove(batch.requestId);
  if (found === null) await tx.batches.setClosed(id, date);
  else if (batch.status === 'AVAILABLE_TO_QUEUE')
    await tx.batches.addCost(id, { rentPaidLamports: found.lamports });
}
