/** The part of a server that nobody asks: every few seconds it brings to its end what any process has left unfinished. */
import { setTimeout as delay } from 'node:timers/promises';
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
  const { signal } = stop;
  const tell: typeof onProblem = (what, error) => {
    if (!signal.aborted) onProblem(what, error);
  };
  const look = () => engine.reconcile({ signal, onProblem: tell });
  const lookAgain = async (first: Promise<unknown>): Promise<void> => {
    for (let one = first; ; one = look()) {
      await one.catch((error: unknown) => tell('what is unfinished', error));
      await delay(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
    }
  };
  const first = look();
  if (!inBackground) await first;
  const running = lookAgain(first);
  return {
    close: async () => {
      stop.abort();
      await running;
    },
  };
}
