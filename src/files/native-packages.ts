/** Which packages of native code this process has loaded, as their own files say. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

interface NativePackage {
  readonly name: string;
  readonly version: string;
}

/** The package that a file is of: what the nearest package.json above it says. */
function packageOf(file: string): NativePackage | undefined {
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) {
    try {
      const { name, version } = JSON.parse(
        readFileSync(join(at, 'package.json'), 'utf8'),
      ) as Partial<NativePackage>;
      return name === undefined || version === undefined ? undefined : { name, version };
    } catch {
      // None here; one further up says it.
    }
  }
  return undefined;
}

export const loadedNatives = (): readonly NativePackage[] =>
  Object.keys(createRequire(import.meta.url).cache)
    .filter((file) => file.endsWith('.node'))
    .flatMap((file) => packageOf(file) ?? []);
