/**
 * One commit for several transactions. The disk takes about as long for one as for many, so what is waiting when a transaction has
 * done its work does its own before both are committed. None is told that it is done before that; if the commit fails, all have.
 */

/** Transactions of a commit at most: the first of them waits for the work of all. */
const MAX_TRANSACTIONS = 16;

export class SharedCommit {
  /** Ends with the commit, for all whose transactions it is of. */
  readonly done: Promise<void>;
  #transactions = 0;
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isFull(): boolean {
    return this.#transactions >= MAX_TRANSACTIONS;
  }

  add(): void {
    this.#transactions += 1;
  }

  /** Commits for all of them; whoever waits for `done` learns of a failure. */
  async end(commit: () => void | Promise<void>): Promise<void> {
    try {
      await commit();
      this.#resolve();
    } catch (error) {
      this.#reject(error);
    }
  }
}
