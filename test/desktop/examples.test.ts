/** Runs the examples in `examples` unchanged, against a loopback server. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Gate, startGate } from '../e2e/gate.js';
import { besides } from '../support/flywheel-here.js';
import { initHome, type ServedHome, type ServeProcess, serve } from '../support/http-serve.js';
import { emptyDirectory } from '../support/spawn.js';

const ROOT = process.cwd();
const example = (path: string): string => readFileSync(join(ROOT, 'examples', path), 'utf8');
const EXIT = { usage: 2, partial: 3, auth: 4, unknownOutcome: 7 };
const BURN_BATCH = '/v1/tokenomics/burn-batch';

let home: ServedHome;
let server: ServeProcess;
let gate: Gate;
/** Further requests whose answers are lost; and whether no request reaches the server. */
let trouble = { lost: 0, away: false };
/** Directory of the installed program on the PATH. */
const bin = join(emptyDirectory(), 'bin');

beforeAll(async () => {
  mkdirSync(bin);
  // Short waits: the test concerns the state after the last attempt.
  const run = `exec '${process.execPath}' '${ROOT}/bin/flywheel.js' "$@"`;
  const program = `#!/bin/sh\ncase "$1" in burn*|batch|pending) ${run} --max-wait 1;; *) ${run};; esac\n`;
  writeFileSync(join(bin, 'flywheel'), program, { mode: 0o755 });
  home = await initHome();
  server = await serve(home, '--rate', 'burn-batch=1000/s');
  gate = await startGate(server.url);
  gate.fate = ({ path }) => {
    if (trouble.away) return { refuse: 503 };
    if (path !== BURN_BATCH || trouble.lost === 0) return 'pass';
    trouble.lost -= 1;
    return 'lose';
  };
});
afterAll(async () => {
  await gate.close();
  await server.end('SIGTERM');
});
beforeEach(() => {
  trouble = { lost: 0, away: false };
});

const burned = async (): Promise<number> =>
  Number(JSON.parse((await besides(home, 'local', 'status')).stdout).burned);

/** Runs a shell without settings of this process. */
function shell(words: readonly string[], cwd: string, env: Readonly<Record<string, string>>) {
  const child = spawn('bash', [...words], {
    cwd,
    env: { HOME: cwd, PATH: `${bin}:${process.env['PATH']}`, ...env },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  return new Promise<{ status: number | null; said: string }>((resolve) => {
    child.once('close', (status) => resolve({ status, said }));
  });
}

let count = 0;
const burns = (...amounts: readonly number[]): string =>
  JSON.stringify(
    amounts.map((burnAmount) => {
      count += 1;
      return { type: 'WATCH_AD', proof: { viewId: count }, burnAmount, persistOnchain: false };
    }),
  );
const TOO_MUCH = 1e9;

describe('the GitHub workflow', () => {
  interface Step {
    readonly name?: string;
    readonly uses?: string;
    readonly run?: string;
    readonly env?: Readonly<Record<string, string>>;
  }
  const text = example('github-actions/burn.yml');
  const job = parse(text).jobs.burn as { env: Record<string, string>; steps: readonly Step[] };

  /** Runs the steps as a CI runner does: a shell each, until one fails. */
  async function runJob(file: string, workspace = emptyDirectory()) {
    writeFileSync(join(workspace, 'burns.json'), file);
    const values: Readonly<Record<string, string>> = {
      'vars.FLYWHEEL_API_URL': gate.url,
      'secrets.FLYWHEEL_API_KEY': home.key,
      'github.workspace': workspace,
    };
    const filled = (env: Readonly<Record<string, string>> = {}) =>
      Object.fromEntries(
        Object.entries(env).map(([name, value]) => [
          name,
          value.replace(/\$\{\{ (\S+) \}\}/g, (_, asked: string) => values[asked] ?? `no ${asked}`),
        ]),
      );
    const env = { ...filled(job.env), PAUSES: '0 0' };
    let ended = { status: 0 as number | null, said: '' };
    for (const { name, run, env: own } of job.steps) {
      if (run === undefined || name === 'Install' || ended.status !== 0) continue;
      const script = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run];
      const { status, said } = await shell(script, workspace, { ...env, ...filled(own) });
      ended = { status, said: `${ended.said}${said}` };
    }
    return { ...ended, workspace };
  }

  it('names actions by their commit, and gives the key to one step only', () => {
    for (const { uses } of job.steps) if (uses !== undefined) expect(uses).toMatch(/^[\w/-]+@[0-9a-f]{40}$/);
    for (const line of text.split('\n'))
      if (line.includes('uses:')) expect(line).toMatch(/ # v\d+\.\d+\.\d+$/);
    const keyed = job.steps.filter((step) => JSON.stringify(step).includes('secrets.'));
    expect(keyed.map(({ name }) => name)).toEqual(['Burn']);
    expect(text).toContain(`flywheel@${JSON.parse(readFileSync('package.json', 'utf8')).version}`);
  });

  it('burns, and again burns nothing', async () => {
    const before = await burned();
    const file = burns(1, 2);
    const first = await runJob(file);
    expect(first).toMatchObject({ status: 0, said: expect.stringContaining('::notice::Burned 2 of them.') });
    expect((await runJob(file)).status).toBe(0);
    expect(await burned()).toBe(before + 3);
  });

  it('resumes where answers were lost, and burns once', async () => {
    const before = await burned();
    trouble.lost = 5;
    expect(await runJob(burns(4))).toMatchObject({ status: 0, said: expect.stringContaining('Burned 1') });
    expect(trouble.lost).toBe(0);
    expect(await burned()).toBe(before + 4);
  });

  it('says so where nothing is known in the end, and the next run learns it', async () => {
    const before = await burned();
    trouble.lost = 1_000;
    const file = burns(8);
    const first = await runJob(file);
    expect(first).toMatchObject({
      status: EXIT.unknownOutcome,
      said: expect.stringContaining('not known yet'),
    });
    trouble.lost = 0;
    expect(await runJob(file, first.workspace)).toMatchObject({ status: 0 });
    expect(await burned()).toBe(before + 8);
  });

  it('fails for elements that fail, and keeps them', async () => {
    const ended = await runJob(burns(1, TOO_MUCH));
    expect(ended).toMatchObject({
      status: EXIT.partial,
      said: expect.stringContaining('Some elements failed'),
    });
    expect(JSON.parse(readFileSync(join(ended.workspace, 'failed.json'), 'utf8'))).toHaveLength(1);
  });

  it('sends nothing of a file that is wrong', async () => {
    const before = await burned();
    expect(await runJob('[{"type": 1}]')).toMatchObject({ status: EXIT.usage });
    expect(await burned()).toBe(before);
  });
});

describe('the script for cron', () => {
  const script = join(ROOT, 'examples/cron/burn-spool.sh');
  let spool = '';
  let user = '';
  beforeEach(() => {
    user = emptyDirectory();
    spool = join(user, 'spool');
    mkdirSync(join(spool, 'new'), { recursive: true });
  });
  const put = (name: string, file: string): void => writeFileSync(join(spool, 'new', `${name}.json`), file);
  const runs = (more: Record<string, string> = {}) =>
    shell([script, spool], user, { FLYWHEEL_API_URL: gate.url, FLYWHEEL_API_KEY: home.key, ...more });
  const inside = (folder: string): readonly string[] => readdirSync(join(spool, folder)).sort();

  it('puts each file aside by what came of it', async () => {
    const before = await burned();
    put('a', burns(1));
    put('b', burns(2, TOO_MUCH));
    put('c', '[]nonsense');
    expect(await runs()).toEqual({ status: 0, said: '' });
    expect([inside('new'), inside('done'), inside('failed'), inside('refused')]).toEqual([
      [],
      ['a.json', 'a.result', 'b.json', 'b.result', 'c.result'],
      ['b.json'],
      ['c.json'],
    ]);
    expect(readFileSync(join(spool, 'burn.log'), 'utf8')).toMatch(
      /Z a: exit 0\n.*Z b: exit 3\n.*Z c: exit 2\n/s,
    );
    expect(await burned()).toBe(before + 3);
  });

  it.each([
    ['is away', { away: true, lost: 0 }],
    ['does not answer', { away: false, lost: 1_000 }],
  ])('keeps a file while the service %s, and burns it once', async (_, met) => {
    const before = await burned();
    put('a', burns(16));
    trouble = { ...met };
    for (const _run of [1, 2]) expect(await runs()).toEqual({ status: 0, said: '' });
    expect(inside('new')).toEqual(['a.json']);
    trouble = { away: false, lost: 0 };
    expect(await runs()).toEqual({ status: 0, said: '' });
    expect([inside('new'), inside('done')]).toEqual([[], ['a.json', 'a.result']]);
    expect(await burned()).toBe(before + 16);
  });

  it('stops for a key that is not taken', async () => {
    put('a', burns(1));
    put('b', burns(1));
    expect(await runs({ FLYWHEEL_API_KEY: 'fwk_wrong' })).toEqual({ status: EXIT.auth, said: '' });
    expect(inside('new')).toEqual(['a.json', 'b.json']);
  });

  it('leaves everything to a run that is busy', async () => {
    put('a', burns(1));
    const busy = 'exec 9> "$0/lock"; flock 9; bash "$1" "$0"; exit $?';
    expect(await shell(['-c', busy, spool, script], user, {})).toEqual({ status: 0, said: '' });
    expect(inside('new')).toEqual(['a.json']);
    expect(existsSync(join(spool, 'burn.log'))).toBe(false);
  });
});
