import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRun, REAL_PROGRAM } from './squads/adapter.js';
import { differences } from './squads/replay.js';
import { METERED_FILE, readVectorFile, VECTORS } from './squads/vector.js';

const isReal = REAL_PROGRAM !== null;
const files = readdirSync(VECTORS).filter((file) => isReal || file !== METERED_FILE);
const run = createRun();

describe.each(files)('%s', (file) => {
  it.each(readVectorFile(`${VECTORS}/${file}`).map((vector) => [vector.name, vector] as const))(
    '%s',
    (_, vector) => {
      expect(differences(run, vector, isReal)).toEqual([]);
    },
  );
});
