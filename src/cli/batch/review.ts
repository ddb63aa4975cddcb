/**
 * Everything that is found out about a batch before its owner decides: what stands on chain, held against what is pinned and
 * expected, and tried out. Neither the service nor what it returned is believed.
 */
import type { BatchContent } from '../../approval/batch-content.js';
import {
  checkApprovable,
  checkBatchContent,
  checkVoters,
  hasApproved,
} from '../../approval/check-content.js';
import { type CheckedVote, checkVote } from '../../approval/check-vote.js';
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import { type Pins, requireUnchanged } from '../../approval/pins.js';
import { type BatchDescription, readBatch } from '../../approval/read-batch.js';
import { type SimulatedChanges, simulateBatch } from '../../approval/simulate.js';
import type { ChainReader } from '../../chain/chain.js';
import type { Flywheel } from '../../chain/flywheel.js';
import type { Simulator } from '../../chain/simulator.js';
import { plainSymbol } from '../../chain/tokens/metadata.js';
import { type FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { OpenedService } from '../context.js';
import type { Unit } from '../views/unit.js';
import type { BatchName, IssuedApproval } from './approval-source.js';
import { checkExpectation, type Expectation } from './expectation.js';
import { refuse, unpinned } from './pins.js';

/** What was found out about a batch. */
export interface Look {
  readonly description: BatchDescription;
  /** `null`: not known, or it is not one that can be trusted. */
  readonly token: TokenOnChain | null;
  /** What it would change if it ran now; `null` where it was not tried out. */
  readonly changes: SimulatedChanges | null;
  /** The owner has approved it already. */
  readonly isApproved: boolean;
  /** Why it may not be approved, or `null`. */
  readonly refusal: FlywheelError | null;
}

/** A batch that may be approved, or has been by this owner. */
export interface Review extends Look {
  readonly token: TokenOnChain;
  readonly refusal: null;
}

export interface ReviewInput {
  readonly batchIndex: bigint;
  readonly expectation: Expectation | null;
}

/** Is this an approval of the batch that it is said to be of? @throws `ERR_APPROVAL_REFUSED` */
export function checkApproval({ wire, batch }: IssuedApproval, pins: Pins): CheckedVote {
  const { multisig, owner, operator } = pins;
  requireOwnMultisig(pins, batch);
  return checkVote(wire, {
    ...{ kind: 'approve', multisig, batchIndex: batch.batchIndex },
    ...{ member: owner, feePayers: [operator, owner] },
  });
}

/** @throws `ERR_APPROVAL_REFUSED` for a batch of somebody else. */
export function requireOwnMultisig(pins: Pins, { multisig }: Pick<BatchName, 'multisig'>): void {
  if (multisig !== pins.multisig)
    throw refuse(`The batch belongs to the multisig ${multisig}, but the project's is ${pins.multisig}.`);
}

/** Takes one step after the other until one refuses. */
class Judgement {
  refusal: FlywheelError | null = null;

  /** @returns what the step found, or `null` when it or one before has refused. */
  async step<Value>(take: () => Value | Promise<Value>): Promise<Value | null> {
    if (this.refusal !== null) return null;
    try {
      return await take();
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
      this.refusal = error;
      return null;
    }
  }
}

/** Why a step refuses, or `null`. */
export async function refusalOf(step: () => unknown): Promise<FlywheelError | null> {
  const judgement = new Judgement();
  await judgement.step(step);
  return judgement.refusal;
}

/**
 * Looks into a batch and judges it, as far as the first reason not to approve it.
 * @throws `ERR_APPROVAL_REFUSED` where there is no batch to look into, `ERR_UNAVAILABLE` when the chain is out of reach.
 */
export async function lookAtBatch(
  chain: ChainReader,
  opened: Pick<OpenedService, 'simulator'>,
  pins: Pins,
  { batchIndex, expectation }: ReviewInput,
): Promise<Look> {
  const description = await readBatch(chain, { multisig: pins.multisig, batchIndex });
  const judgement = new Judgement();
  const token = await judgement.step(() => readTokenOnChain(chain, pins));
  if (token === null)
    return { description, token, changes: null, isApproved: false, refusal: judgement.refusal };
  await judgement.step(() => {
    if (pins.facts === undefined) throw unpinned(pins);
    requireUnchanged(pins.facts, { ...multisigFacts(description.multisigAccount), ...token.facts });
    checkVoters(description.multisigAccount, pins);
    checkBatchContent(description, token.flywheel);
    if (expectation !== null) checkExpectation(description, expectation, token.flywheel);
  });
  const started = description.batch.executedTransactionIndex > 0;
  const changes = await judgement.step(async () => {
    const machine = started ? null : await machineFor(opened, expectation);
    return machine === null ? null : simulateBatch(chain, machine, description, token.flywheel);
  });
  const isApproved = hasApproved(description, pins.owner);
  await judgement.step(() => {
    if (!isApproved) checkApprovable(description, pins.owner);
  });
  return { description, token, changes, isApproved, refusal: judgement.refusal };
}

/** @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_UNAVAILABLE` when the chain is out of reach. */
export async function reviewBatch(
  chain: ChainReader,
  opened: Pick<OpenedService, 'simulator'>,
  pins: Pins,
  input: ReviewInput,
): Promise<Review> {
  const { token, refusal, ...look } = await lookAtBatch(chain, opened, pins, input);
  if (refusal !== null) throw refusal;
  invariant(token !== null, 'What is not refused has a token.');
  return { ...look, token, refusal };
}

/** What amounts of a batch are counted in; a symbol stands only behind amounts of its own mint. */
export function unitOf(
  { trusted, symbol }: { readonly trusted: Flywheel | null; readonly symbol: string | null },
  { description, token }: Pick<Look, 'token'> & { readonly description: BatchContent },
): Unit {
  const mint = token?.flywheel.mint ?? trusted?.mint;
  const operations = description.transactions.flatMap((transaction) => transaction.operations);
  const isOfMint = operations.every((operation) => !('mint' in operation) || operation.mint === mint);
  return {
    decimals: token?.flywheel.decimals ?? trusted?.decimals ?? statedDecimals(description),
    symbol: isOfMint ? (token?.symbol ?? plainSymbol(symbol)) : null,
  };
}

/** The same where only the flywheel is known. */
export const unitOfToken = (
  { symbol }: Pick<OpenedService, 'symbol'>,
  { decimals }: Pick<Flywheel, 'decimals'>,
): Unit => ({ decimals, symbol: plainSymbol(symbol) });

/** The decimals that the amounts of the batch state themselves. */
function statedDecimals({ transactions }: BatchContent): number {
  for (const { operations } of transactions)
    for (const operation of operations)
      if (operation.kind === 'burn' || operation.kind === 'transfer') return operation.decimals;
  return 0;
}

/**
 * What the batch is tried out in; `null` where this computer has none and the decoded content equals what is expected.
 * @throws `ERR_APPROVAL_REFUSED` where it has none, and nothing is expected.
 */
async function machineFor(
  { simulator }: Pick<OpenedService, 'simulator'>,
  expectation: Expectation | null,
): Promise<Simulator | null> {
  try {
    return await simulator();
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INTERNAL')) throw error;
    if (expectation !== null) return null;
    throw refuse(
      'This computer cannot run the Solana virtual machine, so the batch cannot be simulated.',
      'Add --expect pipelines.json to compare the batch with the file instead.',
    );
  }
}
