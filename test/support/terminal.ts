/** A pseudo terminal for a spawned command. */
import { spawn } from 'node:child_process';

/** How every question ends, before what a terminal is told of its cursor. */
const QUESTION = new RegExp(
  `(?:\\[y/N\\]|Type \\w+ to [^\\n]+:) (?:${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z])*$`,
);

/**
 * Runs a line in a shell, with a pseudo terminal for all three streams.
 * @param answer - typed at each question, once it is shown and that is thought of; a return follows.
 * @param ahead - typed before anything is asked, as it is.
 */
export function onTerminal(
  home: string,
  line: string,
  env: Record<string, string> = {},
  answer: string | (() => Promise<string>) = '',
  ahead = '',
): Promise<{ status: number | null; text: string }> {
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { HOME: home, PATH: process.env['PATH'], TERM: 'xterm', ...env },
    cwd: home,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.write(ahead);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (!QUESTION.test(text)) return;
    if (typeof answer === 'string') child.stdin.write(`${answer}\n`);
    else void answer().then((thought) => child.stdin.write(`${thought}\n`));
  });
  return new Promise((resolve) => {
    child.once('close', (status) => resolve({ status, text: text.replaceAll('\r\n', '\n') }));
  });
}
