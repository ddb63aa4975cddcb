/** The edge of the process: argv, environment, streams and signals in, exit code out. Only main.ts and start.ts use `process`. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { homedir } from 'node:os';
import { addAbortSignal } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import packageJson from '../package.json' with { type: 'json' };
import { type CliContext, type InputStream, type OutputStream, READER_GONE } from './cli/context.js';
import { createOpeners } from './compose/context.js';
import { fileProblem } from './files/read-file.js';

const DEFAULT_COLUMNS = 80;

interface Watched {
  readonly stream: NodeJS.WriteStream;
  closed: boolean;
  problem: string | null;
}

function watched(stream: NodeJS.WriteStream): Watched {
  const fate: Watched = { stream, closed: false, problem: null };
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader may close the pipe at any time. Later output is dropped.
    fate.closed = true;
    fate.problem ??= error.code === 'EPIPE' ? READER_GONE : fileProblem(error);
    if (error.code !== 'EPIPE') process.exitCode = 1;
  });
  return fate;
}

/** Node creates the stream on first use. That takes time for a pipe, and help writes nothing to stderr. */
function outputStream(name: 'stdout' | 'stderr'): OutputStream {
  let known: Watched | undefined;
  const watch = (): Watched => {
    known ??= watched(process[name]);
    return known;
  };
  return {
    write: (text) => {
      if (text !== '' && !watch().closed) watch().stream.write(text);
    },
    flush: async () => {
      const fate = watch();
      // The callback follows all earlier writes, and setImmediate lets the error event of a failed write come first.
      if (!fate.closed)
        await new Promise<void>((resolve) => void fate.stream.write('', () => setImmediate(resolve)));
      return fate.problem;
    },
    get isTTY() {
      return watch().stream.isTTY === true;
    },
    get columns() {
      // Some pseudo terminals report 0 columns.
      return watch().stream.columns || DEFAULT_COLUMNS;
    },
    get closed() {
      return watch().closed;
    },
  };
}

const inputStream = (signal: AbortSignal): InputStream => ({
  get isTTY() {
    return process.stdin.isTTY === true;
  },
  async *chunks() {
    for await (const chunk of addAbortSignal(signal, process.stdin)) yield Buffer.from(chunk);
  },
});

/** Drops input typed before a question, incomplete lines included, so that no earlier keystroke answers the question. */
function dropTypedAhead(): void {
  const { stdin } = process;
  if (!stdin.isTTY) return;
  // Only raw mode returns incomplete lines.
  stdin.setRawMode(true);
  try {
    const terminal = openSync('/dev/tty', constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const scratch = Buffer.alloc(4_096);
      while (readSync(terminal, scratch) > 0);
    } finally {
      closeSync(terminal);
    }
  } catch {
    // EAGAIN: no input is waiting. ENOENT: this system has no /dev/tty.
  } finally {
    stdin.setRawMode(false);
  }
}

async function prompt(question: string, signal: AbortSignal): Promise<string | null> {
  if (signal.aborted) return null;
  dropTypedAhead();
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    const end = (answer: string | null): void => {
      // Resolve first: close() emits 'close', and its listener below resolves with null (end of input).
      resolve(answer);
      lines.close();
    };
    lines.once('close', () => resolve(null));
    lines.once('SIGINT', () => {
      // What follows begins a line of its own.
      process.stderr.write('\n');
      process.kill(process.pid, 'SIGINT');
      end(null);
    });
    signal.addEventListener('abort', () => end(null), { once: true });
    lines.question(question, end);
  });
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

let received: NodeJS.Signals | undefined;

/** The first signal aborts at the next safe point. A second signal has its default effect: the process ends at once. */
function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  // Each request and wait adds a listener; Node would warn above 10.
  setMaxListeners(0, controller.signal);
  const abort = (signal: NodeJS.Signals): void => {
    for (const name of SIGNALS) process.off(name, abort);
    received = signal;
    controller.abort();
  };
  for (const name of SIGNALS) process.on(name, abort);
  return controller.signal;
}

function createContext(): CliContext {
  const signal = abortOnSignals();
  const ambient = {
    io: {
      stdin: inputStream(signal),
      stdout: outputStream('stdout'),
      stderr: outputStream('stderr'),
      prompt: (question: string) => prompt(question, signal),
    },
    env: process.env,
    clock: { nowMs: () => Date.now() },
    cwd: process.cwd(),
    home: homedir(),
    version: packageJson.version,
    platform: process.platform,
    nodeVersion: process.version,
    self: `${process.pid}-${randomUUID()}`,
    sleep: (ms: number) => setTimeout(ms, undefined, { signal }),
    signal,
  };
  const openers = createOpeners(ambient);
  return {
    ...ambient,
    ...openers,
    openService: async (settings) => {
      const { openWithJournal } = await import('./cli/journal/open-service.js');
      return openWithJournal(ambient, settings, openers.openService);
    },
  };
}

/**
 * A DNS lookup cannot be cancelled and delays the exit of an interrupted process until the resolver's timeout. The signal is
 * therefore sent again, with its default effect, after all output is written.
 */
async function endLookUps({ io }: CliContext, signal: NodeJS.Signals): Promise<void> {
  if (!process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')) return;
  await Promise.all([io.stdout.flush(), io.stderr.flush()]);
  process.kill(process.pid, signal);
}

/** Reports what a library threw outside of every call. Node would print the line that threw, and minified lines are long. */
async function endAtOnce(context: CliContext, error: unknown, words: readonly string[]): Promise<void> {
  const { reportFailure } = await import('./cli/report-failure.js');
  const exit = await reportFailure(context, error, words);
  await context.io.stderr.flush();
  process.exit(exit);
}

async function main(words: readonly string[]): Promise<void> {
  const context = createContext();
  process.once('uncaughtException', (error) => void endAtOnce(context, error, words));
  const { runCli } = await import('./cli/program.js');
  const exit = await runCli(context, words);
  // A failed write has already set an exit code. Success does not overwrite it.
  process.exitCode = exit === 0 ? (process.exitCode ?? exit) : exit;
  if (received !== undefined) await endLookUps(context, received);
}

void main(process.argv.slice(2));
