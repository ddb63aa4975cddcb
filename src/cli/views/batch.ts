/** Batches, their results and dry-run plans as text for people. */
import {
  type ActionInText,
  isSourceAction,
  sourceText,
  actionText as wordsOf,
} from '../../actions/registry.js';
import { isCancelled } from '../../contract/call.js';
import type {
  Action,
  Batch,
  BatchStatus,
  ExecuteResult,
  InitBatchResult,
  ListedBatch,
  PipelineState,
} from '../../contract/schemas/batch.js';
import { grouped, shownSymbol } from '../../values/token-amount.js';
import type { BatchPlan } from '../batch/pipelines-operation.js';
import { sumAmounts } from '../input/amount.js';
import { totalsOf } from '../input/pipelines-plan.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, headed, indented, tableLines } from '../output/table.js';
import { type Summed, viewSummary } from './approval.js';
import { changeField, countText, linkField, linkOf, STATUS_WORDS, tokensText, usedField } from './unit.js';

export function statusOf(batch: Batch): string {
  if (isCancelled(batch)) return 'cancelled';
  const words = STATUS_WORDS[batch.status];
  return batch.dateCancelled === undefined ? words : `${words}, then cancelled`;
}

const headOf = (batch: Batch, name: string, style: Style): readonly string[] => {
  const isBad = batch.status === 'FAILED' && !isCancelled(batch);
  const dim = batch.status === 'EXECUTED' ? style.good : isBad ? style.bad : style.bold;
  return headed(name, statusOf(batch), { width: style.width, dim }, style.bold);
};

const failedOn = ({ failedOnTransactionIndex: index, total }: ExecuteResult): string =>
  index === undefined ? 'an unknown pipeline' : `pipeline ${index + 1} of ${total}`;

function executeFields(result: ExecuteResult | undefined): readonly Field[] {
  if (result === undefined) return [];
  const reason = isCancelled({ executeResult: result }) ? undefined : result.failedTxMsg;
  return [
    ['transactions', `${result.totalSuccessful} of ${result.total} executed`],
    ['failed on', reason && failedOn(result)],
    ['reason', reason],
  ];
}

export const viewExecuteResult = (result: ExecuteResult, head: string, style: Style): readonly string[] => [
  head,
  ...fieldLines(executeFields(result), style),
];

export const viewBatch = (batch: Batch, style: Style, more: readonly Field[] = []): readonly string[] => [
  ...headOf(batch, `Batch ${safeLine(batch.id)}`, style),
  ...fieldLines(
    [
      ['batch index', batch.batchIndex],
      ['multisig', batch.multisig],
      linkField(style, 'address', batch.multisig),
      ['vault', `${batch.vaultAddress} (index ${batch.vaultIndex})`],
      ['mint', batch.mintAddress],
      ['created', batch.dateCreated],
      ['updated', batch.dateUpdated],
      [
        'set-up',
        batch.initResult &&
          `${grouped(batch.initResult.totalSuccessful)} of ${countText(batch.initResult.total, 'transaction')}`,
      ],
      ['set-up failed', batch.initResult?.failedTxMsg],
      ...more,
      ...executeFields(batch.executeResult),
    ],
    style,
  ),
];

/** @param symbol - `null` if unknown */
export const viewInitBatch = (
  { batch }: InitBatchResult,
  symbol: string | null,
  style: Style,
): readonly string[] => viewBatch(batch, style, totalFields(totalsOf(batch.pipelines), symbol));

export function totalFields(
  { pipelines, burn, airdrop, recipients }: ListedBatch['totals'],
  symbol: string | null,
): readonly Field[] {
  return [
    ['pipelines', pipelines === 0 ? null : grouped(pipelines)],
    ['burns', burn === '0' ? null : tokensText(burn, symbol)],
    [
      'airdrops',
      airdrop === '0' ? null : `${tokensText(airdrop, symbol)} to ${countText(recipients, 'wallet')}`,
    ],
  ];
}

/** In a table, beside an id. */
const SHORT_STATUS: Readonly<Partial<Record<BatchStatus, string>>> = {
  AVAILABLE_TO_QUEUE: 'set-up',
  FINALIZED: 'waits',
};

export const viewBatchList = (
  batches: readonly ListedBatch[],
  symbol: string | null,
  next: readonly string[],
  style: Style,
): readonly string[] =>
  batches.length === 0
    ? ['No batches found.']
    : [
        ...tableLines(
          batches,
          {
            id: ({ id }) => id,
            created: ({ dateCreated }) => dateCreated.slice(0, 10),
            status: (batch) => SHORT_STATUS[batch.status] ?? statusOf(batch),
            burns: ({ totals }) => grouped(totals.burn),
            airdrops: ({ totals }) => grouped(totals.airdrop),
          },
          style.width,
          { right: ['burns', 'airdrops'] },
        ),
        `Amounts are in ${shownSymbol(symbol) ?? 'tokens'}.`,
        ...next,
      ];

/** For scripts: amounts without separators and symbol. */
export const actionWords = (action: Action): string =>
  isSourceAction(action) ? sourceText(action) : action.action;

/** For people: amounts with separators and symbol. */
function textOf(action: Action, symbol: string | null): string {
  if (!isSourceAction(action)) return action.action;
  const shown =
    'amount' in action ? { ...action, amount: tokensText(sumAmounts([action.amount]), symbol) } : action;
  return wordsOf(shown as ActionInText);
}

const STATE_WORDS: Readonly<Record<PipelineState['state'], string>> = {
  WAITING: 'waiting',
  EXECUTED: 'executed',
  FAILED: 'failed',
  NOT_EXECUTED: 'not executed',
};

/** @param symbol - `null` if unknown */
export const viewPipelines = (
  pipelines: readonly PipelineState[],
  symbol: string | null,
  style: Style,
): readonly string[] =>
  pipelines.flatMap(({ index, type, actions, state, txHash, message }) => [
    `${style.dim(`pipeline ${index + 1}`)} ${safeLine(type)} ${STATE_WORDS[state]}`,
    ...actions.flatMap((action) => indented('  ', textOf(action, symbol), style.width)),
    ...(txHash === undefined
      ? []
      : headed('  transaction', txHash, { width: style.width, dim: (same) => same }, style.dim)),
    ...[linkOf(style, 'tx', txHash) ?? []].flat().map((link) => `  ${safeLine(link)}`),
    ...(message === undefined ? [] : indented('  ', message, style.width).map((line) => style.bad(line))),
  ]);

/** The plan of a dry run, with the summary that the approval of its batch shows. */
export const viewPipelinesPlan = (
  { pipelines, actions, foreseen }: BatchPlan,
  { summed, decimals }: { readonly summed: Summed; readonly decimals: number },
  symbol: string | null,
  style: Style,
): readonly string[] => [
  style.good('The file is valid. Nothing was sent.'),
  ...fieldLines(
    [
      ['pipelines', grouped(pipelines)],
      ['memos', actions['memo'] || null],
      ...(foreseen === null ? [] : foreseenFields(foreseen, symbol)),
    ],
    style,
  ),
  ...(pipelines === 0 ? [] : viewSummary(summed, { decimals, symbol }, style)),
];

const foreseenFields = (
  { supply, usedToday }: NonNullable<BatchPlan['foreseen']>,
  symbol: string | null,
): readonly Field[] => [
  changeField('supply', supply, symbol),
  usedField('daily burn', usedToday.burn, symbol),
  usedField('daily airdrop', usedToday.airdrop, symbol),
];
