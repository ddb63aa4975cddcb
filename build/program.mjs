/**
 * The program proper in packs: files that hold many chunks, each a function that runs when something of it is first asked for.
 * Of a pack, V8 keeps compiled what has run; so a command pays for what it runs, and for reading the packs which that lies in.
 */
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { build, transform } from 'esbuild';

/**
 * Which pack holds a chunk, by the sources in it: the first that matches the largest of them. Where a chunk lies changes nothing
 * but what is read with it.
 */
const PACKS = [
  ['app-engine', /^src\/(engine|chain\/local|signing)\/|node_modules\/(kysely|libsql)\/|^src\/store\//],
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

/** What esbuild writes at the top of each chunk; here it stands once a pack. */
const HELPERS =
  'var __create=Object.create,__defProp=Object.defineProperty,__getOwnPropDesc=Object.getOwnPropertyDescriptor,' +
  '__getOwnPropNames=Object.getOwnPropertyNames,__getProtoOf=Object.getPrototypeOf,__hasOwnProp=Object.prototype.hasOwnProperty,' +
  '__export=(target,all)=>{for(var name in all)__defProp(target,name,{get:all[name],enumerable:true})},' +
  '__copyProps=(to,from)=>{for(let key of __getOwnPropNames(from))__hasOwnProp.call(to,key)||' +
  '__defProp(to,key,{get:()=>from[key],enumerable:__getOwnPropDesc(from,key).enumerable});return to},' +
  '__toESM=(mod,isNodeMode)=>__copyProps(isNodeMode||!mod.__esModule?' +
  '__defProp(__create(__getProtoOf(mod)),"default",{value:mod,enumerable:true}):__create(__getProtoOf(mod)),mod);';

/** Shapes take longer to make than most else: those of each file are a chunk of their own, so that few are made. */
const SHAPES = 'src/contract/schemas';
const shapes = () =>
  readdirSync(SHAPES).map((file) => [`shapes-${basename(file, '.ts')}`, `${SHAPES}/${file}`]);

/** A pack is what its script ends with, and what requiring it gives. */
const HEAD = `(pack=>typeof module=="object"?module.exports=pack:pack)(function(require,__url){"use strict";${HELPERS}return{\n`;

/** Its helpers at the top of a chunk, up to what the chunk exports. */
const OWN_HELPERS =
  /^(?:var __(?:create|defProp|getOwnPropDesc|getOwnPropNames|getProtoOf|hasOwnProp|export|copyProps|toESM|toCommonJS) = (?:[^\n]*;|[^\n]*[{(,]\n(?:[ )][^\n]*\n)*[})]+;)\n)+(?=var \w+ = \{\};\n__export\()/;
const EXPORTED = /^module\.exports = __toCommonJS\((\w+)\);$/m;
const IMPORTED = /^var (import_\w+) = require\("\.\/([^"]+)\.js"\);$/gm;
const IMPORTED_WHEN_NEEDED = /__toESM\(require\("\.\/([^"]+)\.js"\)\)/g;
/** What none of the above has found. */
const LEFT = /__toCommonJS|require\("\.\/[^"]+\.js"\)|\bimport_chunk_/;

/**
 * Chunks ask for each other as `#pack/chunk`, so that whoever loads them knows where each lies, and for those imported at their top
 * only when something of them is used: a chunk of which nothing is used never runs. So no source may be imported for what it
 * does then, and none is. All of a line stays where it is, for the positions in the sources.
 */
function linked(code, places) {
  const named = (chunk) => JSON.stringify(`#${places.get(chunk)}/${chunk}`);
  const [head = ''] = OWN_HELPERS.exec(code) ?? [];
  const body = head.replace(/[^\n]+/g, '') + code.slice(head.length);
  const imported = new Set([...body.matchAll(IMPORTED)].map(([, name]) => name));
  const text = body
    .replace(EXPORTED, 'module.exports = __defProp($1, "__esModule", { value: true });')
    .replace(IMPORTED, (_, name, chunk) =>
      body.includes(`${name}.`) ? `var ${name.slice(2)} = require.later(${named(chunk)});` : '',
    )
    .replace(/\bimport_\w+(?=\.)/g, (name) => (imported.has(name) ? `${name.slice(2)}.$` : name))
    .replace(IMPORTED_WHEN_NEEDED, (_, chunk) => `require(${named(chunk)})`);
  if (LEFT.test(text)) throw new Error(`esbuild writes chunks in another way than before:\n${head}`);
  return text;
}

/**
 * @returns the files, and the metafile of esbuild.
 */
export async function buildProgram(options) {
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: { ...options.entryPoints, ...Object.fromEntries(shapes()) },
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
    const common = { format: 'cjs', platform: 'node', target: options.target, sourcesContent: false };
    const { code: required } = await transform(text, {
      ...common,
      // A script that came out of a cache cannot import; it requires, which every file and package left outside understands.
      supported: { 'dynamic-import': false },
      sourcemap: 'inline',
      sourcefile: name,
    });
    const { code, map } = await transform(linked(required, places), {
      ...common,
      minify: true,
      sourcemap: 'external',
      sourcefile: name,
    });
    packs.set(place, [...(packs.get(place) ?? []), { name, code, map: JSON.parse(map) }]);
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
