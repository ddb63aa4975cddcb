/** Who may use the one connection: one at a time, in the order of asking. */

export interface Turns {
  /** How many wait for theirs. */
  readonly waiting: number;
  /** Resolves when it is the caller's turn. @throws what `overdue` makes, when the holder of the turn keeps it too long. */
  take(): Promise<void>;
  give(): void;
}

interface Waiting {
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * A queue that does not mind being long, only standing still.
 *
 * @param patienceMs - for how long one holder may keep the others waiting.
 * @param overdue - why they wait no longer; `null` where the holder may take its time.
 */
export function createTurns(patienceMs: number, overdue: () => Error | null): Turns {
  const queue: Waiting[] = [];
  let taken = false;
  let timer: NodeJS.Timeout | undefined;

  const watch = (): void => {
    clearTimeout(timer);
    timer = queue.length === 0 ? undefined : setTimeout(failAll, patienceMs);
  };
  const failAll = (): void => {
    if (overdue() === null) watch();
    else for (const { fail } of queue.splice(0)) fail(overdue() as Error);
  };

  return {
    get waiting() {
      return queue.length;
    },

    take() {
      if (!taken) {
        taken = true;
        return Promise.resolve();
      }
      return new Promise((go, fail) => {
        queue.push({ go, fail });
        if (timer === undefined) watch();
      });
    },

    give() {
      const next = queue.shift();
      taken = next !== undefined;
      watch();
      next?.go();
    },
  };
}
