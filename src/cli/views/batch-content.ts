/** The decoded effects of a batch, for its approver. Addresses are shown in full; undecoded instructions are marked. */

import { digestText } from '../../actions/pipelines.js';
import { actionText, type DecodedInstruction, inText, type PipelineAction } from '../../actions/registry.js';
import type { BatchContent, PastDescription } from '../../approval/batch-content.js';
import { multisigFacts } from '../../approval/flywheel-facts.js';
import type { BatchDescription } from '../../approval/read-batch.js';
import { type BatchStanding, costsOf, pastStateOf, stateOf } from '../../approval/verify-batch.js';
import { isStale } from '../../chain/squads/accounts.js';
import { escapeHidden } from '../../values/text.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Look } from '../batch/review.js';
import type { Style } from '../output/color.js';
import { safeJson, safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, headed, indented, wrapText } from '../output/table.js';
import { multisigFields, tokenFields } from './project.js';
import { amountText, countText, SOL, tokensText, type Unit } from './unit.js';

/** Base units. Instructions that are not decoded are in neither sum. */
function contentSums({ transactions }: Pick<BatchContent, 'transactions'>) {
  const instructions = transactions.flatMap((transaction) => transaction.decoded);
  const sum = (kind: 'burn' | 'transfer'): bigint =>
    instructions.reduce((total, one) => total + (one.kind === kind ? one.amount : 0n), 0n);
  return { burn: sum('burn'), airdrop: sum('transfer') };
}

/** Sums of the decoded instructions as decimal text in whole tokens. */
export function contentTotals(
  content: Pick<BatchContent, 'transactions'>,
  { decimals }: Pick<Unit, 'decimals'>,
): { burn: string; airdrop: string } {
  const { burn, airdrop } = contentSums(content);
  return { burn: formatTokenAmount(burn, decimals), airdrop: formatTokenAmount(airdrop, decimals) };
}

function instructionText(decoded: DecodedInstruction, unit: Unit): string {
  switch (decoded.kind) {
    case 'burn':
      return `burn ${amountText(decoded.amount, unit)} of mint ${decoded.mint} from ${decoded.account}`;
    case 'transfer':
      return `transfer ${amountText(decoded.amount, unit)} of mint ${decoded.mint} from ${decoded.from} to ${decoded.to}`;
    case 'createTokenAccount':
      return `create token account ${decoded.account} of ${decoded.owner} for mint ${decoded.mint}`;
    case 'memo':
      return `memo ${safeJson(decoded.text)}`;
    case 'unknown':
      return `NOT UNDERSTOOD: ${decoded.reason}`;
  }
}

export function pipelineActionText(action: PipelineAction, unit: Unit): string {
  const text = inText(action, unit.decimals);
  return actionText('amount' in text ? { ...text, amount: tokensText(text.amount, unit.symbol) } : text);
}

/**
 * One block per pipeline; one per transaction, with every instruction, if the batch is not one of pipelines.
 * @param notes - a line for each transaction
 * @param markOf - text behind an action
 */
export function contentLines(
  content: BatchContent,
  unit: Unit,
  style: Style,
  notes: readonly string[] = [],
  markOf: (action: PipelineAction) => string = () => '',
): readonly string[] {
  const { pipelines, transactions, pipelinesProblem } = content;
  const note = (at: number): readonly string[] => (notes[at] === undefined ? [] : [`   ${notes[at]}`]);
  if (pipelines !== null)
    return pipelines.flatMap(({ type, proofHash, actions }, at) => [
      ...headed(`${at + 1}. ${safeLine(escapeHidden(type))}`, proofHash, style),
      ...actions.flatMap((action) =>
        indented('   ', `${pipelineActionText(action, unit)}${markOf(action)}`, style.width),
      ),
      ...note(at),
    ]);
  const bad = (lines: readonly string[]) => lines.map((line) => style.bad(line));
  return [
    ...bad(wrapText(`NOT A BATCH OF PIPELINES. ${pipelinesProblem ?? ''}`, style.width)),
    ...transactions.flatMap(({ number, address, decoded, problem }, at) => [
      ...headed(`transaction ${number}`, address, style),
      ...(problem === null ? [] : bad(indented('   ', `NOT UNDERSTOOD: ${problem}`, style.width))),
      ...decoded.flatMap((one) => {
        const lines = indented('   ', instructionText(one, unit), style.width);
        return one.kind === 'unknown' ? bad(lines) : lines;
      }),
      ...note(at),
    ]),
  ];
}

/** Status and votes of the proposal. STALE: the multisig has changed since, so it takes no more votes. */
function proposalText({ proposal, batchIndex, multisigAccount }: BatchDescription): string {
  const { approved, rejected, cancelled, status } = proposal;
  const votes = `${approved.length} of ${countText(multisigAccount.threshold, 'approval')}, ${countText(rejected.length, 'rejection')}, ${countText(cancelled.length, 'cancellation')}`;
  return `${status.kind}${isStale(multisigAccount, batchIndex) ? ', STALE' : ''}, ${votes}`;
}

const voteFields = (votes: PastDescription['votes']): readonly Field[] =>
  (['approved', 'rejected', 'cancelled'] as const).flatMap((vote) =>
    votes[vote].map((member): Field => [`${vote} by`, member]),
  );

const STANDING: Partial<Record<BatchStanding, string>> = { active: 'waits for approval', stale: 'STALE' };

function headLines(
  { batchIndex, multisig }: Pick<BatchDescription, 'batchIndex' | 'multisig'>,
  state: BatchStanding,
  style: Style,
  more = '',
): readonly string[] {
  const text = `Batch ${batchIndex} of multisig ${multisig}: ${STANDING[state] ?? state}${more}`;
  return wrapText(text, style.width).map((line) => style.bold(line));
}

function sumFields(content: BatchContent, unit: Unit): readonly Field[] {
  const { burn, airdrop } = contentSums(content);
  return [
    ['total burn', amountText(burn, unit)],
    ['total airdrop', amountText(airdrop, unit)],
    ['digest', content.digest === null ? 'none' : digestText(content.digest)],
  ];
}

export function viewBatchContent(
  description: BatchDescription,
  unit: Unit,
  style: Style,
  rows = contentLines(description, unit, style),
): readonly string[] {
  const { batch, proposal, proposalAddress, vault, multisigAccount } = description;
  const { length } = description.transactions;
  return [
    ...headLines(description, stateOf(description), style),
    ...rows,
    ...fieldLines(
      [
        ['proposal', proposalAddress],
        ['votes', proposalText(description)],
        ...voteFields(proposal),
        ['set up by', batch.creator],
        ...multisigFields(multisigFacts(multisigAccount)),
        ['vault', vault],
        ['transactions', `${length}, ${batch.executedTransactionIndex} executed`],
        ...sumFields(description, unit),
      ],
      style,
    ),
  ];
}

/** What the summary does not have. */
function effectFields({ description, changes }: Look, unit: Unit): readonly Field[] {
  const { vaultRent, rentCollector } = costsOf(description, changes);
  const returned: readonly Field[] = [
    ['rent back to', rentCollector ?? 'nobody: there is no rent collector'],
  ];
  if (changes === null || vaultRent === null) return returned;
  return [
    ['new accounts', `${amountText(vaultRent, SOL)} of rent, paid by the vault`],
    ...returned,
    ['supply', `${amountText(changes.supply.before, unit)} → ${amountText(changes.supply.after, unit)}`],
  ];
}

export function viewLook(look: Look, unit: Unit, style: Style, rows?: readonly string[]): readonly string[] {
  const { description, token } = look;
  const mint: readonly Field[] = token === null ? [] : tokenFields(token.flywheel.mint, token.facts);
  return [
    ...viewBatchContent(description, unit, style, rows),
    ...fieldLines([...mint, ...effectFields(look, unit)], style),
  ];
}

/** Without the details of `--verbose`. */
export const viewShortLook = (
  { description }: Look,
  style: Style,
  rows: readonly string[],
): readonly string[] => [...headLines(description, stateOf(description), style), ...rows];

/** A batch by its history: its content, and which transactions were executed. @param state - `null`: its accounts are closed */
export function viewPastBatch(
  past: PastDescription,
  unit: Unit,
  style: Style,
  state: BatchStanding | null = null,
): readonly string[] {
  const { executions, votes, vault, batch } = past;
  const ran = executions.filter((execution) => execution !== null).length;
  const notes = executions.map((execution) =>
    execution === null
      ? style.bad('not executed')
      : `executed by ${style.dim(safeLine(execution.signature))}`,
  );
  return [
    ...(state === null
      ? headLines(past, pastStateOf(past), style, ', its accounts are closed')
      : headLines(past, state, style)),
    ...contentLines(past, unit, style, notes),
    ...fieldLines(
      [
        ...voteFields(votes),
        ['set up by', batch.creator],
        ['vault', vault],
        ['transactions', `${executions.length}, ${ran} executed`],
        ...sumFields(past, unit),
      ],
      style,
    ),
  ];
}
