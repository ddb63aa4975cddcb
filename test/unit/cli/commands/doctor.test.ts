/** `flywheel doctor`: what is looked at, and the first thing that is not in order as the exit number. */
import { chmodSync, linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeAddress } from '../../../../src/chain/node-address.js';
import type { NodeReport } from '../../../../src/chain/node-report.js';
import { generateKeypair } from '../../../../src/chain/transaction/signer.js';
import type { Settings } from '../../../../src/cli/config/settings.js';
import { lockText as lookLock } from '../../../../src/cli/doctor/check-machine.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { openSqliteFile } from '../../../../src/files/sqlite-file.js';
import { addressFromBytes } from '../../../../src/values/address.js';
import { localWith, READER, refuse, reply } from '../../../support/commands.js';
import { fakeService } from '../../../support/fake-service.js';
import { NOW_MS, type TestCli, type TestCliOptions, testCli } from '../../../support/in-process.js';

interface Checked {
  readonly ok: boolean;
  readonly checks: readonly { name: string; ok: boolean; detail: string; error?: string; hint?: string }[];
}

const look = async (cli: TestCli, ...words: readonly string[]): Promise<Checked & { exit: number }> => {
  const { exit, stdout } = await cli.run('doctor', ...words);
  return { exit, ...(JSON.parse(stdout) as Checked) };
};
const named = ({ checks }: Checked, name: string) => checks.find((check) => check.name === name);

const API = ['--api-url', 'https://api.example.com'];
const STATE = {
  ...{ genesisHash: 'hash', cluster: 'devnet', slot: 400, slotsBehind: 2 },
  ...{ version: '2.0.1', latencyMs: 30, clockAheadMs: null },
};

/** Nodes that answer as they are told to, whichever are asked. */
const nodes = (...reports: readonly Partial<NodeReport>[]): NonNullable<TestCliOptions['openers']> => ({
  checkRpc: async () =>
    reports.map((report, at) => ({
      ...{ address: nodeAddress(`https://n${at}.example.com`, 'test'), state: STATE, problem: null },
      ...report,
    })),
});

describe('doctor', () => {
  it('looks at everything of the embedded engine, and changes nothing', async () => {
    const service = fakeService();
    service.answer('currentBatch', () => reply(null));
    const cli = testCli({ service });
    const { exit, ok, checks } = await look(cli);
    expect([exit, ok]).toEqual([0, true]);
    expect(checks.map(({ name, detail }) => [name, detail])).toEqual([
      ['version', '0.0.0-test'],
      ['target', 'the embedded engine'],
      ['config directory', `${join(cli.home, '.config/flywheel')} (not made yet)`],
      ['data directory', `${join(cli.home, '.local/share/flywheel')} (not made yet)`],
      ['node', 'v22.0.0 on linux'],
      ['free space', expect.stringMatching(/^\d+ MiB free for /)],
      ['lock', 'nobody works in the data directory'],
      ['locale', expect.stringContaining('none: not UTF-8')],
      ['api key', 'the one that `local init` made'],
      ['service', 'answers; no batch is waiting'],
      ['native parts', expect.stringMatching(/^database and virtual machine load/)],
    ]);
    expect(service.calls.map(({ operation }) => operation)).toEqual(['currentBatch']);
  });

  it('tells people one thing a line, and what to do below it', async () => {
    const cli = testCli({ ...READER, columns: 200 });
    const directory = join(cli.home, 'data');
    mkdirSync(directory, { mode: 0o755 });
    chmodSync(directory, 0o755);
    const { exit, stdout } = await cli.run('doctor', '--data-dir', 'data');
    expect(exit).toBe(2);
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('ok   version: 0.0.0-test');
    const at = lines.indexOf(`fail data directory: ${directory}: others can use this directory.`);
    expect(lines[at + 1]).toBe(`     Run: chmod 700 ${directory}`);
  });

  it('says which directory others can use, and no more once they cannot', async () => {
    const cli = testCli();
    const directory = join(cli.home, '.config', 'flywheel');
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o755);
    const found = await look(cli);
    expect([found.exit, named(found, 'config directory')]).toMatchObject([
      2,
      { detail: `${directory}: others can use this directory.`, hint: `Run: chmod 700 ${directory}` },
    ]);
    chmodSync(directory, 0o700);
    expect(named(await look(cli), 'config directory')).toMatchObject({ ok: true, detail: directory });
  });

  it.each([
    ['ERR_UNAUTHORIZED', 4],
    ['ERR_UNAVAILABLE', 6],
  ] as const)('exits for a service that says %s with %i, and looks on', async (code, exit) => {
    const service = fakeService();
    service.answer('currentBatch', () => refuse(code, 'It did not work.'));
    const found = await look(testCli({ service, openers: nodes({}) }), ...API, '--rpc-url', 'devnet');
    expect([found.exit, found.ok]).toEqual([exit, false]);
    expect(named(found, 'service')).toMatchObject({ ok: false, error: code, detail: 'It did not work.' });
    expect(named(found, 'rpc')).toMatchObject({ ok: true });
    expect(named(found, 'tls')).toBeUndefined();
  });

  it('looks at the clock where the service tells its own', async () => {
    const service = fakeService();
    const skewed = (serverTimeMs: number) =>
      service.answer('currentBatch', () => ({ value: null, meta: { replayed: false, serverTimeMs } }));
    skewed(NOW_MS - 30_000);
    expect(named(await look(testCli({ service }), ...API), 'clock')?.detail).toBe('agrees with the service');
    skewed(NOW_MS + 31_000);
    const found = await look(testCli({ service }), ...API);
    expect([found.exit, named(found, 'clock')?.detail]).toEqual([
      2,
      "This clock differs from the service's by -31 s.",
    ]);
  });

  it('says of each RPC node what it is, and reads no chain through one that is at fault', async () => {
    const problem = new FlywheelError('ERR_UNAVAILABLE', 'It does not answer.');
    const opened: (readonly unknown[])[] = [];
    const first = testCli();
    const cli = testCli({
      openers: {
        ...nodes({}, { state: null, problem }),
        openService: async (settings: Settings) => {
          opened.push(settings.rpcUrl.value);
          return first.context.openService(settings);
        },
      },
    });
    const found = await look(cli, ...API, '--rpc-url', 'devnet', '--rpc-url', 'testnet', '--quorum', '2');
    const [good, bad] = found.checks.filter(({ name }) => name === 'rpc');
    expect(good?.detail).toBe(
      'https://n0.example.com (flag), devnet, slot 400, 2 behind, version 2.0.1, the Squads program is there, 30 ms',
    );
    expect([found.exit, bad?.detail]).toEqual([6, 'It does not answer.']);
    expect(named(found, 'rpc quorum')?.detail).toBe('2 of 2 have to agree');
    expect(opened).toEqual([[]]);
  });

  it.each([
    ['devnet', 60_000, true, 'agrees with the chain (60 s ahead)'],
    ['devnet', -61_000, false, 'This clock is 61 s behind the time of the chain.'],
    ['devnet', 61_000, false, 'This clock is 61 s ahead of the time of the chain.'],
    [null, 3_600_000, true, '3600 s ahead of the last block, as of a cluster that stands still'],
    [null, -61_000, false, 'This clock is 61 s behind the time of the chain.'],
  ] as const)('holds the clock against that of a chain (%s, %i ms)', async (cluster, ms, ok, detail) => {
    const late = { state: { ...STATE, cluster, clockAheadMs: ms + 5_000 } };
    const openers = nodes(late, { state: { ...STATE, cluster, clockAheadMs: ms } }, {});
    const found = await look(testCli({ openers }), ...API, '--rpc-url', 'devnet');
    expect(named(found, 'chain clock')).toMatchObject({ ok, detail });
    expect(found.exit).toBe(ok ? 0 : 2);
    if (!ok) expect(named(found, 'chain clock')?.hint).toContain('Set the clock of this machine');
  });

  it('names the address of the keypair, and what is wrong with one', async () => {
    const keypair = generateKeypair();
    const cli = testCli({ env: { FLYWHEEL_KEYPAIR: 'id.json' } });
    expect(named(await look(cli), 'keypair')?.detail).toBe('id.json: there is no such file.');
    writeFileSync(join(cli.home, 'id.json'), JSON.stringify([...keypair]), { mode: 0o600 });
    expect(named(await look(cli), 'keypair')?.detail).toBe(addressFromBytes(keypair.slice(32)));
  });

  it('repairs where that is asked for, before it looks', async () => {
    const openers = localWith({ repair: async () => 'Nothing is to be repaired.' });
    expect(named(await look(testCli({ openers })), 'repair')).toBeUndefined();
    const { checks } = await look(testCli({ openers }), '--repair');
    expect(checks[0]).toEqual({ name: 'repair', ok: true, detail: 'Nothing is to be repaired.' });
    const broken = localWith({ repair: async () => refuse('ERR_STORE_UNAVAILABLE', 'An answer is lost.') });
    const found = await look(testCli({ openers: broken }), '--repair');
    expect([found.exit, found.checks[0]?.detail]).toEqual([6, 'An answer is lost.']);
  });

  it('repairs nothing of a service that is elsewhere, and takes no argument', async () => {
    const { checks } = await look(testCli(), '--repair', ...API);
    expect(checks.filter(({ name }) => name === 'repair')).toEqual([]);
    expect((await testCli().run('doctor', 'rpc')).exit).toBe(2);
  });

  it("finds what others can use, and mends what is the user's, without following a link", async () => {
    const cli = testCli({ openers: localWith({ repair: async () => 'Nothing is to be repaired.' }) });
    const data = join(cli.home, '.local/share/flywheel');
    const outside = join(cli.home, 'outside');
    mkdirSync(join(data, 'keys'), { recursive: true, mode: 0o700 });
    chmodSync(join(data, 'keys'), 0o755);
    writeFileSync(join(data, 'api-key'), 'x', { mode: 0o640 });
    writeFileSync(join(data, 'store.db'), 'x', { mode: 0o600 });
    writeFileSync(outside, 'x', { mode: 0o644 });
    symlinkSync(outside, join(data, 'link'));
    const files = ({ checks }: Checked) => checks.filter(({ name }) => name === 'data files');
    expect(files(await look(cli)).map(({ ok, detail, hint }) => [ok, detail, hint?.split(',')[0]])).toEqual([
      [
        false,
        `${join(data, 'api-key')} can be used by others (mode 640).`,
        `Run: chmod 600 ${join(data, 'api-key')}`,
      ],
      [
        false,
        `${join(data, 'keys')} can be used by others (mode 755).`,
        `Run: chmod 700 ${join(data, 'keys')}`,
      ],
      [false, expect.stringContaining(`${join(data, 'link')} is a symbolic link`), expect.any(String)],
    ]);
    const repaired = (await look(cli, '--repair')).checks.filter(({ name }) => name === 'repair');
    expect(repaired.map(({ ok, detail }) => [ok, detail])).toEqual([
      [true, `${join(data, 'api-key')}: mode 600 now`],
      [true, `${join(data, 'keys')}: mode 700 now`],
      [true, 'Nothing is to be repaired.'],
    ]);
    const mode = (path: string): number => statSync(path).mode & 0o777;
    expect([mode(join(data, 'api-key')), mode(join(data, 'keys')), mode(outside)]).toEqual([
      0o600, 0o700, 0o644,
    ]);
    expect((await look(cli, '--repair')).checks.filter(({ name }) => name === 'repair')).toHaveLength(1);
    rmSync(join(data, 'link'));
    expect(files(await look(cli)).map(({ ok }) => ok)).toEqual([true]);
  });

  it('looks at and mends a file of API keys that others can read', async () => {
    const service = fakeService();
    service.answer('currentBatch', () => reply(null));
    const cli = testCli({ service });
    await cli.run('profile', 'add', 'main', '--api-url', 'https://api.example');
    const keys = join(cli.home, '.config/flywheel/api-keys.json');
    writeFileSync(keys, '{"main":"fwk_1"}');
    chmodSync(keys, 0o644);
    const found = await look(cli);
    expect([found.exit, named(found, 'config files')?.detail]).toEqual([
      2,
      `${keys} can be used by others (mode 644).`,
    ]);
    expect((await cli.run('whoami')).exit).toBe(2);
    expect((await look(cli, '--repair')).ok).toBe(true);
    expect(statSync(keys).mode & 0o777).toBe(0o600);
  });

  it('leaves the mode of a file that has a second name', async () => {
    const cli = testCli({ openers: localWith({ repair: async () => 'Nothing is to be repaired.' }) });
    const data = join(cli.home, '.local/share/flywheel');
    const outside = join(cli.home, 'outside');
    mkdirSync(data, { recursive: true, mode: 0o700 });
    writeFileSync(outside, 'x', { mode: 0o644 });
    linkSync(outside, join(data, 'name'));
    expect(named(await look(cli, '--repair'), 'data files')?.detail).toContain('(a hard link)');
    expect(statSync(outside).mode & 0o777).toBe(0o644);
  });

  it('breaks no word on a narrow terminal', async () => {
    const cli = testCli({ columns: 60, tty: { stdout: true }, env: { LANG: 'C', NO_COLOR: '1' } });
    const { stdout } = await cli.run('doctor');
    expect(stdout.split('\n').filter((line) => line.length > 60 && /\S /.test(line.trim()))).toEqual([]);
  });

  it('tells who works in the data directory, and of certificates that cannot be read', async () => {
    const cli = testCli({ env: { NODE_EXTRA_CA_CERTS: '/nowhere/ca.pem', LANG: 'de_DE.UTF-8' } });
    const found = await look(cli);
    expect(named(found, 'extra certificates')).toMatchObject({ ok: false, error: 'ERR_CONFIG_INVALID' });
    expect(named(found, 'locale')?.detail).toBe('de_DE.UTF-8');
    const data = join(cli.home, '.local/share/flywheel');
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const lock = await openSqliteFile({ path: join(data, 'lock'), noun: 'lock', create: true });
    try {
      const held = lock.write(() => lookLock(data));
      expect(held).toBe(`held by process ${process.pid}`);
    } finally {
      lock.close();
    }
  });
});
