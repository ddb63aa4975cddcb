/** What listens goes on until a signal ends it, or it cannot go on. */
import type { Session } from './command.js';
import type { RunningServer } from './context.js';

/**
 * Waits for the end of what listens, and closes it.
 * @param words - said when it stops.
 * @throws why it could not go on, where that was the reason.
 */
export async function untilStopped(
  { context: { signal }, output }: Session,
  running: Pick<RunningServer, 'failed' | 'close'>,
  words: string,
): Promise<void> {
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const failure = await Promise.race([stopped, running.failed]);
  output.notice(words);
  await running.close();
  if (failure !== undefined) throw failure;
}
