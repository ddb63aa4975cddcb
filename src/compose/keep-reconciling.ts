/** The part of a server that nobody asks: every few seconds it brings to its end what any process has left unfinished. */
import type { Engine } from '../engine/engine.js';
import type { ReconcileTerms } from '../engine/reconcile.js';

/** Time between the end of one look and the next. */
const INTERVAL_MS = 15_000;

interface Reconciling {
  /** Stops what is waited for, and resolves when nothing is done any more; whatever was sent is stored. */
  close(): Promise<void>;
}

interface ReconcilingOptions {
  readonly onProblem: NonNullable<ReconcileTerms['onProblem']>;
  /** Where a chain takes its time nobody waits for the first look. @default false */
  readonly inBackground?: boolean;
  /** @default 15,000 */
  readonly intervalMs?: number;
}

/** @throws what goes wrong with the first look, unless that is taken in the background. */
export async function keepReconciling(
  engine: Pick<Engine, 'reconcile'>,
  { onProblem, inBackground = false, intervalMs = INTERVAL_MS }: ReconcilingOptions,
): Promise<Reconciling> {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> = Promise.resolve();
  const look = async (): Promise<void> => {
    await engine.reconcile({
      signal: stop.signal,
      onProblem: (what, error) => {
        if (!stop.signal.aborted) onProblem(what, error);
      },
    });
  };
  const later = (): void => {
    if (!stop.signal.aborted) timer = setTimeout(again, intervalMs).unref();
  };
  const again = (): void => {
    running = look().then(later, (error: unknown) => {
      onProblem('what is unfinished', error);
      later();
    });
  };
  if (inBackground) again();
  else {
    await look();
    later();
  }
  return {
    close: async () => {
      clearTimeout(timer);
      stop.abort();
      await running;
    },
  };
}
