/** One malicious change to an honest batch, and what a refusal has to say of it. */
import type { World } from './world.js';

export interface Attack {
  readonly name: string;
  /** Part of the reason. */
  readonly reason: string;
  change(world: World): void;
  /**
   * It is a batch of pipelines that the flywheel could do, only not the one that was sent: with a pipelines file it is refused;
   * on a terminal without one this text stands before the question. Else it is refused there as well.
   */
  readonly shown?: string;
}

export const attack = (
  name: string,
  reason: string,
  change: (world: World) => void,
  shown?: string,
): Attack => ({ name, reason, change, ...(shown === undefined ? {} : { shown }) });
