/** Keeps V8 from optimizing what a short command runs: it would end before the effort pays. */
import { setFlagsFromString } from 'node:v8';
import { commandWords } from './code-cache.js';

/**
 * One answer is enough for V8 to begin with WebAssembly, which only undici's parser of HTTP is here, on another thread, for longer
 * than all of a short command takes; and a process that ends waits for that. What is compiled at once reads answers fast enough
 * for a server.
 */
const PLAIN_WASM = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/**
 * Bytes of bytecode that a function runs before it may be optimized: three times as many as usual. A burn has none optimized
 * then, which takes 5 MiB less; what goes on for longer is optimized milliseconds later. Later V8 counts in another way, and
 * says on standard error what it does not know.
 */
const LATE = ['--interrupt-budget=200000'];
const LAST_V8_WITH_BUDGET = 11;

/** What runs for days has what it runs often optimized as soon as V8 would. */
const LASTING = 'serve';

/**
 * Before the program is loaded: code that V8 has compiled is refused by a process that begins with other settings.
 * @param words - of the command.
 */
export function optimizeLate(words: readonly string[]): void {
  const hasBudget = Number.parseInt(process.versions.v8, 10) <= LAST_V8_WITH_BUDGET;
  const isLate = hasBudget && !commandWords(words).includes(LASTING);
  for (const flag of [...PLAIN_WASM, ...(isLate ? LATE : [])]) setFlagsFromString(flag);
}
