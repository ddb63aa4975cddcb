/** `flywheel profile use`: the profile of commands that name none. */
import { describe, expect, it } from 'vitest';
import { READER, refusal } from '../../../../support/commands.js';
import { type TestCli, testCli } from '../../../../support/in-process.js';

async function withProfiles(): Promise<TestCli> {
  const cli = testCli();
  for (const name of ['first', 'second'])
    await cli.run('profile', 'add', name, '--api-url', `https://${name}.example`);
  return cli;
}

const apiUrl = async (cli: TestCli) => JSON.parse((await cli.run('whoami')).stdout).apiUrl.value;

describe('profile use', () => {
  it('makes it the one of the commands that follow', async () => {
    const cli = await withProfiles();
    expect(await apiUrl(cli)).toBe('https://first.example');
    const { exit, stdout, stderr } = await cli.run('profile', 'use', 'second');
    expect([exit, stdout, stderr]).toEqual([0, '{"current":"second"}\n', '']);
    expect(await apiUrl(cli)).toBe('https://second.example');
  });

  it('says so to people', async () => {
    const { home } = await withProfiles();
    const { stdout } = await testCli({ ...READER, home }).run('profile', 'use', 'second');
    expect(stdout).toBe('The current profile is second.\n');
  });

  it.each([
    ['third', 'ERR_CONFIG_INVALID', 'There is no profile "third" in '],
    ['a b', 'ERR_INPUT_INVALID', 'A profile name has 1 to 64 letters'],
  ])('refuses %s and leaves the other in use', async (name, code, message) => {
    const cli = await withProfiles();
    expect(await refusal(cli, 'profile', 'use', name)).toEqual([2, code, expect.stringContaining(message)]);
    expect(await apiUrl(cli)).toBe('https://first.example');
  });

  it('needs a name', async () => {
    expect((await refusal(testCli(), 'profile', 'use')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
