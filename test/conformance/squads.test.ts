import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/chain/local/runtime/runtime.js';
import { differences } from './squads/replay.js';
import { METERED_FILE, readVectorFile } from './squads/vector.js';

const folder = 'test/conformance/vectors/squads/';
const files = readdirSync(folder).filter((file) => file !== METERED_FILE);

describe.each(files)('%s', (file) => {
  const runtime = createRuntime();

  it.each(readVectorFile(`${folder}${file}`).map((vector) => [vector.name, vector] as const))(
    '%s',
    (_, vector) => {
      expect(differences(runtime, vector, false)).toEqual([]);
    },
  );
});
