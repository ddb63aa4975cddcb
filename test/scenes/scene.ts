/** What scenes have in common: a home of their own, and one line for each thing that is expected. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { emptyDirectory, flywheel, type Spawned } from '../support/spawn.js';

export interface Place {
  readonly home: string;
  readonly dataDir: string;
  run(...words: readonly string[]): Promise<Spawned>;
  /** The JSON that a command prints. */
  json<Value = Record<string, never>>(...words: readonly string[]): Promise<Value>;
}

/** A home with a flywheel on the embedded ledger. */
export async function aPlace(...init: readonly string[]): Promise<Place> {
  const home = emptyDirectory();
  const place = placeIn(home, join(home, '.local/share/flywheel'));
  await place.json('local', 'init', ...init);
  return place;
}

export function placeIn(home: string, dataDir: string): Place {
  mkdirSync(home, { recursive: true });
  const run = (...words: readonly string[]): Promise<Spawned> =>
    flywheel({ home, env: { FLYWHEEL_DATA_DIR: dataDir } }, ...words);
  const json = async <Value>(...words: readonly string[]): Promise<Value> => {
    const { exit, stdout, stderr } = await run(...words, '--json');
    if (exit !== 0) throw new Error(`${words.join(' ')} ended with ${exit}: ${stderr}`);
    return JSON.parse(stdout) as Value;
  };
  return { home, dataDir, run, json };
}

/** Tokens burned so far. */
export const burnedIn = async ({ json }: Place): Promise<number> =>
  Number((await json<{ burned: string }>('local', 'status')).burned);

/** Prints what was seen; the scene ends with 1 when anything is not as it has to be. */
export function expectSeen(what: string, seen: unknown, isExpected: boolean): void {
  process.stdout.write(`${isExpected ? 'ok  ' : 'BAD '} ${what}: ${JSON.stringify(seen)}\n`);
  if (!isExpected) process.exitCode = 1;
}
