/** The files of `examples/deploy` match each other, the program and docs/operations.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { initHome, serve } from '../support/http-serve.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';

const DIRECTORY = join(process.cwd(), 'examples/deploy');
const read = (name: string): string => readFileSync(join(DIRECTORY, name), 'utf8');
const OPERATIONS = readFileSync(join(process.cwd(), 'docs/operations.md'), 'utf8');

const compose = parse(read('compose.yaml'), { merge: true });
const service = (name: string) => compose.services[name];

const SERVERS = ['server-1', 'server-2', 'server-3'];
const seconds = (text = ''): number => Number(/^(\d+)s?$/.exec(text)?.[1]);
const graceOf = (words: readonly string[]): number => seconds(words[words.indexOf('--shutdown-grace') + 1]);

describe('the compose file', () => {
  it('lets only the proxy be reached, and nobody but servers reach out', () => {
    const reached = Object.entries<{ ports?: object }>(compose.services).filter(
      ([, { ports }]) => ports !== undefined,
    );
    expect(reached.map(([name]) => name)).toEqual(['proxy']);
    expect(compose.networks.inside.internal).toBe(true);
    expect(service('database').networks).toEqual(['inside']);
    for (const name of SERVERS) expect(service(name).networks).toEqual(['inside', 'outward']);
  });

  it('runs servers without rights on a read-only root, with secrets from files', () => {
    for (const name of [...SERVERS, 'migrate', 'admin'])
      expect(service(name)).toMatchObject({
        ...{ user: '1000:1000', read_only: true, cap_drop: ['ALL'] },
        environment: { FLYWHEEL_DATABASE_URL_FILE: '/run/secrets/database-url' },
      });
    for (const { secrets = [] } of Object.values<{ secrets?: readonly string[] }>(compose.services))
      for (const secret of secrets) expect(Object.keys(compose.secrets)).toContain(secret);
    expect(read('compose.yaml')).not.toMatch(/PASSWORD: |postgres:\/\//);
  });

  it('stops them later than their grace', () => {
    for (const name of SERVERS) {
      const { command = [], stop_grace_period } = service(name);
      expect(seconds(stop_grace_period)).toBeGreaterThan(graceOf(command));
    }
  });

  it('has words that the program knows', async () => {
    const place = { home: emptyDirectory(), env: {} };
    for (const { command = [] } of [...SERVERS, 'migrate', 'admin'].map(service)) {
      const { exit, stderr } = await flywheel(place, ...command, '--help');
      expect([exit, stderr]).toEqual([0, '']);
    }
  });
});

describe('the units', () => {
  it('stop the unit later than its grace, and hand secrets over as files', async () => {
    const unit = read('flywheel.service');
    const words = (/^ExecStart=\/usr\/bin\/flywheel (.*)$/m.exec(unit)?.[1] ?? '').split(' ');
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(graceOf(words));
    const { exit } = await flywheel({ home: emptyDirectory(), env: {} }, ...words, '--help');
    expect(exit).toBe(0);
    for (const line of ['DynamicUser=yes', 'ProtectSystem=strict', 'NoNewPrivileges=yes'])
      expect(unit).toContain(line);
    for (const text of [unit, read('flywheel-backup.service')])
      for (const [, name] of text.matchAll(/%d\/([\w.-]+)/g))
        expect(text).toContain(`LoadCredential=${name}:`);
  });

  it('put no secret into an argument of the backup, which others on the machine see', () => {
    const started = /^ExecStart=(?:.*\\\n)*.*$/m.exec(read('flywheel-backup.service'))?.[0];
    expect(started).toContain('pg_dump');
    expect(started).not.toMatch(/%d\/|database-url|postgres:/);
  });
});

describe('the alerts', () => {
  interface Rule {
    readonly alert: string;
    readonly expr: string;
  }
  const groups: readonly { readonly rules: readonly Rule[] }[] = parse(read('alerts.yaml')).groups;
  const rules = groups.flatMap((group) => group.rules);

  it('are all in the runbook, and no others', () => {
    const named = [...OPERATIONS.matchAll(/^\| (Flywheel\w+) \|/gm)].map(([, alert]) => alert);
    expect(named.sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  it('ask for what a server tells, by the labels that it has', async () => {
    const home = await initHome();
    const server = await serve(home);
    const scrape = async (): Promise<string> => (await fetch(`${server.url}/metrics`)).text();
    // A scrape reports the chain state of the previous one.
    await scrape();
    const text = await scrape();
    await server.end('SIGTERM');
    const told = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const asked = new Set(
      [...`${rules.map(({ expr }) => expr).join('\n')}\n${OPERATIONS}`.matchAll(/\bflywheel_[a-z_]+/g)].map(
        ([name]) => name.replace(/_bucket$/, ''),
      ),
    );
    expect([...asked].filter((name) => !told.has(name))).toEqual([]);
    const lines = text.split('\n').filter((line) => line.startsWith('flywheel_'));
    for (const [name, label] of [
      ['flywheel_wallet_lamports', 'wallet="operator"'],
      ['flywheel_unfinished', 'kind="burns"'],
      ['flywheel_store_transaction_seconds_bucket', 'kind="write"'],
      ['flywheel_chain_request_seconds_bucket', 'method="getAccounts"'],
      ['flywheel_build_info', 'version='],
    ] as const)
      expect(
        lines.some((line) => line.startsWith(name) && line.includes(label)),
        name,
      ).toBe(true);
    // A label for each key would create one series each.
    expect(text).not.toContain(home.made.apiKey.id);
  }, 60_000);
});
