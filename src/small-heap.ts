/** Makes V8 collect garbage early, for a command through which much passes and of which little stays. */
import { setFlagsFromString } from 'node:v8';

/**
 * Left alone, V8 takes ever more memory while there is some, since to collect less often is faster: a list of a million elements
 * would take twice as much as one of ten thousand, of which the same is in use at any time. V8 looks at these whenever it collects.
 * What it takes to optimize with inlining the allocator keeps, 4 MiB; what reads a file and waits for answers is no faster for it.
 */
const SMALL = ['--heap-growing-percent=10', '--semi-space-growth-factor=1', '--no-turbo-inlining'];
const USUAL = ['--heap-growing-percent=0', '--semi-space-growth-factor=2', '--turbo-inlining'];

let isSmall = false;

function set(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}

export function keepHeapSmall(): void {
  isSmall = true;
  set(SMALL);
}

/** Runs what takes or makes compiled code: V8 refuses code that was made under other settings than those of the moment. */
export function withUsualHeap<Value>(work: () => Value): Value {
  if (!isSmall) return work();
  set(USUAL);
  try {
    return work();
  } finally {
    set(SMALL);
  }
}
