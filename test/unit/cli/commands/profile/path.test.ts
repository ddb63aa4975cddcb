/** Where the profiles are kept, also before there are any. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { READER } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';

it('prints where the profiles are kept', async () => {
  const cli = testCli();
  const directory = join(cli.home, '.config/flywheel');
  expect(JSON.parse((await cli.run('profile', 'path')).stdout)).toEqual({
    profiles: join(directory, 'profiles.json'),
    apiKeys: join(directory, 'api-keys.json'),
  });
  const people = testCli(READER);
  expect((await people.run('profile', 'path')).stdout).toBe(
    `${join(people.home, '.config/flywheel/profiles.json')}\n`,
  );
});
