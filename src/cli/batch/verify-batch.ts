/** `batch verify`: what a pipelines file says, held against what its batch did on chain. No service is believed. */

import { digestText } from '../../actions/pipelines.js';
import type { ActionInText } from '../../actions/registry.js';
import { inText } from '../../actions/registry.js';
import { checkBatchContent } from '../../approval/check-content.js';
import { pipelinesDifferences } from '../../approval/compare-pipelines.js';
import { type PastDescription, readPastContent } from '../../approval/past-content.js';
import { type Balances, checkBalances } from '../../approval/verify-batch.js';
import type { ChainReader, History } from '../../chain/chain.js';
import type { Flywheel } from '../../chain/flywheel.js';
import { chargesTransferFee, decodeMint } from '../../chain/tokens/accounts.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Style } from '../output/color.js';
import { contentTotals, viewPastBatch } from '../views/batch-content.js';
import type { Unit } from '../views/unit.js';
import { type Expectation, expectedDigest } from './expectation.js';
import { executionJson, forgotten } from './inspect-batch.js';
import { refusalOf } from './review.js';

/** What is printed as JSON. */
export interface Verified {
  readonly verified: boolean;
  readonly batchId: string | null;
  readonly multisig: string;
  readonly batchIndex: string;
  /** Of what the batch held; `null`: it held no pipelines. */
  readonly digest: string | null;
  readonly expected: string;
  readonly transactions: readonly {
    readonly index: number;
    readonly type: string | null;
    readonly proofHash: string | null;
    readonly actions: readonly ActionInText[];
    readonly txHash: string | null;
    readonly dateExecuted?: string;
  }[];
  /** Of what was executed. */
  readonly totals: { readonly burn: string; readonly airdrop: string };
  readonly balances: Balances;
  /** Indexes of pipelines of the file that were not executed. */
  readonly missing: readonly number[];
  readonly differences: readonly string[];
}

interface Verification {
  readonly value: Verified;
  readonly view: (style: Style) => readonly string[];
  /** Why it is not verified, if it is not. */
  readonly failure: FlywheelError | undefined;
}

interface VerifyInput {
  readonly batchId: string | null;
  readonly batchIndex: bigint;
  readonly flywheel: Flywheel;
  readonly expectation: Expectation;
  readonly unit: Unit;
}

/** @throws `ERR_BATCH_NOT_FOUND` when the node does not know all of its past. */
export async function verifyBatch(
  chain: ChainReader,
  history: History,
  { batchId, batchIndex, flywheel, expectation, unit }: VerifyInput,
): Promise<Verification> {
  const ref = { multisig: flywheel.multisig, batchIndex };
  const past = await readPastContent(chain, history, ref);
  if (past === null) throw forgotten(ref);
  const moved = checkBalances(past, flywheel, await isFeeCharged(chain, flywheel.mint));
  const content = await contentDifferences(past, flywheel, expectation);
  const differences = [...content, ...moved.differences];
  const missing = missingOf(past, expectation);
  const value: Verified = {
    verified: differences.length === 0 && missing.length === 0,
    batchId,
    multisig: ref.multisig,
    batchIndex: String(batchIndex),
    digest: past.digest === null ? null : digestText(past.digest),
    expected: digestText(expectedDigest(expectation)),
    transactions: transactionsOf(past, unit),
    totals: contentTotals({ transactions: ran(past) }, unit),
    balances: moved.balances,
    missing,
    differences,
  };
  return { value, view: (style) => viewVerified(value, past, unit, style), failure: failureOf(value) };
}

export async function isFeeCharged(chain: ChainReader, mint: Address): Promise<boolean> {
  const [account] = await chain.getAccounts([mint]);
  return chargesTransferFee(decodeMint(account ?? null));
}

async function contentDifferences(
  past: PastDescription,
  flywheel: Flywheel,
  expectation: Expectation,
): Promise<readonly string[]> {
  const refusal = await refusalOf(() => checkBatchContent(past, flywheel));
  if (refusal !== null || past.pipelines === null)
    return [(refusal?.message ?? 'The batch had no pipelines.').replace(/\.$/, '')];
  const expected = expectedDigest(expectation);
  if (past.digest === expected) return [];
  return 'pipelines' in expectation
    ? pipelinesDifferences(past.pipelines, expectation.pipelines, flywheel)
    : ['the digest differs'];
}

const ran = ({ transactions, executions }: PastDescription): PastDescription['transactions'] =>
  transactions.filter((_, at) => executions[at] !== null);

function missingOf({ executions }: PastDescription, expectation: Expectation): readonly number[] {
  const length =
    'pipelines' in expectation
      ? Math.max(expectation.pipelines.length, executions.length)
      : executions.length;
  return Array.from({ length }, (_, index) => index).filter((index) => executions[index] == null);
}

const transactionsOf = (
  { transactions, pipelines, executions }: PastDescription,
  { decimals }: Unit,
): Verified['transactions'] =>
  transactions.map((_, index) => ({
    index,
    type: pipelines?.[index]?.type ?? null,
    proofHash: pipelines?.[index]?.proofHash ?? null,
    actions: (pipelines?.[index]?.actions ?? []).map((action) => inText(action, decimals)),
    ...executionJson(executions[index] ?? null),
  }));

const BALANCES: Readonly<Record<Balances, string>> = {
  agree: 'Historical balances agree.',
  differ: 'Historical balances differ.',
  'not kept': 'Historical balances are unavailable. The result comes from the instructions alone.',
};

function viewVerified(value: Verified, past: PastDescription, unit: Unit, style: Style): readonly string[] {
  return [
    ...viewPastBatch(past, unit, style),
    BALANCES[value.balances],
    ...(value.verified
      ? [style.good('Verified: every pipeline of the file was executed on chain.')]
      : [style.bad(reasonOf(value))]),
  ];
}

/** Differences and indexes that one message names; the JSON has them all. */
const MAX_NAMED = 5;

const named = (all: readonly (string | number)[], separator: string): string =>
  `${all.slice(0, MAX_NAMED).join(separator)}${all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : ''}`;

function reasonOf({ batchIndex, differences, missing }: Verified): string {
  const parts = [
    ...(differences.length === 0 ? [] : [named(differences, '; ')]),
    ...(missing.length === 0 ? [] : [`not executed: pipelines ${named(missing, ', ')}`]),
  ];
  return `Batch ${batchIndex} is not verified: ${parts.join('; ')}.`;
}

const failureOf = (value: Verified): FlywheelError | undefined =>
  value.verified ? undefined : new FlywheelError('ERR_NOT_VERIFIED', reasonOf(value));
