/** Types of the library: one file for both entries. Types of bundled packages are inlined, because these are not installed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { generateDtsBundle } from 'dts-bundle-generator';
import ts from 'typescript';

/** Packages with types in the library's API. */
const INLINED = ['zod', 'kysely', 'undici', 'libsql'];
const PROJECT = 'tsconfig.types.json';

/** Globals of both browsers and Node.js, or of late libraries of the language. Empty for users whose project has none of them. */
const GLOBALS = `declare global {
  interface AbortSignal {}
  interface AsyncDisposable {}
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
  interface URL {}
}
`;

function exportedNames(program, file) {
  const checker = program.getTypeChecker();
  const source = checker.getSymbolAtLocation(program.getSourceFile(file));
  return checker.getExportsOfModule(source).map(({ name }) => name);
}

/** Writes `dist/types`. @throws if the entries export different things under one name */
export function writeTypes() {
  const [text] = generateDtsBundle(
    [
      {
        filePath: resolve('build/entries.ts'),
        libraries: { inlinedLibraries: INLINED },
        output: { exportReferencedTypes: false, noBanner: true, sortNodes: true },
      },
    ],
    { preferredConfigPath: PROJECT },
  );
  mkdirSync('dist/types', { recursive: true });
  writeFileSync('dist/types/all.d.ts', `${text}${GLOBALS}`);
  const { config } = ts.readConfigFile(PROJECT, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
  const entries = { index: 'src/index.ts', contract: 'src/contract/index.ts' };
  const program = ts.createProgram([...Object.values(entries), 'build/entries.ts'], options);
  const all = exportedNames(program, 'build/entries.ts');
  for (const [entry, file] of Object.entries(entries)) {
    const names = exportedNames(program, file);
    const lost = names.filter((name) => !all.includes(name));
    if (lost.length > 0) throw new Error(`Exported by both entries, and not the same: ${lost.join(', ')}`);
    writeFileSync(`dist/types/${entry}.d.ts`, `export { ${names.sort().join(', ')} } from './all.js';\n`);
  }
}
