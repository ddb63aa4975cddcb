/** The simulated machine: runs commands and servers over ports whose every call is a step. */
import type { Random } from '../fuzz/random.js';
import { type Context, contextOf, type Ended, Output, runCommand, type Typed } from './command-line.js';
import { simTransport } from './network.js';
import { openService } from './opening.js';
import { pause, running } from './platform.js';
import type { ChainWatch } from './ports.js';
import { SimProcess, type Surroundings } from './process.js';
import { SimServer } from './server.js';

interface Places {
  readonly home: string;
  readonly dataDir: string;
}

export class Machine {
  #servers: SimServer[] = [];
  #count = 0;

  constructor(
    readonly places: Places,
    private readonly around: Surroundings,
    private readonly options: {
      readonly isRemote: boolean;
      readonly random: Random;
      readonly watch: ChainWatch;
    },
  ) {}

  spawn(name: string): SimProcess {
    this.#count += 1;
    return new SimProcess(`${name}-${this.#count}`, this.around);
  }

  async run(process: SimProcess, typed: Typed): Promise<Ended> {
    const streams = { stdout: new Output(process, typed.read), stderr: new Output(process) };
    const context = this.#context(process, typed, streams);
    const ended = await Promise.race([
      running.run(process, () => runCommand(context, typed.words)),
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

  /** Starts a service, which resolves unfinished work. */
  async serve(): Promise<void> {
    const process = this.spawn('server');
    const typed = { words: ['serve'], isTerminal: false };
    const context = this.#context(process, typed);
    const server = await SimServer.start(context, process, this.places.dataDir, this.options.watch);
    if (server !== undefined) this.#servers.push(server);
  }

  get servers(): readonly SimServer[] {
    this.#servers = this.#servers.filter(({ alive }) => alive);
    return this.#servers;
  }

  stop(): void {
    // Histograms of a server's metrics stay in node for good, and with them the world and all that it refers to.
    for (const server of this.#servers.splice(0)) server.kill();
  }

  #context(
    process: SimProcess,
    typed: Typed,
    streams = { stdout: new Output(process), stderr: new Output(process) },
  ): Context {
    const { scheduler } = this.around;
    const { dataDir } = this.places;
    const net = { random: this.options.random, service: () => this.#anyServer() };
    return contextOf({
      ...{ process, typed, streams, ...this.places, isRemote: this.options.isRemote },
      nowMs: () => scheduler.nowMs,
      sleep: async (ms) => {
        await pause(ms, undefined, { signal: process.signal });
        await process.suffer([]);
      },
      answer: () => this.options.random.pick(['y', 'y', 'y', 'y', 'y', 'n']),
      openService: async (context, settings) => {
        await process.reach('open');
        await process.suffer([]);
        const transport = simTransport(process, net);
        return openService({ process, context, settings, dataDir, watch: this.options.watch, transport });
      },
    });
  }

  #anyServer(): SimServer | undefined {
    const { servers } = this;
    return servers.length === 0 ? undefined : this.options.random.pick(servers);
  }
}
