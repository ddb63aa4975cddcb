/** `flywheel doctor`: its checks and the exit code of the first problem. */
import { execSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type NodeReport, nodeAddress } from '../../../../src/chain/node-address.js';
import type { Answer } from '../../../../src/cli/context.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../support/in-process.js';
import { owner, ownerKeypair } from '../../batch-on-chain.js';
import { VAULT } from '../fixtures.js';
import { localWith, refuse, reply } from '../single-command.js';

interface Checked {
  readonly ok: boolean;
  readonly checks: readonly { name: string; ok: boolean; detail: string; error?: string; hint?: string }[];
}
const look = async (cli: TestCli, ...words: readonly string[]): Promise<Checked & { exit: number }> => {
  const { exit, stdout } = await cli.run('doctor', ...words);
  return { exit, ...(JSON.parse(stdout) as Checked) };
};
const named = ({ checks }: Checked, name: string) => checks.find((check) => check.name === name);
const all = ({ checks }: Checked, name: string) => checks.filter((check) => check.name === name);
const mode = (path: string): number => statSync(path).mode & 0o777;

const API = ['--api-url', 'https://api.example.com'];
const STATE = {
  ...{ genesisHash: 'hash', cluster: 'devnet', slot: 400, slotsBehind: 2 },
  ...{ version: '2.0.1', latencyMs: 30, clockAheadMs: null },
};
const nodes = (...reports: readonly Partial<NodeReport>[]): NonNullable<TestCliOptions['openers']> => ({
  checkRpc: async () =>
    reports.map((report, at) => ({
      ...{ address: nodeAddress(`https://n${at}.example.com`, 'test'), state: STATE, problem: null },
      ...report,
    })),
});

const funded = (vault: Answer<'vault'>) => ({
  openers: localWith({ vault: async () => vault }),
});

describe('doctor', () => {
  it('looks at everything of the embedded engine, and changes nothing', async () => {
    const service = fakeService();
    service.answer('currentBatch', () => reply(null));
    const { exit, ok, checks } = await look(testCli({ ...funded(VAULT), service }));
    expect([exit, ok, checks.every((check) => check.ok)]).toEqual([0, true, true]);
    expect(checks.map(({ name }) => name)).toEqual([
      ...['version', 'target', 'config files', 'data files', 'api key', 'service', 'native parts', 'funds'],
    ]);
    expect(service.calls.map(({ operation }) => operation)).toEqual(['currentBatch']);
  });

  const { vault, operator } = VAULT.balances;
  it.each([
    ['no tokens', { balances: { ...VAULT.balances, vault: { ...vault, tokens: '0.0' } } }],
    [
      VAULT.operator,
      {
        balances: { ...VAULT.balances, operator: { ...operator, lamports: '20000000' } },
        pipelines: { ...VAULT.pipelines, atOnce: 0, lasts: '0' },
      },
    ],
  ])('says that a project of this machine has %s', async (text, less) => {
    const service = fakeService();
    service.answer('currentBatch', () => reply(null));
    const found = await look(testCli({ ...funded({ ...VAULT, ...less }), service }));
    expect([found.exit, named(found, 'funds')]).toMatchObject([
      5,
      { ok: false, error: 'ERR_INSUFFICIENT_FUNDS', detail: expect.stringContaining(text) },
    ]);
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
    expect(named(found, 'rpc')?.ok).toBe(true);
    expect(named(found, 'project')?.detail).toMatch(/^not pinned/);
  });

  it.each([
    ['devnet', 60_000, true],
    ['devnet', -61_000, false],
    ['devnet', 61_000, false],
    [null, 3_600_000, true],
    [null, -61_000, false],
  ] as const)('holds the clock against that of a chain (%s, %i ms)', async (cluster, ms, ok) => {
    const late = { state: { ...STATE, cluster, clockAheadMs: ms + 5_000 } };
    const openers = nodes(late, { state: { ...STATE, cluster, clockAheadMs: ms } }, {});
    const found = await look(testCli({ openers }), ...API, '--rpc-url', 'devnet');
    expect([found.exit, named(found, 'chain clock')]).toMatchObject([
      ...[ok ? 0 : 2, { ok, detail: expect.stringContaining(String(Math.abs(ms / 1_000))) }],
    ]);
  });

  it('names the address of the keypair, and what is wrong with one', async () => {
    const cli = testCli({ env: { FLYWHEEL_KEYPAIR: 'id.json' } });
    expect(named(await look(cli), 'keypair')?.ok).toBe(false);
    writeFileSync(join(cli.home, 'id.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
    expect(named(await look(cli), 'keypair')?.detail).toBe(owner);
  });

  it('finds what others can use, and says what mends it', async () => {
    const cli = testCli();
    const data = join(cli.home, '.local/share/flywheel');
    const at = (name: string) => join(data, name);
    const outside = join(cli.home, 'outside');
    mkdirSync(at('keys'), { recursive: true, mode: 0o700 });
    chmodSync(at('keys'), 0o755);
    for (const [path, given] of [
      [at('api-key'), 0o640],
      [at('store.db'), 0o600],
      [outside, 0o644],
    ] as const)
      writeFileSync(path, 'x', { mode: given });
    symlinkSync(outside, at('link'));
    linkSync(outside, at('second'));
    const found = all(await look(cli), 'data files');
    expect(found.map(({ ok }) => ok)).toEqual([false, false, false, false]);
    for (const name of ['api-key', 'keys', 'link', 'second'])
      expect(found.some(({ detail }) => detail.startsWith(at(name)))).toBe(true);
    const hints = found.map(({ hint }) => hint);
    expect(hints).toEqual(
      expect.arrayContaining([`Run: chmod 600 ${at('api-key')}`, `Run: chmod 700 ${at('keys')}`]),
    );
    for (const hint of hints) if (hint?.startsWith('Run: ')) execSync(hint.slice('Run: '.length));
    expect([at('api-key'), at('keys'), at('second')].map(mode)).toEqual([0o600, 0o700, 0o600]);
    rmSync(at('link'));
    expect(all(await look(cli), 'data files').map(({ ok }) => ok)).toEqual([true]);
  });

  it('says which directory cannot be read', async () => {
    const cli = testCli();
    const data = join(cli.home, '.local/share/flywheel');
    mkdirSync(dirname(data), { recursive: true, mode: 0o700 });
    symlinkSync('flywheel', data);
    const found = all(await look(cli), 'data files');
    expect(found).toMatchObject([{ ok: false, error: 'ERR_CONFIG_INVALID' }]);
    expect(found[0]?.detail).toContain(data);
  });
});
