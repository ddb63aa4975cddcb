/** Batches and their results as people read them. */
import {
  type ActionInText,
  isSourceAction,
  sourceText,
  actionText as wordsOf,
} from '../../actions/registry.js';
import type {
  Action,
  Batch,
  ExecuteResult,
  InitBatchResult,
  ListedBatch,
  PipelineState,
} from '../../contract/schemas/batch.js';
import { isCancelled } from '../../contract/schemas/batch.js';
import { sumAmounts } from '../input/amount.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, headed, indented } from '../output/table.js';
import { linkFields } from './links.js';
import { countText, grouped, tokensText } from './unit.js';

/** JSON keeps the states of the specification. */
function statusOf(batch: Batch): string {
  if (isCancelled(batch)) return 'CANCELLED';
  return batch.dateCancelled === undefined ? batch.status : `${batch.status}, CANCELLED`;
}

function statusText(batch: Batch, style: Style): string {
  const text = statusOf(batch);
  if (batch.status === 'EXECUTED') return style.good(text);
  return batch.status === 'FAILED' && !isCancelled(batch) ? style.bad(text) : style.bold(text);
}

/** The pipeline, counted like those of the list. */
const failedOn = ({ failedOnTransactionIndex: index, total }: ExecuteResult): string =>
  index === undefined ? 'a pipeline that is not named' : `pipeline ${index + 1} of ${total}`;

const linksOf = (style: Style, txHash: string): readonly string[] =>
  linkFields(style, 'tx', txHash).map(([, link]) => link);

function executeFields(result: ExecuteResult): readonly Field[] {
  const failed: Field[] =
    result.failedTxMsg === undefined || isCancelled({ executeResult: result })
      ? []
      : [
          ['failed on', failedOn(result)],
          ['reason', result.failedTxMsg],
        ];
  return [['transactions', `${result.totalSuccessful} of ${result.total} executed`], ...failed];
}

const bundleLines = ({ successfulExecutions }: ExecuteResult, style: Style): readonly string[] =>
  successfulExecutions.flatMap(({ bundleId, txHashes }) => [
    `${style.dim('bundle')} ${safeLine(bundleId)}`,
    ...txHashes.flatMap((hash) => [hash, ...linksOf(style, hash)]).map((line) => `  ${safeLine(line)}`),
  ]);

/** What execution came to. */
export const viewExecuteResult = (result: ExecuteResult, style: Style): readonly string[] => [
  ...fieldLines(executeFields(result), style),
  ...bundleLines(result, style),
];

/** One batch. @param more - what else is known of it. */
export const viewBatch = (batch: Batch, style: Style, more: readonly Field[] = []): readonly string[] => [
  `${style.bold(`Batch ${safeLine(batch.id)}`)} ${statusText(batch, style)}`,
  ...fieldLines(
    [
      ['batch index', batch.batchIndex],
      ['multisig', batch.multisig],
      ...linkFields(style, 'address', batch.multisig),
      ['vault', `${batch.vaultAddress} (index ${batch.vaultIndex})`],
      ['mint', batch.mintAddress],
      ['created', batch.dateCreated],
      ['updated', batch.dateUpdated],
      ...setUpFields(batch),
      ...more,
      ...(batch.executeResult === undefined ? [] : executeFields(batch.executeResult)),
    ],
    style,
  ),
  ...(batch.executeResult === undefined ? [] : bundleLines(batch.executeResult, style)),
];

function setUpFields({ initResult }: Batch): readonly Field[] {
  if (initResult === undefined) return [];
  const done: Field = [
    'set-up',
    `${grouped(initResult.totalSuccessful)} of ${countText(initResult.total, 'transaction')}`,
  ];
  return initResult.failedTxMsg === undefined ? [done] : [done, ['set-up failed', initResult.failedTxMsg]];
}

/** A batch that was compiled, and what comes next. */
export const viewInitBatch = ({ batch }: InitBatchResult, style: Style): readonly string[] =>
  viewBatch(batch, style, [['pipelines', grouped(batch.pipelines.length)]]);

/** What the pipelines of a batch come to. @param symbol - of the token; `null` where nobody here says */
export function totalFields(
  { pipelines, burn, airdrop, recipients }: ListedBatch['totals'],
  symbol: string | null,
): readonly Field[] {
  return [
    ['pipelines', grouped(pipelines)],
    ...(burn === '0' ? [] : [['burns', tokensText(burn, symbol)] as const]),
    ...(airdrop === '0'
      ? []
      : [['airdrops', `${tokensText(airdrop, symbol)} to ${countText(recipients, 'wallet')}`] as const]),
  ];
}

/** Batches, one after the other. @param symbol - of the token; `null` where nobody here says */
export const viewBatchList = (
  batches: readonly ListedBatch[],
  symbol: string | null,
  style: Style,
): readonly string[] =>
  batches.length === 0
    ? ['No batches found.']
    : batches.flatMap((batch) => [
        `${style.bold(safeLine(batch.id))} ${statusText(batch, style)}`,
        ...fieldLines(
          [
            ...totalFields(batch.totals, symbol),
            ['created', batch.dateCreated],
            ...(batch.executeResult === undefined ? [] : executeFields(batch.executeResult)),
          ],
          style,
        ),
      ]);

/** An action in words, as a script may read them. */
export const actionText = (action: Action): string =>
  isSourceAction(action) ? sourceText(action) : action.action;

/** An action with its amount in groups. */
function textOf(action: Action, symbol: string | null): string {
  if (!isSourceAction(action)) return action.action;
  const shown =
    'amount' in action ? { ...action, amount: tokensText(sumAmounts([action.amount]), symbol) } : action;
  return wordsOf(shown as ActionInText);
}

/** The pipelines of a batch and what each did. @param symbol - of the token; `null` where nobody here says. */
export const viewPipelines = (
  pipelines: readonly PipelineState[],
  symbol: string | null,
  style: Style,
): readonly string[] =>
  pipelines.flatMap(({ index, type, actions, state, txHash, message }) => [
    `${style.dim(`pipeline ${index + 1}`)} ${safeLine(type)} ${state}`,
    ...actions.flatMap((action) => indented('  ', textOf(action, symbol), style.width)),
    ...(txHash === undefined
      ? []
      : headed('  transaction', txHash, { width: style.width, dim: (same) => same }, style.dim)),
    ...(txHash === undefined ? [] : linksOf(style, txHash).map((link) => `  ${safeLine(link)}`)),
    ...(message === undefined ? [] : indented('  ', message, style.width).map((line) => style.bad(line))),
  ]);
