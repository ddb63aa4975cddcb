/** A pseudo terminal for a spawned command. */
import { spawn } from 'node:child_process';
import { CODE_CACHE } from './spawn.js';

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
    env: { HOME: home, PATH: process.env['PATH'], TERM: 'xterm', XDG_CACHE_HOME: CODE_CACHE, ...env },
    cwd: home,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.write(ahead);
  const think = async (): Promise<string> => (typeof answer === 'string' ? answer : answer());
  return new Promise((resolve, reject) => {
    let text = '';
    // What is told of the cursor may come apart from the question.
    let answered = -1;
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const at = QUESTION.exec(text)?.index ?? answered;
      if (at === answered) return;
      answered = at;
      think().then((typed) => child.stdin.write(`${typed}\n`), reject);
    });
    child.once('close', (status) => resolve({ status, text: text.replaceAll('\r\n', '\n') }));
  });
}
