/** Keeps V8 from optimizing WebAssembly, which only undici's parser of HTTP is here. */
import { setFlagsFromString } from 'node:v8';

/**
 * One answer is enough for V8 to begin with it, on another thread, for longer than all of a short command takes; and a process
 * that ends waits for that. What is compiled at once reads answers fast enough for a server.
 */
const PLAIN = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/** Before the program is loaded: code that V8 has compiled is refused by a process that begins with other settings. */
export function keepWasmPlain(): void {
  for (const flag of PLAIN) setFlagsFromString(flag);
}
