/**
 * One run of a user's program that signs: a line with a message goes in, a line with a signature comes out, one at a time. A
 * program may end after any answer; whoever asks it starts it once more then.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { kill } from 'node:process';
import { visibleLine } from '../values/text.js';

/** A line that is longer is no signature. */
const MAX_LINE = 1_024;
/** Time to end after its input has. */
const STOP_MS = 1_000;
/** What has ended has written all; this long is waited for its output to end, as what it left behind may keep that open. */
const REST_MS = 200;

/** What came of a question. */
type ProcessAnswer =
  | { readonly kind: 'line'; readonly line: string }
  /** It has ended without an error, as it may when it has answered before. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly reason: string; readonly said: string };

/** What is run. */
export interface ProcessTerms {
  readonly words: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  /** Longest time for one answer. */
  readonly timeoutMs: number;
}

type Settle = (answer: ProcessAnswer) => void;

export class SigningProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #timeoutMs: number;
  /** It has ended, and what it wrote is read. */
  readonly #over: Promise<void>;
  #settle: Settle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #answers = 0;
  #read = '';
  #said = '';
  /** Why it can be asked nothing more. */
  #end: Exclude<ProcessAnswer, { kind: 'line' }> | undefined;

  constructor({ words: [program, ...rest], env, timeoutMs }: ProcessTerms) {
    this.#timeoutMs = timeoutMs;
    // In a group of its own: what it starts in its turn is ended with it, and a Ctrl-C of the terminal is for this process to act on.
    this.#child = spawn(program, rest, { env, detached: true, shell: false, stdio: 'pipe' });
    this.#over = new Promise((resolve) => {
      this.#child.once('close', () => resolve());
      this.#child.once('error', () => resolve());
    });
    this.#listen();
  }

  /** Asks one thing; the next one only after its answer. */
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

  /** Ends it at once, with all that it has started. Resolves when it is gone. */
  async kill(reason: string): Promise<void> {
    this.#fail(reason);
    await this.#over;
  }

  /** Lets it end by itself: its input is over. Resolves when it is gone. */
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
      this.#said = keepEnd(this.#said, text);
    });
    // A program that does not read has ended or will not answer; either is seen elsewhere.
    stdin.on('error', () => {});
    this.#child.once('error', (error: NodeJS.ErrnoException) =>
      this.#fail(`it cannot be started (${error.code ?? 'unknown'})`),
    );
    this.#child.once('close', (code, signal) => this.#closed(code, signal));
    this.#child.once('exit', () => this.#leaveBehind());
  }

  /**
   * Ends what a program that has ended left running with its output: nobody is left to answer. Then waits once more before the output is
   * given up: this process may have been held up for longer than the first wait, with an answer that it has not yet read.
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
    // The last line may lack its end.
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
      // Gone by itself.
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

/** Bytes that are kept while the program runs; only the end is ever shown. */
const MAX_KEPT = 4_096;
const MAX_SHOWN = 300;

/** Keys, tokens and signatures as people write them: runs of characters without a space, lists of numbers, what follows `key=`. */
const SECRETS = [
  /\[?(?:\d{1,3}\s*,\s*){15,}(?:\d{1,3})?(?:\s*\])?/g,
  /(?<=(?:key|secret|token|password|passphrase|authorization)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s,;]+)/gi,
  /[A-Za-z0-9+/=_.-]{32,}/g,
];

/** The end of what was said, on one line; `''` if nothing was. */
export function visibleErrors(text: string): string {
  const masked = SECRETS.reduce((shown, secret) => shown.replace(secret, '***'), text.slice(-MAX_KEPT));
  const line = visibleLine(masked.trim().replace(/\s*\n\s*/g, ' | '));
  return line.length > MAX_SHOWN ? `…${line.slice(-MAX_SHOWN)}` : line;
}

/** Keeps no more than the end. */
export const keepEnd = (kept: string, more: string): string => `${kept}${more}`.slice(-MAX_KEPT);
