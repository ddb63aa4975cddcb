/** The service of a world of real processes: `flywheel serve`, started again whenever it is gone, behind a gate that spoils requests. */
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../../src/values/time.js';
import { type Fate, type Gate, startGate } from '../support/gate.js';
import { type ServeProcess, serve } from '../support/http-serve.js';
import { type RpcNode, startRpcNode } from '../support/rpc-node.js';
import type { CommandFaults, RequestFault } from './command-faults.js';

/** Calls are not what is scarce here: the gate refuses as it is told. */
const OPERATIONS = [
  'burn',
  'burn-batch',
  'status',
  'current',
  'init',
  'execute',
  'list',
  'pipelines',
  'approval',
  'cancel',
];
const RATES = OPERATIONS.flatMap((name) => ['--rate', `${name}=100000/s`]);
const MAX_STARTS = 5;

interface ServiceOptions {
  readonly home: string;
  readonly dataDir: string;
  readonly key: string;
  readonly faults: CommandFaults;
  readonly clock: Clock;
  /** Of the processes that are started from now on. */
  environment(): Record<string, string>;
  say(line: string): void;
}

export class CommandService {
  readonly gate: Gate;
  readonly node: RpcNode;
  readonly #options: ServiceOptions;
  readonly #port: string;
  #server: ServeProcess | undefined;
  #starting: Promise<void> = Promise.resolve();
  #failure: Error | undefined;
  #isOver = false;

  private constructor(options: ServiceOptions, server: ServeProcess, gate: Gate, node: RpcNode) {
    this.#options = options;
    this.gate = gate;
    this.node = node;
    this.#port = new URL(server.url).port;
    this.#keep(server);
    gate.fate = () => this.#fate(options.faults.request());
  }

  static async open(options: ServiceOptions): Promise<CommandService> {
    const server = await serve({ ...options, env: options.environment() }, ...RATES);
    const gate = await startGate(server.url, [options.key]);
    return new CommandService(options, server, gate, await startRpcNode(options.dataDir, options.clock));
  }

  /** Resolves when it can be asked. @throws when it cannot be started any more */
  async ready(): Promise<void> {
    await this.#starting;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Stops it and starts it again, as somebody does who has set the clock. */
  async restart(): Promise<void> {
    await this.ready();
    await this.#server?.end('SIGTERM');
    await this.ready();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#starting;
    await this.#server?.end('SIGKILL');
    await this.gate.close();
    await this.node.close();
  }

  /** Has it started again when it ends. */
  #keep(server: ServeProcess): void {
    this.#server = server;
    server.child.once('exit', () => {
      if (!this.#isOver) this.#starting = this.#start();
    });
  }

  async #start(): Promise<void> {
    const { home, dataDir, environment } = this.#options;
    for (let tries = 1; !this.#isOver; tries += 1) {
      try {
        this.#keep(await serve({ home, dataDir, env: environment() }, ...RATES, '--port', this.#port));
        return;
      } catch (error) {
        if (tries < MAX_STARTS) continue;
        this.#failure = error as Error;
        return;
      }
    }
  }

  async #fate(fault: RequestFault): Promise<Fate> {
    this.#options.faults.count(fault);
    if (fault.kind !== 'pass') this.#options.say(`    request: ${JSON.stringify(fault)}`);
    switch (fault.kind) {
      case 'refuse':
        return { refuse: fault.status };
      case 'delay':
        await setTimeout(fault.ms);
        return 'pass';
      case 'end':
        void setTimeout(fault.ms).then(() => this.#server?.child.kill(fault.signal));
        return 'pass';
      default:
        return fault.kind;
    }
  }
}
