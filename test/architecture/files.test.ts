/** Rules for every file of the program: documentation, one access to the process, one table of errors. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/errors/codes.js';
import { ROOT, sources, tests } from './sources.js';

/** Exported by the library. */
const LIBRARY = /^src\/(?:index\.ts|contract\/schemas\/)/;

describe('files', () => {
  it('open with a sentence on what is decided in them', () => {
    const silent = sources.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });
});

describe('words that the glossary avoids', () => {
  const glossary = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8');
  const [, code = ''] = glossary.split('## Words for code');
  const avoided = [...code.matchAll(/`([a-z-]+)`/g)].map(([, word = '']) => word);

  it('are in no name of a file or folder', () => {
    expect(avoided.length).toBeGreaterThan(10);
    const parts = sources.map(({ path }) => path.replace(/\.ts$/, '').split('/'));
    expect(parts.flat().filter((part) => avoided.includes(part))).toEqual([]);
  });

  it('stand behind terms that each say what to avoid', () => {
    const terms = glossary.split('## Words for code')[0]?.match(/^\*\*[^*]+\*\*: [\s\S]*?(?=\n\n)/gm) ?? [];
    expect(terms.length).toBeGreaterThan(20);
    expect(terms.filter((term) => !term.includes('\n*Avoid:* '))).toEqual([]);
  });
});

describe('the edge of the process', () => {
  it('is src/start.ts and src/main.ts, and nothing else', () => {
    const touching = sources.filter(
      ({ path, text }) =>
        !['src/main.ts', 'src/start.ts'].includes(path) &&
        /(?<![\w.'"/`-])process\.(?!platform|arch|versions|report)\w/.test(withoutComments(text)),
    );
    expect(touching.map(({ path }) => path)).toEqual([]);
  });
});

describe('exports', () => {
  it('are each used in another file', () => {
    const users = new Map<string, Set<string>>();
    for (const { path, text } of [...sources, ...tests])
      for (const [name] of text.matchAll(/[A-Za-z_$][\w$]*/g))
        users.set(name, (users.get(name) ?? new Set()).add(path));
    const unused = sources
      .filter(({ path }) => !LIBRARY.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/^export (?:abstract |async )?(?:class|const|function\*?|interface|type) (\w+)/gm)]
          .filter(([, name = '']) => users.get(name)?.size === 1)
          .map(([, name]) => `${path}: ${name}`),
      );
    expect(unused).toEqual([]);
  });
});

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');

describe('errors', () => {
  it('are never bare', () => {
    const bare = sources.filter(({ text }) =>
      /\bthrow new (Error|TypeError|RangeError)\b/.test(withoutComments(text)),
    );
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  it('are all raised somewhere', () => {
    // A code in a list is not raised there, so lists do not count.
    const raising = sources
      .filter(({ path }) => path !== 'src/errors/codes.ts' && path !== 'src/contract/operations.ts')
      .map(({ text }) => text.replace(/errors: \[[^\]]*\]/g, ''))
      .join('\n');
    expect(Object.keys(ERRORS).filter((code) => !raising.includes(`'${code}'`))).toEqual([]);
  });
});

describe('the project', () => {
  it('pins every dependency exactly', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const ranges = ['optionalDependencies', 'devDependencies'].flatMap((kind) =>
      Object.entries(manifest[kind] as Record<string, string>).filter(
        ([, version]) => !/^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version),
      ),
    );
    expect(ranges).toEqual([]);
  });
});
