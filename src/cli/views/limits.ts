/** Limits of approvals as people read them. */
import type { Limits } from '../../approval/limits.js';
import type { Field } from '../output/table.js';

/** Each limit by what it is about. */
export function limitFields({
  batchTokens,
  dayTokens,
  supplyPercent,
  recipients,
  digestAbove,
}: Limits): readonly Field[] {
  const field = (name: string, value: string | undefined): readonly Field[] =>
    value === undefined ? [] : [[name, value]];
  return [
    ...field('tokens a batch', batchTokens),
    ...field('tokens a day', dayTokens),
    ...field('percent of the supply', supplyPercent),
    ...field('recipients', recipients?.join(', ')),
    ...field('digest asked above', digestAbove),
  ];
}
