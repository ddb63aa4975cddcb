/** One at a time, in the order of asking. A queue may be long, and only must not stand still. */

interface Waiting {
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

export class Mutex {
  readonly #patienceMs: number;
  readonly #overdue: () => Error;
  readonly #queue: Waiting[] = [];
  #isTaken = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param patienceMs - for how long one holder may keep the others waiting.
   * @param overdue - why they wait no longer.
   */
  constructor(patienceMs: number, overdue: () => Error) {
    this.#patienceMs = patienceMs;
    this.#overdue = overdue;
  }

  /** @throws what `overdue` makes, when the holder keeps it too long. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#take();
    try {
      return await work();
    } finally {
      this.#give();
    }
  }

  #take(): Promise<void> {
    if (!this.#isTaken) {
      this.#isTaken = true;
      return Promise.resolve();
    }
    return new Promise((go, fail) => {
      this.#queue.push({ go, fail });
      if (this.#timer === undefined) this.#watch();
    });
  }

  #give(): void {
    const next = this.#queue.shift();
    this.#isTaken = next !== undefined;
    this.#watch();
    // In a turn of the event loop of its own: many in a row would keep the sockets waiting.
    if (next !== undefined) setImmediate(next.go);
  }

  #watch(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#queue.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      for (const { fail } of this.#queue.splice(0)) fail(this.#overdue());
    }, this.#patienceMs);
  }
}

/** A mutex for each name that is in use. */
export class Mutexes {
  readonly #create: () => Mutex;
  readonly #named = new Map<string, { readonly mutex: Mutex; users: number }>();

  constructor(create: () => Mutex) {
    this.#create = create;
  }

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const own = this.#named.get(name) ?? { mutex: this.#create(), users: 0 };
    this.#named.set(name, own);
    own.users += 1;
    try {
      return await own.mutex.run(work);
    } finally {
      own.users -= 1;
      if (own.users === 0) this.#named.delete(name);
    }
  }
}
