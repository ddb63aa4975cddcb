/** What holds for every file of the program: sizes, documentation, one edge to the process, one table of errors. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/errors/codes.js';
import { ROOT, sources } from './sources.js';

/** The tables of errors and of operations are lists, not code. */
const TABLES = ['src/errors/codes.ts', 'src/contract/operations.ts'];

function functionsOf(node: ts.Node, found: ts.FunctionLikeDeclaration[] = []): ts.FunctionLikeDeclaration[] {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isArrowFunction(node))
    found.push(node);
  node.forEachChild((child) => void functionsOf(child, found));
  return found;
}

/** Lines of a function's own: what stands in functions within it is theirs. */
const ownLinesOf = (tree: ts.SourceFile, node: ts.Node): number => {
  const inner: ts.FunctionLikeDeclaration[] = [];
  node.forEachChild((child) => void functionsOf(child, inner));
  const outermost = inner.filter((one) => !inner.some((other) => other !== one && isWithin(one, other)));
  return outermost.reduce((lines, one) => lines - linesOf(tree, one) + 1, linesOf(tree, node));
};

const isWithin = (node: ts.Node, other: ts.Node): boolean => node.pos >= other.pos && node.end <= other.end;

const linesOf = (tree: ts.SourceFile, node: ts.Node): number =>
  tree.getLineAndCharacterOfPosition(node.end).line -
  tree.getLineAndCharacterOfPosition(node.getStart(tree)).line +
  1;

describe('files', () => {
  it('have at most 320 lines', () => {
    const long = sources.filter(
      ({ path, text }) => !TABLES.includes(path) && text.split('\n').length - 1 > 320,
    );
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  it('open with a sentence on what is decided in them', () => {
    const silent = sources.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  it('are imported for what they export: of what nothing is used does not run in the built program', () => {
    const bare = sources.filter(({ text }) => /^import '/m.test(text));
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  it('are not named for nothing in particular', () => {
    const vague = sources.filter(({ path }) =>
      /(^|\/)(utils?|helpers?|common|shared|misc)(\/|\.ts$)/.test(path),
    );
    expect(vague.map(({ path }) => path)).toEqual([]);
  });
});

describe('functions', () => {
  it('have at most 50 lines of their own', () => {
    const long = sources.flatMap(({ path, tree }) =>
      functionsOf(tree)
        .filter((node) => ownLinesOf(tree, node) > 50)
        .map((node) => `${path}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`),
    );
    expect(long).toEqual([]);
  });
});

describe('the edge of the process', () => {
  it('is src/main.ts and nothing else', () => {
    const touching = sources.filter(
      ({ path, text }) =>
        path !== 'src/main.ts' &&
        /(?<![\w.'"/`-])process\.(?!platform|arch|versions|report)\w/.test(withoutComments(text)),
    );
    expect(touching.map(({ path }) => path)).toEqual([]);
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
    // To be listed among what may happen is not to happen: lists of codes do not count.
    const raising = sources
      .filter(({ path }) => path !== 'src/errors/codes.ts' && path !== 'src/contract/operations.ts')
      .map(({ text }) => text.replace(/errors: \[[^\]]*\]/g, ''))
      .join('\n');
    expect(Object.keys(ERRORS).filter((code) => !raising.includes(`'${code}'`))).toEqual([]);
  });

  it('stand in docs/errors.md, every one', () => {
    const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
    expect(Object.keys(ERRORS).filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});

describe('the project', () => {
  it('pins every dependency exactly', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const ranges = ['optionalDependencies', 'devDependencies'].flatMap((kind) =>
      Object.entries(manifest[kind] as Record<string, string>).filter(
        ([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version),
      ),
    );
    expect(ranges).toEqual([]);
  });
});
