/** Runs other processes on a store, for tests of concurrency between processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Writes a program that may use `openSqliteStore`, the builders of `test/support/store.ts`, and `path`, its first argument.
 * @returns the program's file.
 */
export function writeStoreProgram(directory: string, body: string): string {
  const file = join(directory, 'program.mjs');
  const urlOf = (name: string): string => pathToFileURL(createRequire(import.meta.url).resolve(name)).href;
  const driver = { libsql: urlOf('libsql'), 'libsql/promise': urlOf('libsql/promise') };
  buildSync({
    stdin: {
      contents: `import { openSqliteStore } from './src/store/sqlite/open.ts';
        import * as records from './test/support/store.ts';
        const path = process.argv[2];
        ${body}`,
      resolveDir: ROOT,
      loader: 'ts',
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: driver,
    external: Object.values(driver),
    outfile: file,
    logLevel: 'error',
  });
  return file;
}

interface StoreProcess {
  readonly child: ChildProcess;
  /** Resolves with the output once it has this many lines. */
  lines(count: number): Promise<readonly string[]>;
  /** Resolves at the end with the exit code or signal, and the whole output. */
  readonly ended: Promise<{ readonly by: number | NodeJS.Signals | null; readonly output: string }>;
}

export function runStoreProgram(file: string, path: string): StoreProcess {
  const child = spawn(process.execPath, [file, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  let watch = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    watch();
  });
  return {
    child,
    lines: (count) =>
      new Promise((resolve) => {
        watch = () => {
          const lines = output.split('\n').slice(0, -1);
          if (lines.length >= count) resolve(lines);
        };
        watch();
      }),
    ended: new Promise((resolve) => {
      child.on('close', (code, signal) => resolve({ by: signal ?? code, output }));
    }),
  };
}
