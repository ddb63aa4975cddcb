/** Lists the native packages that this process has loaded, from their package.json. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

interface NativePackage {
  readonly name: string;
  readonly version: string;
}

/** These packages have their binary at the top. */
function packageOf(file: string): NativePackage | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(join(dirname(file), 'package.json'), 'utf8'));
    return { name: String(name), version: String(version) };
  } catch {
    return undefined;
  }
}

export const loadedNatives = (): readonly NativePackage[] =>
  Object.keys(createRequire(import.meta.url).cache)
    .filter((file) => file.endsWith('.node'))
    .flatMap((file) => packageOf(file) ?? []);
