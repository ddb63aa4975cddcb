/** Batches with a journal that is lost or older than its service, and a service older than the journal. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { itLong, sampleOf } from '../support/long.js';
import { failedInPart } from './deeds.js';
import {
  burned,
  burnFile,
  burns,
  dropped,
  elsewhere,
  giveUp,
  JOURNAL,
  journalHome,
  keep,
  meet,
  oneForEachTest,
  operator,
  pipelines,
  restore,
  runFile,
  SERVICE,
  STORE,
} from './older-journal.js';
import { expectProblem, gateOf, problemOf } from './operator.js';

oneForEachTest();

/** @returns the id of the batch. */
async function init(file: string, ...more: readonly string[]): Promise<string> {
  const made = await operator.run('batch', 'init', file, ...more, '--json');
  expect(made.exit).toBe(0);
  return JSON.parse(made.stdout).batch.id;
}

async function cancel(id: string): Promise<void> {
  const words = ['batch', 'cancel', id, '--keypair', operator.owner, '--yes'];
  expect((await operator.run(...words)).exit).toBe(0);
}

it('a lost journal sets up nothing that waits in another batch', async () => {
  await meet('embedded');
  await init(operator.write('a.json', pipelines(0, 2)));
  const edited = operator.write('b.json', pipelines(1, 3));
  const [{ id }] = JSON.parse((await operator.run('pending', '--json')).stdout);
  expectProblem(await runFile(edited), 2, { hint: `batch execute ${id} ` });
  await restore(operator.dataDir, JOURNAL, null);
  for (const more of [[], ['--rest']]) expect((await runFile(edited, ...more)).exit).toBe(2);
  expect(await operator.happened()).toMatchObject({ burned: '0', batches: ['FINALIZED'] });
});

itLong('an init that arrived late gives no approval for what others have executed since', async () => {
  await meet('remote');
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
  await cancel(id);
  expect((await runFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(4);
});

it.each(sampleOf(['rest', 'init', 'run'], 1))(
  'a dry run of a batch that a service of an earlier state does not know says what the command says: %s',
  async (how) => {
    await meet('embedded');
    await keep(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
    const all = [pipelines(0, 4), pipelines(4, 5, 495)].flatMap((one) => one.pipelines);
    const file = operator.write('a.json', { pipelines: all });
    if (how === 'rest') await failedInPart(operator, file);
    else if (how === 'init') await init(file);
    else expect((await runFile(file)).exit).toBe(0);
    await restore(operator.dataDir, SERVICE, join(operator.directory, 'earlier'));
    for (const words of [
      ['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json'],
      ...(how === 'rest' ? [] : [['batch', 'init', file, '--json']]),
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

itLong('a dry run says what its service would answer of a file that is not known here', async () => {
  await meet('remote');
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

it('an operation that goes on does not do what waits in the batch of another machine', async () => {
  await meet('remote');
  const file = operator.write('a.json', pipelines(0, 3));
  await dropped(() => operator.run('batch', 'init', file));
  await elsewhere(() => operator.run('batch', 'init', operator.write('b.json', pipelines(2, 4))));
  for (const words of [
    ['batch', 'init', file, '--dry-run'],
    ['batch', 'init', file],
    ['pending', 'resume'],
  ]) {
    expectProblem(await operator.run(...words, '--json'), 2, {
      message: /1 of 3 .* unfinished request of the service: batch [0-9a-f-]{36}\./,
      hint: /`flywheel batch approve [0-9a-f-]{36} /,
    });
  }
  expect((await operator.happened()).batches).toEqual(['FINALIZED']);
});

it('an approval that never arrived is not sent again for what others have executed since', async () => {
  await meet('remote');
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
    expectProblem(await operator.run(...words, '--yes', '--json'), 2, { message: '1 of the 2 ' });
  }
  expect(await burned()).toBe(2);
});

it('pipelines that were held up on their way do nothing once their rest has gone out', async () => {
  await meet('remote');
  const all = pipelines(0, 3);
  const file = operator.write('a.json', all);
  const late = await dropped(() => runFile(file));
  await elsewhere(() => runFile(operator.write('b.json', pipelines(2, 3))));
  for (const more of [['--again'], ['--again', '--dry-run'], ['--dry-run'], []])
    expect((await runFile(file, ...more)).exit).toBe(2);
  expect((await runFile(file, '--rest')).exit).toBe(0);
  expect(await burned()).toBe(3);
  expect((await late(all)).status).toBe(422);
  expect(await burned()).toBe(3);
  expect(operator.open()).toEqual([]);
});

itLong('what was begun is not sent in full when it has landed with another amount since', async () => {
  await meet('remote');
  const corrected = { burns: burns(0, 1, 8), pipelines: pipelines(1, 2, 8) };
  await dropped(() => burnFile(operator.write('a.json', burns(0, 1, 5))));
  await elsewhere(() => burnFile(operator.write('b.json', corrected.burns)));
  for (const more of [[], ['--rest'], ['--dry-run']]) {
    expectProblem(await burnFile('a.json', ...more), 2, { hint: 'pending forget' });
  }
  // Set up, not approved yet.
  await init(operator.write('p.json', pipelines(1, 2, 5)));
  await elsewhere(() => runFile(operator.write('q.json', corrected.pipelines), '--again'));
  for (const more of [[], ['--dry-run']]) {
    expectProblem(await runFile('p.json', ...more), 2, { hint: 'batch cancel' });
  }
  expect(await burned()).toBe(16);
  expect((await burnFile('a.json', '--allow-changed')).exit).toBe(0);
  expect((await runFile('p.json', '--allow-changed')).exit).toBe(0);
  expect(await burned()).toBe(26);
});

it('the rest of a cancelled batch is what others have not landed, and all of it may have', async () => {
  await meet('embedded');
  await cancel(await init(operator.write('a.json', pipelines(0, 2))));
  await elsewhere(() => runFile(operator.write('b.json', pipelines(1, 2))));
  expectProblem(await runFile('a.json'), 2, { hint: '--rest' });
  expect((await runFile('a.json', '--rest', '--dry-run')).exit).toBe(0);
  expect((await runFile('a.json', '--rest')).exit).toBe(0);
  await cancel(await init(operator.write('c.json', pipelines(5, 6))));
  const other = { pipelines: [...pipelines(5, 6).pipelines, ...pipelines(7, 8).pipelines] };
  expect((await runFile(operator.write('d.json', other))).exit).toBe(0);
  expect((await runFile('c.json', '--rest')).exit).toBe(0);
  expect((await runFile('c.json')).exit).toBe(0);
  expect(await burned()).toBe(4);
  expect((await runFile('c.json', '--again')).exit).toBe(0);
  expect(await burned()).toBe(5);
});

it('a rest that is refused cancels no batch', async () => {
  await meet('embedded');
  const all = [pipelines(0, 4), pipelines(4, 5, 495)].flatMap((one) => one.pipelines);
  const file = operator.write('a.json', { pipelines: all });
  await failedInPart(operator, file);
  await init(operator.write('b.json', pipelines(4, 6)), '--again');
  expectProblem(await runFile(file, '--rest'), 2, { message: 'Nothing was sent.' });
  expect((await operator.happened()).batches).not.toContain('CANCELLED');
});

itLong.each([
  ['GET', 7, 'its result cannot be looked up'],
  ['POST', 4, ' is cancelled.'],
] as const)(
  'a rest of which a %s is refused once its batch is cancelled says so',
  async (refused, exit, told) => {
    await meet('remote');
    const all = [pipelines(0, 4), pipelines(4, 5, 495)].flatMap((one) => one.pipelines);
    const file = operator.write('a.json', { pipelines: all });
    await failedInPart(operator, file);
    let votes = 0;
    gateOf(operator).fate = ({ method, path }) => {
      if (path.endsWith('/cancel')) votes += 1;
      else if (votes > 1 && method === refused) return { refuse: 403, withItsId: true };
      return 'pass';
    };
    const stopped = await runFile(file, '--rest');
    expect([stopped.exit, stopped.stderr]).toEqual([exit, expect.stringContaining(told)]);
    expect((await operator.happened()).batches).toContain('CANCELLED');
  },
);

it('a file whose batch was cancelled is not run by another key, but with --again alone', async () => {
  await meet('embedded');
  const file = operator.write('a.json', pipelines(0, 2));
  await cancel(await init(file));
  for (const more of [[], ['--idempotency-key', 'other'], ['--idempotency-key', 'other', '--dry-run']]) {
    expectProblem(await runFile(file, ...more), 2, { hint: '--again' });
  }
  expect((await runFile(file, '--again')).exit).toBe(0);
  expect(await burned()).toBe(2);
});

itLong(
  'a cancelled file whose rest was cancelled too is done once when the journal is lost, and says how',
  async () => {
    await meet('remote');
    const file = operator.write('a.json', pipelines(0, 4));
    await cancel(await init(file));
    await elsewhere(() => runFile(operator.write('b.json', pipelines(2, 3))));
    await cancel(await init(file, '--rest'));
    await elsewhere(() => runFile(operator.write('c.json', pipelines(3, 4))));
    await restore(journalHome(operator), JOURNAL, null);
    await giveUp(await runFile(file, '--rest'));
    expect((await runFile(file)).exit).toBe(10);
    expect((await runFile(file, '--rest')).exit).toBe(0);
    expect(await burned()).toBe(4);
  },
);

it.each(
  sampleOf(
    [
      ['another amount for it', 2],
      ['the same', 1],
    ] as const,
    1,
  ),
)('a batch that arrived late is not executed by its id where %s has landed since', async (_, amount) => {
  await meet('remote');
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
  expectProblem(refused, 2, { message: '1 of 1 pipeline' });
  expect(problemOf(refused).hint).toContain(`batch cancel ${id}`);
  expect(await burned()).toBe(2 * amount);
  // `--again` runs it as a new operation.
  expect((await operator.run(...words, '--again')).exit).toBe(0);
  expect(await burned()).toBe(2 * amount + 1);
});

it('actions in another order, with a memo, with one more or without one are no other pipeline', async () => {
  await meet('embedded');
  const { pipelines: plain } = pipelines(0, 1);
  const [burn, airdrop] = plain[0]?.actions ?? [];
  expect((await runFile(operator.write('a.json', plain))).exit).toBe(0);
  const memo = { action: 'MEMO', message: 'once more' };
  for (const actions of [[airdrop, burn], [burn, airdrop, memo], [burn, airdrop, airdrop], [burn], [airdrop]])
    for (const more of [['--dry-run'], [], ['--rest']]) {
      const file = operator.write('b.json', [{ ...plain[0], actions }]);
      expect([actions, (await runFile(file, ...more)).exit]).toEqual([actions, 2]);
    }
  expect(await burned()).toBe(1);
});

itLong(
  'a file whose batch was lost by a restore is missing only where nobody has landed it again',
  async () => {
    await meet('embedded');
    const backup = join(operator.directory, 'backup');
    await keep(operator.dataDir, SERVICE, backup);
    expect((await runFile(operator.write('a.json', pipelines(0, 2)))).exit).toBe(0);
    await restore(operator.dataDir, SERVICE, backup);
    expect((await runFile('a.json')).exit).toBe(7);
    await elsewhere(() => runFile(operator.write('b.json', pipelines(0, 2))));
    expect((await runFile('a.json')).exit).toBe(0);
    expect(await burned()).toBe(2);
  },
);

it('of a batch that a restore has lost, a file that overlaps says so', async () => {
  await meet('embedded');
  const backup = join(operator.directory, 'backup');
  await keep(operator.dataDir, STORE, backup);
  await init(operator.write('a.json', pipelines(0, 2)));
  await restore(operator.dataDir, STORE, backup);
  const told = await runFile(operator.write('b.json', pipelines(1, 3)));
  expect(told.exit).toBe(2);
  expect(problemOf(told).hint).toContain('does not know that batch any more');
  expect(await burned()).toBe(0);
});

it('a batch that a restore has lost is not done again while the chain has it', async () => {
  await meet('embedded');
  const backup = join(operator.directory, 'backup');
  const [alive, executed] = [pipelines(0, 2), pipelines(2, 4)].map((some, at) =>
    operator.write(`${at}.json`, some),
  ) as [string, string];
  await keep(operator.dataDir, STORE, backup);
  await init(alive);
  await restore(operator.dataDir, STORE, backup);
  for (const more of [[], ['--again']]) {
    expectProblem(await runFile(alive, ...more), 7, { message: 'On chain it can still be executed' });
  }
  const id = await init(executed);
  const signed = ['--keypair', operator.owner, '--expect', executed, '--yes'];
  await elsewhere(() => operator.run('batch', 'execute', id, ...signed));
  await restore(operator.dataDir, STORE, backup);
  const accept = ['db', 'accept-gap', '--data-dir', operator.dataDir, '--expect', '2', '--yes'];
  expect((await operator.run(...accept)).exit).toBe(0);
  for (const more of [[], ['--again']]) {
    expectProblem(await runFile(executed, ...more), 7, {
      message: 'On chain these pipelines of the file were executed: 1, 2.',
    });
  }
  expect(await burned()).toBe(2);
});

itLong(
  'a cancelled part of a file is run by another machine with the line that is printed there',
  async () => {
    await meet('remote');
    const cancelledPart = async (name: string, from: number): Promise<string> => {
      const file = operator.write(name, pipelines(from, from + 2));
      expect((await runFile(operator.write('first.json', pipelines(from, from + 1)))).exit).toBe(0);
      await cancel(await init(file, '--rest'));
      return file;
    };
    const [left, done] = [await cancelledPart('a.json', 0), await cancelledPart('b.json', 5)];
    expect((await runFile(done, '--rest')).exit).toBe(0);
    await restore(journalHome(operator), JOURNAL, null);
    for (const file of [left, done]) {
      for (const more of [[], ['--dry-run'], []]) {
        expectProblem(await runFile(file, ...more), 2, { hint: 'Add --rest' });
      }
      expect((await runFile(file, '--rest')).exit).toBe(0);
    }
    expect(await burned()).toBe(4);
    expect(await operator.pending()).toEqual([]);
  },
);

itLong(
  'what was cancelled elsewhere and has landed with another amount is not told to add what was added',
  async () => {
    await meet('remote');
    const file = operator.write('a.json', pipelines(0, 1, 2));
    await cancel(await init(file));
    expect((await runFile(operator.write('b.json', pipelines(0, 1)))).exit).toBe(0);
    await restore(journalHome(operator), JOURNAL, null);
    for (const more of [['--dry-run'], []]) {
      const refused = await runFile(file, '--rest', ...more);
      expectProblem(refused, 2, { hint: '--allow-changed' });
      expect(problemOf(refused).hint).not.toContain('Add --rest');
    }
    expectProblem(await runFile(file), 2, { hint: 'Add --rest' });
    expect(await operator.pending()).toEqual([]);
    expect((await runFile(file, '--rest', '--allow-changed', '--dry-run')).exit).toBe(0);
    expect((await runFile(file, '--rest', '--allow-changed')).exit).toBe(0);
    expect(await burned()).toBe(3);
  },
);

it('a batch that a restore has made wait again is not told as done', async () => {
  await meet('embedded');
  const file = operator.write('a.json', pipelines(0, 2));
  await init(file);
  const backup = join(operator.directory, 'backup');
  await keep(operator.dataDir, SERVICE, backup);
  expect((await runFile(file)).exit).toBe(0);
  await restore(operator.dataDir, SERVICE, backup);
  for (const more of [[], ['--dry-run'], ['--rest']])
    expect([more, (await runFile(file, ...more)).exit]).toEqual([more, 7]);
  expect((await runFile(operator.write('b.json', pipelines(1, 3)), '--rest')).exit).toBe(7);
});

itLong('a batch that waits is not told of a landing that a restore has lost', async () => {
  await meet('embedded');
  const file = operator.write('a.json', pipelines(0, 2));
  const id = await init(file);
  const backup = join(operator.directory, 'backup');
  await keep(operator.dataDir, SERVICE, backup);
  await elsewhere(() => runFile(operator.write('b.json', pipelines(0, 1)), '--again'));
  expect((await runFile(file)).exit).toBe(2);
  await restore(operator.dataDir, SERVICE, backup);
  expectProblem(await runFile(file), 7, { hint: `batch cancel ${id}` });
  await cancel(id);
  expect((await runFile(file, '--again')).exit).toBe(0);
  expect(await burned()).toBe(2);
});
