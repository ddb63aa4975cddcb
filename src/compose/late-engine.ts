/** The engine of a server that may start before its database answers: until then it is not ready, and whoever asks is asked to wait. */
import { callOperation, eachOperation, type Service } from '../contract/service.js';
import type { Engine } from '../engine/engine.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { OpenedDataEngine } from './data-engine.js';

/** Pause between two tries to open it. */
const RETRY_MS = 1_000;

/** What a server asks of an engine. */
export type ServedEngine = Service & Pick<Engine, 'authenticate' | 'ready' | 'countBatches' | 'state'>;

export interface LateEngine {
  readonly engine: ServedEngine;
  /** Name under which it holds leases, once it is open. */
  readonly instance: string | undefined;
  close(): Promise<void>;
}

export interface LateTerms {
  open(): Promise<OpenedDataEngine>;
  /** Begins the work that nobody asks for, once it is open. @throws where it must not go on; it is closed then */
  begin(opened: OpenedDataEngine): Promise<{ close(): unknown }>;
  /** May it be opened later, when what it works on is out of reach at first? */
  readonly mayWait: boolean;
  /** Is told once why it waits, and of what goes wrong for good once the server runs. */
  onProblem(message: string): void;
  /** @default 1,000 */
  readonly retryMs?: number;
}

const isPassing = (error: unknown): boolean =>
  isFlywheelError(error, 'ERR_STORE_UNAVAILABLE') || isFlywheelError(error, 'ERR_UNAVAILABLE');

class Late implements LateEngine {
  readonly #terms: LateTerms;
  readonly engine: ServedEngine;
  #opened: { readonly engine: OpenedDataEngine; readonly work: { close(): unknown } } | undefined;
  #trying: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #reason: FlywheelError | undefined;
  #closed = false;

  constructor(terms: LateTerms) {
    this.#terms = terms;
    this.engine = {
      ...eachOperation((id, input, call) => callOperation(this.#now(), id, input, call)),
      authenticate: async (credential) => this.#now().authenticate(credential),
      ready: async () => this.#now().ready(),
      countBatches: async () => this.#now().countBatches(),
      state: async () => this.#now().state(),
      close: async () => {},
    };
  }

  get instance(): string | undefined {
    return this.#opened?.engine.instance;
  }

  /** @throws what is wrong for good, or with the first try where there is no waiting. */
  async start(): Promise<this> {
    try {
      await this.#try();
    } catch (error) {
      if (!this.#terms.mayWait || !isFlywheelError(error) || !isPassing(error)) throw error;
      this.#reason = error;
      this.#terms.onProblem(`${error.message} The server starts, and is not ready until it answers.`);
      this.#later();
    }
    return this;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#trying;
    await this.#opened?.work.close();
    await this.#opened?.engine.close();
  }

  async #try(): Promise<void> {
    const engine = await this.#terms.open();
    try {
      this.#opened = { engine, work: await this.#terms.begin(engine) };
      this.#reason = undefined;
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  #later(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#trying = this.#try().catch((error: unknown) => {
        if (!isFlywheelError(error)) throw error;
        // It stays: what is wrong for good at first may be put right while the server waits.
        if (error.code !== this.#reason?.code) this.#terms.onProblem(error.message);
        this.#reason = error;
        this.#later();
      });
    }, this.#terms.retryMs ?? RETRY_MS).unref();
  }

  #now(): Engine {
    if (this.#opened !== undefined) return this.#opened.engine.engine;
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'The store is out of reach.', {
      ...(this.#reason === undefined ? {} : { cause: this.#reason }),
    });
  }
}

/** @throws what is wrong with the first try, unless it may pass and may be waited for. */
export const openLateEngine = (terms: LateTerms): Promise<LateEngine> => new Late(terms).start();
