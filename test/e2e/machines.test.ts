/** A few rounds of `npm run torture -- machines`: servers, database and the ways between them fail, and the books balance. */
import { it } from 'vitest';
import { Random } from '../fuzz/random.js';
import { tortureMachines } from '../torture/machines.js';

const SEED = 1;
const ROUNDS = 2;

it(`three servers on one database and a chain with faults keep their books (seed ${SEED})`, async () => {
  const machines = await tortureMachines.open(SEED);
  try {
    const random = new Random(SEED);
    for (let round = 0; round < ROUNDS; round += 1) await machines.round(random);
  } finally {
    await machines.close();
  }
}, 300_000);
