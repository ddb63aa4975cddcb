/** Runs the vectors, then the cases of the specification, until one fails; then exit code 1. */
import { createRun } from '../conformance/squads/adapter.js';
import { allCases } from '../conformance/squads/cases.js';
import { differences } from '../conformance/squads/replay.js';
import { readVectors } from '../conformance/squads/vector.js';

const run = createRun();
const noticed =
  readVectors().some((vector) => differences(run, vector, false).length > 0) ||
  allCases().some(({ check }) => check() !== null);
process.exitCode = noticed ? 1 : 0;
