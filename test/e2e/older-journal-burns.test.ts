/**
 * Burns with a journal that is lost or older than its service, and a service older than the journal: landed work is never resent
 * silently, and nothing is reported as done that is on no ledger.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FILES, LedgerTables, MOMENTS, StoreTables } from '../simulation/audit/tables.js';
import { flywheelHere, letGo } from '../support/flywheel-here.js';
import { ask } from '../support/http-serve.js';
import { itLong, sampleOf } from '../support/long.js';
import { startGate } from './gate.js';
import {
  burned,
  burnFile,
  burns,
  dropped,
  elsewhere,
  fund,
  giveUp,
  JOURNAL,
  journalHome,
  keep,
  meet,
  once,
  oneForEachTest,
  operator,
  restore,
  SERVICE,
  STORE,
} from './older-journal.js';
import { expectProblem, gateOf, type Mode, problemOf } from './operator.js';

oneForEachTest();
const begin = (mode: Mode): Promise<void> => meet(mode, { pinned: false });

const OWN_KEY = '7d0b8c1e-0e0f-4a53-9b0e-5f8f0e7a9a11';

/** So many of {@link largeBurns} fill a request: the next one would make it larger than 4 MiB. */
const FULL = 64;
const largeBurns = (from: number, to: number, amount = 0.001) =>
  burns(from, to, amount).map((burn) => ({ ...burn, proof: { ...burn.proof, text: 'x'.repeat(64_900) } }));

/** More than the burn wallet has until it is funded. */
const MUCH = 1_000_000;

it.each<Mode>(sampleOf(['remote', 'embedded'], 1))(
  'a lost journal burns no edited file again (%s)',
  async (mode) => {
    await begin(mode);
    expect((await burnFile(operator.write('a.json', burns(0, 3)))).exit).toBe(0);
    await restore(journalHome(operator), JOURNAL, null);
    // The service knows the file by its idempotency key, without a journal.
    expect((await burnFile('a.json')).exit).toBe(0);
    expect(await burned()).toBe(3);
    await restore(journalHome(operator), JOURNAL, null);
    expectProblem(await burnFile(operator.write('b.json', burns(0, 4))), 2, { message: '3 of 4' });
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
  await begin('embedded');
  expect((await burnFile(operator.write('a.json', burns(0, 1)))).exit).toBe(0);
  await restore(operator.dataDir, JOURNAL, null);
  const three = operator.write('b.json', [...burns(0, 1), ...burns(0, 1), ...burns(0, 1)]);
  expect((await burnFile(three, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(3);
});

it('what a service of an earlier state does not know is not told as done', async () => {
  await begin('embedded');
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

it('what has landed with another amount is not burned once more, and a dry run says so', async () => {
  await begin('embedded');
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
  await begin('remote');
  await dropped(() => operator.run(...once(1)));
  await elsewhere(() => burnFile(operator.write('a.json', burns(0, 1))));
  for (const _time of [1, 2]) {
    expectProblem(await operator.run(...once(1)), 2, { hint: /--again.*pending forget/ });
  }
  expect(operator.open()).toHaveLength(1);
  expect((await operator.run(...once(1), '--again')).exit).toBe(0);
  expect(await burned()).toBe(2);
});

it('an operation that stopped half way does not burn what others have burned since', async () => {
  await begin('embedded');
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
    expectProblem(await operator.run(...words, '--json'), 2, {
      stdout: '',
      message: '10 of the 300 ',
      hint: 'pending forget',
    });
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
  await begin('remote');
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

it('a file that never arrived, and that others have burned since, is told as skipped', async () => {
  await begin('remote');
  const file = operator.write('a.json', burns(0, 2));
  await dropped(() => burnFile(file));
  await elsewhere(() => burnFile(operator.write('b.json', burns(0, 2).reverse())));
  for (const more of [['--rest'], ['--rest'], []]) {
    const { exit, stdout } = await burnFile(file, ...more);
    expect([exit, stdout]).toEqual([0, '{"success":[],"errors":[],"skipped":2}\n']);
  }
  expect(await burned()).toBe(2);
});

itLong('a dry run says what the command would do with a file that is known', async () => {
  await begin('embedded');
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

it.each([
  ['days ago', 0, 2],
  ['in the future, as a wrong clock said', 60, 0],
])(
  'a burn of unknown outcome, begun %s, is not sent again when its service may have forgotten its key',
  async (_, begunAhead, resumedAhead) => {
    await begin('embedded');
    const ahead = (days: number) => ({ clockAheadMs: days * 86_400_000 });
    const words = ['burn', '--type', 'WATCH_AD', '--proof', '{"once":2}', '--amount', '1', '--yes', '--json'];
    await operator.runWith({ signal: 'SIGKILL', when: MOMENTS.answered, ...ahead(begunAhead) }, ...words);
    expect(await burned()).toBe(1);
    const store = new StoreTables(join(operator.dataDir, FILES.store), false);
    store.forgetRequests();
    store.close();
    const resumed = await operator.runWith(ahead(resumedAhead), 'pending', 'resume', '--json');
    expect([resumed.exit === 0, await burned()]).toEqual([false, 1]);
    // A plain burn has no --again.
    expect(problemOf(resumed).hint).not.toContain('--again');
    await giveUp(resumed);
    expect((await operator.run(...words)).exit).toBe(0);
    expect(await burned()).toBe(2);
  },
);

itLong.each([
  ['in part', 1, 'with its journal'],
  ['in part', 1, 'with its journal lost'],
  ['in full', 0, 'with its journal'],
] as const)(
  'a later request that was held up, and that others have done %s, does nothing once the rest has gone out (%#)',
  async (_, own, journal) => {
    await begin('remote');
    const gate = gateOf(operator);
    const { key } = operator;
    let posts = 0;
    gate.fate = ({ method }) => (method === 'POST' && ++posts > 1 ? 'drop' : 'pass');
    const many = largeBurns(0, FULL + 2);
    const file = operator.write('a.json', many);
    expect((await burnFile(file)).exit).toBe(7);
    gate.fate = ({ method }) => (method === 'POST' ? { refuse: 403, withItsId: true } : 'pass');
    const refused = await burnFile(file);
    expect(refused.stderr).toContain(', 2 unknown, 0 not attempted.');
    const idempotencyKey = gate.requests.findLast(({ method }) => method === 'POST')?.key ?? '';
    gate.fate = () => 'pass';
    await elsewhere(() => burnFile(operator.write('b.json', many.slice(FULL + own))));
    if (journal === 'with its journal lost') await restore(journalHome(operator), JOURNAL, null);
    expectProblem(await burnFile(file), 2, { hint: '--rest' });
    expect((await burnFile(file, '--rest')).exit).toBe(0);
    const late = { body: many.slice(FULL), idempotencyKey };
    expect((await ask(`${gate.url}/v1/tokenomics/burn-batch`, key, late)).status).toBe(422);
    expect((await operator.happened()).burned).toBe('0.066');
    expect(operator.open()).toEqual([]);
  },
);

it('what arrives while its rest is held up is told with the way on', async () => {
  await begin('remote');
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
  await begin('remote');
  await dropped(() => burnFile(operator.write('a.json', burns(0, 2)), '--idempotency-key', OWN_KEY));
  expect((await burnFile('a.json', '--rest')).exit).toBe(2);
});

itLong(
  'a file of which some is signed and not burned is not told as done where others have burned the rest',
  async () => {
    await begin('embedded');
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
  },
);

it('a burn that was signed again after its store was copied is not burned again from the copy', async () => {
  await begin('embedded');
  const backup = /^(?:store|journal)\.db/;
  const resigned = [...once(1), '--yes'];
  await operator.runWith({ signal: 'SIGKILL', when: MOMENTS.taken }, ...resigned);
  await letGo(operator.dataDir);
  const older = join(operator.directory, 'older');
  await keep(operator.dataDir, backup, older);
  const ledger = new LedgerTables(join(operator.dataDir, FILES.ledger), false);
  ledger.write(() => ledger.passSlots(400));
  ledger.close();
  for (const words of [resigned, [...once(1, '{"order":1}'), '--yes']])
    expect((await operator.run(...words)).exit).toBe(0);
  await restore(operator.dataDir, backup, older);
  expect(await operator.run('db', 'accept-gap', '--yes', '--expect', '2')).toMatchObject({ exit: 0 });
  for (const _time of [1, 2])
    expectProblem(await operator.run(...resigned), 7, { message: 'may be this burn' });
  expect(await burned()).toBe(2);
});

itLong('what a restored store does not know to have been signed of a file is not signed again', async () => {
  await begin('embedded');
  const mixed = burns(0, 300).map((burn, at) => ({ ...burn, persistOnchain: at % 2 === 0 }));
  const words = ['burn-batch', operator.write('a.json', mixed), '--yes', '--json'];
  const older = join(operator.directory, 'older');
  for (const more of ['', ' group by status having count(*) > 200']) {
    // The machine of the copy had a wrong clock.
    const clockAheadMs = more === '' ? 600_000 : 0;
    const when = `${MOMENTS.burnedInPart}${more}`;
    await operator.runWith({ signal: 'SIGKILL', when, clockAheadMs }, ...words);
    await letGo(operator.dataDir);
    if (more === '') await keep(operator.dataDir, STORE, older);
  }
  await restore(operator.dataDir, STORE, older);
  const { hint } = problemOf(await operator.run('db', 'accept-gap'));
  const [, missing = ''] = /--expect (\d+)/.exec(hint ?? '') ?? [];
  expect((await operator.run('db', 'accept-gap', '--yes', '--expect', missing)).exit).toBe(0);
  const told = await operator.run(...words);
  const { success, errors } = JSON.parse(told.stdout);
  const isRecorded = ({ proof }: { proof: { order: number } }) => proof.order % 2 === 0;
  // What has a proof on chain is known not to have landed otherwise.
  expect([told.exit, errors.filter(isRecorded).length]).toEqual([3, Number(missing) / 2]);
  expectProblem(told, 3, { hint: 'Check the transactions' });
  for (const more of [['--rest'], []]) expect((await operator.run(...words, ...more)).exit).not.toBe(0);
  expect(await burned()).toBe(success.length + Number(missing));
  expect((await operator.run('db', 'check')).exit).toBe(0);
});

it.each(sampleOf(['burn-batch', 'burn', 'burn --once'], 1))(
  '%s: what a restored store has lost is not sent again when its proof is on chain',
  async (how) => {
    await begin('embedded');
    const older = join(operator.directory, 'older');
    await keep(operator.dataDir, STORE, older);
    const [one] = burns(0, 1);
    const file = operator.write('a.json', [{ ...one, persistOnchain: true }]);
    const single = [...once(1), '--persist-onchain'].filter((word) => how !== 'burn' || word !== '--once');
    const words = [...(how === 'burn-batch' ? ['burn-batch', file] : single), '--yes'];
    await operator.runWith({ signal: 'SIGKILL', when: MOMENTS.burnedInPart }, ...words);
    await restore(operator.dataDir, STORE, older);
    expect((await operator.run('db', 'accept-gap', '--yes', '--expect', '1')).exit).toBe(0);
    for (const again of [['pending', 'resume'], words]) {
      const refused = await operator.run(...again);
      expectProblem(refused, 7, {
        message: /not know this request, but transaction \w+ on chain has the proof/,
      });
      if (again === words) await giveUp(refused);
    }
    expect(await burned()).toBe(1);
  },
);

itLong('a rest whose key another one used is given up, and done under the next', async () => {
  await begin('remote');
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

it('a rest whose service is told by an earlier answer has no known outcome', async () => {
  await begin('remote');
  const gate = gateOf(operator);
  const file = operator.write('a.json', [...burns(0, 1), ...burns(1, 2, MUCH)]);
  expect((await burnFile(file)).exit).toBe(3);
  expect((await burnFile(file, '--rest', '--dry-run')).exit).toBe(0);
  const [list] = gate.passed.filter(({ method, path }) => method === 'GET' && path.includes('burns'));
  gate.fate = ({ method, path }) =>
    list !== undefined && method === 'GET' && path.includes('burns')
      ? { replay: list, withHeaders: true, reaches: false }
      : 'pass';
  expectProblem(await burnFile(file, '--rest'), 7, { error: 'ERR_OUTCOME_UNKNOWN' });
  gate.fate = () => 'pass';
  expect((await fund('burn-wallet', MUCH)).exit).toBe(0);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(1 + MUCH);
});

itLong('of two equal elements the one that failed is not noted as landed by a file of its own', async () => {
  await begin('remote');
  // The first element exceeds the balance until the second request is sent.
  const large = largeBurns(0, 1, 2 * MUCH);
  const many = largeBurns(1, FULL);
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
  expect(await burned()).toBe(4 * MUCH + 0.063);
});

it('the rest of burns that are done once more is what that has not landed', async () => {
  await begin('embedded');
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

it('a burn whose first try is held up stays open though a later one fails', async () => {
  await begin('remote');
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
  await begin('embedded');
  expect((await burnFile(operator.write('a.json', burns(0, 2)))).exit).toBe(0);
  await keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  const file = operator.write('b.json', [...burns(0, 1), ...burns(2, 3)]);
  expect((await burnFile(file, '--rest')).exit).toBe(0);
  await restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
  for (const more of [[], ['--rest']]) {
    expectProblem(await burnFile(file, ...more), 7, { message: /1 of 2 .*: 2\./, hint: 'into a new file' });
  }
  expect((await burnFile(operator.write('c.json', burns(2, 3)), '--again')).exit).toBe(0);
  expect((await burnFile(file)).exit).toBe(0);
  expect(await burned()).toBe(3);
});

itLong(
  'a file of which a restored service has lost an answered part comes to an end by what is printed',
  async () => {
    await begin('embedded');
    await keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
    const many = largeBurns(0, FULL + 2);
    const file = operator.write('a.json', many);
    const fault = { signal: 'SIGKILL', when: `${MOMENTS.answered} and exists (${MOMENTS.taken})` } as const;
    expect(await operator.runWith(fault, 'burn-batch', file)).toMatchObject({ signal: 'SIGKILL' });
    await restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
    const told = await burnFile(file);
    expect(told.exit).toBe(7);
    await giveUp(told);
    expect((await burnFile(operator.write('b.json', many.slice(0, FULL)), '--again')).exit).toBe(0);
    expect((await burnFile(file, '--rest')).exit).toBe(0);
    expect((await operator.happened()).burned).toBe('0.066');
  },
);

it('a file goes on at another address of its service, which is not pinned', async () => {
  await begin('remote');
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
  await begin('embedded');
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

it.each([
  ['a file', () => burnFile('a.json'), () => burnFile('a.json', '--again'), 2],
  ['one burn', () => operator.run(...once(1)), () => operator.run(...once(1), '--again'), 1],
] as const)(
  'a repeat of %s is not told that others have landed what landed before it began',
  async (_, plain, again, count) => {
    await begin('remote');
    operator.write('a.json', burns(0, count));
    await elsewhere(() => burnFile('a.json'));
    await dropped(again);
    const other = operator.write('b.json', [...burns(0, 1), ...burns(9, 10)]);
    for (const more of [[], ['--rest']]) expect((await burnFile(other, ...more)).exit).toBe(2);
    expect((await plain()).exit).toBe(0);
    expect(await burned()).toBe(2 * count);
  },
);

it('a changed element is not counted as new', async () => {
  await begin('embedded');
  expect((await burnFile(operator.write('a.json', burns(0, 2)))).exit).toBe(0);
  const file = operator.write('b.json', [...burns(0, 1, 2), ...burns(1, 3)]);
  for (const more of [[], ['--allow-changed']])
    expect(problemOf(await burnFile(file, ...more)).hint).toContain('only the 1 new burn,');
});
