/** The parts of the README that a machine writes, each between its markers; `npm run docs` writes them, a test compares. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { helpPages } from '../../src/cli/help/pages.js';
import { ERRORS } from '../../src/errors/codes.js';
import { EXIT_CODE_MEANINGS } from '../../src/errors/exit-codes.js';

export const README = resolve('README.md');
const WIDTH = 100;
/** Longer than any run of back quotes inside. */
const FENCE = '```';

const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

async function commands(): Promise<string> {
  const { version } = JSON.parse(readFileSync(resolve('package.json'), 'utf8')) as {
    version: string;
  };
  const pages = await helpPages(version, WIDTH);
  // The exit codes have tables of their own below.
  return pages
    .filter(({ command }) => command !== 'flywheel help exit-codes')
    .map(({ command, text }) => {
      const own = text.replace(/\nGlobal Options:\n(?: {2}.*\n)+/, '');
      const body = `${FENCE}text\n${own.trimEnd()}\n${FENCE}`;
      return command === 'flywheel --help'
        ? body
        : `<details><summary><code>${command}</code></summary>\n\n${body}\n\n</details>`;
    })
    .join('\n\n');
}

function exitCodes(): string {
  const rows = EXIT_CODE_MEANINGS.map(([code, meaning]) => row(code, meaning));
  return [row('exit', 'meaning'), row('---', '---'), ...rows].join('\n');
}

function errors(): string {
  const rows = Object.entries(ERRORS).map(([code, { status, exit, when }]) =>
    row(`\`${code}\``, status ?? '', exit, when),
  );
  return [row('code', 'HTTP', 'exit', 'when'), row('---', '---', '---', '---'), ...rows].join('\n');
}

/** The README with its generated parts made anew. */
export async function renderReadme(text: string): Promise<string> {
  const parts: Readonly<Record<string, string>> = {
    commands: await commands(),
    'exit-codes': exitCodes(),
    errors: errors(),
  };
  let rendered = text;
  for (const [name, body] of Object.entries(parts)) {
    const start = `<!-- ${name}: written by npm run docs -->`;
    const end = `<!-- end of ${name} -->`;
    const from = rendered.indexOf(start);
    const to = rendered.indexOf(end);
    if (from < 0 || to < from) throw new Error(`README.md has no place for ${name}.`);
    rendered = `${rendered.slice(0, from + start.length)}\n\n${body}\n\n${rendered.slice(to)}`;
  }
  return rendered;
}
