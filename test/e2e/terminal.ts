/** Runs a command on a pseudo terminal. */
import { spawn } from 'node:child_process';
import { CODE_CACHE } from '../support/spawn.js';

/** The end of every question, before cursor sequences. */
const QUESTION = new RegExp(
  `(?:\\[y/N\\]|Type \\w+ to [^\\n]+:) (?:${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z])*$`,
);

/**
 * Runs a shell line with a pseudo terminal for all three streams. @param answer - typed at each question, with a
 * return. @param ahead - typed before any question, unchanged.
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
    // Cursor sequences may arrive apart from the question.
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
