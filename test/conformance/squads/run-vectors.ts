/**
 * `npm run test:vectors`: replays a folder of vectors and prints `N passed, N failed`. SQUADS_VECTORS_DIR is the folder;
 * SQUADS_PROGRAM a file with the real program, which then runs in LiteSVM.
 */
import { createRun, REAL_PROGRAM } from './adapter.js';
import { differences } from './replay.js';
import { readVectors, VECTORS } from './vector.js';

const isReal = REAL_PROGRAM !== null;
const run = createRun();
let passed = 0;
let failed = 0;
for (const vector of readVectors(process.env['SQUADS_VECTORS_DIR'] ?? VECTORS, { metered: isReal })) {
  const found = differences(run, vector, isReal);
  if (found.length === 0) passed += 1;
  else {
    failed += 1;
    process.stdout.write(`FAILED ${vector.name}\n${found.map((line) => `  ${line}\n`).join('')}`);
  }
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
