/** What a part of the torture is. */
import type { Random } from '../fuzz/random.js';

/** A part that is under way. */
export interface OpenTorture {
  /** Does something random, and looks whether all is as it must be. @throws what is wrong. */
  round(random: Random): Promise<void>;
  close(): Promise<void>;
  /** What there is to say beside that it held. */
  report?(): string;
}

export interface TorturePart {
  /** What one round is, for the summary. */
  readonly of: string;
  /** @param seed - for what is chosen before the first round. */
  open(seed: number): Promise<OpenTorture>;
}
