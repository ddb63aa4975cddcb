/** Dry runs and file checks with the built program in an empty home. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { describeLong } from '../support/long.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';
import { expectProblem, problemOf } from './operator.js';

const home = emptyDirectory();
const run = (...words: string[]) => flywheelHere({ home }, ...words);
const json = async (...words: string[]) => JSON.parse((await run(...words)).stdout);
const write = (name: string, value: unknown): string => {
  writeFileSync(join(home, name), JSON.stringify(value), { mode: 0o600 });
  return name;
};
const burn = (id: number, burnAmount: number, type = 'WATCH_AD') => ({
  type,
  proof: { id },
  burnAmount,
  persistOnchain: false,
});

beforeAll(async () => {
  const set = ['--daily-burn', '100', '--burn-wallet-tokens', '40', '--vault-tokens', '50'];
  await json('local', 'init', ...set);
});

describe('--dry-run', () => {
  it('says what a burn would come to, and burns nothing', async () => {
    const words = ['burn', '--type', 'WATCH_AD', '--proof', '{}', '--dry-run', '--amount'];
    const { foreseen, ...plan } = await json(...words, '2.5');
    expect(plan).toMatchObject({ dryRun: true, type: 'WATCH_AD', amount: 2.5 });
    expect(foreseen).toMatchObject({
      burnWallet: { before: '40', after: '37.5' },
      usedToday: { before: '0', after: '2.5' },
    });
    expectProblem(await run(...words, '41'), 5, { error: 'ERR_BURN_TOKENOMICS_FAILED' });
    const withoutScratch = await flywheel(
      { home, env: { TMPDIR: join(home, 'none') } },
      ...words,
      '1',
      '--json',
    );
    expectProblem(withoutScratch, 6, { message: /no such file or directory/ });
    expect((await json('local', 'status')).burned).toBe('0');
    expect(await json('pending')).toEqual([]);
  });

  it('says of a batch what it would come to, and what init would refuse it with', async () => {
    const action = (amount: number) => [{ action: 'BURN', amount }];
    const pipeline = (amount: number) => ({ type: 'WATCH_AD', payload: { amount }, actions: action(amount) });
    const good = write('good.json', [pipeline(3)]);
    expect((await json('batch', 'init', good, '--dry-run')).foreseen).toMatchObject({
      vault: { before: '50', after: '47' },
      usedToday: { burn: { before: '0', after: '3' }, airdrop: { before: '0', after: '0' } },
    });
    const refused = await run('batch', 'run', write('much.json', [pipeline(60)]), '--dry-run');
    expectProblem(refused, 5, { error: 'ERR_INSUFFICIENT_FUNDS' });
    write('there.json', []);
    const taken = await run('batch', 'run', good, '--failed-out', 'there.json', '--dry-run');
    expectProblem(taken, 2, { error: 'ERR_INPUT_INVALID' });
    const capped = await run('batch', 'init', write('capped.json', [pipeline(101)]), '--dry-run');
    expect(problemOf(capped).message).toMatch(/daily burn cap of 100 FLY.*has 50 FLY/);
    expect(await json('batch', 'list')).toEqual([]);

    // The waiting batch reserves 45, and only once.
    const waiting = write('waiting.json', [pipeline(30), pipeline(15)]);
    await json('caps', '--burn', '60', '--yes');
    await json('batch', 'init', waiting);
    const again = await json('batch', 'init', waiting, '--dry-run');
    expect([again.totalBurn, again.foreseen]).toEqual(['45', null]);
    const { batch } = await json('batch', 'init', waiting);
    await json('local', 'export-owner', 'owner.json');
    await json('batch', 'cancel', batch.id, '--keypair', 'owner.json', '--yes');
    await json('caps', '--burn', '100', '--yes');
  });
});

it('of a batch that waits is refused as the batch itself, where it can no longer be executed', async () => {
  const place = emptyDirectory();
  const at = (...words: string[]) => flywheelHere({ home: place }, ...words);
  const file = (name: string, amount: number): string => {
    const pipeline = { type: 'WATCH_AD', payload: { amount }, actions: [{ action: 'BURN', amount }] };
    writeFileSync(join(place, name), JSON.stringify([pipeline]));
    return name;
  };
  await at('local', 'init', '--vault-tokens', '50');
  await at('local', 'export-owner', 'owner.json');
  const waiting = ['batch', 'run', file('waiting.json', 45), '--keypair', 'owner.json'];
  expect((await at('batch', 'init', 'waiting.json')).exit).toBe(0);
  expect((await at(...waiting, '--dry-run')).exit).toBe(0);
  const other = ['batch', 'run', file('other.json', 10), '--keypair', 'owner.json'];
  expect((await at(...other, '--yes')).exit).toBe(0);
  for (const more of ['--dry-run', '--yes']) {
    expectProblem(await at(...waiting, more), 9, { error: 'ERR_APPROVAL_REFUSED' });
  }
});

describe('what batches may take of the SOL', () => {
  it('is set with `local init`', async () => {
    const place = emptyDirectory();
    const at = (...words: string[]) => flywheelHere({ home: place }, ...words);
    const bad = await at('local', 'init', '--max-batch-rent', '0.0000000001');
    expectProblem(bad, 2, { message: '--max-batch-rent' });
    expect((await at('local', 'init', '--min-operator-sol', '0', '--max-batch-rent', '0.001')).exit).toBe(0);
    const pipelines = [{ type: 'WATCH_AD', payload: {}, actions: [{ action: 'MEMO', message: 'hi' }] }];
    writeFileSync(join(place, 'p.json'), JSON.stringify(pipelines));
    expectProblem(await at('batch', 'init', 'p.json'), 5, { message: 'the maximum is 0.001 SOL' });
  });
});

describe('--strict', () => {
  it('sends nothing if any element would fail, and leaves the file as it never was', async () => {
    const file = write('strict.json', [burn(1, 30), burn(2, 20), burn(3, 5, 'NOPE'), burn(4, 10)]);
    const message = /2 problems, nothing was sent: \[1\]: .*\[2\]: /;
    expectProblem(await run('burn-batch', file, '--strict'), 2, { error: 'ERR_INPUT_INVALID', message });
    expect((await json('local', 'status')).burned).toBe('0');
    const fine = write('fine.json', [burn(1, 30), burn(4, 10)]);
    expect((await run('burn-batch', fine, '--strict')).exit).toBe(0);
    expect((await json('local', 'status')).burned).toBe('40');
    const again = await run('burn-batch', fine, '--dry-run');
    expect(again.stderr).toContain(
      'All of it landed. The command would send nothing and print the stored result.',
    );
  });
});

describeLong('profile add', () => {
  it('loses nothing when several run at once', async () => {
    const names = ['a', 'b', 'c'];
    const add = (name: string) =>
      flywheel(
        { home, stdin: `key-of-${name}` },
        ...['profile', 'add', name, '--api-url', `https://${name}.example`, '--api-key-stdin'],
      );
    const exits = await Promise.all(names.map(async (name) => (await add(name)).exit));
    expect(exits).toEqual(names.map(() => 0));
    const profiles = await json('profile', 'list');
    expect(
      profiles.map(({ name, hasApiKey }: { name: string; hasApiKey: boolean }) => [name, hasApiKey]),
    ).toEqual(names.map((name) => [name, true]));
  });
});
