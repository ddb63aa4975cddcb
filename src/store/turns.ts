/** Who may use the one connection: one at a time, in the order of asking. */

export interface Turns {
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
 */
export function createTurns(patienceMs: number, overdue: () => Error): Turns {
  const queue: Waiting[] = [];
  let taken = false;
  let timer: NodeJS.Timeout | undefined;

  const watch = (): void => {
    clearTimeout(timer);
    timer = queue.length === 0 ? undefined : setTimeout(failAll, patienceMs);
  };
  const failAll = (): void => {
    for (const { fail } of queue.splice(0)) fail(overdue());
  };

  return {
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
