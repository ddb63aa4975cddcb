/** A first-come, first-served mutex for each name. */

interface Waiting {
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

interface Queue {
  readonly waiting: Waiting[];
  timer?: NodeJS.Timeout;
}

export class Mutex {
  readonly #queues = new Map<string, Queue>();

  /**
   * @param patienceMs - longest time that one holder may keep the lock while others wait, whatever the queue's length
   * @param overdue - makes the error for all waiting callers
   */
  constructor(
    private readonly patienceMs: number,
    private readonly overdue: () => Error,
  ) {}

  /** @throws the error of `overdue` when a holder keeps the lock too long */
  async run<Result>(work: () => Promise<Result>, name = ''): Promise<Result> {
    await this.#take(name);
    try {
      return await work();
    } finally {
      this.#give(name);
    }
  }

  async #take(name: string): Promise<void> {
    const queue = this.#queues.get(name);
    if (queue === undefined) {
      this.#queues.set(name, { waiting: [] });
      return;
    }
    await new Promise<void>((go, fail) => {
      queue.waiting.push({ go, fail });
      if (queue.waiting.length === 1) this.#watch(queue);
    });
  }

  #give(name: string): void {
    const queue = this.#queues.get(name);
    const next = queue?.waiting.shift();
    if (queue !== undefined) this.#watch(queue);
    // Each holder starts in its own turn of the event loop: many in a row would starve the sockets.
    if (next !== undefined) setImmediate(next.go);
    else this.#queues.delete(name);
  }

  #watch(queue: Queue): void {
    clearTimeout(queue.timer);
    if (queue.waiting.length === 0) return;
    queue.timer = setTimeout(() => {
      for (const { fail } of queue.waiting.splice(0)) fail(this.overdue());
    }, this.patienceMs);
  }
}
