/** Runs the command line in a simulated process; the only import of `src/cli` in the simulator. */
import { join } from 'node:path';
import type { CliContext, OpenedService } from '../../src/cli/context.js';
import { runCli } from '../../src/cli/program.js';
import { createLocalAdmin } from '../../src/compose/local-admin.js';
import { failure } from './ports.js';
import type { SimProcess } from './process.js';

export type Context = CliContext;
export type Settings = Parameters<CliContext['openService']>[0];

export interface Typed {
  readonly words: readonly string[];
  readonly isTerminal: boolean;
  readonly stdin?: string;
  /** Names the data directory by its alias. */
  readonly isAlias?: boolean;
  /** Reads stdout as it is flushed. */
  readonly read?: (text: string) => void;
}

export interface Ended {
  /** `null`: killed. */
  readonly exit: number | null;
  /** Flushed output only, if the process was killed. */
  readonly stdout: string;
  readonly stderr: string;
}

const VERSION = '0.0.0-simulated';

/** An output stream: the reader has only flushed text, or all text after a normal exit. */
export class Output {
  #written = '';
  #problem: string | null = null;
  seen = '';

  constructor(
    private readonly process: SimProcess,
    private readonly read: (text: string) => void = () => undefined,
  ) {}

  rest(): string {
    return this.#problem === null ? this.seen + this.#written : this.seen;
  }

  stream(isTTY: boolean): CliContext['io']['stdout'] {
    const self = this;
    return {
      write: (text) => {
        if (this.process.alive) this.#written += text;
      },
      flush: () => this.#flush(),
      isTTY,
      columns: 100,
      get closed() {
        return self.#problem !== null;
      },
    };
  }

  async #flush(): Promise<string | null> {
    await this.process.reach('print');
    const fault = await this.process.suffer(['full']);
    if (fault === 'full') this.#problem ??= 'the disk is full';
    if (this.#problem === null) {
      this.seen += this.#written;
      this.#written = '';
      this.read(this.seen);
    }
    await this.process.reach('printed');
    await this.process.suffer([]);
    return this.#problem;
  }
}

interface Surroundings {
  readonly process: SimProcess;
  readonly typed: Typed;
  readonly streams: { readonly stdout: Output; readonly stderr: Output };
  readonly home: string;
  readonly dataDir: string;
  readonly isRemote: boolean;
  nowMs(): number;
  sleep(ms: number): Promise<void>;
  answer(): string;
  openService(context: Context, settings: Settings): Promise<OpenedService>;
}

export function contextOf(around: Surroundings): Context {
  const { process, typed, streams, home, dataDir } = around;
  const { words, isTerminal, stdin = '', isAlias = false } = typed;
  const clock = { nowMs: () => around.nowMs() };
  const untyped = async (): Promise<never> => {
    throw failure('ERR_INTERNAL', `Nobody types ${words.join(' ')}.`);
  };
  const context: Context = {
    io: {
      stdin: {
        isTTY: isTerminal,
        chunks: async function* () {
          yield Buffer.from(stdin);
        },
      },
      stdout: streams.stdout.stream(isTerminal),
      stderr: streams.stderr.stream(isTerminal),
      prompt: async () => {
        await process.reach('question');
        await process.suffer([]);
        return process.signal.aborted ? null : around.answer();
      },
    },
    env: {
      // A user may name the directory by its alias.
      FLYWHEEL_DATA_DIR: isAlias ? join(home, 'alias') : dataDir,
      FLYWHEEL_CONFIG_DIR: join(home, around.isRemote ? 'config' : 'no-config'),
    },
    clock,
    sleep: (ms) => around.sleep(ms),
    cwd: home,
    home,
    version: VERSION,
    platform: 'linux',
    self: process.name,
    signal: process.signal,
    openService: (settings) => around.openService(context, settings),
    openLocal: async (settings) => createLocalAdmin(context, settings),
    startServer: untyped,
    startLocalRpc: untyped,
    checkRpc: async () => [],
    effectiveSettings: async (settings) => settings,
    nodeVersion: 'v22.0.0',
    dataChain: async () => null,
    dataPins: async () => null,
    openDatabase: untyped,
    register: untyped,
  };
  return context;
}

/** @returns the exit code */
export const runCommand = (context: Context, words: readonly string[]): Promise<number> =>
  runCli(context, words);
