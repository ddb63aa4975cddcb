/** Checks the documents: generated parts are up to date, and every citation, link and name resolves. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/cli/catalogue.js';
import { OPERATION_LIST } from '../../src/contract/operations.js';
import { ERRORS } from '../../src/errors/codes.js';
import { generatedDocs } from '../support/generated-docs.js';

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

/** Documents that comments cite by section, and external ones, whose sections are not checked. */
const DOCUMENT =
  /(?<squads>squads-v4\.md)|(?<service>(?:service )?specification)|(?<contract>contract)|(?<foreign>\bRFC \d+|\bdraft\b)/gi;
const PAGE_OF = {
  squads: 'docs/squads-v4.md',
  service: 'docs/service.md',
  contract: 'docs/contract.md',
} as const;
type Cited = keyof typeof PAGE_OF | 'foreign';

/** The word and one number or several: `7.12`, `6 and 7.12`, `4.3 to 4.5`. The step of a section is ignored. */
const CITATION = /\bsections? (\d+(?:\.\d+)*(?:(?:, | and | to |, and )\d+(?:\.\d+)*)*)/gi;

interface Citation {
  readonly place: string;
  readonly document: Cited | undefined;
  readonly section: string;
}

/** Comments of a file in order, each on one line. */
const commentsOf = (text: string): readonly string[] =>
  [...text.matchAll(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm)].map(([comment]) =>
    comment.replace(/\s*\n\s*\*?\s*/g, ' '),
  );

/** Each citation belongs to the last document named before it, in the same comment or an earlier one of the file. */
function citationsOf(path: string): readonly Citation[] {
  const found: Citation[] = [];
  let document: Cited | undefined;
  for (const comment of commentsOf(read(path))) {
    const named = [...comment.matchAll(DOCUMENT)];
    for (const { index, 1: sections = '' } of comment.matchAll(CITATION)) {
      const before = named.filter((match) => match.index < index).at(-1);
      document = before === undefined ? document : kindOf(before);
      for (const section of sections.split(/, and |, | and | to /))
        found.push({ place: path, document, section });
    }
    const own = named.map(kindOf).filter((kind) => kind !== 'foreign');
    document = own[0] ?? (document === 'foreign' ? undefined : document);
  }
  return found;
}

const kindOf = ({ groups = {} }: RegExpMatchArray): Cited =>
  (Object.keys(groups) as Cited[]).find((kind) => groups[kind] !== undefined) ?? 'foreign';

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mjs|cjs)$/.test(name))
    .map((name) => `${folder}/${name}`);

describe('sections that comments cite', () => {
  const cited = [...sourcesIn('src'), ...sourcesIn('test')].flatMap(citationsOf);
  const show = ({ place, document, section }: Citation): string => `${place}: ${document ?? '?'} ${section}`;

  it('are cited together with the document they are of', () => {
    expect(cited.filter(({ document }) => document === undefined).map(show)).toEqual([]);
  });

  it.each(Object.entries(PAGE_OF))('of %s are in %s', (document, page) => {
    const sections = new Set(headings(page).map((title) => /^(\d+(?:\.\d+)*)\.? /.exec(title)?.[1]));
    const of = cited.filter((citation) => citation.document === document);
    expect(of.length).toBeGreaterThan(10);
    expect(of.filter(({ section }) => !sections.has(section)).map(show)).toEqual([]);
  });
});
