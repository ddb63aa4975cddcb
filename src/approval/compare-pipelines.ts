/** Compares a batch on chain with a pipelines file: order, types, hashes, actions, amounts, recipients, and nothing more. */
import { type PipelineContent, pipelineContent, type SourcePipeline } from '../actions/pipelines.js';
import { actionText, inText } from '../actions/registry.js';
import { grouped } from '../values/token-amount.js';
import type { BatchContent } from './batch-content.js';
import { ensure } from './pins.js';

const MAX_NAMED_DIFFERENCES = 5;

/** Each part of a pipeline as text, by its place in the file. */
const partsOf = (
  { type, proofHash, actions }: PipelineContent,
  index: number,
  decimals: number,
): ReadonlyMap<string, string> =>
  new Map([
    [`pipelines[${index}].type`, JSON.stringify(type)],
    [`pipelines[${index}] proof hash`, proofHash],
    ...actions.map((action, at) => {
      const text = inText(action, decimals);
      const shown = 'amount' in text ? { ...text, amount: grouped(text.amount) } : text;
      return [`pipelines[${index}].actions[${at}]`, actionText(shown)] as const;
    }),
  ]);

export function pipelinesDifferences(
  pipelines: readonly PipelineContent[],
  expected: readonly SourcePipeline[],
  { decimals }: { readonly decimals: number },
): readonly string[] {
  const differences = expected.slice(0, pipelines.length).flatMap((source, index) => {
    const actual = partsOf(pipelines[index] as PipelineContent, index, decimals);
    const due = partsOf(pipelineContent(source, decimals), index, decimals);
    return [...new Map([...due, ...actual]).keys()]
      .filter((part) => actual.get(part) !== due.get(part))
      .map(
        (part) =>
          `${part}: the chain has ${actual.get(part) ?? 'nothing'}, expected ${due.get(part) ?? 'nothing'}`,
      );
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
