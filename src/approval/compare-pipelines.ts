/** Compares a batch on chain with a pipelines file: order, types, hashes, actions, amounts, recipients, and nothing more. */
import { type PipelineContent, pipelineContent, type SourcePipeline } from '../actions/pipelines.js';
import { actionText, inText, type PipelineAction } from '../actions/registry.js';
import type { BatchContent } from './batch-content.js';
import { ensure } from './refuse.js';

const MAX_NAMED_DIFFERENCES = 5;

const textOf = (action: PipelineAction | undefined, decimals: number): string =>
  action === undefined ? 'nothing' : actionText(inText(action, decimals));

const difference = (where: string, actual: string, expected: string): readonly string[] =>
  actual === expected ? [] : [`${where}: the chain has ${actual}, expected ${expected}`];

function pipelineDifferences(
  index: number,
  actual: PipelineContent,
  expected: PipelineContent,
  decimals: number,
): readonly string[] {
  const where = `pipelines[${index}]`;
  const length = Math.max(actual.actions.length, expected.actions.length);
  return [
    ...difference(`${where}.type`, JSON.stringify(actual.type), JSON.stringify(expected.type)),
    ...difference(`${where} proof hash`, actual.proofHash, expected.proofHash),
    ...Array.from({ length }, (_, at) =>
      difference(
        `${where}.actions[${at}]`,
        textOf(actual.actions[at], decimals),
        textOf(expected.actions[at], decimals),
      ),
    ).flat(),
  ];
}

export function pipelinesDifferences(
  pipelines: readonly PipelineContent[],
  expected: readonly SourcePipeline[],
  { decimals }: { readonly decimals: number },
): readonly string[] {
  const differences = pipelines.flatMap((actual, index) => {
    const source = expected[index];
    return source === undefined
      ? []
      : pipelineDifferences(index, actual, pipelineContent(source, decimals), decimals);
  });
  if (pipelines.length !== expected.length)
    differences.push(`pipelines on chain: ${pipelines.length}, expected: ${expected.length}`);
  return differences;
}

/** @throws `ERR_APPROVAL_REFUSED` with the first differences; `ERR_INVALID_REQUEST` if an expected value cannot be on chain. */
export function compareWithPipelines(
  { pipelines, pipelinesProblem }: Pick<BatchContent, 'pipelines' | 'pipelinesProblem'>,
  expected: readonly SourcePipeline[],
  token: { readonly decimals: number },
): void {
  ensure(pipelines !== null, () => pipelinesProblem ?? 'The batch has no pipelines');
  const differences = pipelinesDifferences(pipelines, expected, token);
  const rest = differences.length - MAX_NAMED_DIFFERENCES;
  const named = differences.slice(0, MAX_NAMED_DIFFERENCES).join('; ');
  ensure(
    differences.length === 0,
    () => `The batch is not the expected one: ${named}${rest > 0 ? `; and ${rest} more` : ''}`,
  );
}
