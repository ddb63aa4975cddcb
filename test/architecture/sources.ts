/** Every source file of the program, with its syntax tree. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

export const ROOT = new URL('../..', import.meta.url).pathname;

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));

const read = (path: string): Source => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  let tree: ts.SourceFile | undefined;
  return {
    path,
    text,
    get tree() {
      tree ??= ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
      return tree;
    },
  };
};

export const sources: readonly Source[] = filesIn('src').map(read);
export const tests: readonly Source[] = ['test', 'build'].flatMap(filesIn).map(read);
