/** Batches and their results as people read them. */
import type { Batch, ExecuteResult, InitBatchResult } from '../../contract/schemas/batch.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines } from '../output/table.js';

function statusText(status: Batch['status'], style: Style): string {
  if (status === 'EXECUTED') return style.good(status);
  return status === 'FAILED' ? style.bad(status) : style.bold(status);
}

/** What execution came to. */
export function viewExecuteResult(result: ExecuteResult, style: Style): readonly string[] {
  const failed: Field[] =
    result.failedTxMsg === undefined
      ? []
      : [
          ['failed on', `transaction ${result.failedOnTransactionIndex ?? '?'}`],
          ['reason', result.failedTxMsg],
        ];
  return [
    ...fieldLines(
      [['transactions', `${result.totalSuccessful} of ${result.total} executed`], ...failed],
      style.dim,
    ),
    ...result.successfulExecutions.flatMap(({ bundleId, txHashes }) => [
      `${style.dim('bundle')} ${safeLine(bundleId)}`,
      ...txHashes.map((hash) => `  ${safeLine(hash)}`),
    ]),
  ];
}

/** One batch. */
export const viewBatch = (batch: Batch, style: Style): readonly string[] => [
  `${style.bold(`Batch ${safeLine(batch.id)}`)} ${statusText(batch.status, style)}`,
  ...fieldLines(
    [
      ['batch index', batch.batchIndex],
      ['multisig', batch.multisig],
      ['vault', `${batch.vaultAddress} (index ${batch.vaultIndex})`],
      ['mint', batch.mintAddress],
      ['created', batch.dateCreated],
      ['updated', batch.dateUpdated],
      ...setUpFields(batch),
    ],
    style.dim,
  ),
  ...(batch.executeResult === undefined ? [] : viewExecuteResult(batch.executeResult, style)),
];

function setUpFields({ initResult }: Batch): readonly Field[] {
  if (initResult === undefined) return [];
  const done: Field = ['set-up', `${initResult.totalSuccessful} of ${initResult.total} transactions`];
  return initResult.failedTxMsg === undefined ? [done] : [done, ['set-up failed', initResult.failedTxMsg]];
}

/** A batch that was compiled, and what comes next. */
export const viewInitBatch = (result: InitBatchResult, style: Style): readonly string[] => [
  ...viewBatch(result.batch, style),
  ...fieldLines([['pipelines', String(result.batch.pipelines.length)]], style.dim),
];
