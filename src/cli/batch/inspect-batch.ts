/** Shows what a batch on chain does or did, and whether it may be approved. A refusal is a result here, not an error. */
import { digestText } from '../../actions/pipelines.js';
import { inText } from '../../actions/registry.js';
import { type BatchContent, type PastDescription, readPastContent } from '../../approval/batch-content.js';
import { checkBatchContent } from '../../approval/check-content.js';
import { pipelinesDifferences } from '../../approval/compare-pipelines.js';
import { multisigFacts } from '../../approval/flywheel-facts.js';
import { type Balances, checkBalances, costsOf, pastStateOf, stateOf } from '../../approval/verify-batch.js';
import { type ChainReader, dateLanded, type Flywheel } from '../../chain/chain.js';
import { SYSTEM_PROGRAM } from '../../chain/programs.js';
import { proposalAddress, transactionAddress } from '../../chain/squads/addresses.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import { chargesTransferFee, decodeMint } from '../../chain/tokens/accounts.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { type Address, address } from '../../values/address.js';
import type { Session } from '../command.js';
import { nextCommand } from '../hints.js';
import { namedText } from '../operation/elements.js';
import { commandLine } from '../operation/resume-line.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { wrapText } from '../output/table.js';
import { contentAlarms, summedUp, viewRows, viewSummary } from '../views/approval.js';
import { contentTotals, viewLook, viewPastBatch, viewShortLook } from '../views/batch-content.js';
import { countedFromOne, countText, type Unit } from '../views/unit.js';
import { inspectStanding } from './approval-limits.js';
import type { BatchName, IssuedApproval } from './approval-source.js';
import { unpinned } from './pins.js';
import {
  checkApproval,
  checkExpectation,
  type Expectation,
  type Look,
  lookAtBatch,
  refusalOf,
  requireOwnMultisig,
  unitOf,
} from './review.js';

interface Inspected {
  readonly batch: BatchName;
  readonly approval: IssuedApproval | null;
  readonly expectation: Expectation | null;
}

/** @throws `ERR_APPROVAL_REFUSED` for accounts of no batch, `ERR_BATCH_NOT_FOUND` when closed and missing in the history. */
export async function inspectBatch(session: Session, chain: ChainReader, inspected: Inspected) {
  const { multisig, batchIndex } = inspected.batch;
  const ref: BatchRef = { multisig: address(multisig), batchIndex };
  const [account] = await chain.getAccounts([transactionAddress(ref.multisig, batchIndex).address]);
  // A closed address may hold SOL: anybody can send it there.
  const isClosed = (account?.owner ?? SYSTEM_PROGRAM) === SYSTEM_PROGRAM;
  return (isClosed ? inspectPast : inspectOpen)(session, chain, inspected, ref);
}

async function inspectOpen(
  session: Session,
  chain: ChainReader,
  { batch, approval, expectation }: Inspected,
  ref: BatchRef,
) {
  const opened = await session.service();
  const { pins, symbol } = opened;
  const trusted = await opened.trusted();
  const refusal = approval && pins && (await refusalOf(() => checkApproval(approval, pins)));
  const look = await lookAtBatch(chain, opened, pins, { ...ref, expectation });
  const unit = unitOf({ symbol, trusted }, look);
  const { pipelines } = look.description;
  const flywheel = look.token?.flywheel ?? trusted;
  const { earlier, limited } = await inspectStanding(session, batch.id, look, flywheel);
  const problem = (refusal ?? look.refusal ?? limited)?.message ?? null;
  const warnings = earlier?.alarms ?? contentAlarms(pipelines ?? [], unit);
  const passed =
    warnings.length === 0
      ? 'The checks passed.'
      : `${countText(warnings.length, 'warning')}, in capitals above. No other problem was found.`;
  const compared =
    expectation === null ? 'To compare a file, add --expect.' : 'The batch equals the expected pipelines.';
  const digest = expectation === null ? undefined : digestText(expectation.digest);
  const nextLine = look.isApproved
    ? commandLine(session.settings, 'batch', 'execute', batch.id)
    : await nextCommand(session, batch.id, { verb: 'approve', digest });
  const next = problem === null && batch.id !== '' ? [`Next: ${nextLine}`] : [];
  return {
    value: openJson(batch, look, unit, { problem, warnings }),
    view: (style: Style): readonly string[] => {
      const rows = viewRows(look, earlier, unit, style);
      const approved = look.isApproved ? 'The owner has approved this batch.' : `${passed} ${compared}`;
      const [verdict, paint] =
        problem === null
          ? [approved, warnings.length === 0 ? style.good : style.warn]
          : [`Do not approve: ${safeLine(countedFromOne(problem))}`, style.bad];
      const parties = { mint: flywheel?.mint ?? null, signer: pins?.owner ?? null, earlier };
      const summary =
        pipelines === null ? [] : viewSummary(summedUp(look, parties, opened.foresight, unit), unit, style);
      return [
        ...(session.settings.verbose ? viewLook(look, unit, style, rows) : viewShortLook(look, style, rows)),
        ...summary,
        ...wrapText(verdict, style.width).map((line) => paint(line)),
        ...next,
      ];
    },
  };
}

async function inspectPast(
  session: Session,
  chain: ChainReader,
  { batch, expectation }: Inspected,
  ref: BatchRef,
) {
  const opened = await session.service();
  const { symbol } = opened;
  const trusted = await opened.trusted();
  const past = await readPastContent(chain, ref);
  if (past === null) throw forgotten(ref);
  const refusal = await refusalOf(() => {
    if (trusted === null) throw unpinned(null);
    requireOwnMultisig(trusted, batch);
    checkBatchContent(past, trusted);
    if (expectation !== null) checkExpectation(past, expectation, trusted);
  });
  const problem = refusal?.message ?? `Batch ${ref.batchIndex} is finished. There is nothing to approve.`;
  const unit = unitOf({ symbol, trusted }, { description: past, token: null });
  return {
    value: pastJson(batch, past, unit, problem),
    view: (style: Style): readonly string[] => [
      ...viewPastBatch(past, unit, style),
      refusal === null
        ? 'This batch is finished. There is nothing to approve.'
        : style.bad(`An approval would have been refused: ${safeLine(countedFromOne(refusal.message))}`),
    ],
  };
}

const forgotten = ({ batchIndex, multisig }: BatchRef): FlywheelError =>
  new FlywheelError(
    'ERR_BATCH_NOT_FOUND',
    `Batch ${batchIndex} of the multisig ${multisig} is closed, and the RPC node lacks its full history.`,
    { hint: 'Use an RPC node with full history: --rpc-url.' },
  );

const contentJson = (content: BatchContent, { decimals, symbol }: Unit) => ({
  pipelines:
    content.pipelines?.map(({ type, proofHash, actions }) => ({
      ...{ type, proofHash, actions: actions.map((action) => inText(action, decimals)) },
    })) ?? null,
  ...{ decimals, symbol, totals: contentTotals(content, { decimals }) },
  digest: content.digest === null ? null : digestText(content.digest),
});

const transactionJson = ({
  number,
  address: at,
  decoded,
  problem,
}: BatchContent['transactions'][number]) => ({
  ...{ number, address: at, operations: decoded, ...(problem !== null && { problem }) },
});

function openJson(
  { id: batchId }: BatchName,
  look: Look,
  unit: Unit,
  found: { readonly problem: string | null; readonly warnings: readonly string[] },
): unknown {
  const { description, token, changes } = look;
  const { proposal, proposalAddress: address, multisigAccount } = description;
  const { approved, rejected, cancelled } = proposal;
  return plain({
    ...headJson(batchId, description, stateOf(description), false),
    proposal: { address, status: proposal.status.kind, approved, rejected, cancelled },
    facts: { ...multisigFacts(multisigAccount), ...token?.facts },
    executed: description.batch.executedTransactionIndex,
    transactions: description.transactions.map(transactionJson),
    ...contentJson(description, unit),
    ...{ costs: costsOf(description, changes), changes, ...found },
  });
}

function pastJson({ id: batchId }: BatchName, past: PastDescription, unit: Unit, problem: string): unknown {
  const { multisig, batchIndex, votes, executions } = past;
  const executed = ran(past);
  return plain({
    ...headJson(batchId, past, pastStateOf(past), true),
    proposal: { address: proposalAddress(multisig, batchIndex).address, ...votes },
    executed: executed.length,
    transactions: past.transactions.map((transaction, at) => ({
      ...transactionJson(transaction),
      ...executionJson(executions[at] ?? null),
    })),
    ...contentJson(past, unit),
    ...{ executedTotals: contentTotals({ transactions: executed }, unit), problem },
  });
}

const headJson = (
  batchId: string,
  { multisig, batchIndex, vault, batch }: BatchContent & BatchRef & { batch: { creator: Address } },
  state: string,
  closed: boolean,
) => ({ ...{ batchId, multisig, batchIndex, state, closed, vault }, creator: batch.creator });

function executionJson(execution: PastDescription['executions'][number]) {
  if (execution === null) return { txHash: null };
  const dateExecuted = dateLanded(execution);
  return { txHash: execution.signature, ...(dateExecuted === undefined ? {} : { dateExecuted }) };
}

const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, field: unknown) => (typeof field === 'bigint' ? field.toString() : field)),
  );

interface VerifyInput {
  readonly batchId: string | null;
  readonly batchIndex: bigint;
  readonly flywheel: Flywheel;
  readonly expectation: Expectation;
  readonly unit: Unit;
}

/**
 * @returns with `failure` if the batch is not verified. @throws `ERR_BATCH_NOT_FOUND` when the node lacks part of its history.
 */
export async function verifyBatch(chain: ChainReader, input: VerifyInput) {
  const { batchIndex, flywheel, expectation, unit } = input;
  const ref = { multisig: flywheel.multisig, batchIndex };
  const past = await readPastContent(chain, ref);
  if (past === null) throw forgotten(ref);
  const moved = checkBalances(past, flywheel, await isFeeCharged(chain, flywheel.mint));
  const content = await contentDifferences(past, flywheel, expectation);
  const value = verifiedJson(past, input, { ...moved, differences: [...content, ...moved.differences] });
  const { proposal, multisig } = await readBatchAccounts(chain, ref, 0);
  const isOpen = proposal.value !== null && multisig.value !== null;
  const state = isOpen
    ? stateOf({ proposal: proposal.value, batchIndex, multisigAccount: multisig.value })
    : null;
  const view = (style: Style): readonly string[] => [
    ...viewPastBatch(past, unit, style, state),
    ...(ran(past).length === 0 ? [] : [BALANCES[moved.balances]]),
    ...(value.verified ? [style.good('Verified: every pipeline of the file was executed on chain.')] : []),
  ];
  const failure = value.verified
    ? undefined
    : new FlywheelError('ERR_NOT_VERIFIED', countedFromOne(reasonOf(value)));
  return { value, view, failure };
}

function verifiedJson(
  past: PastDescription,
  { batchId, batchIndex, flywheel, expectation, unit }: VerifyInput,
  { balances, differences }: ReturnType<typeof checkBalances>,
) {
  const missing = missingOf(past, expectation);
  return {
    verified: differences.length === 0 && missing.length === 0,
    ...{ batchId, multisig: flywheel.multisig, batchIndex: String(batchIndex) },
    digest: past.digest === null ? null : digestText(past.digest),
    expected: digestText(expectation.digest),
    transactions: past.transactions.map((_, index) => {
      const { type = null, proofHash = null, actions = [] } = past.pipelines?.[index] ?? {};
      return {
        ...{ index, type, proofHash, actions: actions.map((action) => inText(action, unit.decimals)) },
        ...executionJson(past.executions[index] ?? null),
      };
    }),
    totals: contentTotals({ transactions: ran(past) }, unit),
    ...{ balances, missing, differences },
  };
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
  const { digest, pipelines } = expectation;
  if (past.digest === digest) return [];
  return pipelines === null
    ? ['the digest differs']
    : pipelinesDifferences(past.pipelines, pipelines, flywheel);
}

const ran = ({ transactions, executions }: PastDescription): PastDescription['transactions'] =>
  transactions.filter((_, at) => executions[at] !== null);

/** Indexes of pipelines of the file that were not executed. */
function missingOf({ executions }: PastDescription, { pipelines }: Expectation): readonly number[] {
  const length = Math.max(pipelines?.length ?? 0, executions.length);
  return [...Array(length).keys()].filter((index) => executions[index] == null);
}

const BALANCES: Readonly<Record<Balances, string>> = {
  agree: 'The balances before and after agree with the executed amounts.',
  differ: 'The balances before and after differ from the executed amounts.',
  'not kept': 'The node has no balances of these transactions. The result comes from the instructions alone.',
};

const MAX_NAMED = 5;

function reasonOf({ batchIndex, differences, missing }: ReturnType<typeof verifiedJson>): string {
  const numbers = missing.map((index) => index + 1);
  const parts = [
    ...(differences.length === 0 ? [] : [namedText(differences, MAX_NAMED, '; ')]),
    ...(missing.length === 0
      ? []
      : [
          `pipeline${missing.length === 1 ? '' : 's'} ${namedText(numbers, MAX_NAMED)} ${missing.length === 1 ? 'was' : 'were'} not executed`,
        ]),
  ];
  return `Batch ${batchIndex} is not verified: ${parts.join('; ')}.`;
}
