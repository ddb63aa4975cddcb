/** What listens goes on until a signal ends it. */
import { once } from 'node:events';
import type { Session } from './command.js';
import type { RunningServer } from './context.js';

/**
 * Waits for a signal, and closes what listens.
 * @param words - said when it stops.
 */
export async function untilStopped(
  { context: { signal }, output }: Session,
  running: Pick<RunningServer, 'close'>,
  words: string,
): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  output.notice(words);
  await running.close();
}
