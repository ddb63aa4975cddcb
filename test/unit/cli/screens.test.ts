/**
 * Compares whole screens with files, at 80 columns, and some with colours. No other test compares sentences. Update with `npx
 * vitest run --config test/vitest.config.ts test/unit/cli/screens.test.ts -u`.
 */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { TestCliOptions } from '../../support/in-process.js';
import { SCREENS, type Screen } from './screens.js';

const COLOURED = new Set(['batch-inspect-drifted', 'error-rate']);
const UNWRAPPED =
  /^(?:.*-csv|caps-r.+|batch-inspect-[^e].*|batch-(?:approve.*|reject|verify)|proof-verify|doctor|db-migrate|db-accept-gap|register)$/;
const TERMINAL = { stdin: true, stdout: true, stderr: true };

/** Progress appears after half a second, as on a busy machine. */
const PROGRESS = /^working …\n/gm;

/** Replaces values that vary between runs and machines; paths are as long as a test's. */
const steady = (text: string): string =>
  text
    .replace(
      /\/(?:tmp\/flywheel-tests|dev\/shm\/flywheel-t)-\w{6}\/flywheel-test-\w{6}/g,
      '/home/operator/projects/of-a-shop/its-workspace',
    )
    .replace(/\d+ MiB free/g, '1024 MiB free')
    .replace(/native parts: [\s\S]*?\n(?=\S|$)/g, 'native parts: they load\n');

async function shown(name: string, options: TestCliOptions): Promise<string> {
  const { stdout, questions, ...said } = await (SCREENS[name] as Screen)({
    tty: TERMINAL,
    columns: 80,
    ...options,
  });
  const stderr = said.stderr.replace(PROGRESS, '');
  const asked = questions.map((question) => `--- question\n${question}\n`).join('');
  return steady(`${stdout}${stderr === '' ? '' : `--- stderr\n${stderr}`}${asked}`);
}

/** Lines wider than the terminal, except single words and commands to copy. */
const tooWide = (text: string, columns: number): readonly string[] =>
  text.split('\n').filter((line) => {
    const isWord = !/\S\s+\S/.test(line.replace(/^\s*next/, ''));
    const isCommand = /^\s*(?:next +)?(?:\$ |Next: )?`?flywheel /.test(line);
    return line.length > columns && !isWord && !isCommand;
  });

/** Texts that must not be cut: addresses, hashes, amounts, dates. */
const facts = (text: string): ReadonlySet<string> => new Set(text.match(/[\w:.,-]*\d[\w:.,-]*\w/g) ?? []);

describe('screens', () => {
  it.each(Object.keys(SCREENS))('%s', async (name) => {
    const plain = await shown(name, { env: { NO_COLOR: '1' } });
    const coloured = await shown(name, { env: { FORCE_COLOR: '1' } });
    const golden = COLOURED.has(name)
      ? `${plain}\n=== with colour\n${coloured.replaceAll('\u001b', '␛')}`
      : plain;
    await expect(golden).toMatchFileSnapshot(`./golden/${name}.txt`);
    expect(stripVTControlCharacters(coloured)).toBe(plain);
    expect(plain).not.toContain('\u001b');
    if (!UNWRAPPED.test(name)) expect(tooWide(plain, 80)).toEqual([]);
    for (const columns of [60, 120]) {
      const other = await shown(name, { env: { NO_COLOR: '1' }, columns });
      if (!UNWRAPPED.test(name)) expect(tooWide(other, columns)).toEqual([]);
      if (!name.startsWith('help'))
        expect([...facts(plain)].filter((fact) => !facts(other).has(fact))).toEqual([]);
    }
  });

  it.each([...COLOURED])(
    '%s is plain without a terminal, and where the terminal knows no colour',
    async (name) => {
      for (const options of [
        { tty: {} },
        { env: { TERM: 'dumb' } },
        { env: { TERM: 'xterm', NO_COLOR: '1' } },
      ])
        expect(await shown(name, options)).not.toContain('\u001b');
      expect(await shown(name, { env: { TERM: 'xterm' } })).toContain('\u001b');
    },
  );
});
