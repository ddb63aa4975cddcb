/** The interface of a part of the torture. */
import type { Random } from '../fuzz/random.js';

export interface OpenTorture {
  /** Does something random, then checks the state. @throws the violation. */
  round(random: Random): Promise<void>;
  close(): Promise<void>;
  report?(): string;
}

export interface TorturePart {
  readonly of: string;
  /** @param seed - for choices before the first round. */
  open(seed: number): Promise<OpenTorture>;
}
