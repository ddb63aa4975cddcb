import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleOf } from '../support/long.js';
import type { Fate } from './gate.js';
import {
  anOperator,
  expectProblem,
  gateOf,
  type Operator,
  pointsIn,
  problemOf,
  resumeLineOf,
} from './operator.js';

let remote: Operator;
let embedded: Operator;
beforeAll(async () => {
  [remote, embedded] = await Promise.all([
    anOperator('remote', [], { pinned: false }),
    anOperator('embedded'),
  ]);
});
afterAll(() => remote.leave());

const burned = async (operator: Operator): Promise<number> => Number((await operator.happened()).burned);

function posts(fate: Fate): void {
  const gate = gateOf(remote);
  gate.fate = ({ method }) => (method === 'POST' ? fate : 'pass');
}

/** Command forms that burn the same one token. */
const DRESSES: Readonly<Record<string, (name: string) => readonly string[]>> = {
  plain: () => [],
  once: () => ['--once'],
  key: (name) => ['--idempotency-key', `key-of-${name}`],
  'other-key': (name) => ['--idempotency-key', `other-key-of-${name}`],
  'once-on-chain': () => ['--once', '--persist-onchain'],
};
const PAIRS = ['plain', 'once', 'key'].flatMap((first) =>
  Object.keys(DRESSES)
    .filter((second) => second !== first)
    .map((second) => [first, second] as const),
);

const words = (dress: string, name: string): readonly string[] => [
  ...['burn', '--type', 'WATCH_AD', '--proof', JSON.stringify({ name }), '--amount', '1', '--json'],
  ...(DRESSES[dress]?.(name) ?? []),
];

/** Repeats the burn in another form, which is refused with a resume line, and runs that line. */
async function resumes(operator: Operator, name: string, second: string): Promise<void> {
  const refused = await operator.run(...words(second, name));
  const line = resumeLineOf(refused);
  expect([name, refused.exit, refused.stdout, line === '']).toEqual([name, 2, '', false]);
  const resumed = await operator.paste(line);
  expect([name, resumed.exit, JSON.parse(resumed.stdout).result]).toEqual([name, 0, 'SUCCESS']);
}

describe('a burn of unknown outcome', () => {
  it('is refused in every other dress while its answer is lost', async () => {
    const before = await burned(remote);
    const pairs = sampleOf(PAIRS, 2);
    for (const [first, second] of pairs) {
      const name = `${first}-${second}`;
      posts('lose');
      expect([name, (await remote.run(...words(first, name))).exit]).toEqual([name, 7]);
      posts('pass');
      await resumes(remote, name, second);
    }
    expect(remote.open()).toEqual([]);
    expect((await burned(remote)) - before).toBe(pairs.length);
  });

  it('is finished by the same command where that has --again, and is not burned a third time', async () => {
    const before = await burned(remote);
    expect((await remote.run(...words('once', 'again'))).exit).toBe(0);
    posts('lose');
    expect((await remote.run(...words('once', 'again'), '--again')).exit).toBe(7);
    posts('pass');
    expect((await remote.run(...words('once', 'again'), '--again')).exit).toBe(0);
    expect([remote.open(), (await burned(remote)) - before]).toEqual([[], 2]);
    expect((await remote.run(...words('once', 'again'), '--again')).exit).toBe(0);
    expect((await burned(remote)) - before).toBe(3);
  });

  it('is refused with another amount too, alone and in a file, until its outcome is known', async () => {
    const before = await burned(remote);
    const proof = { name: 'changed' };
    const fileOf = (burnAmount: number): readonly string[] => [
      'burn-batch',
      remote.write(`changed-${burnAmount}.json`, [
        { type: 'WATCH_AD', proof, burnAmount, persistOnchain: false },
      ]),
      ...['--yes', '--json'],
    ];
    const alone = ['burn', '--type', 'WATCH_AD', '--proof', JSON.stringify(proof), '--amount', '2', '--json'];
    posts('drop');
    expect((await remote.run(...fileOf(1))).exit).toBe(7);
    posts('pass');
    let line = '';
    for (const second of [
      ...[[], ['--rest'], ['--allow-changed'], ['--again'], ['--dry-run']].map((how) => [
        ...fileOf(2),
        ...how,
      ]),
      ...[[], ['--once']].map((how) => [...alone, ...how]),
    ]) {
      const refused = await remote.run(...second);
      line = /flywheel pending resume .*/.exec(problemOf(refused).hint ?? '')?.[0] ?? '';
      expect([second, refused.exit, refused.stdout, line]).toEqual([
        second,
        2,
        '',
        expect.stringMatching(/./),
      ]);
    }
    expect((await remote.paste(line)).exit).toBe(0);
    expectProblem(await remote.run(...fileOf(2)), 2, { hint: '--allow-changed' });
    expect((await burned(remote)) - before).toBe(1);
  });

  it('is refused in its file with --again, and outside it, when the file was killed, until that is printed', async () => {
    const listFile = join(embedded.directory, 'list-of-file');
    const burnFile = (name: string): readonly string[] => {
      const burn = { type: 'WATCH_AD', proof: { name }, burnAmount: 1, persistOnchain: false };
      return ['burn-batch', embedded.write(`${name}.json`, [burn]), '--json'];
    };
    // The first command creates the journal.
    expect((await embedded.run(...burnFile('file-first'))).exit).toBe(0);
    expect((await embedded.runWith({ listFile }, ...burnFile('file-counted'))).exit).toBe(0);
    const { count } = pointsIn(listFile);
    let unprinted = 0;
    for (const early of [0, 2, 4]) {
      const name = `file-${early}`;
      const how = { signal: 'SIGKILL', point: count - early } as const;
      if ((await embedded.runWith(how, ...burnFile(name))).stdout !== '') continue;
      unprinted += 1;
      const before = await burned(embedded);
      const again = await embedded.run(...burnFile(name), '--again');
      expect([name, again.exit, again.stdout]).toEqual([name, 2, '']);
      expect(again.stderr).not.toContain('does not have');
      const refused = await embedded.run(...words('plain', name));
      const line = resumeLineOf(refused);
      expect([name, refused.exit, refused.stdout, line]).toEqual([name, 2, '', expect.stringMatching(/./)]);
      expect(problemOf(again).hint).toContain(line);
      const resumed = await embedded.paste(line);
      expect([name, resumed.exit, JSON.parse(resumed.stdout).success.length]).toEqual([name, 0, 1]);
      expect([0, 1]).toContain((await burned(embedded)) - before);
      // What is finished can be burned again.
      expect((await embedded.run(...burnFile(name), '--again')).exit).toBe(0);
    }
    expect(unprinted).toBeGreaterThan(0);
  });
});
