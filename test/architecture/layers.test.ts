/** The layers of the program: allowed imports between folders and of packages. */
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { type Source, sources } from './sources.js';

/** Each layer with the layers that it may import. Longer paths win; a missing entry means no import. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  values: ['errors'],
  files: ['errors', 'values'],
  transport: ['errors', 'values'],
  chain: ['errors', 'values'],
  actions: ['errors', 'values', 'chain'],
  contract: ['errors', 'values', 'actions'],
  approval: ['errors', 'values', 'chain', 'actions'],
  'chain/local': ['errors', 'values', 'files', 'chain'],
  'chain/rpc': ['errors', 'values', 'transport', 'chain'],
  'rpc-node': ['errors', 'values', 'chain', 'chain/local'],
  signing: ['errors', 'values', 'chain'],
  store: ['errors', 'values', 'actions', 'contract'],
  'store/sqlite': ['errors', 'values', 'files', 'store'],
  'store/postgres': ['contract', 'errors', 'values', 'store'],
  engine: ['errors', 'values', 'chain', 'actions', 'contract', 'store'],
  client: ['errors', 'values', 'transport', 'contract'],
  http: ['errors', 'values', 'contract'],
  'wallet-page': ['errors'],
  cli: ['errors', 'values', 'files', 'chain', 'actions', 'contract', 'approval', 'wallet-page', 'compose'],
  compose: [
    'errors',
    'values',
    'files',
    'transport',
    'contract',
    'chain',
    'chain/local',
    'chain/rpc',
    'rpc-node',
    'signing',
    'approval',
    'store',
    'store/sqlite',
    'store/postgres',
    'engine',
    'client',
    'http',
  ],
};

/** Files at the top of `src` connect the layers; no layer imports them. */
const TOP = 'top';

/** Folders that may import each package; {@link NODE_MODULES} restricts modules of Node. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@commander-js/extra-typings': ['cli'],
  '@solana/web3.js': ['chain/rpc'],
  ora: ['cli'],
  pg: ['store/postgres'],
  '@sqds/multisig': ['chain/rpc'],
  pino: ['http'],
  'prom-client': ['http'],
  bs58: ['values'],
  chalk: ['cli'],
  'csv-parse': ['cli'],
  'csv-stringify': ['cli'],
  conf: ['cli'],
  '@fastify/cors': ['rpc-node'],
  fastify: ['http', 'rpc-node'],
  kysely: ['store', 'store/sqlite', 'store/postgres'],
  libsql: ['files', 'store/sqlite', 'compose'],
  undici: ['transport'],
  ws: ['rpc-node'],
  zod: ['values', 'actions', 'contract', 'client', 'compose', 'chain/rpc'],
};

/** Folders that may import modules of Node with effects on the outside. */
const NODE_MODULES: Readonly<Record<string, readonly string[]>> = {
  'node:fs': ['files', 'chain/local', 'store/sqlite', 'store/postgres', 'cli', 'compose', TOP],
  'node:child_process': ['signing', TOP],
  'node:net': ['transport', 'http'],
};

interface Import {
  readonly from: string;
  readonly file: string;
  readonly to: string;
  readonly isPackage: boolean;
}

function layerOf(path: string): string {
  const folders = dirname(path).split('/');
  for (let length = folders.length; length > 0; length -= 1) {
    const layer = folders.slice(0, length).join('/');
    if (layer in LAYERS) return layer;
  }
  return TOP;
}

/** Also of types, and dynamic ones. */
const specifiers = ({ text }: Source): readonly string[] =>
  ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);

const packageOf = (specifier: string): string =>
  /^((?:node:)?(?:@[^/]+\/)?[^/]+)/.exec(specifier)?.[1] ?? specifier;

function importsOf(source: Source): readonly Import[] {
  const file = source.path.replace(/^src\//, '');
  const from = layerOf(file);
  return specifiers(source).map((specifier) =>
    specifier.startsWith('.')
      ? { from, file, to: layerOf(join(dirname(file), specifier)), isPackage: false }
      : { from, file, to: packageOf(specifier), isPackage: true },
  );
}

const imports = sources.flatMap(importsOf);
const text = ({ file, to }: Import): string => `${file} imports ${to}`;

describe('a layer', () => {
  it('imports only itself and the layers that the table names', () => {
    const wrong = imports.filter(
      ({ from, to, isPackage }) => !isPackage && from !== TOP && from !== to && !LAYERS[from]?.includes(to),
    );
    expect(wrong.map(text)).toEqual([]);
  });

  it('is imported by none that it imports: the table has no cycle', () => {
    const reaches = (layer: string, goal: string): boolean =>
      (LAYERS[layer] ?? []).some((next) => next === goal || reaches(next, goal));
    expect(Object.keys(LAYERS).filter((layer) => reaches(layer, layer))).toEqual([]);
  });

  it('is allowed nothing that it does not use', () => {
    const unused = Object.entries(LAYERS).flatMap(([from, allowed]) =>
      allowed
        .filter((to) => !imports.some((one) => one.from === from && one.to === to))
        .map((to) => `${from}: ${to}`),
    );
    expect(unused).toEqual([]);
  });
});

describe('the command line', () => {
  it('is handed what it uses of compose: it knows the types alone', () => {
    const values = sources
      .filter(({ path }) => path.startsWith('src/cli/'))
      .flatMap(({ path, text }) =>
        [
          ...text.matchAll(
            /^(import|export)(?! type\b)[^;]*? from '[^']*\/compose\/[^']*'|import\('[^']*\/compose\//gm,
          ),
        ].map(([found]) => `${path}: ${found}`),
      );
    expect(values).toEqual([]);
  });
});

describe('a package', () => {
  it('is imported only where the tables say', () => {
    const wrong = imports.filter(({ from, to, isPackage }) => {
      if (!isPackage) return false;
      const allowed = to.startsWith('node:') ? NODE_MODULES[to] : (PACKAGES[to] ?? []);
      return allowed !== undefined && !allowed.includes(from);
    });
    expect(wrong.map(text)).toEqual([]);
  });
});

/** Direct and indirect imports, including types. */
function reached(from: string, found = new Set<string>()): ReadonlySet<string> {
  const source = sources.find(({ path }) => path === from);
  if (source === undefined || found.has(from)) return found;
  found.add(from);
  for (const specifier of specifiers(source).filter((one) => one.startsWith('.')))
    reached(join(dirname(from), specifier.replace(/\.js$/, '.ts')), found);
  return found;
}

describe('a program that imports this one', () => {
  it.each(['src/index.ts', 'src/contract/index.ts'])('gets no command line with %s', (entry) => {
    const files = [...reached(entry)];
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter((file) => file.startsWith('src/cli/'))).toEqual([]);
  });
});

/** Files and packages loaded with a file at start: without types and dynamic imports. */
function loadedWith(from: string, found = new Set<string>()): ReadonlySet<string> {
  const source = sources.find(({ path }) => path === from);
  found.add(from);
  for (const statement of source?.tree.statements ?? []) {
    if (!ts.isImportDeclaration(statement)) continue;
    const { importClause, moduleSpecifier } = statement;
    const named = importClause?.namedBindings;
    const isValue =
      importClause?.isTypeOnly !== true &&
      !(named !== undefined && ts.isNamedImports(named) && named.elements.every((one) => one.isTypeOnly));
    const specifier = (moduleSpecifier as ts.StringLiteral).text;
    const path = specifier.startsWith('.')
      ? join(dirname(from), specifier.replace(/\.js$/, '.ts'))
      : packageOf(specifier);
    if (isValue && !found.has(path)) loadedWith(path, found);
  }
  return found;
}

describe('a command that prints its help', () => {
  it.each(['program', 'commands/burn', 'commands/keys', 'commands/lists'])(
    'loads no shapes, whose library takes longer than all else: cli/%s',
    (file) => {
      const loaded = loadedWith(`src/cli/${file}.ts`);
      expect(loaded.size).toBeGreaterThan(10);
      expect([...loaded]).not.toContain('zod');
    },
  );
});
