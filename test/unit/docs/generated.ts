/** Generates the documents that `npm run docs` writes, whole or between markers; a test compares them. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ERRORS } from '../../../src/errors/codes.js';
import { EXIT_CODES } from '../../../src/errors/exit-codes.js';
import { type HelpPage, helpPages } from './help-pages.js';

interface Generated {
  readonly path: string;
  readonly text: string;
}

const WIDTH = 100;
/** Longer than any run of backquotes inside. */
const FENCE = '```';

const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

const table = (head: readonly string[], rows: readonly string[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows].join('\n');

const exitMeanings = (): string =>
  table(
    ['exit', 'meaning'],
    EXIT_CODES.map(({ code, meaning }) => row(code, meaning)),
  );

const exitCodes = (): string =>
  table(
    ['exit', 'meaning', 'what a script should do'],
    EXIT_CODES.map(({ code, meaning, script }) => row(code, meaning, script)),
  );

const errors = (): string =>
  table(
    ['code', 'HTTP', 'exit', 'when'],
    Object.entries(ERRORS).map(([code, { status, exit, when }]) =>
      row(`\`${code}\``, status ?? '', exit, when),
    ),
  );

const ownText = ({ text }: HelpPage): string =>
  text.replace(/\nOptions of all commands .*\nExit codes: .*\n/, '').trimEnd();

const section = (page: HelpPage): string =>
  `## ${page.command.replace(/ --help$/, '')}\n\n${FENCE}text\n${ownText(page)}\n${FENCE}`;

async function commandsPage(): Promise<string> {
  const { version } = JSON.parse(readFileSync(resolve('package.json'), 'utf8')) as { version: string };
  const pages = await helpPages(version, WIDTH);
  const head = [
    '# Commands',
    'Written by `npm run docs` from the program itself: what `--help` prints, page by page. Options of all commands are under',
    '`flywheel help settings` below. Exit codes and error codes are in [errors.md](errors.md).',
  ];
  // The exit codes have their own page.
  const shown = pages.filter(({ command }) => command !== 'flywheel help exit-codes');
  return `${head[0]}\n\n${head.slice(1).join('\n')}\n\n${shown.map(section).join('\n\n')}\n`;
}

const errorsPage = (): string => `# Exit codes and errors

Written by \`npm run docs\` from \`src/errors\`. A code is never renamed or reused. A code without an HTTP status arises at the
command line only. Exit 2 means that nothing was sent, so an error that came from a service exits by its status instead: a 400 is 5.

## Exit codes

${exitCodes()}

## Error codes

${errors()}
`;

function between(text: string, name: string, body: string): string {
  const start = `<!-- ${name}: written by npm run docs -->`;
  const from = text.indexOf(start);
  const to = text.indexOf(`<!-- end of ${name} -->`);
  if (from < 0 || to < from) throw new Error(`README.md has no place for ${name}.`);
  return `${text.slice(0, from + start.length)}\n\n${body}\n\n${text.slice(to)}`;
}

export async function generatedDocs(): Promise<readonly Generated[]> {
  const readme = readFileSync(resolve('README.md'), 'utf8');
  return [
    { path: 'README.md', text: between(readme, 'exit-codes', exitMeanings()) },
    { path: 'docs/commands.md', text: await commandsPage() },
    { path: 'docs/errors.md', text: errorsPage() },
  ];
}
