/**
 * `npm run test:vectors`: replays a folder of vectors and ends with `N passed, N failed`.
 *
 * SQUADS_VECTORS_DIR names the folder; SQUADS_PROGRAM a file with the real program, which then runs in LiteSVM.
 */
import { readFileSync } from 'node:fs';
import { createRuntime } from '../../../src/chain/local/runtime/runtime.js';
import { differences } from './replay.js';
import { readVectors } from './vector.js';

const folder = process.env['SQUADS_VECTORS_DIR'] ?? 'test/conformance/vectors/squads';
const program = process.env['SQUADS_PROGRAM'];
const real = program !== undefined && program !== '';

const runtime = createRuntime(real ? { squadsProgram: readFileSync(program) } : {});
let passed = 0;
let failed = 0;
for (const vector of readVectors(folder, { metered: real })) {
  const found = differences(runtime, vector, real);
  if (found.length === 0) passed += 1;
  else {
    failed += 1;
    process.stdout.write(`FAILED ${vector.name}\n${found.map((line) => `  ${line}\n`).join('')}`);
  }
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
