/** All cases made from the specification; the recorded vectors stand beside them. */

import { accountCases, type Case } from './account-cases.js';
import { REAL_PROGRAM } from './adapter.js';
import { matrixCases } from './matrix-cases.js';
import { messageCases } from './message-cases.js';
import { missingCases } from './missing-cases.js';
import { specCases } from './spec-cases.js';

/** Every case, ready to be checked. */
export const allCases = (): readonly Case[] => [
  ...accountCases(),
  ...matrixCases(),
  ...messageCases(),
  // The real program has all instructions.
  ...(REAL_PROGRAM === null ? missingCases() : []),
  ...specCases(),
];
