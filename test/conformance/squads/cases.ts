/** All cases derived from the specification, in addition to the recorded vectors. */
import { accountCases } from './account-cases.js';
import type { Case } from './case.js';
import { matrixCases } from './matrix-cases.js';
import { messageCases } from './message-cases.js';
import { specCases } from './spec-cases.js';

export const allCases = (): readonly Case[] => [
  ...[...accountCases(), ...matrixCases()],
  ...[...messageCases(), ...specCases()],
];
