/** A command that a person or a script repeats, by mistake or after a failure, takes effect once. */

import { generateKeyPairSync } from 'node:crypto';
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FILES } from '../simulation/audit/tables.js';
import { flywheelHere, letGo } from '../support/flywheel-here.js';
import { isLong, sampleOf } from '../support/long.js';
import { emptyDirectory, ending, flywheel, type Spawned, startFlywheel } from '../support/spawn.js';
import { rawSqlite } from '../support/store.js';
import { burnsOf, initiated, pipelinesOf } from './deeds.js';
import { type Altered, type Fate, startGate } from './gate.js';
import { anOperator, expectProblem, gateOf, type Operator, problemOf, resumeLineOf } from './operator.js';

const DAY_MS = 86_400_000;

const INIT = ['--daily-burn', '100', '--vault-tokens', '1000'];

/** One valid burn and two of an unknown proof type. */
const mixedBurnsOf = (name: string) =>
  burnsOf(name).map((burn, at) => (at === 0 ? burn : { ...burn, type: 'NOPE' }));
const fresh = (): Promise<Operator> => anOperator('embedded', INIT);
const burned = async (operator: Operator): Promise<string> => (await operator.happened()).burned;
const runWords = (operator: Operator, file: string, ...more: readonly string[]): readonly string[] => [
  ...['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json', ...more],
];
/** Behind a service; shared by tests that do not need an empty ledger. */
let remote: Operator;
beforeAll(async () => {
  remote = await anOperator('remote', INIT);
});
afterAll(() => remote.leave());
const executions = ({ gate }: Operator): void => {
  if (gate !== null) gate.fate = ({ path }) => (path.endsWith('/execute') ? 'lose' : 'pass');
};
const passAll = ({ gate }: Operator): void => {
  if (gate !== null) gate.fate = () => 'pass';
};

const notices = ({ stderr }: Spawned): string => stderr;

describe('a batch run', () => {
  it('that is broken off at its execution goes on with the same batch, by its line and by itself', async () => {
    const words = runWords(remote, remote.write('p.json', pipelinesOf('p')));
    const from = remote.gate?.requests.length;
    executions(remote);
    const lost = await remote.run(...words);
    expect(lost.exit).toBe(7);
    passAll(remote);
    const [resumed, again] = [await remote.paste(resumeLineOf(lost)), await remote.run(...words)];
    expect([resumed.exit, again.exit]).toEqual([0, 0]);
    expect(JSON.parse(again.stdout)).toEqual(JSON.parse(resumed.stdout));
    expect(await remote.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    const inits = remote.gate?.requests.slice(from).filter(({ path }) => path.endsWith('/init'));
    expect(inits).toHaveLength(1);
  });
});

describe('a file that is done once more', () => {
  /** Two burns within the daily cap together, but not twice. */
  const pair = (name: string) =>
    [40, 30].map((burnAmount, index) => ({ ...burnsOf(name)[index], burnAmount }));
  let operator: Operator;
  afterAll(() => operator.leave());
  const burns = async (...more: readonly string[]) =>
    operator.run('burn-batch', operator.write('pair.json', pair('pair')), '--yes', '--json', ...more);
  const losing = async (run: () => Promise<Spawned>): Promise<Spawned> => {
    gateOf(operator).fate = ({ path }) => (path.endsWith('/burn-batch') ? 'lose' : 'pass');
    return run().finally(() => passAll(operator));
  };

  it('is looked up as any other, after its answer was lost, and it was forgotten here or there', async () => {
    operator = await anOperator('remote', INIT);
    expect((await losing(() => burns())).exit).toBe(7);
    // A refused burn leaves no counted usage.
    expect((await burns('--again')).exit).toBe(2);
    expect((await burns()).exit).toBe(0);
    expect((await burns('--again')).exit).toBe(3);
    expect(await burned(operator)).toBe('100');
    await operator.run('caps', '--burn', 'none', '--yes', '--data-dir', operator.dataDir);
    expect((await losing(() => burns('--rest'))).exit).toBe(7);
    const [{ id } = { id: '' }] = await operator.pending();
    expect((await operator.run('pending', 'forget', id, '--yes')).exit).toBe(0);
    expect((await burns('--rest')).exit).toBe(0);
    expect(await burned(operator)).toBe('140');

    const lost = await losing(() => burns('--again'));
    expect(lost.exit).toBe(7);
    const rest = await burns('--rest');
    expect([rest.exit, resumeLineOf(rest)]).toEqual([2, resumeLineOf(lost)]);
    // As after thirty days, when requests are forgotten.
    const store = join(operator.dataDir, 'store.db');
    rawSqlite(store, `update requests set value = id`, {
      foreignKeys: false,
      checks: false,
    });
    expect((await operator.paste(resumeLineOf(lost))).exit).toBe(2);
    expect(await burned(operator)).toBe('210');
  });
});

describe('a key', () => {
  const KEY = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f1a';

  it('is the same in capitals', async () => {
    const operator = await fresh();
    const file = operator.write('b.json', burnsOf('b'));
    const [first, capital] = [
      await operator.run('burn-batch', file, '--idempotency-key', KEY),
      await operator.run('burn-batch', file, '--idempotency-key', KEY.toUpperCase()),
    ];
    expect([capital.exit, capital.stdout]).toEqual([0, first.stdout]);
    expect(await burned(operator)).toBe('3');
  });

  it('of a batch run is no dead end once the approval has landed', async () => {
    const before = Number(await burned(remote));
    const words = runWords(
      remote,
      remote.write('k.json', pipelinesOf('k')),
      '--idempotency-key',
      'key-of-mine',
    );
    executions(remote);
    expect((await remote.run(...words)).exit).toBe(7);
    passAll(remote);
    expect((await remote.run(...words)).exit).toBe(0);
    expect(Number(await burned(remote)) - before).toBe(3);
  });
});

describe('an execution by an approval file', () => {
  it('is resumed, and run again, when the batch is executed already', async () => {
    const before = Number(await burned(remote));
    const file = remote.write('a.json', pipelinesOf('a'));
    const init = await remote.run('batch', 'init', file, '--out', 'approval.json', '--json');
    const { id } = JSON.parse(init.stdout).batch;
    const words = ['batch', 'execute', id, '--approval', 'approval.json', '--keypair', remote.owner];
    executions(remote);
    const lost = await remote.run(...words, '--expect', file, '--yes');
    expect(lost.exit).toBe(7);
    passAll(remote);
    const again = await remote.run(...words, '--expect', file, '--yes');
    expect([again.exit, JSON.parse(again.stdout).result.totalSuccessful]).toEqual([0, 3]);
    expect(remote.open()).toEqual([]);
    expect(Number(await burned(remote)) - before).toBe(3);
  });
});

describe('an answer that cannot be written', () => {
  const shell = (operator: Operator, line: string): Promise<Spawned> => operator.paste(line);

  it.each(
    [
      ['burn', `burn --type WATCH_AD --proof '{"a":1}' --amount 3`],
      ['burn-batch', 'burn-batch "$HOME/b.json"'],
      ['batch run', 'batch run "$HOME/p.json" --keypair "$HOME/owner.json" --yes'],
    ].slice(0, isLong ? 3 : 1),
  )('of %s is printed again, and nothing is done', async (_command, words) => {
    for (const sink of sampleOf(['> /dev/full', '| true'], words.startsWith('burn --type') ? 2 : 1)) {
      const operator = await fresh();
      operator.write('b.json', burnsOf('b'));
      operator.write('p.json', pipelinesOf('p'));
      const lost = await shell(operator, `flywheel ${words} --json ${sink}`);
      if (sink.startsWith('>')) expectProblem(lost, 1, { error: 'ERR_OUTPUT_FAILED' });
      expect(await burned(operator)).toBe('3');
      const [row] = await operator.pending();
      if (sink.startsWith('>')) expect(row).toMatchObject({ outcome: 'not printed yet' });
      const again = await shell(operator, `flywheel ${words} --json`);
      expect([again.exit, again.stdout === '']).toEqual([0, false]);
      expect(await operator.pending()).toEqual([]);
      // A reader that closes the pipe early may have seen the result or nothing. A repeated plain burn is a new operation.
      if (row !== undefined || !words.startsWith('burn --type')) expect(await burned(operator)).toBe('3');
    }
  });

  it('of a report is told', async () => {
    expectProblem(await shell(await fresh(), 'flywheel report --json > /dev/full'), 1, {
      error: 'ERR_OUTPUT_FAILED',
    });
  });

  it.each(
    sampleOf(
      [
        ['batch init', '--out'],
        ['burn-batch', '--failed-out'],
      ] as const,
      1,
    ),
  )('of %s into a file (%s) neither', async (command, option) => {
    const operator = await fresh();
    operator.write('b.json', mixedBurnsOf('b'));
    operator.write('p.json', pipelinesOf('p'));
    // The name is short enough, but the name of a temporary file beside it is not.
    const name = 'n'.repeat(250);
    const isInit = command === 'batch init';
    const words = [...command.split(' '), isInit ? 'p.json' : 'b.json', '--json'];
    const before = isInit ? '0' : '1';
    expectProblem(await operator.run(...words, option, name), 1, { stdout: '', error: 'ERR_OUTPUT_FAILED' });
    const happened = await operator.happened();
    expect(happened.burned).toBe(before);
    expect((await operator.run(...words, option, name)).exit).toBe(1);
    const again = await operator.run(...words, option, 'out.json');
    expect([again.exit, again.stdout === '']).toEqual([isInit ? 0 : 3, false]);
    expect(await operator.happened()).toEqual(happened);
    expect(await operator.pending()).toEqual([]);
  });
});

describe('the journal', () => {
  it('goes along with the data directory, moved or reached by another name', async () => {
    const operator = await fresh();
    const file = operator.write('b.json', burnsOf('b'));
    expect((await operator.run('burn-batch', file)).exit).toBe(0);
    const elsewhere = join(operator.directory, 'elsewhere');
    symlinkSync(operator.dataDir, elsewhere);
    expect((await operator.run('burn-batch', file, '--data-dir', elsewhere)).exit).toBe(0);
    const moved = join(operator.directory, 'moved');
    renameSync(operator.dataDir, moved);
    const again = await operator.run('burn-batch', file, '--data-dir', moved);
    expect([again.exit, notices(again)]).toEqual([0, expect.stringMatching('Already done')]);
    const status = await operator.run('local', 'status', '--data-dir', moved, '--json');
    expect(JSON.parse(status.stdout).burned).toBe('3');
  });

  it.each(sampleOf([366, 31, -2], 1))('outlives a clock that jumps by %i days', async (days) => {
    const jumped = { clockAheadMs: days * DAY_MS };
    const operator = await fresh();
    const file = operator.write('b.json', burnsOf('b'));
    const once = ['burn', '--once', '--type', 'WATCH_AD', '--proof', '{"a":1}', '--amount', '3'];
    expect((await operator.run('burn-batch', file)).exit).toBe(0);
    // The outcome is stored, but could not be printed.
    await operator.paste(`flywheel ${once.map((word) => `'${word}'`).join(' ')} > /dev/full`);
    for (const words of [['burn-batch', file], once]) {
      const then = await operator.runWith(jumped, ...words, '--json');
      expect([days, then.exit, notices(then)]).toEqual([days, 0, expect.stringMatching('Already done')]);
    }
    expect(await burned(operator)).toBe('6');
  });
});

describe('a batch that is set up', () => {
  it('waits for a day with room, and is refused until then', async () => {
    const operator = await anOperator('embedded', ['--daily-burn', '4', '--vault-tokens', '1000']);
    await initiated(operator, 'p');
    const words = runWords(operator, 'p.json');
    const [next, after] = [{ clockAheadMs: DAY_MS }, { clockAheadMs: 2 * DAY_MS }];
    const burn = ['burn', '--type', 'WATCH_AD', '--proof', '{"a":1}', '--amount', '2'];
    expect((await operator.runWith(next, ...burn)).exit).toBe(0);
    for (const _ of ['run', 'run again']) {
      expectProblem(await operator.runWith(next, ...words), 5, { error: 'ERR_DAILY_LIMIT_EXCEEDED' });
      const [waiting] = JSON.parse((await operator.runWith(next, 'pending', '--json')).stdout);
      expect(waiting.outcome).toBe('waits for approval');
    }
    expect((await operator.runWith(after, ...words)).exit).toBe(0);
    expect(await burned(operator)).toBe('5');
  });

  it('is in the way of the same proofs with another amount, and can be cancelled for them', async () => {
    const operator = await fresh();
    await initiated(operator, 'waiting');
    const more = pipelinesOf('waiting').map((one) => ({
      ...one,
      actions: [{ action: 'BURN', amount: 2 }],
    }));
    const words = runWords(operator, operator.write('more.json', more));
    for (const how of [[], ['--rest'], ['--allow-changed'], ['--dry-run']]) {
      expectProblem(await operator.run(...words, ...how), 2, { hint: 'flywheel batch cancel ' });
    }
    const refused = await operator.run(...words);
    const [line = ''] = /flywheel batch cancel [^`]*/.exec(problemOf(refused).hint ?? '') ?? [];
    expect((await operator.paste(`${line} --keypair ${operator.owner}`)).exit).toBe(0);
    expect((await operator.run(...words)).exit).toBe(0);
    expect(await burned(operator)).toBe('6');
  });

  it('leaves its approval where it says, and is approved by its id', async () => {
    const operator = await fresh();
    const file = operator.write('p.json', pipelinesOf('p'));
    const init = await operator.run('batch', 'init', file, '--json');
    const { id } = JSON.parse(init.stdout).batch;
    expect(notices(init)).toContain(join(operator.dataDir, 'approvals', `${id}.json`));
    const signing = ['--keypair', operator.owner, '--expect', file, '--yes', '--json'];
    const approved = await operator.run('batch', 'approve', id, ...signing);
    const signed = operator.write('signed.json', JSON.parse(approved.stdout));
    expect((await operator.run('batch', 'execute', id, '--signed-tx', `@${signed}`)).exit).toBe(0);
    expect(await burned(operator)).toBe('3');
  });

  it('is not set up by a run that could never be approved', async () => {
    const operator = await fresh();
    const file = operator.write('p.json', pipelinesOf('p'));
    const stranger = join(operator.directory, 'stranger.json');
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const [d, x] = [privateKey.export({ format: 'jwk' }).d, publicKey.export({ format: 'jwk' }).x].map(
      (part) => Buffer.from(part ?? '', 'base64url'),
    ) as [Buffer, Buffer];
    writeFileSync(stranger, JSON.stringify([...d, ...x]), { mode: 0o600 });
    writeFileSync(join(operator.directory, 'empty.json'), '', { mode: 0o600 });
    for (const [keypair, exit] of [
      [stranger, 9],
      ['empty.json', 2],
      ['missing.json', 2],
    ] as const) {
      const refused = await operator.run('batch', 'run', file, '--keypair', keypair, '--yes');
      expect([keypair, refused.exit]).toEqual([keypair, exit]);
    }
    expect(await operator.happened()).toMatchObject({ batches: [] });
    expect(await operator.pending()).toEqual([]);
  });
});

describe('a corrected file', () => {
  const [first, second, third] = pipelinesOf('c');
  const CHANGED = ['--rest', '--allow-changed'];

  /** Two pipelines landed as they are, and one with another amount. */
  async function corrected(): Promise<{ operator: Operator; words: readonly string[] }> {
    const operator = await fresh();
    expect((await operator.run(...runWords(operator, operator.write('c.json', pipelinesOf('c'))))).exit).toBe(
      0,
    );
    const file = [first, second, { ...third, actions: [{ action: 'BURN', amount: 5 }] }];
    return { operator, words: runWords(operator, operator.write('corrected.json', file)) };
  }

  const setUp = async (operator: Operator, ...how: readonly string[]): Promise<string> => {
    const { stdout } = await operator.run('batch', 'init', 'corrected.json', '--json', ...how);
    return JSON.parse(stdout).batch.id;
  };
  const cancel = async (operator: Operator, id: string): Promise<void> => {
    const words = ['batch', 'cancel', id, '--keypair', operator.owner, '--yes'];
    expect((await operator.run(...words)).exit).toBe(0);
  };

  it.each(sampleOf([['--again'], CHANGED], 2))(
    'of which a batch was cancelled (%s) pays what has not landed, and no hint says more',
    async (...how) => {
      const { operator, words } = await corrected();
      const id = await setUp(operator, ...how);
      await cancel(operator, id);
      for (const more of [words, ['batch', 'execute', id, ...words.slice(3)]]) {
        const { hint = '' } = problemOf(await operator.run(...more));
        expect([more, hint]).toEqual([more, expect.stringMatching(/--rest(?!.*--again)/)]);
      }
      expectProblem(await operator.run(...words, '--rest'), 2, { hint: '--allow-changed' });
      expect([await burned(operator), await operator.pending()]).toEqual(['3', []]);
      for (const more of [['--dry-run'], [], []])
        expect((await operator.run(...words, ...CHANGED, ...more)).exit).toBe(0);
      expect(await burned(operator)).toBe('8');
    },
  );

  it('of which every pipeline landed with another amount is no reason to send the whole file again', async () => {
    const { operator } = await corrected();
    const words = runWords(
      operator,
      operator.write('corrected.json', [{ ...third, actions: [{ action: 'BURN', amount: 5 }] }]),
    );
    await cancel(operator, await setUp(operator, '--allow-changed'));
    expectProblem(await operator.run(...words), 2, { hint: /--rest(?!.*--again)/ });
    expect((await operator.run(...words, '--rest')).exit).toBe(2);
    expect((await operator.run(...words, ...CHANGED)).exit).toBe(0);
    expect(await burned(operator)).toBe('8');
  });

  it('whose batch repeats all of it, and waits, is not what --rest asks for', async () => {
    const { operator, words } = await corrected();
    const id = await setUp(operator, '--again');
    for (const more of [['--rest'], CHANGED, [...CHANGED, '--dry-run']]) {
      const refused = await operator.run(...words, ...more);
      expect([more, refused.exit, problemOf(refused)]).toMatchObject([
        ...[more, 2],
        {
          message: expect.stringMatching(`--again.* it set up batch ${id}`),
          hint: expect.stringMatching(`\`flywheel batch cancel ${id} [^\`]*\``),
        },
      ]);
    }
    expect(await burned(operator)).toBe('3');
    const [, line = ''] =
      /`(flywheel batch execute [^`]*)`/.exec(problemOf(await operator.run(...words, '--rest')).hint ?? '') ??
      [];
    expect((await operator.paste(line)).exit).toBe(0);
    expect(await burned(operator)).toBe('10');
  });

  it('is told how much of it is new, and its result is that of the batch', async () => {
    const { operator, words } = await corrected();
    const refused = await operator.run(...words, '--rest');
    expect([refused.exit, problemOf(refused).hint]).toEqual([2, expect.not.stringContaining('new pipeline')]);
    expect(refused.stderr).not.toMatch(/another amount.*skipped/);
    const ran = await operator.run(...words, ...CHANGED, '--output', 'human');
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringMatching(/^pipelines +1\nburns +5 /m)]);
    const told = await operator.run(...words, '--output', 'human');
    expect([told.exit, told.stdout]).toEqual([0, ran.stdout]);
  });
});

describe('consent to pay proofs again', () => {
  it('that was given with init counts for its batch, but for no other machine', async () => {
    const operator = await fresh();
    const file = operator.write('p.json', pipelinesOf('p'));
    expect((await operator.run(...runWords(operator, file))).exit).toBe(0);
    await letGo(operator.directory);
    const journal = join(operator.dataDir, 'journal.db');
    const ofAnother = readFileSync(journal);
    const init = await operator.run('batch', 'init', file, '--again', '--json');
    const { id } = JSON.parse(init.stdout).batch;
    const approve = () =>
      operator.run('batch', 'approve', id, '--keypair', operator.owner, '--expect', file, '--yes', '--json');
    const signed = await approve();
    expect([signed.exit, notices(signed)]).toEqual([0, expect.stringContaining('TWICE: 3 of 3 proofs')]);
    await letGo(operator.directory);
    writeFileSync(journal, ofAnother);
    expectProblem(await approve(), 2, { stdout: '', hint: /flywheel batch approve .* --again/ });
  });
});

describe('a service', () => {
  let operator: Operator;
  let url: URL;
  beforeAll(async () => {
    operator = await anOperator('remote', INIT, { pinned: false });
    url = new URL(operator.gate?.url ?? '');
  });
  afterAll(() => operator.leave());

  const profiles = (): string => join(operator.directory, '.config/flywheel/profiles.json');

  it('is one place, however its address is written', async () => {
    const { port } = url;
    operator.write('place.json', burnsOf('place'));
    const before = Number(await burned(operator));
    expect((await operator.run('burn-batch', 'place.json')).exit).toBe(0);
    const addresses = [
      ...['', '/', '//', '/.', '/%2e', '/a/..', '/?', '#', '/#', '?#'].map(
        (end) => `http://127.0.0.1:${port}${end}`,
      ),
      ...[
        `HTTP://127.0.0.1:${port}`,
        `http://127.1:${port}`,
        `http://0x7f000001:${port}`,
        ` http:\\127.0.0.1:${port}`,
      ],
      ...[`http://127.0.0.1.:${port}`, `http://@127.0.0.1:${port}`, `http://:@127.0.0.1:${port}`],
      ...[`http://LocalHost:${port}`, `http://localhost.:${port}`],
    ];
    for (const address of sampleOf(addresses, 2)) {
      const again = await operator.run('burn-batch', 'place.json', '--api-url', address);
      const isDone = again.exit === 0 && /Already done/.test(again.stderr);
      expect([address, isDone || again.exit]).toEqual([address, /[?#]/.test(address) ? 2 : true]);
    }
    expect(Number(await burned(operator)) - before).toBe(3);
  });

  it('of another project than the pinned one gets nothing', async () => {
    const before = await burned(operator);
    const { multisig, owner, operator: signer } = operator.template.made;
    const pins = ['--multisig', multisig, '--owner', owner.address, '--operator', signer, '--mint', signer];
    const add = ['profile', 'add', 'other', '--api-url', url.href, '--api-key-stdin', ...pins];
    const added = await flywheelHere({ home: operator.directory, stdin: operator.key }, ...add);
    expect([added.exit, added.stderr]).toEqual([0, '']);
    const words = ['burn-batch', operator.write('pinned.json', burnsOf('pinned'))];
    const refused = async (...all: string[]): Promise<void> =>
      expectProblem(await operator.run(...all), 2, { error: 'ERR_CONFIG_INVALID' });
    for (const more of [[], ['--dry-run']]) await refused(...words, '-p', 'other', ...more);
    // The key is replaced while the outcome is open.
    const gate = gateOf(operator);
    gate.fate = ({ method }) => (method === 'POST' ? 'drop' : 'pass');
    const right = [...words, '-p', 'right'];
    const rightPins = [...add.slice(0, -1), operator.template.made.mintAddress].with(2, 'right');
    await flywheelHere({ home: operator.directory, stdin: operator.key }, ...rightPins);
    expect((await operator.run(...right)).exit).toBe(7);
    const alter = ({ status, body }: Altered) => ({
      status,
      body: { ...(body as object), mintAddress: signer },
    });
    gate.fate = ({ path }) => (path.endsWith('/tokenomics/key') ? { alter } : 'pass');
    for (const all of [right, ['pending', 'resume', '-p', 'right']])
      expectProblem(await operator.run(...all), 7, { message: /key is of the project/ });
    expect(await burned(operator)).toBe(before);
    gate.fate = () => 'pass';
    expect((await operator.run('pending', 'resume', '-p', 'right')).exit).toBe(0);
    // Without pins the file is another operation there, and the open one does not go there.
    const file = ['burn-batch', operator.write('unpinned.json', burnsOf('unpinned'))];
    gate.fate = ({ method }) => (method === 'POST' ? 'drop' : 'pass');
    const open = problemOf(await operator.run(...file));
    const [{ id } = expect.fail()] = await operator.pending();
    gate.fate = ({ method, path }) =>
      path.endsWith('/tokenomics/key')
        ? { alter }
        : method === 'POST'
          ? { refuse: 401, withItsId: true }
          : 'pass';
    const there = problemOf(await operator.run(...file));
    expect([open.error, there.error]).toEqual(['ERR_OUTCOME_UNKNOWN', 'ERR_UNAUTHORIZED']);
    expect(there.idempotencyKey).not.toBe(open.idempotencyKey);
    const once = [{ refuse: 503 }];
    gate.fate = ({ path }) => (path.endsWith('/tokenomics/key') ? (once.pop() ?? { alter }) : 'pass');
    expectProblem(await operator.run('pending', 'resume', id), 7, { message: /of another project/ });
    expect(Number(await burned(operator)) - Number(before)).toBe(3);
    gate.fate = () => 'pass';
    expect((await operator.run(...file)).exit).toBe(0);
  });

  it('that hides burns of some types from a key is not said to have lost them', async () => {
    const [burn] = burnsOf('hidden');
    const two = ['WATCH_AD', 'PRODUCT_BUY'].map((type) => ({ ...burn, type }));
    const words = ['burn-batch', operator.write('hidden.json', two)];
    const before = Number(await burned(operator));
    expect((await operator.run(...words)).exit).toBe(0);
    const { directory: home, dataDir } = operator;
    const create = ['keys', 'create', '--proof-type', 'WATCH_AD', '--data-dir', dataDir, '--local', '--json'];
    const { key } = JSON.parse((await flywheelHere({ home }, ...create)).stdout);
    const env = { FLYWHEEL_API_KEY: key };
    const limited = (...all: string[]) => flywheelHere({ home, env }, ...all, '--api-url', operator.server);
    const again = await limited(...words);
    expect([again.exit, again.stderr]).toEqual([0, expect.stringContaining('may not see')]);
    // What the key may see counts as ever.
    const [seen] = burnsOf('seen');
    const elsewhere = { home: emptyDirectory(), env: { FLYWHEEL_API_KEY: operator.key } };
    const other = ['burn-batch', '-', '--api-url', operator.server];
    expect((await flywheelHere({ ...elsewhere, stdin: JSON.stringify([seen]) }, ...other)).exit).toBe(0);
    const all = ['burn-batch', operator.write('all.json', [...two, seen]), '--rest'];
    expect(JSON.parse((await limited(...all)).stdout)).toMatchObject({ skipped: 3 });
    expect(Number(await burned(operator)) - before).toBe(3);
    // Another key of the project may be refused what this one has under way.
    const gate = gateOf(operator);
    const single = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"limited":1}', '--amount', '1'];
    gate.fate = ({ path }) => (path.endsWith('/tokenomics/key') ? { refuse: 503 } : 'pass');
    expect([(await operator.run(...words, '--again')).exit, await operator.pending()]).toEqual([6, []]);
    expect((await operator.run(...words, '--again', '--dry-run')).exit).toBe(0);
    gate.fate = ({ method }) => (method === 'POST' ? 'drop' : 'pass');
    expect((await operator.run(...single)).exit).toBe(7);
    gate.fate = () => 'pass';
    expectProblem(await limited(...single), 7, { message: /not permitted/ });
    expect(await operator.pending()).toHaveLength(1);
    expect((await operator.run(...single)).exit).toBe(0);
    for (const more of [[], ['--dry-run']])
      expectProblem(await limited(...words, '--again', ...more), 2, {
        message: /again needs a key that may/,
      });
    // Counts of what landed that lack what the key may not see are not kept either.
    const door = await startGate(operator.server, []);
    let asked = 0;
    door.fate = ({ path }) => {
      if (path.endsWith('/tokenomics/key')) asked += 1;
      return asked > 2 ? { refuse: 503, withItsId: true } : 'pass';
    };
    const refused = await flywheelHere(
      { home, env },
      ...words,
      '--again',
      '--api-url',
      door.url,
      '--max-wait',
      '0',
    );
    expect([refused.exit, await operator.pending()]).toEqual([2, []]);
    await door.close();
    expect(Number(await burned(operator)) - before).toBe(4);
  });

  it('of which an outcome is open, or at which a batch waits, keeps its address in the profile', async () => {
    const gate = gateOf(operator);
    const before = Number(await burned(operator));
    const profile = (...words: string[]): Promise<Spawned> =>
      flywheelHere({ home: operator.directory, stdin: operator.key }, 'profile', ...words);
    const add = ['add', 'works', '--update', '--api-url'];
    const moved = `http://127.0.0.2:${url.port}`;
    const text = readFileSync(profiles(), 'utf8');
    const stays = async (): Promise<void> => {
      for (const words of [
        [...add, moved],
        [...add, moved, '--api-key-stdin'],
        ['remove', 'works'],
      ]) {
        expectProblem(await profile(...words), 2, { hint: '`flywheel pending resume --profile works`' });
      }
      expect(readFileSync(profiles(), 'utf8')).toBe(text);
    };
    operator.write('moved.json', burnsOf('moved'));
    gate.fate = ({ method }) => (method === 'POST' ? 'lose' : 'pass');
    expect((await operator.run('burn-batch', 'moved.json')).exit).toBe(7);
    gate.fate = () => 'pass';
    await stays();
    // The same address written differently, or other settings, are the same service.
    const same = await profile(...add, `HTTP://127.1:${url.port}//`);
    expect([same.exit, await operator.pending()]).toMatchObject([0, [{ outcome: 'unknown' }]]);
    writeFileSync(profiles(), text);
    expect((await operator.run('pending', 'resume')).exit).toBe(0);
    expect((await operator.run('burn-batch', 'moved.json')).exit).toBe(0);
    expect(Number(await burned(operator)) - before).toBe(3);
    const id = await initiated(operator, 'waiting');
    await stays();
    const cancel = ['batch', 'cancel', id, '--keypair', operator.owner, '--yes'];
    expect((await operator.run(...cancel)).exit).toBe(0);
  });
});

describe('a file that a command writes', () => {
  const OLD = 'from yesterday';
  const at = ({ directory }: Operator, name: string): string => join(directory, name);
  const text = (operator: Operator, name: string): string => readFileSync(at(operator, name), 'utf8');
  const put = (operator: Operator, name: string): string => {
    writeFileSync(at(operator, name), OLD);
    return name;
  };
  /** All commands that write a file, each as a separate operation. */
  const writing = async (operator: Operator, name: string): Promise<readonly (readonly string[])[]> => {
    const [burns, pipelines] = [operator.write('b.json', mixedBurnsOf(name)), pipelinesOf(name)];
    const run = operator.write('r.json', pipelines);
    const init = operator.write('i.json', pipelinesOf(`${name}2`));
    const id = await initiated(operator, `${name}3`);
    const signing = ['--keypair', operator.owner, '--expect', `${name}3.json`, '--yes'];
    return [
      ['burn-batch', burns, '--failed-out'],
      ['batch', 'run', run, '--keypair', operator.owner, '--yes', '--failed-out'],
      ['batch', 'init', init, '--failed-out'],
      ['batch', 'init', init, '--out'],
      ['batch', 'approve', id, ...signing, '--out'],
      ['batch', 'execute', id, ...signing, '--failed-out'],
      ['report', '--html'],
      ['profile', 'pin', '--yes', '--out'],
    ];
  };

  it('takes the place of no file, and nothing is sent', async () => {
    const operator = await fresh();
    const commands = await writing(operator, 'n');
    const before = await operator.happened();
    for (const words of sampleOf(commands, 2)) {
      expectProblem(await operator.run(...words, put(operator, 'old.json'), '--json'), 2, {
        stdout: '',
        error: 'ERR_INPUT_INVALID',
        hint: '--force',
      });
      expect(text(operator, 'old.json')).toBe(OLD);
    }
    expect(await operator.happened()).toEqual(before);
    expect(await operator.pending()).toEqual([]);
    const [, , , init = [], approve = [], , report = [], pin = []] = commands;
    for (const words of sampleOf([commands[0] ?? [], approve, report, pin, init], 1)) {
      const { exit } = await operator.run(...words, put(operator, 'old.json'), '--force', '--json');
      expect([words, exit]).toEqual([words, words[0] === 'burn-batch' ? 3 : 0]);
      expect(text(operator, 'old.json')).not.toBe(OLD);
    }
  });

  it('is no input, no key, no database and nothing of the data directory, with --force either', async () => {
    const operator = await fresh();
    const commands = await writing(operator, 'p');
    const { directory, dataDir } = operator;
    mkdirSync(at(operator, '.config/flywheel'), { recursive: true });
    writeFileSync(at(operator, '.config/flywheel/profiles.json'), '{"profiles":{}}', { mode: 0o600 });
    const [key = ''] = readdirSync(join(dataDir, 'keys'));
    const stranger = at(operator, 'stranger.json');
    writeFileSync(stranger, JSON.stringify(Array.from({ length: 64 }, (_, n) => n)));
    symlinkSync(join(dataDir, 'api-key'), at(operator, 'link'));
    linkSync(join(dataDir, 'local.json'), at(operator, 'hard'));
    const never = [
      operator.owner,
      stranger,
      join(dataDir, 'keys', key),
      ...['store.db', 'ledger.db', 'local.json'].map((name) => join(dataDir, name)),
      at(operator, '.config/flywheel/profiles.json'),
      at(operator, 'link'),
      at(operator, 'hard'),
    ];
    const before = await operator.happened();
    for (const [at, file] of sampleOf(never, 5).entries()) {
      const was = readFileSync(file);
      for (const words of isLong ? [commands[0] ?? [], commands[7] ?? []] : [commands[(at % 2) * 7] ?? []]) {
        expectProblem(await operator.run(...words, file, '--force', '--json'), 2, {
          error: 'ERR_INPUT_INVALID',
        });
      }
      expect(readFileSync(file).equals(was) || file.endsWith('.db')).toBe(true);
    }
    const stdinFile = at(operator, operator.write('input.json', burnsOf('standard input')));
    const words = ['burn-batch', '-', '--failed-out', 'input.json', '--force'];
    const redirected = await flywheel(
      { home: directory, env: { FLYWHEEL_DATA_DIR: dataDir }, stdinFile },
      ...words,
    );
    expect(redirected).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('the command reads this file'),
    });
    const [, run = [], , , approve = [], execute = []] = commands;
    symlinkSync('p3.json', at(operator, 'expected'));
    linkSync(at(operator, 'r.json'), at(operator, 'pipelines'));
    const inputs = [
      [run, 'pipelines'],
      [run, operator.owner],
      [approve, 'expected'],
      [execute, 'expected'],
      [execute, operator.owner],
    ] as const;
    for (const [words, input] of sampleOf(inputs, 2)) {
      const refused = await operator.run(...words, input, '--force');
      expect([words, input, refused.exit]).toEqual([words, input, 2]);
    }
    expect(await operator.happened()).toEqual(before);
    expect(directory).not.toBe(dataDir);
  });

  it('is no key either where an operation is resumed that has noted it', async () => {
    const file = remote.write('noted.json', mixedBurnsOf('noted'));
    gateOf(remote).fate = ({ path }) => (path.endsWith('/burn-batch') ? 'lose' : 'pass');
    const lost = await remote.run('burn-batch', file, '--failed-out', 'noted-left.json', '--force', '--yes');
    passAll(remote);
    expect(lost.exit).toBe(7);
    const key = readFileSync(remote.owner, 'utf8');
    writeFileSync(at(remote, 'noted-left.json'), key, { mode: 0o600 });
    expect((await remote.paste(resumeLineOf(lost))).exit).toBe(2);
    expect(readFileSync(at(remote, 'noted-left.json'), 'utf8')).toBe(key);
    rmSync(at(remote, 'noted-left.json'));
    expect((await remote.paste(resumeLineOf(lost))).exit).toBe(3);
  });

  it('is left as it is where nothing is to be written, and is said to be of an earlier run', async () => {
    const operator = await fresh();
    const commands = {
      'burn-batch': ['burn-batch', operator.write('b.json', burnsOf('w'))],
      'batch run': runWords(operator, operator.write('p.json', pipelinesOf('w2'))),
    };
    for (const words of Object.values(commands)) {
      const warned = await operator.run(...words, '--failed-out', put(operator, 'old.json'), '--force');
      expect([words, warned.exit, text(operator, 'old.json')]).toEqual([words, 0, OLD]);
      expect(warned.stderr.split('\n').filter((line) => line.includes('"warning"'))).toEqual([
        expect.stringContaining('old.json'),
      ]);
      const none = await operator.run(...words, '--failed-out', 'none.json');
      expect([words, none.exit, existsSync(at(operator, 'none.json'))]).toEqual([words, 0, false]);
    }
    const { batch } = JSON.parse((await operator.run(...commands['batch run'], '--json')).stdout);
    for (const end of ['', '-wal', '-shm'])
      rmSync(join(operator.dataDir, `${FILES.journal}${end}`), { force: true });
    const elsewhere = await operator.run('batch', 'execute', batch.id, '--failed-out', 'none.json');
    expect([elsewhere.exit, elsewhere.stderr]).toEqual([0, expect.not.stringContaining('none.json')]);
  });

  it('is written by the same command again, unless somebody has changed it', async () => {
    const operator = await fresh();
    const words = [
      'burn-batch',
      operator.write('b.json', mixedBurnsOf('t')),
      '--failed-out',
      'left.json',
      '--json',
    ];
    const first = await operator.run(...words);
    const left = text(operator, 'left.json');
    expect([first.exit, JSON.parse(left)]).toEqual([3, mixedBurnsOf('t').slice(1)]);
    const again = await operator.run(...words);
    expect([again.exit, again.stdout, text(operator, 'left.json')]).toEqual([3, first.stdout, left]);
    const corrected = left.replaceAll('NOPE', 'WATCH_AD');
    writeFileSync(at(operator, 'left.json'), corrected);
    expect((await operator.run('burn-batch', 'left.json')).exit).toBe(0);
    expectProblem(await operator.run(...words), 1, { error: 'ERR_OUTPUT_FAILED' });
    expect(text(operator, 'left.json')).toBe(corrected);
    rmSync(at(operator, 'left.json'));
    expect([(await operator.run(...words)).exit, text(operator, 'left.json')]).toEqual([3, left]);
    expect(await burned(operator)).toBe('3');
  });

  it('holds the approval of its batch still, where init is run again', async () => {
    const operator = await fresh();
    const words = ['batch', 'init', operator.write('p.json', pipelinesOf('a')), '--out', 'a.json', '--json'];
    const first = await operator.run(...words);
    const approval = text(operator, 'a.json');
    const again = await operator.run(...words);
    expect([first.exit, again.exit, text(operator, 'a.json')]).toEqual([0, 0, approval]);
    expect(JSON.parse(again.stdout).batch.id).toBe(JSON.parse(approval).batch.id);
    const other = ['batch', 'init', operator.write('q.json', pipelinesOf('q')), '--out', 'a.json'];
    expect([(await operator.run(...other)).exit, text(operator, 'a.json')]).toEqual([2, approval]);
    expect(await operator.happened()).toMatchObject({ batches: ['FINALIZED'] });
  });
});

describe('another machine that lands a part of the file', () => {
  const burnsFrom = (name: string, from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => ({
      ...{ type: 'WATCH_AD', proof: { name, index: from + at }, burnAmount: 0.01, persistOnchain: false },
    }));
  const pipelinesFrom = (name: string, from: number, to: number) =>
    burnsFrom(name, from, to).map(({ type, proof: payload, burnAmount: amount }) => {
      return { type, payload, actions: [{ action: 'BURN', amount }] };
    });
  const fileOf = (kind: string, name: string, from: number, to: number): string =>
    remote.write(
      `${name.replace(/\W/g, '-')}-${from}.json`,
      kind.startsWith('batch ') ? pipelinesFrom(name, from, to) : burnsFrom(name, from, to),
    );
  const sends = (kind: string, file: string): readonly string[] =>
    kind.startsWith('batch ') ? runWords(remote, file) : ['burn-batch', file, '--yes', '--json'];

  const MEANWHILE = [
    ['burn-batch', 'GET', /burns\?.*idempotencyKey/, 2, 2],
    ['burn --once', 'GET', /burns\?.*idempotencyKey/, 2, 2],
    ['burn-batch', 'GET', /burns\?.*txHash/, 1_001, 3],
    ['batch run', 'GET', /idempotencyKey/, 2, 2],
    ['batch run', 'POST', /init$/, 2, 9],
    ['batch run', 'POST', /init$/, 2, 9, 'lose'],
    ['batch run', 'POST', /execute$/, 2, 9, { refuse: 429, withItsId: true }],
    ['batch execute', 'GET', /idempotencyKey/, 2, 2],
    ['batch execute', 'POST', /execute$/, 2, 2, { refuse: 429, withItsId: true }],
    ['burn-batch', 'POST', /burn-batch$/, 2, 7, { refuse: 429 }],
  ] as const;

  it.each(sampleOf(MEANWHILE, 3))('%s, at its %s of %s, is seen before more is sent', async (...row) => {
    const [kind, method, path, size, exit, then = 'pass'] = row;
    const name = `meanwhile ${kind} ${path} ${size} ${JSON.stringify(then)}`;
    const home = emptyDirectory();
    const profiles = '.config/flywheel/profiles.json';
    cpSync(join(remote.directory, profiles), join(home, profiles));
    const other = (...words: readonly string[]) => flywheelHere({ home, cwd: remote.directory }, ...words);
    const others = fileOf(kind, name, size, size + 1);
    const gate = gateOf(remote);
    const proof = JSON.stringify({ name, index: size });
    const own = fileOf(kind, name, 1, size);
    const signed = ['--keypair', remote.owner, '--yes'];
    const executes = async () => {
      const { batch } = JSON.parse((await remote.run('batch', 'init', own, '--json')).stdout);
      return ['batch', 'execute', batch.id, ...signed, '--expect', own, '--json'];
    };
    const words =
      kind === 'burn --once'
        ? ['burn', '--once', '--type', 'WATCH_AD', '--proof', proof, '--amount', '0.01', '--yes', '--json']
        : await (kind === 'batch execute' ? executes() : sends(kind, own));
    let held = false;
    gate.fate = async (request): Promise<Fate> => {
      if (held || request.method !== method || !path.test(request.path)) return 'pass';
      held = true;
      // A batch that waits is seen by others.
      const again = kind === 'batch execute' || /execute/.test(request.path) ? ['--again'] : [];
      expect((await other(...sends(kind, others), ...again)).exit).toBe(0);
      // A look-up counts for a second.
      await setTimeout(1_010);
      return then;
    };
    const before = Number(await burned(remote));
    const refused = await ending(startFlywheel({ home: remote.directory }, words));
    passAll(remote);
    expect(refused.exit, refused.stderr).toBe(exit);
    const sent = exit === 3 ? 1_000 : 0;
    expect(Number(await burned(remote)) - before).toBeCloseTo((sent + 2) / 100, 6);
    const { hint = '', message } = problemOf(refused);
    expect(message).toContain(`landed 1 of`);
    const end = { 'burn --once': '--again', 'batch execute': 'batch cancel' }[kind as string];
    if (end !== undefined) return expect(hint).toContain(end);
    if (exit === 7)
      expect([message, hint]).toEqual([
        expect.not.stringContaining('Nothing was'),
        expect.stringContaining('pending resume'),
      ]);
    if (exit === 9) {
      const [, cancel = ''] = /`(flywheel batch cancel [^`]+)`/.exec(hint) ?? [];
      expect((await remote.paste(`${cancel} ${signed.join(' ')}`)).exit).toBe(0);
    }
    const rest = await remote.run(...words, '--rest');
    expect(rest.exit, rest.stderr).toBe(0);
    expect(Number(await burned(remote)) - before).toBeCloseTo((size + 1) / 100, 6);
  });

  it('a look-up that is refused between two tries says nothing of the first', async () => {
    const words = sends('burn-batch', fileOf('burn-batch', 'between', 1, 1));
    const before = Number(await burned(remote));
    const body = { error: 'ERR_RATE_LIMIT_EXCEEDED', message: 'Later.' };
    // As where the network has doubled the request, and the service limits the second.
    const limited = { status: 429, body, withItsId: true };
    const gate = gateOf(remote);
    let isSent = false;
    gate.fate = async ({ method }): Promise<Fate> => {
      if (method === 'GET') return isSent ? { refuse: 401 } : 'pass';
      isSent = true;
      // A look-up counts for a second.
      await setTimeout(1_010);
      return { alter: () => limited };
    };
    const ended = await ending(startFlywheel({ home: remote.directory }, words));
    passAll(remote);
    expect(ended.exit, ended.stderr).toBe(7);
    expect((await remote.run(...words)).exit).toBe(0);
    expect(Number(await burned(remote)) - before).toBeCloseTo(0.01, 6);
  });
});
