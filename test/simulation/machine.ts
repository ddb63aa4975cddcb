/** The machine: its processes as the command line and the server see them, over ports whose every call is a step. */
import { join } from 'node:path';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import type { Settings } from '../../src/cli/config/settings.js';
import type { Ambient, CliContext, OpenedService } from '../../src/cli/context.js';
import { runCli } from '../../src/cli/run.js';
import { openEmbeddedService } from '../../src/compose/embedded-service.js';
import { createLocalAdmin } from '../../src/compose/local-admin.js';
import { dataFiles } from '../../src/compose/local-config.js';
import { openRemoteService } from '../../src/compose/remote-service.js';
import { FlywheelError } from '../../src/errors/flywheel-error.js';
import type { Random } from '../fuzz/random.js';
import { simTransport } from './network.js';
import { running } from './platform.js';
import { type ChainWatch, simFiles, simJournal, simNode } from './ports.js';
import { SimProcess, type Surroundings } from './process.js';
import type { Walker } from './scheduler.js';
import { SimServer } from './server.js';
import type { Ended, Started, Typed, Workplace } from './workplace.js';

/** Where the files of a world are. */
export interface Places {
  readonly home: string;
  readonly dataDir: string;
}

const API_URL = 'http://127.0.0.1:8080';
const VERSION = '0.0.0-simulated';

export class Machine implements Workplace {
  readonly places: Places;
  readonly around: Surroundings;
  readonly isRemote: boolean;
  readonly #random: Random;
  readonly #watch: ChainWatch;
  readonly #living = new Set<string>();
  #servers: SimServer[] = [];
  #count = 0;

  constructor(
    places: Places,
    around: Surroundings,
    options: { readonly isRemote: boolean; readonly random: Random; readonly watch: ChainWatch },
  ) {
    this.places = places;
    this.around = around;
    this.isRemote = options.isRemote;
    this.#random = options.random;
    this.#watch = options.watch;
  }

  /** A process that has just been started. */
  spawn(name: string, isExempt = false): SimProcess {
    this.#count += 1;
    const process = new SimProcess(`${name}-${this.#count}`, this.around, isExempt);
    this.#living.add(process.name);
    process.onEnd(() => this.#living.delete(process.name));
    return process;
  }

  turn(person: Walker, label: string): Promise<void> {
    return this.around.scheduler.reach(person, label);
  }

  start(name: string): Started {
    const process = this.spawn(name);
    return { name: process.name, run: (typed) => this.run(process, typed) };
  }

  calm(): void {
    this.around.scheduler.calm();
  }

  async pass(ms: number): Promise<void> {
    this.around.scheduler.jump(ms);
  }

  /** Runs a command to its end. */
  async run(process: SimProcess, typed: Typed): Promise<Ended> {
    const streams = { stdout: new Output(process), stderr: new Output(process) };
    const context = this.#context(process, typed, streams);
    const ended = await Promise.race([
      running.run(process, () => runCli(context, typed.words)),
      process.death.then(() => null),
    ]);
    const isOut = ended !== null && process.alive;
    process.end();
    return {
      exit: isOut ? ended : null,
      stdout: isOut ? streams.stdout.rest() : streams.stdout.seen,
      stderr: streams.stderr.rest(),
    };
  }

  async setUp(words: readonly string[]): Promise<void> {
    const typed = { words: [...words, '--local', '--json'], isTerminal: false };
    const { exit, stderr } = await this.run(this.spawn('set-up', true), typed);
    if (exit !== 0) throw new Error(`${words.join(' ')} ended ${exit}: ${stderr}`);
  }

  /** Starts a server beside those that run. */
  async serve(): Promise<void> {
    const process = this.spawn('server');
    const ambient = this.#context(
      process,
      { words: ['serve'], isTerminal: false },
      {
        stdout: new Output(process),
        stderr: new Output(process),
      },
    );
    const server = await SimServer.start(ambient, process, this.places.dataDir, this.#watch);
    if (server !== undefined) this.#servers.push(server);
  }

  /** Servers that run. */
  get servers(): readonly SimServer[] {
    this.#servers = this.#servers.filter(({ alive }) => alive);
    return this.#servers;
  }

  /** Ends whatever still runs. */
  stop(): void {
    for (const server of this.#servers) server.kill();
  }

  #context(
    process: SimProcess,
    { words, isTerminal, stdin = '', isAlias = false }: Typed,
    streams: { readonly stdout: Output; readonly stderr: Output },
  ): CliContext {
    const { scheduler } = this.around;
    const clock = { nowMs: () => scheduler.nowMs };
    const stdout = streams.stdout.stream(isTerminal);
    const stderr = streams.stderr.stream(isTerminal);
    const { home, dataDir } = this.places;
    // Who types may name the directory in another way.
    const named = isAlias ? join(home, 'alias') : dataDir;
    const context: CliContext = {
      io: {
        stdin: {
          isTTY: isTerminal,
          read: async () => Buffer.from(stdin),
          chunks: async function* () {
            yield Buffer.from(stdin);
          },
        },
        stdout,
        stderr,
        beforeQuestion: () => undefined,
        prompt: async () => {
          await process.reach('question');
          await process.suffer([]);
          return process.signal.aborted ? null : this.#random.pick(['y', 'y', 'y', 'y', 'y', 'n']);
        },
        promptHidden: async () => null,
      },
      env: {
        FLYWHEEL_DATA_DIR: named,
        FLYWHEEL_CONFIG_DIR: join(home, this.isRemote ? 'config' : 'no-config'),
      },
      clock,
      sleep: (ms) => this.#sleep(process, ms),
      cwd: home,
      home,
      version: VERSION,
      platform: 'linux',
      processes: { self: () => process.name, isRunning: (name) => this.#living.has(name) },
      signal: process.signal,
      openService: (settings) => this.#openService(process, context, settings),
      openLocal: async (settings) =>
        createLocalAdmin({
          ...{ dataDir: settings.dataDir.value, cwd: home, clock },
          openRpc: async () => null,
          openOnCluster: () => Promise.reject(new Error('Nothing is on a cluster.')),
        }),
      startServer: async () => {
        throw new FlywheelError('ERR_INTERNAL', `Nobody types ${words.join(' ')}.`);
      },
      startLocalRpc: async () => {
        throw new FlywheelError('ERR_INTERNAL', `Nobody types ${words.join(' ')}.`);
      },
      checkRpc: async () => [],
      effectiveSettings: async (settings) => settings,
      nodeVersion: 'v22.0.0',
      keepMemorySmall: () => undefined,
      edit: async () => null,
      dataChain: async () => null,
      dataPins: async () => null,
      openDatabase: async () => {
        throw new TypeError('There is no database here.');
      },
      openRegistrar: async () => {
        throw new FlywheelError('ERR_INTERNAL', `Nobody types ${words.join(' ')}.`);
      },
    };
    return context;
  }

  async #openService(process: SimProcess, context: Ambient, settings: Settings): Promise<OpenedService> {
    await process.reach('open');
    await process.suffer([]);
    const opened =
      settings.apiUrl.value === null
        ? await openEmbeddedService(context, settings, { between: simFiles(process, this.#watch) })
        : await this.#openRemote(process, context, settings);
    process.onEnd(() => opened.close());
    if (!process.alive) await opened.close();
    return { ...opened, journal: async () => simJournal(process, await opened.journal()) };
  }

  async #openRemote(process: SimProcess, context: Ambient, settings: Settings): Promise<OpenedService> {
    const { scheduler } = this.around;
    const path = dataFiles(this.places.dataDir).ledger;
    const genesis = { accounts: [] };
    const ledger = await openLocalChain({ path, clock: context.clock, create: false, genesis });
    process.onEnd(() => ledger.close());
    const net = { scheduler, random: this.#random, service: () => this.#anyServer() };
    return openRemoteService(context, settings, settings.apiUrl.value ?? API_URL, {
      transport: simTransport(process, net),
      sleep: (ms) => this.#sleep(process, ms),
      chain: simNode(process, ledger),
    });
  }

  #anyServer(): SimServer | undefined {
    const { servers } = this;
    return servers.length === 0 ? undefined : this.#random.pick(servers);
  }

  async #sleep(process: SimProcess, ms: number): Promise<void> {
    const { signal } = process;
    const interrupted = (): Error => new DOMException('The operation was aborted', 'AbortError');
    if (signal.aborted) throw interrupted();
    await Promise.race([
      process.reach(`sleep ${ms} ms`, this.around.scheduler.timeMs + ms),
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(interrupted()), { once: true });
      }),
    ]);
    await process.suffer([]);
  }
}

/** One stream: what was written is with the reader only when it was flushed, or the process ended by itself. */
class Output {
  readonly #process: SimProcess;
  #written = '';
  #problem: string | null = null;
  seen = '';

  constructor(process: SimProcess) {
    this.#process = process;
  }

  /** All that comes out when the process ends by itself. */
  rest(): string {
    return this.#problem === null ? this.seen + this.#written : this.seen;
  }

  stream(isTTY: boolean): CliContext['io']['stdout'] {
    const self = this;
    return {
      write: (text) => {
        if (this.#process.alive) this.#written += text;
      },
      drained: async () => undefined,
      flush: () => this.#flush(),
      isTTY,
      columns: 100,
      get closed() {
        return self.#problem !== null;
      },
    };
  }

  async #flush(): Promise<string | null> {
    await this.#process.reach('print');
    const fault = await this.#process.suffer(['full']);
    if (fault === 'full') this.#problem ??= 'the disk is full';
    if (this.#problem === null) {
      this.seen += this.#written;
      this.#written = '';
    }
    await this.#process.reach('printed');
    await this.#process.suffer([]);
    return this.#problem;
  }
}
