/** The completion scripts in their shells: the words that the tab key offers. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, flywheel } from '../support/spawn.js';

const home = emptyDirectory();
const bin = join(home, 'bin');

type Shell = 'bash' | 'zsh' | 'fish';

/** The command that prints a shell's completions of a line, one a line. */
const ASK: Readonly<Record<Shell, (line: string) => readonly string[]>> = {
  // As readline does before it calls the function.
  bash: (line) => [
    '--norc',
    '-c',
    `source ${home}/completion.bash
       COMP_WORDS=(${line}${line.endsWith(' ') ? " ''" : ''}) COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
       [[ $(complete -p flywheel) == *'-F _flywheel flywheel' ]] || exit 1
       _flywheel; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  // In a pseudo terminal, where completion runs as for users.
  zsh: (line) => [
    '-f',
    '-c',
    `zmodload zsh/zpty
       zpty -b shell zsh -f -i
       zpty -w shell "PS1= PS2= RPS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -d ${home}/dump; source ${home}/completion.zsh"
       zpty -w shell 'compadd() { builtin compadd -O found "$@"; print -l START $found END; builtin compadd "$@" }'
       zpty -w shell 'bindkey "^I" complete-word; zle -C complete-word .complete-word _main_complete; print READY'
       zpty -r -m shell seen '*READY*READY*'
       zpty -n -w shell '${line}'$'\\t'
       zpty -r -m shell seen '*END*'
       print -r -- "$seen"`,
  ],
  fish: (line) => ['--no-config', '-c', `source ${home}/completion.fish; complete -C '${line}'`],
};

beforeAll(async () => {
  mkdirSync(bin);
  // The shells check whether the program exists.
  const program = [process.execPath, join(process.cwd(), 'bin', 'flywheel.js')];
  writeFileSync(join(bin, 'flywheel'), `#!/bin/sh\nexec '${program.join("' '")}' "$@"\n`);
  chmodSync(join(bin, 'flywheel'), 0o755);
  const at = ['--api-url', 'http://127.0.0.1:9'];
  expect((await flywheel({ home }, 'profile', 'add', 'staging', ...at)).exit).toBe(0);
  writeFileSync(join(home, 'pipelines.json'), '{}');
  mkdirSync(join(home, 'place'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { exit, stdout } = await flywheel({ home }, 'completion', shell);
    expect(exit).toBe(0);
    writeFileSync(join(home, `completion.${shell}`), stdout);
  }
});

function complete(shell: Shell, line: string): readonly string[] {
  const { status, stdout, stderr } = spawnSync(`/usr/bin/${shell}`, ASK[shell](line), {
    cwd: home,
    env: { HOME: home, PATH: `${bin}:/usr/bin:/bin`, TERM: 'dumb', LANG: 'C.UTF-8' },
    encoding: 'utf8',
    timeout: 20_000,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split(/\r?\n/).map((candidate) => candidate.split('\t')[0]?.trim() ?? '');
}

describe.each(['bash', 'zsh', 'fish'] as const)('completion in %s', (shell) => {
  it('completes the first word', () => {
    const found = complete(shell, 'flywheel ba');
    expect(found).toContain('batch');
    expect(found).not.toContain('burn');
  });

  it('completes the word after a group', () => {
    const found = complete(shell, 'flywheel batch ap');
    expect(found).toContain('approve');
    expect(found).not.toContain('init');
  });

  it('completes the option of a command, also after its arguments', () => {
    for (const line of ['flywheel batch approve --wal', 'flywheel batch approve approval.json --wal']) {
      const found = complete(shell, line);
      expect(found).toContain('--wallet');
      expect(found).not.toContain('--keypair');
    }
  });

  it('completes the value of an option, written in either way', () => {
    for (const line of ['flywheel --output js', 'flywheel batch list --output js']) {
      const found = complete(shell, line);
      expect(found).toContain('json');
      expect(found).not.toContain('csv');
    }
    expect(complete(shell, 'flywheel batch list --action ')).toEqual(
      expect.arrayContaining(['BURN', 'AIRDROP', 'MEMO']),
    );
    expect(complete(shell, 'flywheel batch list --status F')).toEqual(
      expect.arrayContaining(['FINALIZED', 'FAILED']),
    );
    expect(complete(shell, 'flywheel keys create --scope b')).toContain('burn');
    expect(complete(shell, 'flywheel --rpc-url d')).toContain('devnet');
  });

  it('completes names that are looked up, and files where they are wanted', () => {
    for (const line of ['flywheel --profile s', 'flywheel -p s', 'flywheel profile use s'])
      expect(complete(shell, line)).toContain('staging');
    expect(complete(shell, 'flywheel batch run pi').join(' ')).toContain('pipelines.json');
    const places = complete(shell, 'flywheel --data-dir p').join(' ');
    expect(places).toContain('place');
    expect(places).not.toContain('pipelines.json');
  });

  it('takes the value of an option for no word that leads on', () => {
    expect(complete(shell, 'flywheel burn --type list --persist')).toContain('--persist-onchain');
  });

  it('offers every word where none was begun', () => {
    const found = complete(shell, 'flywheel keys ');
    expect(found).toEqual(expect.arrayContaining(['create', 'revoke']));
  });
});

it('shows in fish what each word means', () => {
  const { stdout } = spawnSync('/usr/bin/fish', ASK.fish('flywheel batch ap'), {
    cwd: home,
    env: { HOME: home, PATH: `${bin}:/usr/bin:/bin` },
    encoding: 'utf8',
  });
  expect(stdout).toContain('approve\tCheck a batch, then sign its approval as the owner.');
});
