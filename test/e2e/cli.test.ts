/** Streams, exit codes and signals of the built program. */
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { isLong, sampleOf } from '../support/long.js';
import { BIN, emptyDirectory, flywheel, problemOf, startFlywheel } from '../support/spawn.js';
import { onTerminal } from './terminal.js';

const VERSION = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

const SOMEBODY = 'So11111111111111111111111111111111111111112';
const REGISTER = ['--mint', SOMEBODY, '--owner', SOMEBODY, '--operator-keypair', 'none.json'];

const command = (words: string): string => `'${process.execPath}' '${BIN}' ${words}`;

const template = emptyDirectory();
let made: { readonly apiKey: { readonly id: string; readonly key: string } };
beforeAll(async () => {
  made = JSON.parse((await flywheelHere({ home: template }, 'local', 'init')).stdout);
});

function homeWithFlywheel(): string {
  const home = emptyDirectory();
  cpSync(template, home, { recursive: true });
  return home;
}

describe('flywheel', () => {
  it('tells its version and help without making a file', async () => {
    const home = emptyDirectory();
    expect(await flywheel({ home }, '--version')).toMatchObject({
      exit: 0,
      stdout: `${VERSION}\n`,
      stderr: '',
    });
    const help = await flywheel({ home }, '--help');
    expect(help).toMatchObject({ exit: 0, stderr: '' });
    expect(help.stdout).toBe((await flywheel({ home }, '--no-color', '--help')).stdout);
    expect(readdirSync(home)).toEqual([]);
  });

  it('does not take a file for its data directory', async () => {
    const refused = await flywheelHere(
      { home: emptyDirectory() },
      'local',
      'init',
      '--data-dir',
      '/dev/null',
    );
    expect([refused.exit, problemOf(refused).error]).toEqual([2, 'ERR_CONFIG_INVALID']);
  });

  it('prints for people on a terminal, with colour, and JSON with --json', async () => {
    const home = emptyDirectory();
    const human = await onTerminal(home, command('local init'));
    expect(human.status).toBe(0);
    expect(human.text).toContain('\u001b[32mThe project is ready.\u001b[39m');
    const plain = await onTerminal(home, command('local status --quiet'), { NO_COLOR: '1' });
    expect(plain.text).toContain('\nburn wallet  1,000,000   10\n');
    expect(plain.text).not.toContain('\u001b');
    expect(JSON.parse((await onTerminal(home, command('local status --json'))).text)).toMatchObject({
      burned: '0',
    });
  });

  it('says below a list that there is more', async () => {
    const home = homeWithFlywheel();
    const burn = ['burn', '--type', 'WATCH_AD', '--amount', '1', '--proof'];
    for (const proof of ['{"a":1}', '{"a":2}'])
      expect((await flywheelHere({ home }, ...burn, proof)).exit).toBe(0);
    const { text } = await onTerminal(home, command('history --limit 1'), { NO_COLOR: '1' });
    expect(text).toMatch(/\nThe list has more than 1 item\. Set --limit, or continue with --cursor\s+\S+\n$/);
  });

  it('asks before it wipes, takes silence for a no, and says so with 130', async () => {
    const home = homeWithFlywheel();
    const declined = await onTerminal(home, command('local reset'), {}, '');
    expect(declined.status).toBe(130);
    expect(declined.text).toContain('[y/N]');
    expect(declined.text).toContain('Declined. Nothing was deleted.');
    const interrupted = await onTerminal(home, command('local reset'), { NO_COLOR: '1' }, '\u0003');
    expect(interrupted.status).toBe(130);
    expect(interrupted.text).toMatch(/\[y\/N\] .*\nerror: Nothing was deleted\. \(ERR_DECLINED\)\n$/);
    expect((await onTerminal(home, command('local status'))).status).toBe(0);
    expect((await onTerminal(home, command('local reset'), {}, 'y')).status).toBe(0);
    expect((await onTerminal(home, command('local status'))).status).toBe(2);
  });

  it('ends quietly when the reader of its output goes away', () => {
    const home = emptyDirectory();
    const { stdout, stderr } = spawnSync(
      'bash',
      ['-c', `${command('help exit-codes')} | true; echo "exit \${PIPESTATUS[0]}"`],
      { env: { HOME: home, PATH: process.env['PATH'] }, encoding: 'utf8' },
    );
    expect({ stdout, stderr }).toEqual({ stdout: 'exit 0\n', stderr: '' });
  });

  it('does not cut what it prints into a pipe', async () => {
    const home = homeWithFlywheel();
    const burns = Array.from({ length: 400 }, (_, id) => ({
      type: 'WATCH_AD',
      proof: { id },
      burnAmount: 0.001,
      persistOnchain: false,
    }));
    const { exit, stdout } = await flywheel({ home, stdin: JSON.stringify(burns) }, 'burn-batch', '-');
    expect(exit).toBe(0);
    expect(stdout.length).toBeGreaterThan(65_536);
    expect(JSON.parse(stdout).success).toHaveLength(400);
  });

  const SIGNALS = [
    ['SIGINT', 130],
    ['SIGTERM', 130],
    ['SIGKILL', null],
  ] as const;
  it.each(sampleOf(SIGNALS, 1))(
    'survives %s: the same command then finishes each element exactly once',
    async (signal, code) => {
      const home = homeWithFlywheel();
      const total = isLong ? 6_000 : 600;
      const burns = Array.from({ length: total }, (_, id) =>
        JSON.stringify({ type: 'WATCH_AD', proof: { id }, burnAmount: 1, persistOnchain: false }),
      );
      writeFileSync(join(home, 'burns.ndjson'), burns.join('\n'));
      const words = ['burn-batch', 'burns.ndjson', '--output', 'ndjson'];
      const child = startFlywheel({ home }, words);
      child.stdout?.once('data', () => child.kill(signal));
      let stderr = '';
      child.stderr?.on('data', (chunk: Buffer) => {
        stderr += chunk.toString('utf8');
      });
      const exit = await new Promise((resolve) => child.once('close', resolve));
      expect(exit).toBe(code);
      if (code !== null)
        expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
          error: 'ERR_INTERRUPTED',
        });
      const midway = JSON.parse((await flywheelHere({ home }, 'local', 'status')).stdout);
      expect(Number(midway.burned)).toBeLessThan(total);
      const again = await flywheel({ home }, ...words);
      expect(again.exit).toBe(0);
      const lines = again.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(new Set(lines.map(({ index }) => index)).size).toBe(total);
      expect(new Set(lines.map(({ txHash }) => txHash)).size).toBe(total);
      const status = JSON.parse((await flywheelHere({ home }, 'local', 'status')).stdout);
      expect(status.burned).toBe(String(total));
      expect(JSON.parse((await flywheelHere({ home }, 'pending')).stdout)).toEqual([]);
    },
  );

  it('reads no data directory where a remote API is meant', async () => {
    const home = homeWithFlywheel();
    const { id } = made.apiKey;
    const live = ['profile', 'add', 'live', '--api-url', 'http://127.0.0.1:9'];
    expect((await flywheelHere({ home }, ...live)).exit).toBe(0);
    const named = [
      ['vault'],
      ['audit'],
      ['keys', 'list'],
      ['keys', 'create'],
      ['keys', 'revoke', id],
      ['caps'],
      ['db', 'status'],
      ['db', 'migrate'],
      ['db', 'check'],
      ['db', 'accept-gap'],
      ['register', '--cluster', 'http://127.0.0.1:9', ...REGISTER],
    ];
    const local = [
      ['local', 'status'],
      ['keys', 'create'],
      ['local', 'init'],
      ['local', 'rpc', '--port', '0'],
      ['serve', '--port', '0'],
    ];
    const refused = async (words: readonly string[], env: Record<string, string> = {}) => {
      const { exit, stderr } = await flywheelHere({ home, env }, ...words, '--json');
      const { error, message } = JSON.parse(stderr.trim().split('\n').at(-1) || '{}');
      return [words, exit, error, message?.includes('profile live')];
    };
    for (const words of [...sampleOf(named, 2), ...sampleOf(local, 1)])
      expect(await refused([...words, '-p', 'live'])).toEqual([
        [...words, '-p', 'live'],
        2,
        'ERR_USAGE',
        true,
      ]);
    for (const words of named.slice(0, isLong ? 3 : 1))
      expect(await refused(words)).toEqual([words, 2, 'ERR_USAGE', true]);
    const env = { FLYWHEEL_PROFILE: 'live' };
    expect(await refused(['keys', 'create'], env)).toEqual([['keys', 'create'], 2, 'ERR_USAGE', true]);
    const keys = await flywheelHere({ home }, 'keys', 'list', '--local', '--json');
    expect([keys.exit, JSON.parse(keys.stdout)]).toMatchObject([0, [{ id, dateRevoked: null }]]);
    expect((await flywheelHere({ home }, 'local', 'status')).exit).toBe(0);
  });

  it('does not repeat what FLYWHEEL_PROFILE holds, which may be a key', async () => {
    const secret = 'fwk_8Wq3TzKpasted';
    const commands = [
      ['batch', 'current'],
      ['profile', 'list'],
      ['whoami', '--json'],
    ];
    for (const words of sampleOf(commands, 1)) {
      const env = { FLYWHEEL_PROFILE: secret, FLYWHEEL_DEBUG: '1' };
      const { exit, stdout, stderr } = await flywheelHere({ home: emptyDirectory(), env }, ...words);
      expect([exit, stderr.includes('ERR_CONFIG_INVALID'), `${stdout}${stderr}`.includes(secret)]).toEqual([
        2,
        true,
        false,
      ]);
    }
  });
});
