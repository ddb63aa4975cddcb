/** One run of a signing program while this process is blocked by other work. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../../src/signing/run-program.js';
import { emptyDirectory } from '../../support/spawn.js';

const holdUp = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Blocks this process until another one is dead and not reaped yet. */
function holdUpUntilDead(pid: number): void {
  while (/^\d+ \(.*\) [^ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) holdUp(1);
}

describe('a run of a program that signs', () => {
  it.runIf(process.platform === 'linux')(
    'is heard though its end is seen before its answer, and this process is held up then',
    async () => {
      const directory = emptyDirectory();
      const [pidFile, go] = [join(directory, 'pid'), join(directory, 'go')];
      const script = `read line; echo $$ > '${pidFile}.new'; mv '${pidFile}.new' '${pidFile}'; while [ ! -e '${go}' ]; do sleep 0.01; done; echo answer`;
      const { signal } = new AbortController();
      const terms = { words: ['/bin/sh', '-c', script] as const, env: {}, timeoutMs: 30_000, signal };
      const asked = runProgram(terms, ['message']);
      const other = spawn('/bin/sh', [
        '-c',
        `while [ ! -e '${pidFile}' ]; do sleep 0.01; done; echo started`,
      ]);
      other.stdout.once('data', () => {
        // The program's exit is seen in the same event loop turn as the other's, but its output is not.
        writeFileSync(go, '');
        holdUpUntilDead(Number(readFileSync(pidFile, 'utf8')));
        setImmediate(() => holdUp(500));
      });
      // The other's output and exit are available at once.
      while (!existsSync(pidFile)) holdUp(1);
      holdUpUntilDead(other.pid ?? 0);
      expect(await asked).toMatchObject({ answers: ['answer'], problem: null });
    },
  );
});
