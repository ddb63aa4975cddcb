/** The profiles in an editor: taken over whole, or not at all. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type TestCli, testCli } from '../../../../support/in-process.js';
import { emptyDirectory } from '../../../../support/spawn.js';

const directory = ({ home }: TestCli): string => join(home, '.config/flywheel');
const profiles = (cli: TestCli): string => readFileSync(join(directory(cli), 'profiles.json'), 'utf8');
const copies = (cli: TestCli): readonly string[] =>
  readdirSync(directory(cli)).filter((name) => name.includes('.edit'));

/** A command line with a profile, and an editor that is a script: `$1` is the file, `HOME` the directory of the test. */
async function cliWith(script: string): Promise<TestCli> {
  const home = emptyDirectory();
  const editor = join(home, 'editor.sh');
  writeFileSync(editor, script.replaceAll('HOME', home));
  const cli = testCli({ home, env: { EDITOR: `sh ${editor}` } });
  await cli.run('profile', 'add', 'main', '--api-url', 'https://api.example');
  return cli;
}

describe('profile edit', () => {
  it('takes over what was written, for the user alone, and keeps no copy', async () => {
    const cli = await cliWith('stat -c %a "$1" > HOME/mode; sed -i s/api.example/new.example/ "$1"');
    const { exit, stdout } = await cli.run('profile', 'edit');
    expect([exit, JSON.parse(stdout)]).toEqual([0, { changed: true }]);
    expect(profiles(cli)).toContain('https://new.example');
    expect(statSync(join(directory(cli), 'profiles.json')).mode & 0o777).toBe(0o600);
    expect([readFileSync(join(cli.home, 'mode'), 'utf8').trim(), copies(cli)]).toEqual(['600', []]);
  });

  it('changes nothing where nothing was written, or the editor failed', async () => {
    const cli = await cliWith('true');
    const before = profiles(cli);
    expect(JSON.parse((await cli.run('profile', 'edit')).stdout)).toEqual({ changed: false });
    writeFileSync(join(cli.home, 'editor.sh'), 'echo x > "$1"; exit 3');
    expect((await cli.run('profile', 'edit')).exit).toBe(130);
    expect([profiles(cli), copies(cli)]).toEqual([before, []]);
  });

  it.each([
    ['what is no JSON', 'echo "{" > "$1"'],
    ['an address that is none', 'sed -i s,https:,ftp:, "$1"'],
    ['a profile in use that is not there', 'sed -i s/main/other/ "$1"; sed -i "0,/other/s//main/" "$1"'],
  ])('refuses %s, keeps the profiles and the copy', async (_what, script) => {
    const cli = await cliWith(script);
    const before = profiles(cli);
    const { exit, stderr } = await cli.run('profile', 'edit');
    expect([exit, JSON.parse(stderr).error]).toEqual([2, 'ERR_CONFIG_INVALID']);
    expect(profiles(cli)).toBe(before);
    expect(copies(cli)).toHaveLength(1);
    expect(JSON.parse(stderr).hint).toContain(copies(cli)[0]);
  });

  it.each([
    ['nothing', 'rm "$1"'],
    ['a link', 'rm "$1"; ln -s HOME/editor.sh "$1"'],
    ['a directory', 'rm "$1"; mkdir "$1"'],
    ['what would be waited for', 'rm "$1"; mkfifo "$1"'],
  ])('changes nothing where the editor left %s', async (_what, script) => {
    const cli = await cliWith(script);
    const before = profiles(cli);
    const { exit, stderr } = await cli.run('profile', 'edit');
    expect([exit, JSON.parse(stderr).error]).toEqual([130, 'ERR_DECLINED']);
    expect([profiles(cli), copies(cli)]).toEqual([before, []]);
  });

  it('takes nothing over from before another command changed the profiles', async () => {
    const cli = await cliWith(
      'sed -i s/main/mine/ "$1"; sed -i s/api.example/other.example/ HOME/.config/flywheel/profiles.json',
    );
    const { exit, stderr } = await cli.run('profile', 'edit');
    expect([exit, JSON.parse(stderr).message]).toEqual([2, expect.stringContaining('in the meantime')]);
    expect(profiles(cli)).toContain('other.example');
    expect(profiles(cli)).not.toContain('mine');
  });
});
