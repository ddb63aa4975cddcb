/** A flywheel as its owner confirms it: every address whole, every fact in plain words. */
import type { Pins } from '../../approval/pins.js';
import type { Style } from '../output/color.js';
import { fieldLines } from '../output/table.js';
import { pinnedFields } from './facts.js';

export const viewPins = (pinned: Pins, style: Style): readonly string[] => [
  style.bold('The project as it is on chain'),
  ...fieldLines(pinnedFields(pinned), style),
];
