/**
 * Runs transactions on another core than the caller's: a thread with a connection of its own to the ledger, which is to this process what
 * another process would be. It starts with the first request, and does not keep the process alive by itself.
 */
import { Worker } from 'node:worker_threads';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { ownTurn } from '../../../values/turns.js';
import type { SubmitReceipt } from '../../chain.js';
import { isSignedHere } from '../../transaction/signed-here.js';
import {
  fromPlainError,
  type ThreadAnswer,
  type ThreadData,
  type ThreadRequest,
  type ThreadWork,
  transactionsOf,
} from './protocol.js';

/** A thread that transactions may run on beside the caller's. */
export interface ThreadOptions {
  /** The built `ledger-worker`. */
  readonly file: URL;
  /** Transactions of one call from which on it is worth to start it; once it runs, it takes all. */
  readonly from: number;
}

/** What a request takes from outside at the time when it is made. */
export interface ThreadOutside {
  readonly nowMs: () => number;
  readonly storeRevision: () => number;
}

interface Waiting {
  readonly resolve: (receipt: SubmitReceipt) => void;
  readonly reject: (error: unknown) => void;
}

export class LedgerThread {
  readonly #options: ThreadOptions;
  readonly #data: ThreadData;
  readonly #outside: ThreadOutside;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #count = 0;

  constructor(options: ThreadOptions, data: ThreadData, outside: ThreadOutside) {
    this.#options = options;
    this.#data = data;
    this.#outside = outside;
  }

  /** Should so many transactions run here? */
  takes(count: number): boolean {
    return this.#worker !== undefined || count >= this.#options.from;
  }

  /**
   * Runs the work behind what it was given before.
   * @throws what the ledger throws; `ERR_UNAVAILABLE` where the thread has died, and nobody knows whether it had committed.
   */
  async submit(work: ThreadWork): Promise<SubmitReceipt> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#count += 1;
    const id = this.#count;
    const { nowMs, storeRevision } = this.#outside;
    const areSignedHere = transactionsOf(work).map(isSignedHere);
    const request: ThreadRequest = {
      id,
      nowMs: nowMs(),
      storeRevision: storeRevision(),
      areSignedHere,
      ...work,
    };
    const receipt = await new Promise<SubmitReceipt>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage(request);
    });
    // Answers that have come together are not gone on with together.
    await ownTurn();
    return receipt;
  }

  /** Ends it behind all that it was given. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    const gone = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('close');
    await gone;
  }

  #start(): Worker {
    const worker = new Worker(this.#options.file, { workerData: this.#data });
    worker.unref();
    worker.on('message', (answer: ThreadAnswer) => this.#take(answer));
    worker.on('error', (error) => this.#lose(worker, error));
    worker.on('exit', () => this.#lose(worker, undefined));
    return worker;
  }

  #take(answer: ThreadAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if ('receipt' in answer) waiting?.resolve(answer.receipt);
    else waiting?.reject(fromPlainError(answer.error));
  }

  /** The next request starts another one. */
  #lose(worker: Worker, cause: unknown): void {
    if (this.#worker === worker) this.#worker = undefined;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of lost)
      reject(
        new FlywheelError(
          'ERR_UNAVAILABLE',
          'The thread that runs transactions has died; whether the last of them landed is not known yet.',
          { cause },
        ),
      );
  }
}
