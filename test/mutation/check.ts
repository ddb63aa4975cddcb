/** What every mutant has to get past: the vectors, then the specification's cases. Exit code 1 at the first failure. */
import { createRuntime } from '../../src/chain/local/runtime/runtime.js';
import { allCases } from '../conformance/squads/cases.js';
import { differences } from '../conformance/squads/replay.js';
import { readVectors } from '../conformance/squads/vector.js';

const runtime = createRuntime();
const noticed =
  readVectors('test/conformance/vectors/squads', { metered: false }).some(
    (vector) => differences(runtime, vector, false).length > 0,
  ) || allCases().some(({ check }) => check() !== null);
process.exitCode = noticed ? 1 : 0;
