/** Tests of the built program and of the specification do not import `src`; a redesign changes only the files named here. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './sources.js';

/** Opens the service for the specification, as {@link DOORS} do other things. */
const SERVICE = 'test/specification/in-process-service.ts';

/** Helpers that may import `src` for these tests; each opens one thing that is not spawned. */
const DOORS = [
  // The command line in this process, over fake services or real ones.
  ...['in-process', 'flywheel-here'],
  // The service, a fake service, and an HTTP server before either.
  ...['service', 'doubles', 'fake-service', 'http', 'engine'],
  // A ledger without a project, and other users of it.
  ...['chain', 'registration'],
  ...['other-tools', 'postgres', 'machines', 'store'],
];

const NODE = ['test/test-cluster/node.ts', 'test/test-cluster/directory.ts'];
const doors = new Set([SERVICE, ...NODE, ...DOORS.map((name) => `test/support/${name}.ts`)]);

const files = ['abuse', 'e2e', 'specification'].flatMap((folder) =>
  readdirSync(join(ROOT, 'test', folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(ROOT, 'test', folder, name))
    .filter((file) => file !== join(ROOT, SERVICE)),
);

const importsOf = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']*)\.js'/g)].map(([, path]) =>
    relative(ROOT, join(dirname(file), `${path}.ts`)),
  );

/** Direct and indirect imports through helpers, up to the allowed files. */
function reached(file: string, found = new Set<string>()): ReadonlySet<string> {
  for (const one of importsOf(file).filter((path) => !found.has(path))) {
    found.add(one);
    if (/^test\/(support|test-cluster)\//.test(one) && !doors.has(one)) reached(join(ROOT, one), found);
  }
  return found;
}

describe('a test of a black box', () => {
  const found = new Set(files.flatMap((file) => [...reached(file)]));

  it('imports nothing of src, and no helper that does but the doors', () => {
    expect([...found].filter((path) => path.startsWith('src/'))).toEqual([]);
  });

  it('uses every door', () => {
    expect([...doors].filter((path) => !found.has(path))).toEqual([]);
  });
});
