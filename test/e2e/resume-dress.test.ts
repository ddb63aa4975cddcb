/** What was left with its outcome unknown and is asked for by other options: nothing is sent but what resumes it. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { burnsOf, pipelinesOf } from '../support/deeds.js';
import type { Fate } from '../support/gate.js';
import { describeLong, itLong, sampleOf } from '../support/long.js';
import {
  anOperator,
  gateOf,
  makeTemplate,
  type Operator,
  pointsIn,
  problemOf,
  resumeLineOf,
  type Template,
} from '../support/operator.js';

let template: Template;
let remote: Operator;
let embedded: Operator;
beforeAll(async () => {
  template = await makeTemplate();
  [remote, embedded] = await Promise.all([
    anOperator('remote', template, { pinned: false }),
    anOperator('embedded', template),
  ]);
});
afterAll(() => remote.leave());

const burned = async (operator: Operator): Promise<number> => Number((await operator.happened()).burned);

/** What becomes of each POST from now on. */
function posts(fate: Fate): void {
  const gate = gateOf(remote);
  gate.fate = ({ method }) => (method === 'POST' ? fate : 'pass');
}

/** Ways to ask for one burn of one token. */
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

/** Asks for it in another dress, which is refused with the line that resumes it, and pastes that. */
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
    const pairs = sampleOf(PAIRS, 3);
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

  it('is refused in every other dress when it was killed, until it is printed', async () => {
    const listFile = join(embedded.directory, 'list');
    const pairs = sampleOf(PAIRS, 2);
    const counts = new Map<string, number>();
    // The first of all makes the journal.
    for (const dress of ['plain', ...new Set(pairs.map(([first]) => first))]) {
      const name = `counted-${dress}`;
      expect((await embedded.runWith({ listFile }, ...words(dress, name))).exit).toBe(0);
      counts.set(dress, pointsIn(listFile).count);
    }
    const before = await burned(embedded);
    for (const [at, [first, second]] of pairs.entries()) {
      const name = `${first}-${second}`;
      // The last ones lie between the burn and its being printed.
      const point = (counts.get(first) ?? 0) - (at % 6);
      const killed = await embedded.runWith({ signal: 'SIGKILL', point }, ...words(first, name));
      expect([name, point, killed.signal]).toEqual([name, point, 'SIGKILL']);
      if (killed.stdout === '') await resumes(embedded, name, second);
    }
    // Those that were killed after they were printed.
    expect((await embedded.run('pending', 'resume')).exit).toBe(0);
    expect((await burned(embedded)) - before).toBe(pairs.length);
  });

  itLong(
    'is refused as an element of a file, and burns are while such a file is of unknown outcome',
    async () => {
      const before = await burned(remote);
      const fileOf = (name: string): string =>
        remote.write('one.json', [
          { type: 'WATCH_AD', proof: { name }, burnAmount: 1, persistOnchain: false },
        ]);
      const dresses = sampleOf(['plain', 'once', 'key'], 1);
      for (const dress of dresses) {
        posts('lose');
        expect((await remote.run(...words(dress, `${dress}-file`))).exit).toBe(7);
        posts('pass');
        const refused = await remote.run('burn-batch', fileOf(`${dress}-file`), '--json');
        expect([refused.exit, refused.stdout]).toEqual([2, '']);
        expect((await remote.run('pending', 'resume')).exit).toBe(0);
        const file = fileOf(`file-${dress}`);
        posts('lose');
        expect((await remote.run('burn-batch', file)).exit).toBe(7);
        posts('pass');
        await expect(remote.run(...words(dress, `file-${dress}`))).resolves.toMatchObject({ exit: 2 });
        expect((await remote.run('burn-batch', file)).exit).toBe(0);
      }
      expect((await burned(remote)) - before).toBe(2 * dresses.length);
    },
  );
});

describeLong('a file of unknown outcome', () => {
  const none: readonly string[] = [];

  const files = [
    ['burn-batch', 'a key'],
    ['burn-batch', 'no key'],
    ['batch init', 'a key'],
    ['batch init', 'no key'],
  ] as const;

  it.each(sampleOf(files, 2))('%s: is refused with %s, in whichever words', async (command, how) => {
    const before = await remote.happened();
    const [name, isBurn] = [`${command} ${how}`, command === 'burn-batch'];
    const content = isBurn ? burnsOf(name) : pipelinesOf(name);
    const key = ['--idempotency-key', randomUUID()];
    const [first, second] = how === 'a key' ? [none, key] : [key, none];
    const run = (file: string, more: readonly string[]) =>
      remote.run(...command.split(' '), file, ...more, '--json');
    posts('lose');
    const lost = await run(remote.write('f.json', content), first);
    posts('pass');
    const reversed = JSON.stringify(content.map((one) => Object.fromEntries(Object.entries(one).reverse())));
    const numbers = reversed.replaceAll('mount":1', 'mount":1.00');
    const texts = [reversed, numbers, numbers.replaceAll('"persistOnchain":false', '"persistOnchain":true')];
    for (const text of sampleOf(texts, 1 + Number(isBurn))) {
      writeFileSync(join(remote.directory, 'g.json'), text);
      const refused = await run('g.json', second);
      expect([lost.exit, refused.exit, refused.stdout]).toEqual([7, 2, '']);
      expect(problemOf(refused).hint).toContain(resumeLineOf(lost));
    }
    expect((await remote.paste(resumeLineOf(lost))).exit).toBe(0);
    const after = await remote.happened();
    expect([
      Number(after.burned) - Number(before.burned),
      after.batches.length - before.batches.length,
    ]).toEqual(isBurn ? [3, 0] : [0, 1]);
  });
});
