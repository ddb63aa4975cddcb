/**
 * Starts the program with what V8 compiled of it in earlier runs, which takes a third of the time of compiling it anew.
 * Node 22.1 and later keep compiled code themselves (`module.enableCompileCache`).
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { getHeapCodeStatistics, setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/** Set by the build: the name of the program's file, which has a hash of its text. */
declare const __PROGRAM__: string;

const program = join(__dirname, __PROGRAM__);
const directory = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'flywheel');
const cacheFile = join(directory, 'code.bin');
/** Code that another program, V8 or processor made is of no use. */
const maker = `${__PROGRAM__} ${process.versions.v8} ${process.arch}`;

/** Compiled code runs without a look at its source: only this user may be able to write it. Windows has no user numbers. */
function isPrivate(path: string): boolean {
  const { uid, mode } = statSync(path);
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}

/** @returns the code, and how many bytes of bytecode the process had that kept it. */
function readCode() {
  if (![dirname(directory), directory, cacheFile].every(isPrivate)) return undefined;
  const bytes = readFileSync(cacheFile);
  const end = bytes.indexOf('\n');
  const cachedData = bytes.subarray(end + 1);
  const [madeBy, bytecode, sum] = bytes.toString('latin1', 0, end).split('|');
  // V8 does not notice damage.
  const isGood = madeBy === maker && sum === String(crc32(cachedData));
  return isGood ? { cachedData, bytecode: Number(bytecode) } : undefined;
}

function keepCode(code: Buffer, bytecode: number): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (![dirname(directory), directory].every(isPrivate)) return;
  const draft = `${cacheFile}.${process.pid}`;
  const head = Buffer.from(`${maker}|${bytecode}|${crc32(code)}\n`);
  writeFileSync(draft, Buffer.concat([head, code]), { mode: 0o600 });
  renameSync(draft, cacheFile);
}

/** A cache that cannot be read or written is none. */
function tryTo<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function startCompiled(require: NodeJS.Require): void {
  const kept = tryTo(readCode);
  const script = new Script(module.wrap(readFileSync(program, 'latin1')), { filename: program, ...kept });
  script.runInThisContext()({}, require, {}, program, __dirname);
  process.once('exit', () => {
    const { bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
    // What a command compiled beyond what was kept is added once it is a tenth.
    if (script.cachedDataRejected === true || bytecode > 1.1 * (kept?.bytecode ?? 0))
      tryTo(() => keepCode(script.createCachedData(), bytecode));
  });
}

// undici parses HTTP in WebAssembly. Left alone, V8 goes on optimizing it when the command is done, and the process waits for that.
for (const flag of ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'])
  setFlagsFromString(flag);
const require = module.createRequire(program);
const { enableCompileCache } = module as { enableCompileCache?: (directory: string) => unknown };
if (process.env['FLYWHEEL_DEBUG'] === undefined && enableCompileCache === undefined) startCompiled(require);
else {
  if (process.env['FLYWHEEL_DEBUG'] === undefined) enableCompileCache?.(directory);
  else process.setSourceMapsEnabled(true);
  require(program);
}
