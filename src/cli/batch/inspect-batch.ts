/**
 * What a batch will do, or has done, as far as it can be read from chain, and whether it may be approved. It is judged by what
 * judges an approval, and never signs, so that a judgement is a result here and not an error.
 */

import { digestText } from '../../actions/pipelines.js';
import { inText } from '../../actions/registry.js';
import type { BatchContent } from '../../approval/batch-content.js';
import { costsOf, pastStateOf, stateOf } from '../../approval/batch-state.js';
import { checkBatchContent } from '../../approval/check-content.js';
import { multisigFacts } from '../../approval/flywheel-facts.js';
import { type PastDescription, readPastContent } from '../../approval/past-content.js';
import { readBatch } from '../../approval/read-batch.js';
import { type ChainReader, dateLanded } from '../../chain/chain.js';
import { SYSTEM_PROGRAM } from '../../chain/programs.js';
import { proposalAddress, transactionAddress } from '../../chain/squads/addresses.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';
import type { OpenedService } from '../context.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { contentTotals, viewLook, viewPastBatch } from '../views/batch-content.js';
import type { Unit } from '../views/unit.js';
import type { BatchName, IssuedApproval } from './approval-source.js';
import { unpinned } from './pins.js';
import { checkApproval, type Look, lookAtBatch, refusalOf, requireOwnMultisig, unitOf } from './review.js';

/** A batch as a person and as a program reads it. */
export interface Inspection {
  /** What is printed as JSON. */
  readonly value: unknown;
  readonly view: (style: Style) => readonly string[];
}

/** What is inspected: a batch, with its approval where there is a file of it. */
interface Inspected {
  readonly batch: BatchName;
  readonly approval: IssuedApproval | null;
}

type Opened = Pick<OpenedService, 'pins' | 'trusted' | 'symbol' | 'history' | 'simulator'>;

/**
 * @throws `ERR_APPROVAL_REFUSED` where the accounts are none of a batch, `ERR_BATCH_NOT_FOUND` where they are closed and the
 * node has forgotten their past.
 */
export async function inspectBatch(
  chain: ChainReader,
  opened: Opened,
  inspected: Inspected,
): Promise<Inspection> {
  const { batch } = inspected;
  const ref: BatchRef = { multisig: address(batch.multisig), batchIndex: batch.batchIndex };
  const [account] = await chain.getAccounts([transactionAddress(ref.multisig, ref.batchIndex).address]);
  // Anybody may send SOL to the address of one that is closed.
  return (account?.owner ?? SYSTEM_PROGRAM) === SYSTEM_PROGRAM
    ? inspectPast(chain, opened, batch, ref)
    : inspectOpen(chain, opened, inspected, ref);
}

async function inspectOpen(
  chain: ChainReader,
  opened: Opened,
  { batch, approval }: Inspected,
  ref: BatchRef,
): Promise<Inspection> {
  const { pins } = opened;
  const refusal = await refusalOf(() => {
    if (pins === null) throw unpinned(pins);
    if (approval === null) requireOwnMultisig(pins, batch);
    else checkApproval(approval, pins);
  });
  const look: Look =
    pins !== null && pins.multisig === ref.multisig
      ? await lookAtBatch(chain, opened, pins, {
          ...{ batchIndex: ref.batchIndex, expectation: null },
        })
      : {
          ...{ description: await readBatch(chain, ref), token: null, changes: null },
          ...{ isApproved: false, refusal },
        };
  const problem = (refusal ?? look.refusal)?.message ?? null;
  const unit = unitOf({ symbol: opened.symbol, trusted: await opened.trusted() }, look);
  return {
    value: openJson(batch, look, unit, problem),
    view: (style) => [
      ...viewLook(look, unit, style),
      problem === null
        ? style.good(look.isApproved ? 'The owner has approved it.' : 'All checks passed.')
        : style.bad(`Do not approve: ${safeLine(problem)}`),
    ],
  };
}

async function inspectPast(
  chain: ChainReader,
  opened: Opened,
  batch: BatchName,
  ref: BatchRef,
): Promise<Inspection> {
  const { history, symbol } = opened;
  const trusted = await opened.trusted();
  const past = history === null ? null : await readPastContent(chain, history, ref);
  if (past === null) throw forgotten(ref);
  const refusal = await refusalOf(() => {
    if (trusted === null) throw unpinned(null);
    requireOwnMultisig(trusted, batch);
    checkBatchContent(past, trusted);
  });
  const problem = refusal?.message ?? `Batch ${ref.batchIndex} is finished. There is nothing to approve.`;
  const unit = unitOf({ symbol, trusted }, { description: past, token: null });
  return {
    value: pastJson(batch, past, unit, problem),
    view: (style) => [
      ...viewPastBatch(past, unit, style),
      refusal === null
        ? 'This batch is finished. There is nothing to approve.'
        : style.bad(`It would have been refused: ${safeLine(refusal.message)}`),
    ],
  };
}

/** Neither the accounts of a batch nor its past can be read. */
export const forgotten = ({ batchIndex, multisig }: BatchRef): FlywheelError =>
  new FlywheelError(
    'ERR_BATCH_NOT_FOUND',
    `Batch ${batchIndex} of the multisig ${multisig} is closed, and the RPC node does not have its full history.`,
    { hint: 'Use an RPC node with full history: --rpc-url.' },
  );

/** What both kinds have in common. */
const contentJson = (content: BatchContent, { decimals, symbol }: Unit) => ({
  pipelines:
    content.pipelines?.map(({ type, proofHash, actions }) => ({
      type,
      proofHash,
      actions: actions.map((action) => inText(action, decimals)),
    })) ?? null,
  decimals,
  symbol,
  totals: contentTotals(content, { decimals }),
  digest: content.digest === null ? null : digestText(content.digest),
});

const transactionJson = ({
  number,
  address: at,
  operations,
  problem,
}: BatchContent['transactions'][number]) => ({
  number,
  address: at,
  operations,
  ...(problem === null ? {} : { problem }),
});

function openJson(batch: BatchName, look: Look, unit: Unit, problem: string | null): unknown {
  const { description, token, changes } = look;
  const { proposal, multisigAccount } = description;
  return plain({
    batchId: batch.id,
    multisig: description.multisig,
    batchIndex: description.batchIndex,
    state: stateOf(description),
    closed: false,
    vault: description.vault,
    creator: description.batch.creator,
    proposal: {
      address: description.proposalAddress,
      status: proposal.status.kind,
      approved: proposal.approved,
      rejected: proposal.rejected,
      cancelled: proposal.cancelled,
    },
    facts: { ...multisigFacts(multisigAccount), ...token?.facts },
    executed: description.batch.executedTransactionIndex,
    transactions: description.transactions.map(transactionJson),
    ...contentJson(description, unit),
    costs: costsOf(description, changes),
    changes,
    problem,
  });
}

function pastJson(batch: BatchName, past: PastDescription, unit: Unit, problem: string): unknown {
  const ran = past.transactions.filter((_, at) => past.executions[at] !== null);
  return plain({
    batchId: batch.id,
    multisig: past.multisig,
    batchIndex: past.batchIndex,
    state: pastStateOf(past),
    closed: true,
    vault: past.vault,
    creator: past.batch.creator,
    proposal: { address: proposalAddress(past.multisig, past.batchIndex).address, ...past.votes },
    executed: ran.length,
    transactions: past.transactions.map((transaction, at) => ({
      ...transactionJson(transaction),
      ...executionJson(past.executions[at] ?? null),
    })),
    ...contentJson(past, unit),
    executedTotals: contentTotals({ transactions: ran }, unit),
    problem,
  });
}

/** The transaction on chain that executed one of a batch. */
export function executionJson(execution: PastDescription['executions'][number]) {
  if (execution === null) return { txHash: null };
  const dateExecuted = dateLanded(execution);
  return { txHash: execution.signature, ...(dateExecuted === undefined ? {} : { dateExecuted }) };
}

/** Large integers as text; everything else as it is. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, field: unknown) => (typeof field === 'bigint' ? field.toString() : field)),
  );
