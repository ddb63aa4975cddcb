/** `flywheel doctor`: what is looked at, and the first thing that is not in order as the exit number. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeAddress } from '../../../../src/chain/node-address.js';
import type { NodeReport } from '../../../../src/chain/node-report.js';
import { generateKeypair } from '../../../../src/chain/transaction/signer.js';
import type { Settings } from '../../../../src/cli/config/settings.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { addressFromBytes } from '../../../../src/values/address.js';
import { NOW_MS, type TestCli, type TestCliOptions, testCli } from '../../../support/cli.js';
import { complaint, localWith, READER, refuse, reply } from '../../../support/commands.js';
import { fakeService } from '../../../support/fake-service.js';

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
  ...{ version: '2.0.1', latencyMs: 30 },
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
      ['api key', 'the one that `local init` made'],
      ['service', 'answers; no batch is waiting'],
    ]);
    expect(service.calls.map(({ operation }) => operation)).toEqual(['currentBatch']);
  });

  it('tells people one thing a line, and what to do below it', async () => {
    const cli = testCli(READER);
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
    const { exit, stderr } = await testCli().run('doctor', '--repair', ...API);
    expect([exit, complaint(stderr).message]).toEqual([2, '--repair is for the embedded engine.']);
    expect((await testCli().run('doctor', 'rpc')).exit).toBe(2);
  });
});
