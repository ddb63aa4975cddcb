/** Checks the documents: generated parts are up to date, and every citation, link and name resolves. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/cli/catalogue.js';
import { OPERATION_LIST } from '../../src/contract/operations.js';
import { ERRORS } from '../../src/errors/codes.js';
import { generatedDocs } from './docs/generated.js';

const ROOT = process.cwd();
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Without code blocks, where `#` and brackets have other meanings. */
const prose = (path: string): string => read(path).replace(/^```[\s\S]*?^```/gm, '');

const headings = (path: string): readonly string[] =>
  [...prose(path).matchAll(/^#{1,6} (.+)$/gm)].map(([, title]) => title ?? '');

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

describe('generated parts', () => {
  it('are as `npm run docs` writes them', async () => {
    for (const { path, text } of await generatedDocs())
      expect(`${path}\n${read(path)}`).toBe(`${path}\n${text}`);
  });
});

describe('the contract', () => {
  it('names every code that crosses the wire', () => {
    const page = read('docs/contract.md');
    const codes = Object.entries(ERRORS).filter(([, { status }]) => status !== null);
    expect(codes.map(([code]) => code).filter((code) => !page.includes(code))).toEqual([]);
  });

  it('or the specification names every operation by method and path', () => {
    const pages = read('docs/contract.md') + read('docs/service.md');
    const missing = OPERATION_LIST.filter(({ method, path }) => !pages.includes(`\`${method} ${path}\``));
    expect(missing.map(({ id }) => id)).toEqual([]);
  });

  it.each(['docs/contract.md', 'README.md'])('has no option in %s that no command has', (path) => {
    const options = (text: string): ReadonlySet<string> => new Set(text.match(/(?<![\w-])--[a-z][a-z-]+/g));
    const known = options(read('docs/commands.md'));
    const unknown = [...options(read(path))].filter((option) => !known.has(option));
    expect(unknown).toEqual([]);
  });
});

describe('links', () => {
  it('lead to a file that is there and, where they name one, to a heading in it', () => {
    const broken = PAGES.flatMap((page) =>
      [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target]) => target ?? '')
        .filter((target) => !/^https?:\/\//.test(target))
        .filter((target) => !leads(page, target))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('of the README are in the package, so that they also work once it is installed', () => {
    const { files } = JSON.parse(read('package.json')) as { files: readonly string[] };
    const linked = [...prose('README.md').matchAll(/\]\((docs\/[^)#]+)/g)].map(([, path]) => path ?? '');
    expect(linked.length).toBeGreaterThan(0);
    expect(
      linked.filter((path) => !files.some((entry) => path === entry || path.startsWith(`${entry}/`))),
    ).toEqual([]);
  });
});

function leads(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || headings(file).some((title) => anchorOf(title) === anchor);
}

describe('paths', () => {
  it('that a page names are there', () => {
    const missing = PAGES.flatMap((page) =>
      [...prose(page).matchAll(/`((?:src|test|bin|docs)\/[\w./-]+)`/g)]
        .map(([, path]) => path ?? '')
        .filter((path) => !existsSync(resolve(ROOT, path)))
        .map((path) => `${page}: ${path}`),
    );
    expect(missing).toEqual([]);
  });
});

/** Words after `flywheel` where a text runs it, and words that sources pass to `commandLine`. */
function* commandsIn(text: string): Generator<readonly string[]> {
  for (const [, words = ''] of text.matchAll(/(?:`|\$ |Run: )flywheel((?: [a-z][a-z-]*)+)/g))
    yield words.trim().split(' ');
  for (const [, words = ''] of text.matchAll(/commandLine\([\w.]+((?:, '[a-z-]+')+)/g))
    yield [...words.matchAll(/[a-z-]+/g)].map(([word]) => word);
}

/** Words after a command without subcommands are its arguments. */
function isCommand(words: readonly string[]): boolean {
  let [entries, isOne] = [CATALOGUE, false];
  for (const word of words) {
    const entry = entries.find(({ name }) => name === word);
    if (entry?.entries === undefined) return entry !== undefined || isOne;
    [entries, isOne] = [entry.entries, entry.load !== undefined];
  }
  return true;
}

describe('commands', () => {
  it('that a page or the program names are there', () => {
    // Lock names in src/store look like commands.
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.startsWith('store/'))
      .map((name) => `src/${name}`);
    const missing = [...PAGES, ...sources].flatMap((path) =>
      [...commandsIn(read(path))]
        .filter((words) => !isCommand(words))
        .map((words) => `${path}: flywheel ${words.join(' ')}`),
    );
    expect(missing).toEqual([]);
  });
});
