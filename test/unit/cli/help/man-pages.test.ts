/** The manual: a page for every command, in the package, that `man` reads without a complaint. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manPages, roffText } from '../../../../src/cli/help/man-pages.js';
import { allCommands } from '../../../../src/cli/help/pages.js';
import { commandPath } from '../../../../src/cli/program.js';

const pages = await manPages('1.2.3');
const inPackage = (): readonly string[] =>
  (JSON.parse(readFileSync('package.json', 'utf8')) as { man: readonly string[] }).man;

describe('roffText', () => {
  it('leaves nothing that roff would take for more than text', () => {
    expect(roffText('.TH a\n.b\n\'c \\fB-x "… `^~')).toBe(
      '\\&.TH a\n\\&.b\n\\(aqc \\(rsfB\\-x \\(dq\\[u2026] \\(ga\\(ha\\(ti',
    );
  });
});

describe('manPages', () => {
  it('has a page for every command, and the package names each', async () => {
    const commands = (await allCommands('1.2.3')).map((command) => commandPath(command).replaceAll(' ', '-'));
    expect(pages.map(({ file }) => file)).toEqual(commands.map((name) => `${name}.1`));
    expect(inPackage()).toEqual(commands.map((name) => `./dist/man/${name}.1`).sort());
  });

  it('begins every line with text or with a request that there is', () => {
    const requests = new Set(['.TH', '.nh', '.SH', '.TP', '.PP', '.RS', '.RE', '.nf', '.fi']);
    const odd = pages.flatMap(({ file, text }) =>
      text
        .split('\n')
        .filter((line) => /^[.']/.test(line) && !requests.has(line.split(' ')[0] ?? ''))
        .map((line) => `${file}: ${line}`),
    );
    expect(odd).toEqual([]);
    for (const { text } of pages) {
      expect(text).toMatch(/^[\n\x20-\x7e]+$/);
      // Before all text: no name is broken at the end of a line.
      expect(text.split('\n')[1]).toBe('.nh');
    }
  });

  it('is read by man, where there is one, without a complaint, and says what the help says', () => {
    const directory = mkdtempSync(join(tmpdir(), 'flywheel-man-'));
    const shown = (name: string): string | null => {
      const path = join(directory, name);
      writeFileSync(path, pages.find(({ file }) => file === name)?.text ?? '');
      const { stdout, stderr, error } = spawnSync('man', ['--warnings', '-E', 'UTF-8', '-l', path], {
        env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', MANWIDTH: '100' },
        encoding: 'utf8',
      });
      if (error !== undefined) return null;
      expect([name, stderr]).toEqual([name, '']);
      return stdout;
    };
    for (const { file } of pages.slice(0, 12)) shown(file);
    const page = shown('flywheel-batch-list.1');
    if (page === null) return;
    expect(page).toContain('flywheel-batch-list - List the batches, newest first');
    expect(page).toContain('--recipient <address>');
    expect(page).toContain('(AVAILABLE_TO_QUEUE, FINALIZED, EXECUTED, FAILED)');
    expect(page).toContain('flywheel batch list --status FINALIZED --json');
    expect(shown('flywheel.1')).toContain('FLYWHEEL_API_KEY');
  });
});
