/**
 * Checks a batch before its owner decides: from chain, against pins and expectation, and simulated. The service is not trusted.
 */
import {
  digestText,
  parseDigestText,
  pipelinesDigest,
  type SourcePipeline,
} from '../../actions/pipelines.js';
import type { BatchContent } from '../../approval/batch-content.js';
import {
  checkApprovable,
  checkBatchContent,
  checkVoters,
  hasApproved,
} from '../../approval/check-content.js';
import { type CheckedVote, checkVote } from '../../approval/check-vote.js';
import { compareWithPipelines } from '../../approval/compare-pipelines.js';
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import type { Pins } from '../../approval/pins.js';
import { type BatchDescription, readBatch } from '../../approval/read-batch.js';
import { type SimulatedChanges, simulateBatch } from '../../approval/simulate.js';
import type { ChainReader, Flywheel, Simulator } from '../../chain/chain.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { plainSymbol } from '../../values/token-amount.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import { openInput } from '../input/read-input.js';
import type { Unit } from '../views/unit.js';
import type { BatchName, IssuedApproval } from './approval-source.js';
import { refuse, requireAsPinned, unpinned } from './pins.js';

export interface Look {
  readonly description: BatchDescription;
  /** `null`: unknown, or not trustworthy. */
  readonly token: TokenOnChain | null;
  readonly changes: SimulatedChanges | null;
  readonly isApproved: boolean;
  readonly refusal: FlywheelError | null;
}

/** Of a batch that may be approved, or that the owner has approved. */
export type Review = Look & { readonly token: TokenOnChain };

interface ReviewInput {
  readonly batchIndex: bigint;
  readonly expectation: Expectation | null;
}

/** Checks that a transaction is an approval of the named batch. @throws `ERR_APPROVAL_REFUSED` */
export function checkApproval({ wire, batch }: IssuedApproval, pins: Pins): CheckedVote {
  const { multisig, owner, operator } = pins;
  requireOwnMultisig(pins, batch);
  return checkVote(wire, {
    ...{ kind: 'approve', multisig, batchIndex: batch.batchIndex },
    ...{ member: owner, feePayers: [operator, owner] },
  });
}

/** @throws `ERR_APPROVAL_REFUSED` for a batch of another multisig. */
export function requireOwnMultisig(pins: Pins, { multisig }: Pick<BatchName, 'multisig'>): void {
  if (multisig !== pins.multisig)
    throw refuse(
      `The batch belongs to the multisig ${multisig}, but the multisig of the project is ${pins.multisig}.`,
    );
}

export async function refusalOf(judge: () => unknown): Promise<FlywheelError | null> {
  try {
    await judge();
    return null;
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
    return error;
  }
}

/**
 * Checks up to the first refusal.
 * @param opened - `null`: nothing will be approved, so the batch is not tried out.
 * @throws `ERR_APPROVAL_REFUSED` without a batch, `ERR_UNAVAILABLE`
 */
export async function lookAtBatch(
  chain: ChainReader,
  opened: Pick<OpenedService, 'simulator'> | null,
  pins: Pins | null,
  { multisig, batchIndex, expectation }: ReviewInput & Pick<Pins, 'multisig'>,
): Promise<Look> {
  const description = await readBatch(chain, { multisig, batchIndex });
  const found: { -readonly [Key in 'token' | 'changes' | 'isApproved']: Look[Key] } = {
    ...{ token: null, changes: null, isApproved: false },
  };
  const refusal = await refusalOf(async () => {
    if (pins === null) throw unpinned(pins);
    requireOwnMultisig(pins, description);
    const token = await readTokenOnChain(chain, pins);
    found.token = token;
    found.isApproved = hasApproved(description, pins.owner);
    if (pins.facts === undefined) throw unpinned(pins);
    requireAsPinned(pins.facts, { ...multisigFacts(description.multisigAccount), ...token.facts });
    checkVoters(description.multisigAccount, pins);
    checkBatchContent(description, token.flywheel);
    if (expectation !== null) checkExpectation(description, expectation, token.flywheel);
    if (opened === null) return;
    const isStarted = description.batch.executedTransactionIndex > 0;
    const machine = isStarted ? null : await machineFor(opened, expectation);
    if (machine !== null) found.changes = await simulateBatch(chain, machine, description, token.flywheel);
    if (!found.isApproved) checkApprovable(description, pins.owner);
  });
  return { description, ...found, refusal };
}

/** @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_UNAVAILABLE` */
export async function reviewBatch(
  chain: ChainReader,
  opened: Pick<OpenedService, 'simulator'>,
  pins: Pins,
  input: ReviewInput,
): Promise<Review> {
  const look = await lookAtBatch(chain, opened, pins, { ...input, multisig: pins.multisig });
  const { token, refusal } = look;
  if (refusal !== null)
    throw new FlywheelError(refusal.code, `${refusal.message} Nothing was signed.`, refusal.options);
  invariant(token !== null, 'What is not refused has a token.');
  return { ...look, token };
}

/** The symbol is shown only if all amounts are of the project's mint. */
export function unitOf(
  { trusted, symbol }: { readonly trusted: Flywheel | null; readonly symbol: string | null },
  { description, token }: Pick<Look, 'token'> & { readonly description: BatchContent },
): Unit {
  const mint = token?.flywheel.mint ?? trusted?.mint;
  const operations = description.transactions.flatMap((transaction) => transaction.decoded);
  const isOfMint = operations.every((operation) => !('mint' in operation) || operation.mint === mint);
  return {
    decimals: token?.flywheel.decimals ?? trusted?.decimals ?? statedDecimals(description),
    symbol: isOfMint ? (token?.symbol ?? plainSymbol(symbol)) : null,
  };
}

export const unitOfToken = (
  { symbol }: Pick<OpenedService, 'symbol'>,
  { decimals }: Pick<Flywheel, 'decimals'>,
): Unit => ({ decimals, symbol: plainSymbol(symbol) });

const statedDecimals = ({ transactions }: BatchContent): number =>
  transactions
    .flatMap(({ decoded }) => decoded)
    .flatMap((one) => (one.kind === 'burn' || one.kind === 'transfer' ? one.decimals : []))[0] ?? 0;

/** `null`: no simulator on this computer. @throws `ERR_APPROVAL_REFUSED` without a simulator and without an expectation. */
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
      'The batch cannot be simulated: this computer cannot run the Solana virtual machine.',
      'Add --expect with the pipelines file to compare the batch with it instead.',
    );
  }
}

/** What a batch must be. */
export interface Expectation {
  readonly digest: Sha256;
  /** `null`: only the digest was named. */
  readonly pipelines: readonly SourcePipeline[] | null;
}

export const expectedPipelines = (pipelines: readonly SourcePipeline[]): Expectation => ({
  ...{ digest: pipelinesDigest(pipelines), pipelines },
});

/** Reads `--expect`: `sha256:…` or a pipelines file. @throws `ERR_INPUT_INVALID` */
export async function readExpectation(session: Session, text: string): Promise<Expectation> {
  const digest = parseDigestText(text);
  if (digest !== undefined) return { digest, pipelines: null };
  const { pipelines } = readPipelinesFile(await openInput(session.context, text), null);
  return expectedPipelines(toSourcePipelines(pipelines));
}

export const expectationOf = (session: Session, text: string | undefined): Promise<Expectation | null> =>
  text === undefined ? Promise.resolve(null) : readExpectation(session, text);

/** @throws `ERR_APPROVAL_REFUSED` with the difference. */
export function checkExpectation(
  description: BatchContent,
  { digest: expected, pipelines }: Expectation,
  token: { readonly decimals: number },
): void {
  if (pipelines !== null) compareWithPipelines(description, pipelines, token);
  const { digest, pipelinesProblem } = description;
  if (pipelines !== null || digest === expected) return;
  const found = digest === null ? (pipelinesProblem ?? 'none') : digestText(digest);
  throw refuse(`The digest of the batch is ${found}, expected ${digestText(expected)}.`);
}
