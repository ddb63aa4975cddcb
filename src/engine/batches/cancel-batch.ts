/**
 * Ends whatever of a batch has not been executed: by its state on chain it is voted down, its accounts are closed, and what it
 * held of caps and rent is given back (contract, section 1.7; squads-v4.md, sections 6 and 7.12).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Commitment } from '../../chain/chain.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import { cancelBatchRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, BundleRecord, VoteKind } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import { awaitFinal, untilFinal, watchLandings } from '../landings/watch.js';
import { isWorkedOn, type Lease, underLease } from '../lease.js';
import { operation } from '../operation.js';
import { batchHolding, claimBatch, currentRecord } from './batch-claim.js';
import { type BatchContext, contextOf } from './batch-context.js';
import { batchView } from './batch-view.js';
import { closeAccounts, isCloseable, needsClosing } from './close-accounts.js';
import { resultOf } from './execute-result.js';
import { findBatch } from './get-batch.js';
import { countForeign, countLandedBundles, releaseHolds } from './holds.js';
import { countVotes, landOwnerVote } from './land-vote.js';
import { nextVote } from './next-vote.js';
import { type BatchOnChain, countExecuted, plannedCount, readBatchOnChain } from './on-chain.js';
import { checkSignedVote, issueVote } from './owner-vote.js';
import { endOf, type PhaseResult } from './phase.js';
import { runPhase } from './run-phase.js';

/** What a cancelled batch says of itself. */
const CANCELLED = 'cancelled';

export const cancelBatch = operation('cancelBatch', {
  parse: (input) => parseInput(cancelBatchRequestSchema, input),
  perform: async ({ deps, principal, input: { batchId, signedTx }, call }) => {
    const found = await findBatch(deps, principal, batchId);
    await watchLandings(deps, { batchId: found.id });
    const context = contextOf(deps, principal);
    const batch = await deps.store.transaction((tx) => claim(deps, tx, found), found);
    const cancelTx = await underLease(deps, batchHolding(batch), call, async (lease) => {
      const asked = await new Cancellation(deps, context, batch, lease).run(signedTx);
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
    throw new FlywheelError('ERR_INVALID_REQUEST', `Batch ${id} is EXECUTED; there is nothing to cancel.`);
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

  constructor(deps: EngineDeps, context: BatchContext, batch: BatchRecord, lease: Lease) {
    this.#lease = lease;
    this.#deps = deps;
    this.#context = context;
    this.#batch = batch;
  }

  /** @returns the vote that the owner has to sign first, base64, or `null` when the batch is over. */
  async run(signedTx: string | undefined): Promise<string | null> {
    const stored = await this.#deps.store.read((tx) => tx.bundles.ofBatch(this.#batch.id));
    const isOnChain = await this.#settleSetUp(stored);
    if (isOnChain) {
      const kind = await this.#endVotes(signedTx);
      if (kind !== null) return this.#askOwner(kind);
    }
    const isOver = this.#batch.status === 'EXECUTED' || this.#batch.dateCancelled !== null;
    if (!isOver) await this.#conclude(isOnChain);
    const current = await this.#deps.store.read((tx) => currentRecord(tx, this.#batch.id));
    if (isOnChain && current.dateClosed === null)
      await closeAccounts(this.#deps, this.#context, current, this.#lease);
    return null;
  }

  /**
   * Finds out what became of an unfinished set-up.
   * @returns whether anything of the batch is on chain: the accounts at its index may be another's.
   */
  async #settleSetUp(stored: readonly BundleRecord[]): Promise<boolean> {
    if (this.#batch.status !== 'AVAILABLE_TO_QUEUE') return true;
    const opening = stored.find(
      ({ phase, first, status }) => phase === 'SETUP' && first === 0 && status !== 'FAILED',
    );
    const settled = await this.#runEarlier('SETUP', stored, false);
    await this.#lease.write(settled.settle);
    if (opening === undefined) return false;
    const [record] = await this.#deps.chain.lookUp([opening.transactions[0]?.signature ?? '']);
    if (record !== null) return record?.error === null;
    const now = await this.#deps.store.read((tx) => tx.bundles.ofBatch(this.#batch.id));
    if (!now.some(({ id }) => id === opening.id)) return false;
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The set-up of batch ${this.#batch.id} may still land; try again when its blockhash has expired.`,
    );
  }

  /** Votes until the program lets the accounts be closed. @returns the kind of vote that the owner has to give first, or `null`. */
  async #endVotes(signedTx: string | undefined): Promise<VoteKind | null> {
    let signed = signedTx;
    for (;;) {
      const found = await this.#read();
      const { proposal, multisig } = found;
      if (proposal === null || isCloseable(found, this.#batch)) return null;
      const vote = nextVote(multisig, proposal, this.#context);
      if (vote.by === 'owner' && signed === undefined) return vote.kind;
      try {
        if (vote.by === 'operator') await this.#vote(vote.instructions(this.#batch.batchIndex));
        else await this.#landOwner(signed ?? '', vote.kind);
      } catch (error) {
        // Members may have been faster, with votes or with the last transaction: then what is next is decided anew.
        if (isDeepStrictEqual((await this.#read()).proposal, proposal)) throw error;
      }
      if (vote.by === 'owner') signed = undefined;
    }
  }

  #read(commitment?: Commitment): Promise<BatchOnChain> {
    return readBatchOnChain(this.#deps.chain, this.#context.flywheel, this.#batch, commitment);
  }

  async #landOwner(signedTx: string, kind: VoteKind): Promise<void> {
    const { store, chain } = this.#deps;
    const issued = await store.read((tx) => tx.batches.votes(this.#batch.id));
    const expiredHeight = await chain.expiredHeight();
    const expected = { context: this.#context, batch: this.#batch, kind, issued, expiredHeight };
    await landOwnerVote(this.#deps, this.#batch, this.#lease, checkSignedVote(signedTx, expected));
  }

  async #askOwner(kind: VoteKind): Promise<string> {
    const vote = await issueVote(this.#deps, this.#context, this.#batch, kind);
    await this.#lease.write((tx) => tx.batches.addVote(vote));
    return Buffer.from(vote.transaction).toString('base64');
  }

  async #vote(instructions: readonly Instruction[]): Promise<void> {
    const stored = await this.#deps.store.read((tx) => tx.bundles.ofBatch(this.#batch.id, ['CANCEL']));
    const phase = await runPhase(this.#deps, {
      batchId: this.#batch.id,
      tokenId: this.#batch.tokenId,
      phase: 'CANCEL',
      signer: this.#context.operator,
      transactions: [instructions],
      offset: endOf(stored),
      stored,
      lease: this.#lease,
    });
    await this.#lease.write(phase.settle);
    if (phase.failure === null) return;
    // A vote of an earlier try may have landed only now; the chain as it is then decides what is next.
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The operator's vote on batch ${this.#batch.id} failed: ${phase.failure.message} Try again.`,
    );
  }

  /** Writes that it is over. Nothing of it can land any more, so what was sent and is not found never will be. */
  async #conclude(isOnChain: boolean): Promise<void> {
    const batch = this.#batch;
    await awaitFinal(this.#deps, batch.id, this.#lease);
    const { store } = this.#deps;
    const stored = await store.read((tx) => tx.bundles.ofBatch(batch.id));
    const found = isOnChain ? await this.#readEnd() : null;
    const setUp = await this.#runEarlier('SETUP', stored, true);
    const votes = await this.#runEarlier('CANCEL', stored, true);
    const { flywheel } = this.#context;
    const executed = found === null ? 0 : await countExecuted(this.#deps.chain, flywheel, batch, found);
    // Members may have added transactions of their own to a draft, and executed them.
    const isDraft = batch.status === 'AVAILABLE_TO_QUEUE' && found?.batch != null;
    const position = isDraft ? Math.min(executed, plannedCount(found, batch)) : executed;
    const execution = await this.#runEarlier('EXECUTE', stored, true, position);
    if (isOnChain) await countVotes(this.#deps, batch, this.#lease);
    // What had been counted when the batch failed is not counted once more.
    const known = batch.executeResult?.totalSuccessful ?? 0;
    const foreign = execution.foreign.filter((at) => at >= known);
    const isExecuted = execution.next === batch.pipelines.length;
    await this.#lease.write(async (tx) => {
      const date = isoTime(tx.nowMs);
      await setUp.settle(tx);
      await votes.settle(tx);
      await execution.settle(tx);
      await countForeign(tx, batch, foreign);
      await releaseHolds(tx, batch);
      await writeEnd(tx, batch, { execution, isExecuted, found, date });
    });
  }

  /** The batch in a state that no fork can take back and in which nothing more of it can be executed. */
  async #readEnd(): Promise<BatchOnChain> {
    let found = await this.#read('finalized');
    await untilFinal(this.#deps, this.#batch.id, this.#lease, async () => {
      if (found.proposal === null || isCloseable(found, this.#batch)) return true;
      found = await this.#read('finalized');
      return false;
    });
    return found;
  }

  /** Finds out what became of what was sent before, and sends nothing. @param position - where the chain stands. */
  #runEarlier(
    phase: 'SETUP' | 'EXECUTE' | 'CANCEL',
    stored: readonly BundleRecord[],
    isOver: boolean,
    position?: number,
  ): Promise<PhaseResult> {
    const { pipelines } = this.#batch;
    return runPhase(this.#deps, {
      batchId: this.#batch.id,
      tokenId: this.#batch.tokenId,
      phase,
      signer: this.#context.operator,
      // Only their number counts, since none of them is sent.
      transactions: phase === 'EXECUTE' ? pipelines.map(() => []) : [],
      stored: stored.filter((bundle) => bundle.phase === phase),
      isOver,
      ...(position === undefined ? {} : { position: async () => position }),
      landed: async (tx, landed) => {
        if (phase === 'EXECUTE') await countLandedBundles(tx, this.#batch, landed);
      },
      lease: this.#lease,
    });
  }
}

/** The verdict, and what the accounts of an unfinished set-up have cost. */
async function writeEnd(
  tx: StoreTransaction,
  batch: BatchRecord,
  end: {
    readonly execution: PhaseResult;
    readonly isExecuted: boolean;
    readonly found: BatchOnChain | null;
    readonly date: string;
  },
): Promise<void> {
  const { id } = batch;
  const { isExecuted, found, date } = end;
  const executeResult = resultOf(batch, end.execution, isExecuted ? null : { message: CANCELLED });
  // Its members have finished a draft with tools of their own.
  if (isExecuted && batch.status === 'AVAILABLE_TO_QUEUE')
    await tx.batches.transition(id, 'FINALIZED', {}, date);
  await tx.batches.transition(id, isExecuted ? 'EXECUTED' : 'FAILED', { executeResult }, date);
  if (!isExecuted) await tx.batches.setCancelled(id, date);
  // The key of its init is free again where nothing has come of it, and nothing will.
  if (batch.status === 'AVAILABLE_TO_QUEUE' && end.execution.next === 0)
    await tx.requests.remove(batch.requestId);
  if (found === null) await tx.batches.setClosed(id, date);
  else if (batch.status === 'AVAILABLE_TO_QUEUE') {
    const cost = { feeLamports: 0n, rentPaidLamports: found.lamports, rentReclaimedLamports: 0n };
    await tx.batches.addCost(id, cost);
  }
}
