/** A flywheel as its owner confirms it: every address whole, every fact by its name. */
import type { Pins } from '../../approval/pins.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { fieldLines } from '../output/table.js';

export const viewPins = (
  { multisig, owner, operator, vaultIndex, mint, facts }: Pins,
  style: Style,
): readonly string[] => [
  style.bold('The flywheel as it is on chain'),
  ...fieldLines(
    [
      ['multisig', multisig],
      ['owner', owner],
      ['operator', operator],
      ['vault index', String(vaultIndex)],
      ['mint', mint],
      ...Object.entries(facts ?? {}).map(([name, value]) => [safeLine(name), safeLine(value)] as const),
    ],
    style.dim,
  ),
];
