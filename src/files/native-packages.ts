/** Lists the native packages that this process has loaded, from their package.json. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

interface NativePackage {
  readonly name: string;
  readonly version: string;
}

function packageOf(file: string): NativePackage | undefined {
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) {
    try {
      const { name, version } = JSON.parse(
        readFileSync(join(at, 'package.json'), 'utf8'),
      ) as Partial<NativePackage>;
      return name === undefined || version === undefined ? undefined : { name, version };
    } catch {
      // No package.json here; try the parent.
    }
  }
  return undefined;
}

export const loadedNatives = (): readonly NativePackage[] =>
  Object.keys(createRequire(import.meta.url).cache)
    .filter((file) => file.endsWith('.node'))
    .flatMap((file) => packageOf(file) ?? []);
