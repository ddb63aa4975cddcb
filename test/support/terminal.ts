/** A pseudo terminal for a spawned command. */
import { spawnSync } from 'node:child_process';

/** Runs a line in a shell, with a pseudo terminal for all three streams. */
export function onTerminal(home: string, line: string, env: Record<string, string> = {}, input = '') {
  const { status, stdout } = spawnSync('script', ['-qec', line, '/dev/null'], {
    input,
    env: { HOME: home, PATH: process.env['PATH'], TERM: 'xterm', ...env },
    cwd: home,
    encoding: 'utf8',
  });
  return { status, text: stdout.replaceAll('\r\n', '\n') };
}
