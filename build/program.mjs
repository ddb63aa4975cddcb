/**
 * The program proper in packs: files that hold many chunks, each a function that runs when something of it is first asked for.
 * Of a pack, V8 keeps compiled what has run; so a command pays for what it runs, and for reading the packs which that lies in.
 */
import { basename } from 'node:path';
import { build, transform } from 'esbuild';

/**
 * Which pack holds a chunk, by the sources in it: the first that matches the largest of them. Where a chunk lies changes nothing
 * but what is read with it.
 */
const PACKS = [
  [
    'app-engine',
    /^src\/(engine|actions|chain\/local|signing)\/|node_modules\/(kysely|libsql)\/|^src\/store\//,
  ],
  ['app-client', /^src\/client\/|node_modules\/undici\//],
  ['app-server', /^src\/(http|rpc-node|registration|wallet-page|chain\/rpc)\/|light-my-request|ajv/],
];
/** Of the rest, what most commands run, and nothing else. */
const OFTEN = 'app';
const SELDOM = 'app-seldom';

/** What is imported when it is needed, by most commands or by the shortest of them. */
const OFTEN_NEEDED =
  /^src\/(app|cli\/(run|execute-request|operation\/.*|journal\/.*|burn\/.*|commands\/(burn|batch\/(current|get|list)))|compose\/(context|embedded-service|remote-service))\.ts$/;

/** The chunks of which is run what lies at their top whenever one of these is imported. */
function oftenRun(outputs) {
  const often = new Set(Object.keys(outputs).filter((file) => OFTEN_NEEDED.test(outputs[file].entryPoint)));
  for (const file of often)
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement') often.add(path);
  return often;
}

const packOf = (inputs, isOften) => {
  const [[largest = ''] = []] = Object.entries(inputs).sort(
    ([, a], [, b]) => b.bytesInOutput - a.bytesInOutput,
  );
  // What stands in for a module is short, and asked for from everywhere.
  const isShort = /^(late|stand-in):/.test(largest);
  return PACKS.find(([, sources]) => sources.test(largest))?.[0] ?? (isOften || isShort ? OFTEN : SELDOM);
};

/** Chunks ask for each other as `#pack/chunk`, so that whoever loads them knows where each lies. */
const BETWEEN_CHUNKS = /require\("\.\/([^"]+)\.js"\)/g;

/** A pack is what its script ends with, and what requiring it gives. */
const HEAD =
  '(pack=>typeof module=="object"?module.exports=pack:pack)(function(require,__url){"use strict";return{\n';

/**
 * @returns the files, and the metafile of esbuild.
 */
export async function buildProgram(options) {
  const { outputFiles, metafile } = await build({
    ...options,
    bundle: true,
    write: false,
    splitting: true,
    format: 'esm',
    sourcemap: 'inline',
    sourcesContent: false,
    legalComments: 'none',
    chunkNames: '[name]-[hash]',
    outdir: 'dist',
    metafile: true,
    define: { 'import.meta.url': '__url', 'performance.now': '__monotonicMs' },
    inject: ['build/monotonic.mjs'],
  });
  const often = oftenRun(metafile.outputs);
  const places = new Map(
    Object.entries(metafile.outputs).map(([file, { inputs }]) => [
      basename(file, '.js'),
      packOf(inputs, often.has(file)),
    ]),
  );
  const packs = new Map();
  for (const { path, text } of outputFiles) {
    const name = basename(path, '.js');
    const place = places.get(name);
    const { code, map } = await transform(text, {
      format: 'cjs',
      platform: 'node',
      target: options.target,
      minify: true,
      // A script that came out of a cache cannot import; it requires, which every file and package left outside understands.
      supported: { 'dynamic-import': false },
      sourcemap: 'external',
      sourcesContent: false,
      sourcefile: name,
    });
    const linked = code.replace(BETWEEN_CHUNKS, (whole, other) =>
      places.has(other) ? `require("#${places.get(other)}/${other}")` : whole,
    );
    packs.set(place, [...(packs.get(place) ?? []), { name, code: linked, map: JSON.parse(map) }]);
  }
  return { files: [...packs].flatMap(([name, chunks]) => packFiles(name, chunks)), metafile };
}

/** Node makes sources absolute in a map without sections only: so they are as one looks for them in the repository. */
const fromRoot = ({ sources, ...map }) => ({
  ...map,
  sources: sources.map((source) => source.replace(/^(\.\.\/)+/, '')),
});

function packFiles(pack, chunks) {
  let text = HEAD;
  let line = 1;
  const sections = [];
  for (const { name, code, map } of chunks) {
    text += `${JSON.stringify(name)}:function(require,module,exports){\n`;
    sections.push({ offset: { line: line + 1, column: 0 }, map: fromRoot(map) });
    text += `${code}},\n`;
    line += 1 + code.split('\n').length;
  }
  text += `}});\n//# sourceMappingURL=${pack}.cjs.map\n`;
  return [
    { file: `${pack}.cjs`, text },
    { file: `${pack}.cjs.map`, text: JSON.stringify({ version: 3, sources: [], sections }) },
  ];
}
