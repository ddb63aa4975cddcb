/** Burns as people read them. */
import type { BurnResult } from '../../contract/schemas/burn.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { fieldLines } from '../output/table.js';

/** One burn that was done. */
export const viewBurn = (burn: BurnResult, style: Style): readonly string[] => [
  style.good(`Burned: ${safeLine(burn.result)}`),
  ...fieldLines(
    [
      ['transaction', burn.txHash],
      ['proof hash', burn.hash],
      ['proof type', burn.type],
      ['date', burn.dateBurned],
    ],
    style.dim,
  ),
];
