import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isRunning, processIdentity } from '../../../src/files/process-identity.js';

const stateOf = (pid: string): string =>
  / ([A-Z]) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1] ?? '';

it('a process runs until it is dead, whether or not its parent has taken note of that', async () => {
  // The child waits for a line; its parent becomes a program that never reaps children.
  const parent = spawn('sh', ['-c', 'exec 3<&0; sh -c "read line <&3" & echo $!; exec sleep 60'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = line.toString().trim();
  const identity = processIdentity(Number(pid));
  const [, start = ''] = identity.split('-');
  expect([identity, identity.replace(start, '1')].map(isRunning)).toEqual([true, false]);
  // A process of another container, or on a system without /proc.
  expect([`${pid}-${start}-other.1`, `${pid}-x-x`].map(isRunning)).toEqual([undefined, undefined]);
  // Until then the parent is a shell, which may reap its child.
  while (readFileSync(`/proc/${parent.pid}/comm`, 'latin1') !== 'sleep\n') await setImmediate();
  parent.stdin.write('end\n');
  while (stateOf(pid) !== 'Z') await setImmediate();
  expect(isRunning(identity)).toBe(false);
  parent.kill('SIGKILL');
});
