/**
 * Starts the program with V8's compiled code of earlier runs, which takes a third of the time of compiling it again.
 * Node 22.1 and later have their own cache (`module.enableCompileCache`).
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { getHeapCodeStatistics, setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/** File name of the program, with a hash of its text; set by build.mjs. */
declare const __PROGRAM__: string;

const program = join(__dirname, __PROGRAM__);
const directory = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'flywheel');
const cacheFile = join(directory, 'code.bin');
/** Compiled code is valid only for the same program, V8 version and processor architecture. */
const maker = `${__PROGRAM__} ${process.versions.v8} ${process.arch}`;

/** V8 does not compare cached code with the source, so only this user may be able to write it. Windows has no uid. */
function isPrivate(path: string): boolean {
  const { uid, mode } = statSync(path);
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}

/** @returns the code, and the bytecode size in bytes of the process that stored it */
function readCode() {
  if (![dirname(directory), directory, cacheFile].every(isPrivate)) return undefined;
  const bytes = readFileSync(cacheFile);
  const end = bytes.indexOf('\n');
  const cachedData = bytes.subarray(end + 1);
  const [madeBy, bytecode, sum] = bytes.toString('latin1', 0, end).split('|');
  // V8 does not detect damaged code.
  const isGood = madeBy === maker && sum === String(crc32(cachedData));
  return isGood ? { cachedData, bytecode: Number(bytecode) } : undefined;
}

/** @returns whether only this user can write the directory */
function makePrivateDirectory(): boolean {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return [dirname(directory), directory].every(isPrivate);
}

function keepCode(code: Buffer, bytecode: number): void {
  if (!makePrivateDirectory()) return;
  const draft = `${cacheFile}.${process.pid}`;
  const head = Buffer.from(`${maker}|${bytecode}|${crc32(code)}\n`);
  writeFileSync(draft, Buffer.concat([head, code]), { mode: 0o600 });
  renameSync(draft, cacheFile);
}

/** Errors of the cache are ignored: the program is then compiled again. */
function tryTo<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function startCompiled(require: NodeJS.Require): void {
  const kept = tryTo(readCode);
  const script = new Script(readFileSync(program, 'latin1'), { filename: program, ...kept });
  // As in a module; the program itself defines nothing that is global.
  Object.assign(globalThis, { require, __filename: program });
  script.runInThisContext();
  process.once('exit', () => {
    const { bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
    // The cache is rewritten once a process has compiled 10 % more bytecode than it holds.
    if (script.cachedDataRejected === true || bytecode > 1.1 * (kept?.bytecode ?? 0))
      tryTo(() => keepCode(script.createCachedData(), bytecode));
  });
}

// undici parses HTTP in WebAssembly. By default V8 still optimizes that when a command is done, and the exit waits for it.
for (const flag of ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'])
  setFlagsFromString(flag);
const require = module.createRequire(program);
const { enableCompileCache } = module as { enableCompileCache?: (directory: string) => unknown };
const isDebugging = !['', '0', undefined].includes(process.env['FLYWHEEL_DEBUG']);
if (!isDebugging && enableCompileCache === undefined) startCompiled(require);
else {
  if (isDebugging) process.setSourceMapsEnabled(true);
  else if (tryTo(makePrivateDirectory)) enableCompileCache?.(directory);
  require(program);
}
