/** Every command has tests of its own, in the place that mirrors where it stands. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, sources } from './sources.js';

const COMMANDS = 'src/cli/commands/';

it('each file of src/cli/commands has its test file in test/unit/cli/commands', () => {
  const commands = sources.filter(({ path }) => path.startsWith(COMMANDS)).map(({ path }) => path);
  expect(commands.length).toBeGreaterThan(0);
  const untested = commands.filter(
    (path) =>
      !existsSync(
        join(ROOT, 'test/unit/cli/commands', path.slice(COMMANDS.length).replace(/\.ts$/, '.test.ts')),
      ),
  );
  expect(untested).toEqual([]);
});
