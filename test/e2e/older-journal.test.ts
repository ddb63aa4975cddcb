/**
 * A journal that is lost or older than its service, and a service older than the journal: landed work is never resent silently,
 * and nothing is reported as done that is on no ledger.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { FILES, MOMENTS, StoreTables } from '../simulation/audit/tables.js';
import { failedInPart } from '../support/deeds.js';
import { flywheelHere, letGo } from '../support/flywheel-here.js';
import { startGate } from '../support/gate.js';
import { ask } from '../support/http-serve.js';
import { sampleOf } from '../support/long.js';
import {
  anOperator,
  gateOf,
  type Mode,
  makeTemplate,
  type Operator,
  problemOf,
  type Template,
} from '../support/operator.js';

const RECIPIENT = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';
const JOURNAL = /^journal\.db/;
const SERVICE = /^(?:store|ledger)\.db/;

let template: Template;
let operator: Operator;
beforeAll(async () => {
  template = await makeTemplate('--vault-tokens', '1000');
});
afterEach(() => operator.leave());

const burns = (from: number, to: number, amount = 1) =>
  Array.from({ length: to - from }, (_, at) => ({
    ...{ type: 'WATCH_AD', proof: { order: from + at }, burnAmount: amount, persistOnchain: false },
  }));
const pipelines = (from: number, to: number, amount = 1) => ({
  pipelines: burns(from, to).map(({ type, proof }) => ({
    ...{ type, payload: JSON.stringify(proof) },
    actions: [
      { action: 'BURN', amount },
      { action: 'AIRDROP', toAddress: RECIPIENT, amount },
    ],
  })),
});

const journalHome = ({ mode, directory, dataDir }: Operator): string =>
  mode === 'embedded' ? dataDir : join(directory, '.config/flywheel');
const files = (directory: string, which: RegExp): readonly string[] =>
  readdirSync(directory).filter((name) => which.test(name));

async function keep(directory: string, which: RegExp, aside: string): Promise<void> {
  await letGo();
  mkdirSync(aside, { recursive: true });
  for (const name of files(directory, which)) cpSync(join(directory, name), join(aside, name));
}
async function restore(directory: string, which: RegExp, aside: string | null): Promise<void> {
  await letGo();
  for (const name of files(directory, which)) rmSync(join(directory, name));
  if (aside !== null) cpSync(aside, directory, { recursive: true });
}

const burned = async (): Promise<number> => Number((await operator.happened()).burned);
const burnFile = (name: string, ...more: readonly string[]) =>
  operator.run('burn-batch', name, '--yes', '--json', ...more);
const once = (amount: number, proof = '{"order":0}') => [
  ...['burn', '--once', '--type', 'WATCH_AD', '--proof', proof, '--amount', String(amount), '--json'],
];
const runFile = (name: string, ...more: readonly string[]) =>
  operator.run('batch', 'run', name, '--keypair', operator.owner, '--yes', '--json', ...more);

it.each<Mode>(sampleOf(['remote', 'embedded'], 1))(
  'a lost journal burns no edited file again (%s)',
  async (mode) => {
    operator = await anOperator(mode, template);
    expect((await burnFile(operator.write('a.json', burns(0, 3)))).exit).toBe(0);
    await restore(journalHome(operator), JOURNAL, null);
    // The service knows the file by its idempotency key, without a journal.
    expect((await burnFile('a.json')).exit).toBe(0);
    expect(await burned()).toBe(3);
    await restore(journalHome(operator), JOURNAL, null);
    const edited = await burnFile(operator.write('b.json', burns(0, 4)));
    expect([edited.exit, problemOf(edited).message]).toEqual([2, expect.stringContaining('3 of 4')]);
    expect(await burned()).toBe(3);
    // An element with another amount has the same proof.
    const corrected = await burnFile(operator.write('c.json', [...burns(0, 1, 2), ...burns(4, 5)]), '--rest');
    expect(corrected.exit).toBe(2);
    expect(await burned()).toBe(3);
    expect((await burnFile('b.json', '--dry-run')).exit).toBe(2);
    expect((await burnFile('b.json', '--rest')).exit).toBe(0);
    expect(await burned()).toBe(4);
    expect((await burnFile(operator.write('d.json', burns(0, 5)), '--again')).exit).toBe(0);
    expect(await burned()).toBe(9);
  },
);

it('of three equal elements of which one has landed, two are left', async () => {
  operator = await anOperator('embedded', template);
  expect((await burnFile(operator.write('a.json', burns(0, 1)))).exit).toBe(0);
  await restore(operator.dataDir, JOURNAL, null);
  const three = operator.write('b.json', [...burns(0, 1), ...burns(0, 1), ...burns(0, 1)]);
  expect((await burnFile(three, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(3);
});

it.each<Mode>(sampleOf(['embedded', 'remote'], 1))(
  'a lost journal runs no edited file again (%s)',
  async (mode) => {
    operator = await anOperator(mode, template);
    expect((await runFile(operator.write('a.json', pipelines(0, 3)))).exit).toBe(0);
    await restore(journalHome(operator), JOURNAL, null);
    expect((await runFile('a.json')).exit).toBe(0);
    expect(await burned()).toBe(3);
    await restore(journalHome(operator), JOURNAL, null);
    expect((await runFile(operator.write('b.json', pipelines(0, 4)))).exit).toBe(2);
    expect((await runFile(operator.write('c.json', pipelines(2, 4, 5)), '--rest')).exit).toBe(2);
    expect(await burned()).toBe(3);
    expect((await runFile('b.json', '--rest')).exit).toBe(0);
    expect(await burned()).toBe(4);
  },
);

it('a lost journal sets up nothing that waits in another batch', async () => {
  operator = await anOperator('embedded', template);
  expect(
    (await operator.run('batch', 'init', operator.write('a.json', pipelines(0, 2)), '--json')).exit,
  ).toBe(0);
  await restore(operator.dataDir, JOURNAL, null);
  const edited = operator.write('b.json', pipelines(1, 3));
  for (const more of [[], ['--rest']]) expect((await runFile(edited, ...more)).exit).toBe(2);
  expect(await operator.happened()).toMatchObject({ burned: '0', batches: ['FINALIZED'] });
});

it('what a service of an earlier state does not know is not told as done', async () => {
  operator = await anOperator('embedded', template);
  expect((await burnFile(operator.write('a.json', burns(0, 1)))).exit).toBe(0);
  await keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  const alone = once(1, '{"once":1}');
  expect((await burnFile(operator.write('b.json', burns(1, 4)))).exit).toBe(0);
  expect((await operator.run(...alone)).exit).toBe(0);
  await restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  for (const more of [[], ['--dry-run']]) {
    const told = await burnFile('b.json', ...more);
    expect([told.exit, told.stdout]).toEqual([7, '']);
  }
  expect((await operator.run(...alone)).exit).toBe(7);
  // An element is not skipped silently in another file either.
  expect((await burnFile(operator.write('c.json', burns(1, 5)), '--rest')).exit).toBe(7);
  expect(await burned()).toBe(1);
  expect((await burnFile('b.json', '--again')).exit).toBe(0);
  expect((await operator.run(...alone, '--again')).exit).toBe(0);
  expect(await burned()).toBe(5);
});

const OWN_KEY = '7d0b8c1e-0e0f-4a53-9b0e-5f8f0e7a9a11';

/** More than the burn wallet has until it is funded. */
const MUCH = 1_000_000;

it('what has landed with another amount is not burned once more, and a dry run says so', async () => {
  operator = await anOperator('embedded', template);
  expect((await burnFile(operator.write('a.json', burns(0, 1, 8)))).exit).toBe(0);
  for (const journal of ['there', 'lost']) {
    if (journal === 'lost') await restore(operator.dataDir, JOURNAL, null);
    const [real, dry] = [await operator.run(...once(2)), await operator.run(...once(2), '--dry-run')];
    expect([real.exit, real.stderr]).toEqual([2, dry.stderr]);
    expect(problemOf(real).hint).toContain('--again');
  }
  expect(await burned()).toBe(8);
  expect((await operator.run(...once(2), '--again')).exit).toBe(0);
  expect(await burned()).toBe(10);
});

it('a burn once that was never carried out is not burned when another has landed, and says what burns it', async () => {
  operator = await anOperator('remote', template);
  await dropped(() => operator.run(...once(1)));
  await elsewhere(() => burnFile(operator.write('a.json', burns(0, 1))));
  for (const _time of [1, 2]) {
    const refused = await operator.run(...once(1));
    expect([refused.exit, problemOf(refused).hint]).toEqual([
      2,
      expect.stringMatching(/--again.*pending forget/),
    ]);
  }
  expect(operator.open()).toHaveLength(1);
  expect((await operator.run(...once(1), '--again')).exit).toBe(0);
  expect(await burned()).toBe(2);
});

it('an operation that stopped half way does not burn what others have burned since', async () => {
  operator = await anOperator('embedded', template);
  const file = operator.write('a.json', burns(0, 300));
  const fault = { signal: 'SIGKILL', when: MOMENTS.burnedInPart } as const;
  expect(await operator.runWith(fault, 'burn-batch', file)).toMatchObject({ signal: 'SIGKILL' });
  await keep(operator.dataDir, JOURNAL, join(operator.directory, 'own'));
  await restore(operator.dataDir, JOURNAL, null);
  expect((await burnFile(operator.write('b.json', burns(290, 300)))).exit).toBe(0);
  const before = await burned();
  expect(before).toBeLessThan(300);
  // Without the journal the same request continues.
  expect((await burnFile(file)).exit).toBe(2);
  await restore(operator.dataDir, JOURNAL, join(operator.directory, 'own'));
  for (const words of [
    ['pending', 'resume'],
    ['burn-batch', file, '--rest'],
  ]) {
    const refused = await operator.run(...words, '--json');
    expect([refused.exit, refused.stdout, problemOf(refused).message]).toEqual([
      ...[2, '', expect.stringContaining('10 of the 300 ')],
    ]);
    expect(problemOf(refused).hint).toContain('pending forget');
  }
  expect(await burned()).toBe(before);
  const [{ id } = { id: '' }] = await operator.pending();
  expect((await operator.run('pending', 'forget', id, '--yes')).exit).toBe(0);
  // Transactions that the engine had signed before it died are resolved.
  expect((await operator.run('pending', 'resume')).exit).toBe(0);
  const left = burns((await burned()) - 10, 290);
  expect((await burnFile(operator.write('c.json', left))).exit).toBe(0);
  expect(await burned()).toBe(300);
});

it('a rest that never arrived does not burn what others have burned since, and is begun anew', async () => {
  operator = await anOperator('remote', template);
  const file = operator.write('a.json', [...burns(0, 1), ...burns(1, 3, MUCH)]);
  expect((await burnFile(file)).exit).toBe(3);
  await dropped(() => burnFile(file, '--rest'));
  expect((await fund('burn-wallet', 2 * MUCH)).exit).toBe(0);
  await elsewhere(() => burnFile(operator.write('b.json', burns(1, 2, MUCH))));
  expect((await operator.run('pending', 'resume', '--json')).exit).toBe(2);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(1 + 2 * MUCH);
  expect(operator.open()).toEqual([]);
});

it('an init that arrived late gives no approval for what others have executed since', async () => {
  operator = await anOperator('remote', template);
  const file = operator.write('a.json', pipelines(0, 3));
  const late = await dropped(() => operator.run('batch', 'init', file));
  await elsewhere(() => runFile(operator.write('b.json', pipelines(2, 4))));
  expect((await late(pipelines(0, 3))).status).toBe(200);
  const out = join(operator.directory, 'approval.json');
  for (const words of [
    ['pending', 'resume'],
    ['batch', 'init', file, '--out', out],
  ]) {
    const refused = await operator.run(...words, '--json');
    expect([refused.exit, refused.stdout, existsSync(out)]).toEqual([2, '', false]);
    expect(problemOf(refused).message).toContain('1 of the 3 ');
    expect(problemOf(refused).hint).toMatch(/`flywheel batch cancel [0-9a-f-]{36}/);
  }
  const [, id = ''] = /batch cancel (\S{36})/.exec(problemOf(await runFile(file)).hint ?? '') ?? [];
  expect((await operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes')).exit).toBe(0);
  expect((await runFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(4);
});

it.each(sampleOf(['init', 'run', 'rest'], 2))(
  'a dry run of a batch that a service of an earlier state does not know says what the command says: %s',
  async (how) => {
    operator = await anOperator('embedded', template);
    await keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
    const all = [pipelines(0, 4), pipelines(4, 5, 495)].flatMap((one) => one.pipelines);
    const file = operator.write('a.json', { pipelines: all });
    const init = ['batch', 'init', file, '--json'];
    if (how === 'rest') await failedInPart(operator, file);
    else if (how === 'init') expect((await operator.run(...init)).exit).toBe(0);
    else expect((await runFile(file)).exit).toBe(0);
    await restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
    for (const words of [
      ['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json'],
      ...(how === 'rest' ? [] : [init]),
    ]) {
      const more = how === 'rest' ? ['--rest'] : [];
      const [real, dry] = [
        await operator.run(...words, ...more),
        await operator.run(...words, ...more, '--dry-run'),
      ];
      expect([real.exit, real.stdout]).toEqual([7, '']);
      expect([dry.exit, dry.stdout, problemOf(dry).message]).toEqual([7, '', problemOf(real).message]);
      expect(dry.stderr.trim().split('\n')).toHaveLength(1);
    }
  },
);

it('a dry run says what the command would do with a file that is known', async () => {
  operator = await anOperator('embedded', template);
  const first = [...burns(0, 1), ...burns(1, 2, MUCH)];
  expect((await burnFile(operator.write('a.json', first))).exit).toBe(3);
  expect((await burnFile(operator.write('b.json', burns(2, 3)))).exit).toBe(0);
  const elements = async (name: string, ...more: readonly string[]): Promise<unknown> =>
    JSON.parse((await burnFile(name, '--dry-run', ...more)).stdout).elements;
  expect(await elements('a.json', '--rest')).toBe(1);
  expect(await elements('b.json')).toBe(0);
  expect(await elements('b.json', '--again')).toBe(1);
  expect((await burnFile(operator.write('c.json', burns(3, 4)), '--dry-run', '--rest')).exit).toBe(2);
  // Others have burned the failed elements meanwhile.
  expect((await fund('burn-wallet', 10)).exit).toBe(0);
  await elsewhere(() => burnFile(operator.write('d.json', burns(1, 2, MUCH))));
  expect(await elements('a.json', '--rest')).toBe(0);
  expect((await burnFile('a.json', '--rest')).stdout).toBe('{"success":[],"errors":[],"skipped":2}\n');
});

it('a dry run says what its service would answer of a file that is not known here', async () => {
  operator = await anOperator('remote', template);
  const gate = gateOf(operator);
  const dry = async (...words: readonly string[]) => {
    const ended = await operator.run(...words, '--dry-run', '--json');
    return [ended.exit, JSON.parse(ended.stdout || '{}').elements ?? null, problemOf(ended).message ?? null];
  };
  expect((await burnFile(operator.write('a.json', burns(0, 2)))).exit).toBe(0);
  expect((await runFile(operator.write('p.json', pipelines(0, 2)))).exit).toBe(0);
  await restore(journalHome(operator), JOURNAL, null);
  expect(await dry('burn-batch', 'a.json')).toEqual([0, 0, null]);
  const run = await operator.run('batch', 'run', 'p.json', '--dry-run', '--json');
  expect(JSON.parse(run.stdout).pipelines).toBe(0);
  // A request that was lost and is partly done by others.
  await dropped(() => burnFile(operator.write('b.json', burns(5, 7))));
  await elsewhere(() => burnFile(operator.write('c.json', burns(6, 8))));
  // The service is unreachable, so the command relies on the journal.
  gate.fate = () => 'drop';
  expect(await dry('burn-batch', 'b.json')).toEqual([0, 2, null]);
  gate.fate = () => 'pass';
  const refusal = await dry('burn-batch', 'b.json');
  expect(refusal).toEqual([2, null, expect.stringContaining('1 of the 2 ')]);
  expect(await dry('burn-batch', 'b.json', '--rest')).toEqual([0, 1, null]);
  const real = await burnFile('b.json');
  expect([real.exit, problemOf(real).message]).toEqual([2, refusal[2]]);
  expect(await dry('burn-batch', 'b.json', '--rest')).toEqual([0, 1, null]);
});

it('a burn of unknown outcome is not sent again when its service may have forgotten its key', async () => {
  operator = await anOperator('embedded', template);
  const words = ['burn', '--type', 'WATCH_AD', '--proof', '{"once":2}', '--amount', '1', '--yes', '--json'];
  await operator.runWith({ signal: 'SIGKILL', when: MOMENTS.answered }, ...words);
  expect(await burned()).toBe(1);
  const store = new StoreTables(join(operator.dataDir, FILES.store), false);
  store.forgetRequests();
  store.close();
  const resumed = await operator.runWith({ clockAheadMs: 35 * 86_400_000 }, 'pending', 'resume', '--json');
  expect([resumed.exit === 0, await burned()]).toEqual([false, 1]);
});

it('an operation that goes on does not do what waits in the batch of another machine', async () => {
  operator = await anOperator('remote', template);
  const file = operator.write('a.json', pipelines(0, 3));
  await dropped(() => operator.run('batch', 'init', file));
  await elsewhere(() => operator.run('batch', 'init', operator.write('b.json', pipelines(2, 4))));
  for (const words of [
    ['batch', 'init', file, '--dry-run'],
    ['batch', 'init', file],
    ['pending', 'resume'],
  ]) {
    const refused = await operator.run(...words, '--json');
    expect([refused.exit, problemOf(refused)]).toMatchObject([
      2,
      {
        message: expect.stringMatching(/1 of 3 .* unfinished request of the service: batch [0-9a-f-]{36}\./),
        hint: expect.stringMatching(/`flywheel batch approve [0-9a-f-]{36} /),
      },
    ]);
  }
  expect((await operator.happened()).batches).toEqual(['FINALIZED']);
});

it('an approval that never arrived is not sent again for what others have executed since', async () => {
  operator = await anOperator('remote', template);
  const file = operator.write('a.json', pipelines(0, 2));
  const gate = gateOf(operator);
  gate.fate = ({ path }) => (path.endsWith('/execute') ? 'drop' : 'pass');
  expect((await runFile(file)).exit).toBe(7);
  gate.fate = () => 'pass';
  await elsewhere(() => runFile(operator.write('b.json', pipelines(1, 3)), '--again'));
  const listed = JSON.parse((await operator.run('batch', 'list', '--json')).stdout);
  const { id } = listed.find(({ status }: { status: string }) => status === 'FINALIZED');
  for (const words of [
    ['batch', 'run', file, '--keypair', operator.owner, '--dry-run'],
    ['batch', 'run', file, '--keypair', operator.owner],
    ['batch', 'execute', id, '--keypair', operator.owner, '--expect', file],
    ['pending', 'resume'],
  ]) {
    const refused = await operator.run(...words, '--yes', '--json');
    expect([words, refused.exit, problemOf(refused).message]).toEqual([
      ...[words, 2, expect.stringContaining('1 of the 2 ')],
    ]);
  }
  expect(await burned()).toBe(2);
});

/** Another machine runs its own file between the two halves of this one. */
async function elsewhere(work: () => Promise<Awaited<ReturnType<typeof burnFile>>>): Promise<void> {
  const own = join(operator.directory, 'own');
  await keep(journalHome(operator), JOURNAL, own);
  await restore(journalHome(operator), JOURNAL, null);
  expect((await work()).exit).toBe(0);
  await restore(journalHome(operator), JOURNAL, own);
}

it.each(
  sampleOf(
    [
      ['pipelines', pipelines(0, 3), runFile, pipelines(2, 3)],
      ['burns', burns(0, 3), burnFile, burns(2, 3)],
    ] as const,
    1,
  ),
)(
  '%s that were held up on their way do nothing once their rest has gone out',
  async (_, all, send, others) => {
    operator = await anOperator('remote', template);
    const file = operator.write('a.json', all);
    const late = await dropped(() => send(file));
    await elsewhere(() => send(operator.write('b.json', others)));
    for (const more of [['--again'], ['--again', '--dry-run'], ['--dry-run'], []])
      expect((await send(file, ...more)).exit).toBe(2);
    expect((await send(file, '--rest')).exit).toBe(0);
    expect(await burned()).toBe(3);
    expect((await late(all)).status).toBe(422);
    expect(await burned()).toBe(3);
    expect(operator.open()).toEqual([]);
  },
);

it.each(
  sampleOf(
    [
      ['in part', 1, 'with its journal'],
      ['in part', 1, 'with its journal lost'],
      ['in full', 0, 'with its journal'],
    ] as const,
    1,
  ),
)(
  'a later request that was held up, and that others have done %s, does nothing once the rest has gone out (%#)',
  async (_, own, journal) => {
    operator = await anOperator('remote', template);
    const gate = gateOf(operator);
    const { key } = operator;
    let posts = 0;
    gate.fate = ({ method }) => (method === 'POST' && ++posts > 1 ? 'drop' : 'pass');
    const many = burns(0, 1_002).map((burn) => ({ ...burn, burnAmount: 0.001 }));
    const file = operator.write('a.json', many);
    expect((await burnFile(file)).exit).toBe(7);
    const idempotencyKey = gate.requests.findLast(({ method }) => method === 'POST')?.key ?? '';
    gate.fate = () => 'pass';
    await elsewhere(() => burnFile(operator.write('b.json', many.slice(1_000 + own))));
    if (journal === 'with its journal lost') await restore(journalHome(operator), JOURNAL, null);
    const refused = await burnFile(file);
    expect([refused.exit, problemOf(refused).hint]).toEqual([2, expect.stringContaining('--rest')]);
    expect((await burnFile(file, '--rest')).exit).toBe(0);
    const late = { body: many.slice(1_000), idempotencyKey };
    expect((await ask(`${gate.url}/v1/tokenomics/burn-batch`, key, late)).status).toBe(422);
    expect((await operator.happened()).burned).toBe('1.002');
    expect(operator.open()).toEqual([]);
  },
);

/** Runs a command whose request is lost. @returns that request */
async function dropped(work: () => Promise<Awaited<ReturnType<typeof burnFile>>>) {
  const gate = gateOf(operator);
  gate.fate = ({ method }) => (method === 'POST' ? 'drop' : 'pass');
  expect((await work()).exit).toBe(7);
  gate.fate = () => 'pass';
  const held = gate.requests.findLast(({ method }) => method === 'POST');
  return (body: unknown) =>
    ask(`${gate.url}${held?.path}`, operator.key, { body, idempotencyKey: held?.key ?? '' });
}

it('what was begun is not sent in full when it has landed with another amount since', async () => {
  operator = await anOperator('remote', template);
  const corrected = { burns: burns(0, 1, 8), pipelines: pipelines(1, 2, 8) };
  await dropped(() => burnFile(operator.write('a.json', burns(0, 1, 5))));
  expect((await burnFile(operator.write('b.json', corrected.burns))).exit).toBe(0);
  for (const more of [[], ['--rest'], ['--dry-run']]) {
    const refused = await burnFile('a.json', ...more);
    expect([refused.exit, problemOf(refused).hint]).toEqual([2, expect.stringContaining('pending forget')]);
  }
  // Set up, not approved yet.
  expect((await operator.run('batch', 'init', operator.write('p.json', pipelines(1, 2, 5)))).exit).toBe(0);
  expect((await runFile(operator.write('q.json', corrected.pipelines))).exit).toBe(0);
  for (const more of [[], ['--dry-run']]) {
    const refused = await runFile('p.json', ...more);
    expect([refused.exit, problemOf(refused).hint]).toEqual([2, expect.stringContaining('batch cancel')]);
  }
  expect(await burned()).toBe(16);
  expect((await burnFile('a.json', '--allow-changed')).exit).toBe(0);
  expect((await runFile('p.json', '--allow-changed')).exit).toBe(0);
  expect(await burned()).toBe(26);
});

it('the rest of a cancelled batch is what others have not landed, and all of it may have', async () => {
  operator = await anOperator('embedded', template);
  const init = async (name: string, from: number, to: number): Promise<string> =>
    JSON.parse(
      (await operator.run('batch', 'init', operator.write(name, pipelines(from, to)), '--json')).stdout,
    ).batch.id;
  const cancel = (id: string) => operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes');
  expect((await cancel(await init('a.json', 0, 2))).exit).toBe(0);
  await elsewhere(() => runFile(operator.write('b.json', pipelines(1, 2))));
  const refused = await runFile('a.json');
  expect([refused.exit, problemOf(refused).hint]).toEqual([2, expect.stringContaining('--rest')]);
  expect((await runFile('a.json', '--rest', '--dry-run')).exit).toBe(0);
  expect((await runFile('a.json', '--rest')).exit).toBe(0);
  expect((await cancel(await init('c.json', 5, 6))).exit).toBe(0);
  const other = { pipelines: [...pipelines(5, 6).pipelines, ...pipelines(7, 8).pipelines] };
  expect((await runFile(operator.write('d.json', other))).exit).toBe(0);
  expect((await runFile('c.json', '--rest')).exit).toBe(0);
  expect((await runFile('c.json')).exit).toBe(0);
  expect(await burned()).toBe(4);
  expect((await runFile('c.json', '--again')).exit).toBe(0);
  expect(await burned()).toBe(5);
});

it('what arrives while its rest is held up is told with the way on', async () => {
  operator = await anOperator('remote', template);
  const all = burns(0, 3);
  const late = await dropped(() => burnFile(operator.write('a.json', all)));
  await elsewhere(() => burnFile(operator.write('b.json', burns(2, 3))));
  await dropped(() => burnFile('a.json', '--rest'));
  expect((await late(all)).status).toBe(200);
  const refused = await burnFile('a.json', '--rest');
  expect([refused.exit === 0, problemOf(refused).hint]).toEqual([
    false,
    expect.stringContaining('pending forget'),
  ]);
  const [{ id } = { id: '' }] = await operator.pending();
  expect((await operator.run('pending', 'forget', id, '--yes')).exit).toBe(0);
  expect((await burnFile('a.json')).exit).toBe(0);
  expect(await burned()).toBe(4);
});

it('a rest of what all is part of an operation that is not over is refused', async () => {
  operator = await anOperator('remote', template);
  await dropped(() => burnFile(operator.write('a.json', burns(0, 2)), '--idempotency-key', OWN_KEY));
  expect((await burnFile('a.json', '--rest')).exit).toBe(2);
});

it('a file of which some is signed and not burned is not told as done where others have burned the rest', async () => {
  operator = await anOperator('embedded', template);
  const file = operator.write('a.json', burns(0, 300));
  const fault = { signal: 'SIGKILL', when: "select 1 from burns where status = 'PENDING'" } as const;
  expect(await operator.runWith(fault, 'burn-batch', file)).toMatchObject({ signal: 'SIGKILL' });
  const store = new StoreTables(join(operator.dataDir, FILES.store));
  const signed = store.pendingBurns();
  store.close();
  await restore(operator.dataDir, JOURNAL, null);
  expect((await burnFile(operator.write('b.json', burns(signed, 300)))).exit).toBe(0);
  for (const more of [[], ['--rest']]) expect((await burnFile(file, ...more)).exit).toBe(2);
  expect((await operator.run('pending', 'resume')).exit).toBe(0);
  expect(await burned()).toBe(300);
});

const fund = (where: 'burn-wallet' | 'vault', tokens: number) =>
  operator.run(
    ...['local', 'fund', '--to', where, '--tokens', String(tokens), '--data-dir', operator.dataDir],
  );

async function giveUp(refused: Awaited<ReturnType<typeof burnFile>>): Promise<void> {
  const [, line = ''] = /`(flywheel pending forget [^`]+)`/.exec(problemOf(refused).hint ?? '') ?? [];
  expect((await operator.paste(`${line} --yes`)).exit).toBe(0);
}

it('a rest whose key was used for another one is given up, and what is left is done under the next', async () => {
  operator = await anOperator('remote', template);
  const file = operator.write('a.json', [...burns(0, 1), ...burns(1, 3, MUCH)]);
  expect((await burnFile(file)).exit).toBe(3);
  await keep(journalHome(operator), JOURNAL, join(operator.directory, 'older'));
  expect((await fund('burn-wallet', MUCH)).exit).toBe(0);
  expect((await burnFile(file, '--rest')).exit).toBe(3);
  await restore(journalHome(operator), JOURNAL, join(operator.directory, 'older'));
  const refused = await burnFile(file, '--rest');
  expect(refused.exit).not.toBe(0);
  await giveUp(refused);
  // The earlier outcome is reported again; the discarded operation counts as failed.
  expect((await burnFile(file)).exit).toBe(3);
  expect(await burned()).toBe(1 + MUCH);
  expect((await fund('burn-wallet', MUCH)).exit).toBe(0);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(1 + 2 * MUCH);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(1 + 2 * MUCH);
});

it('a rest of pipelines whose key was used for another one is given up, and what is left is done under the next', async () => {
  operator = await anOperator('remote', template);
  // Four pipelines are one bundle.
  const all = [pipelines(0, 4), pipelines(4, 5, 495), pipelines(5, 6)].flatMap((one) => one.pipelines);
  const file = operator.write('a.json', { pipelines: all });
  const cancel = async (id: string) =>
    expect((await operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes')).exit).toBe(0);
  await cancel(await failedInPart(operator, file));
  expect((await runFile(file)).exit).toBe(10);
  await keep(journalHome(operator), JOURNAL, join(operator.directory, 'older'));
  expect((await fund('vault', 10)).exit).toBe(0);
  const rest = await operator.run('batch', 'init', file, '--rest', '--json');
  await cancel(JSON.parse(rest.stdout).batch.id);
  await restore(journalHome(operator), JOURNAL, join(operator.directory, 'older'));
  await elsewhere(() => runFile(operator.write('b.json', pipelines(5, 6))));
  const before = await burned();
  await giveUp(await runFile(file, '--rest'));
  expect((await runFile(file)).exit).toBe(10);
  expect((await runFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(before + 495);
});

it('a batch that waits is not executed when others have done the same once more since', async () => {
  operator = await anOperator('remote', template);
  expect((await operator.run('batch', 'init', operator.write('a.json', pipelines(0, 2)))).exit).toBe(0);
  await elsewhere(() => runFile('a.json', '--again'));
  for (const more of [[], ['--dry-run'], ['--rest']]) {
    const refused = await runFile('a.json', ...more);
    expect([refused.exit, problemOf(refused).hint]).toEqual([2, expect.stringContaining('batch cancel')]);
  }
  expect(await burned()).toBe(2);
});

it('a file whose batch was cancelled is not run by another key, but with --again alone', async () => {
  operator = await anOperator('embedded', template);
  const file = operator.write('a.json', pipelines(0, 2));
  const init = await operator.run('batch', 'init', file, '--json');
  const { id } = JSON.parse(init.stdout).batch;
  expect((await operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes')).exit).toBe(0);
  for (const more of [[], ['--idempotency-key', 'other'], ['--idempotency-key', 'other', '--dry-run']]) {
    const refused = await runFile(file, ...more);
    expect([more, refused.exit, problemOf(refused).hint]).toEqual([
      more,
      2,
      expect.stringContaining('--again'),
    ]);
  }
  expect((await runFile(file, '--again')).exit).toBe(0);
  expect(await burned()).toBe(2);
});

it('a batch whose rest another machine has done says so', async () => {
  operator = await anOperator('remote', template);
  const all = [pipelines(0, 4), pipelines(4, 5, 495), pipelines(5, 6)].flatMap((one) => one.pipelines);
  const file = operator.write('a.json', { pipelines: all });
  const id = await failedInPart(operator, file);
  const failed = await runFile(file);
  expect([failed.exit, problemOf(failed).hint]).toEqual([10, expect.stringContaining('--rest')]);
  expect((await operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes')).exit).toBe(0);
  expect((await fund('vault', 1_000)).exit).toBe(0);
  const rest = operator.write('rest.json', { pipelines: all.slice(4) });
  await elsewhere(() => runFile(rest));
  const before = await burned();
  for (let time = 0; time < 2; time += 1) {
    const told = await runFile(file);
    expect([told.exit, problemOf(told).hint]).toEqual([
      ...[10, expect.stringContaining('Nothing of the file is left to run')],
    ]);
  }
  expect((await runFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(before);
});

it('a rest whose service is told by an earlier answer has no known outcome', async () => {
  operator = await anOperator('remote', template);
  const gate = gateOf(operator);
  const file = operator.write('a.json', [...burns(0, 1), ...burns(1, 2, MUCH)]);
  expect((await burnFile(file)).exit).toBe(3);
  expect((await burnFile(file, '--rest', '--dry-run')).exit).toBe(0);
  const [list] = gate.passed.filter(({ method, path }) => method === 'GET' && path.includes('burns'));
  gate.fate = ({ method, path }) =>
    list !== undefined && method === 'GET' && path.includes('burns')
      ? { replay: list, withHeaders: true, reaches: false }
      : 'pass';
  const refused = await burnFile(file, '--rest');
  expect([refused.exit, problemOf(refused).error]).toEqual([7, 'ERR_OUTCOME_UNKNOWN']);
  gate.fate = () => 'pass';
  expect((await fund('burn-wallet', MUCH)).exit).toBe(0);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(1 + MUCH);
});

it('a cancelled file whose rest was cancelled too is done once when the journal is lost, and says how', async () => {
  operator = await anOperator('remote', template);
  const file = operator.write('a.json', pipelines(0, 4));
  const cancelled = async (...more: readonly string[]) => {
    const init = await operator.run('batch', 'init', file, '--json', ...more);
    const { id } = JSON.parse(init.stdout).batch;
    expect((await operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes')).exit).toBe(0);
  };
  await cancelled();
  await elsewhere(() => runFile(operator.write('b.json', pipelines(2, 3))));
  await cancelled('--rest');
  await elsewhere(() => runFile(operator.write('c.json', pipelines(3, 4))));
  await restore(journalHome(operator), JOURNAL, null);
  await giveUp(await runFile(file, '--rest'));
  expect((await runFile(file)).exit).toBe(10);
  expect((await runFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(4);
});

it('of two equal elements the one that failed is not noted as landed by a file of its own', async () => {
  operator = await anOperator('remote', template);
  // The first element exceeds the balance until the second request is sent.
  const large = burns(0, 1, 2 * MUCH);
  const many = burns(1, 1_000).map((burn) => ({ ...burn, burnAmount: 0.001 }));
  const file = operator.write('a.json', [...large, ...many, ...large]);
  const gate = gateOf(operator);
  let posts = 0;
  gate.fate = ({ method }) => (method === 'POST' && ++posts > 1 ? 'drop' : 'pass');
  expect((await burnFile(file)).exit).toBe(7);
  gate.fate = () => 'pass';
  expect((await fund('burn-wallet', 5 * MUCH)).exit).toBe(0);
  expect((await burnFile(file)).exit).toBe(3);
  expect((await burnFile(operator.write('b.json', large), '--dry-run')).exit).toBe(0);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(4 * MUCH + 0.999);
});

it('the rest of burns that are done once more is what that has not landed', async () => {
  operator = await anOperator('embedded', template);
  expect((await fund('burn-wallet', 3 * MUCH)).exit).toBe(0);
  const file = operator.write('a.json', burns(0, 3, MUCH));
  expect((await burnFile(file)).exit).toBe(0);
  expect((await fund('burn-wallet', MUCH)).exit).toBe(0);
  expect((await burnFile(file, '--again')).exit).toBe(3);
  const before = await burned();
  expect((await fund('burn-wallet', 3 * MUCH)).exit).toBe(0);
  for (const more of [['--rest'], [], ['--rest']]) expect((await burnFile(file, ...more)).exit).toBe(0);
  expect([before < 6 * MUCH, await burned()]).toEqual([true, 6 * MUCH]);
});

it('the rest of pipelines that are done once more is what that has not landed', async () => {
  operator = await anOperator('embedded', template);
  const file = operator.write('a.json', pipelines(0, 5, 50));
  expect((await runFile(file)).exit).toBe(0);
  expect((await operator.run('batch', 'init', file, '--again')).exit).toBe(0);
  await failedInPart(operator, file);
  const before = await burned();
  expect((await fund('vault', 1_000)).exit).toBe(0);
  for (const more of [['--rest'], [], ['--rest']]) expect((await runFile(file, ...more)).exit).toBe(0);
  expect([before < 503, await burned()]).toEqual([true, 503]);
});

it('a burn whose first try is held up stays open though a later one fails', async () => {
  operator = await anOperator('remote', template);
  const words = [
    ...['burn', '--type', 'WATCH_AD', '--proof', '{"q":1}', '--amount', String(2 * MUCH), '--yes', '--json'],
  ];
  const late = await dropped(() => operator.run(...words));
  for (const line of [words, ['pending', 'resume', '--json']])
    expect((await operator.run(...line)).exit).toBe(7);
  expect((await fund('burn-wallet', 9 * MUCH)).exit).toBe(0);
  expect((await operator.run(...words)).exit).toBe(0);
  const body = { type: 'WATCH_AD', proof: { q: 1 }, burnAmount: 2 * MUCH, persistOnchain: false };
  expect((await late(body)).status).toBe(200);
  expect(await burned()).toBe(2 * MUCH);
});

it('what a restored service has lost of a file is named, and can be done without what it has kept', async () => {
  operator = await anOperator('embedded', template);
  expect((await burnFile(operator.write('a.json', burns(0, 2)))).exit).toBe(0);
  await keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  const file = operator.write('b.json', [...burns(0, 1), ...burns(2, 3)]);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  await restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  for (const more of [[], ['--rest']]) {
    const told = await burnFile(file, ...more);
    expect([told.exit, problemOf(told).message]).toEqual([7, expect.stringMatching(/1 of 2 .*: 2\./)]);
    expect(problemOf(told).hint).toContain('into a new file');
  }
  expect((await burnFile(operator.write('c.json', burns(2, 3)), '--again')).exit).toBe(0);
  expect((await burnFile(file)).exit).toBe(0);
  expect(await burned()).toBe(3);
});

it('a file of which a restored service has lost an answered part comes to an end by what is printed', async () => {
  operator = await anOperator('embedded', template);
  await keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  const many = burns(0, 1_002).map((burn) => ({ ...burn, burnAmount: 0.001 }));
  const file = operator.write('a.json', many);
  const fault = { signal: 'SIGKILL', when: `${MOMENTS.answered} and exists (${MOMENTS.taken})` } as const;
  expect(await operator.runWith(fault, 'burn-batch', file)).toMatchObject({ signal: 'SIGKILL' });
  await restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  const told = await burnFile(file);
  expect(told.exit).toBe(7);
  await giveUp(told);
  expect((await burnFile(operator.write('b.json', many.slice(0, 1_000)), '--again')).exit).toBe(0);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  expect((await operator.happened()).burned).toBe('1.002');
});

it.each(
  sampleOf(
    [
      ['another amount for it', 2],
      ['the same', 1],
    ] as const,
    1,
  ),
)('a batch that arrived late is not executed by its id where %s has landed since', async (_, amount) => {
  operator = await anOperator('remote', template);
  const all = pipelines(0, 1);
  const file = operator.write('a.json', all);
  const late = await dropped(() => runFile(file));
  await elsewhere(() => runFile(operator.write('b.json', pipelines(0, 2, amount))));
  expect((await late(all)).status).toBe(200);
  const listed = await operator.run('pending', '--json');
  const { id, resume } = JSON.parse(listed.stdout).find(
    ({ outcome }: { outcome: string }) => outcome === 'waits for approval',
  );
  expect(resume).toContain(`batch approve ${id}`);
  const words = ['batch', 'execute', id, '--keypair', operator.owner, '--expect', file, '--yes'];
  const refused = await operator.run(...words);
  expect([refused.exit, problemOf(refused).message]).toEqual([2, expect.stringContaining('1 of 1 pipeline')]);
  expect(problemOf(refused).hint).toContain(`batch cancel ${id}`);
  expect(await burned()).toBe(2 * amount);
  // `--again` runs it as a new operation.
  expect((await operator.run(...words, '--again')).exit).toBe(0);
  expect(await burned()).toBe(2 * amount + 1);
});

it('a file goes on at another address of its service, which is not pinned', async () => {
  operator = await anOperator('remote', template, { pinned: false });
  const gate = gateOf(operator);
  const { key, directory } = operator;
  const file = operator.write('a.json', burns(0, 2));
  const late = await dropped(() => burnFile(file));
  const other = await startGate(gate.url, [key]);
  try {
    const add = ['profile', 'add', 'other', '--api-url', other.url, '--api-key-stdin'];
    expect((await flywheelHere({ home: directory, stdin: key }, ...add)).exit).toBe(0);
    expect((await burnFile(file, '--profile', 'other')).stderr).toContain('Resuming the operation');
    expect((await late(burns(0, 2))).status).toBe(200);
    expect(await burned()).toBe(2);
  } finally {
    await other.close();
  }
});

it('a file of which all has landed by other requests says so when the journal is lost', async () => {
  operator = await anOperator('remote', template);
  expect((await burnFile(operator.write('a.json', burns(0, 2)))).exit).toBe(0);
  expect((await burnFile(operator.write('b.json', burns(1, 3)), '--rest')).exit).toBe(0);
  await restore(journalHome(operator), JOURNAL, null);
  for (const more of [[], ['--rest'], ['--dry-run']]) {
    const told = await burnFile('b.json', ...more);
    expect([more, told.exit, told.stderr]).toEqual([
      more,
      0,
      expect.stringMatching(/already landed|sent before/),
    ]);
    if (more[0] !== '--dry-run')
      expect(JSON.parse(told.stdout)).toEqual({ success: [], errors: [], skipped: 2 });
  }
  expect(await burned()).toBe(3);
});

it('a dry run beside a store of an earlier state is refused as the command is', async () => {
  operator = await anOperator('embedded', template);
  const file = operator.write('a.json', burns(0, 1));
  const aside = join(operator.directory, 'aside');
  await keep(operator.dataDir, /^store\.db/, aside);
  expect((await burnFile(file)).exit).toBe(0);
  await restore(operator.dataDir, /^store\.db/, aside);
  const [dry, real] = [await burnFile(file, '--dry-run'), await burnFile(file)];
  expect([dry.exit, problemOf(dry).error]).toEqual([real.exit, problemOf(real).error]);
  expect(real.exit).toBe(6);
});

it('actions in another order, with a memo or with one more of their kind are no other pipeline', async () => {
  operator = await anOperator('embedded', template);
  const { pipelines: plain } = pipelines(0, 1);
  const [burn, airdrop] = plain[0]?.actions ?? [];
  expect((await runFile(operator.write('a.json', plain))).exit).toBe(0);
  const memo = { action: 'MEMO', message: 'once more' };
  for (const actions of [
    [airdrop, burn],
    [burn, airdrop, memo],
    [burn, airdrop, airdrop],
  ])
    for (const more of [['--dry-run'], [], ['--rest']]) {
      const file = operator.write('b.json', [{ ...plain[0], actions }]);
      expect([actions, (await runFile(file, ...more)).exit]).toEqual([actions, 2]);
    }
  expect(await burned()).toBe(1);
});
