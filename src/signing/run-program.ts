/** One run of a signing program: message lines in, signature lines out, one at a time. */
import { spawn } from 'node:child_process';
import { kill } from 'node:process';
import { createInterface } from 'node:readline';
import { visibleLine } from '../values/text.js';

/** Bytes of an answer at most. */
const MAX_LINE = 1_024;
/** Time to exit after the last answer. */
const STOP_MS = 1_000;
const REST_MS = 200;

export interface ProgramTerms {
  readonly words: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  /** Of each answer. */
  readonly timeoutMs: number;
  /** Aborting it ends the run. */
  readonly signal: AbortSignal;
}

interface Run {
  readonly answers: readonly string[];
  /** Why it ended early; `null`: without an error. */
  readonly problem: string | null;
  /** The end of its standard error. */
  readonly said: string;
}

/** Asks line by line until all are answered or the program exits. Resolves after the exit. */
export async function runProgram(
  { words: [program, ...rest], env, timeoutMs, signal }: ProgramTerms,
  lines: readonly string[],
): Promise<Run> {
  // Own process group: the whole group can be killed, and Ctrl-C in the terminal reaches only flywheel.
  const child = spawn(program, rest, { env, detached: true, shell: false, stdio: 'pipe' });
  const { stdin, stdout, stderr } = child;
  let problem: string | null = null;
  const stop = (reason: string | null): void => {
    problem ??= reason;
    endGroup(child.pid);
  };
  const closed = new Promise<string | null>((resolve) => {
    child.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) =>
      resolve(`it cannot be started (${code})`),
    );
    child.once('close', (code, by) => {
      if (by !== null) resolve(`${by} killed it`);
      else resolve(code === 0 ? null : `it exited with status ${code}`);
    });
  });
  // What the program leaves behind may keep its output open. Two waits: an answer may have arrived while this process was blocked.
  child.once('exit', () => {
    stop(null);
    let wait = setTimeout(() => {
      wait = setTimeout(() => [stdout, stderr].forEach((stream) => void stream.destroy()), REST_MS);
    }, REST_MS);
    child.once('close', () => clearTimeout(wait));
  });
  const interrupt = (): void => stop('flywheel was shutting down');
  signal.addEventListener('abort', interrupt, { once: true });
  let timer = setTimeout(() => stop(`it did not answer within ${timeoutMs / 1_000} s`), timeoutMs);
  let said = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-MAX_KEPT);
  });
  let size = 0;
  stdout.on('data', (bytes: Buffer) => {
    size += bytes.length;
    if (size > MAX_LINE * (lines.length + 1)) stop('it answered more than a signature');
  });
  const answers: string[] = [];
  const ask = (): void => {
    const line = lines[answers.length];
    if (line !== undefined) {
      stdin.write(`${line}\n`);
      timer.refresh();
      return;
    }
    stdin.end();
    clearTimeout(timer);
    timer = setTimeout(() => stop(null), STOP_MS);
  };
  createInterface({ input: stdout }).on('line', (text) => {
    const line = text.trim();
    if (line === '' || answers.length === lines.length) return;
    answers.push(line);
    ask();
  });
  // Exit and timeout report a program that does not read.
  stdin.on('error', () => {});
  ask();
  const end = await closed;
  clearTimeout(timer);
  signal.removeEventListener('abort', interrupt);
  return { answers, problem: problem ?? end, said: visibleErrors(said) };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    kill(-pid, 'SIGKILL');
  } catch {
    // The group has exited already.
  }
}

/** Bytes of stderr that are stored; only the end is shown. */
const MAX_KEPT = 4_096;
const MAX_SHOWN = 300;

/** Patterns of keys, tokens and signatures: long runs without spaces, lists of numbers, text after `key=`. */
const SECRETS = [
  /\[?(?:\d{1,3}\s*,\s*){15,}(?:\d{1,3})?(?:\s*\])?/g,
  /(?<=(?:key|secret|token|password|passphrase|authorization)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s,;]+)/gi,
  /[A-Za-z0-9+/=_.-]{32,}/g,
];

/** The end of stderr on one line, secrets masked. */
export function visibleErrors(text: string): string {
  const masked = SECRETS.reduce((shown, secret) => shown.replace(secret, '***'), text.slice(-MAX_KEPT));
  const line = visibleLine(masked.trim().replace(/\s*\n\s*/g, ' | '));
  return line.length > MAX_SHOWN ? `…${line.slice(-MAX_SHOWN)}` : line;
}
