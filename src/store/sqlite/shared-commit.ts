/**
 * One commit for several transactions. The disk takes about as long for one as for many, so what is waiting when a transaction has
 * done its work does its own before both are committed. None is told that it is done before that; if the commit fails, all have.
 */

import { ownTurn } from '../../values/turns.js';

/** Transactions at most that a commit waits for, those that fail among them: the first waits for the work of all. */
const MAX_TRANSACTIONS = 16;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class SharedCommit {
  readonly #waiting: Waiting[] = [];
  /** Others that have begun since. */
  #joined = 0;

  get isFull(): boolean {
    return this.#joined >= MAX_TRANSACTIONS - 1;
  }

  /** Another begins before it is committed. */
  join(): void {
    this.#joined += 1;
  }

  /** @returns what ends with the commit, and fails with it. */
  add(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Commits for all of them. Never fails: those who wait are told. */
  async end(commit: () => void | Promise<void>): Promise<void> {
    try {
      await commit();
      void this.#tell(({ resolve }) => resolve());
    } catch (error) {
      void this.#tell(({ reject }) => reject(error));
    }
  }

  /** One after the other, since each goes on with work of its own then. */
  async #tell(how: (one: Waiting) => void): Promise<void> {
    for (const one of this.#waiting) {
      await ownTurn();
      how(one);
    }
  }
}
