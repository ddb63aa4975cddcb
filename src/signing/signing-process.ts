/**
 * One run of a signing program: message lines in, signature lines out, one at a time. A program may exit after any answer; the
 * caller then starts another run.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { kill } from 'node:process';
import { visibleLine } from '../values/text.js';

const MAX_LINE = 1_024;
/** Time to exit after the end of input. */
const STOP_MS = 1_000;
/** Wait for the output to close after exit: a child process may keep the output open. */
const REST_MS = 200;

type ProcessAnswer =
  | { readonly kind: 'line'; readonly line: string }
  /** Exited without an error after at least one answer. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly reason: string; readonly said: string };

interface ProcessTerms {
  readonly words: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

export class SigningProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #timeoutMs: number;
  readonly #over: Promise<void>;
  #settle: ((answer: ProcessAnswer) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #answers = 0;
  #read = '';
  #said = '';
  /** Why the run accepts no more messages. */
  #end: Exclude<ProcessAnswer, { kind: 'line' }> | undefined;

  constructor({ words: [program, ...rest], env, timeoutMs }: ProcessTerms) {
    this.#timeoutMs = timeoutMs;
    // Own process group: the whole group can be killed, and Ctrl-C in the terminal reaches only flywheel.
    this.#child = spawn(program, rest, { env, detached: true, shell: false, stdio: 'pipe' });
    this.#over = new Promise((resolve) => {
      this.#child.once('close', () => resolve());
      this.#child.once('error', () => resolve());
    });
    this.#listen();
  }

  /** Sends one line. The caller must wait for the answer before the next line. */
  ask(line: string): Promise<ProcessAnswer> {
    if (this.#end !== undefined) return Promise.resolve(this.#end);
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#timer = setTimeout(
        () => this.#fail(`it did not answer within ${this.#timeoutMs / 1_000} s`),
        this.#timeoutMs,
      );
      this.#child.stdin.write(`${line}\n`);
    });
  }

  /** Kills the process group. Resolves after the exit. */
  async kill(reason: string): Promise<void> {
    this.#fail(reason);
    await this.#over;
  }

  async stop(): Promise<void> {
    this.#finish({ kind: 'ended' });
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#killGroup(), STOP_MS);
    await this.#over;
    clearTimeout(timer);
  }

  #listen(): void {
    const { stdin, stdout, stderr } = this.#child;
    stdout.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#said = `${this.#said}${text}`.slice(-MAX_KEPT);
    });
    // Exit and timeout report a program that does not read.
    stdin.on('error', () => {});
    this.#child.once('error', (error: NodeJS.ErrnoException) =>
      this.#fail(`it cannot be started (${error.code ?? 'unknown'})`),
    );
    this.#child.once('close', (code, signal) => this.#closed(code, signal));
    this.#child.once('exit', () => this.#leaveBehind());
  }

  /**
   * Kills processes that the exited program left behind with its output open. A second wait before the output is dropped gives
   * this process time to read an answer that arrived while it was blocked.
   */
  #leaveBehind(): void {
    const { stdout, stderr } = this.#child;
    let timer = setTimeout(() => {
      this.#endGroup();
      timer = setTimeout(() => {
        stdout.destroy();
        stderr.destroy();
      }, REST_MS);
    }, REST_MS);
    this.#child.once('close', () => clearTimeout(timer));
  }

  #take(text: string): void {
    this.#read = `${this.#read}${text}`.trimStart();
    const end = this.#read.indexOf('\n');
    if (end < 0) {
      if (this.#read.length > MAX_LINE) this.#fail('it answered more than a signature');
      return;
    }
    const line = this.#read.slice(0, end).trim();
    this.#read = this.#read.slice(end + 1).trimStart();
    if (this.#settle === undefined || this.#read !== '') {
      this.#fail('it answered more than once');
      return;
    }
    this.#answers += 1;
    this.#answer({ kind: 'line', line });
  }

  #closed(code: number | null, signal: NodeJS.Signals | null): void {
    // The last line may lack a line feed.
    if (code === 0 && this.#settle !== undefined && this.#read !== '') this.#take('\n');
    if (code === 0 && this.#answers > 0) this.#finish({ kind: 'ended' });
    else if (code === 0) this.#fail('it exited without an answer');
    else this.#fail(signal === null ? `it exited with status ${code}` : `${signal} killed it`);
  }

  #fail(reason: string): void {
    this.#finish({ kind: 'failed', reason, said: visibleErrors(this.#said) });
    this.#killGroup();
  }

  #killGroup(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) this.#endGroup();
  }

  #endGroup(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      kill(-pid, 'SIGKILL');
    } catch {
      // The group has exited already.
    }
  }

  #finish(end: Exclude<ProcessAnswer, { kind: 'line' }>): void {
    this.#end ??= end;
    this.#answer(this.#end);
  }

  #answer(answer: ProcessAnswer): void {
    clearTimeout(this.#timer);
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(answer);
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
