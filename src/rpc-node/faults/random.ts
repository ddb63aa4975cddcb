/** Chance that is the same for the same seed. */
import { createHash } from 'node:crypto';

const RANGE = 2 ** 32;

/** Numbers from 0 up to 1. @param name - tells several of one seed apart. */
export function seededRandom(seed: number, name: string): () => number {
  let drawn = 0;
  return () => {
    drawn += 1;
    const digest = createHash('sha256').update(`${seed} ${name} ${drawn}`).digest();
    return digest.readUInt32LE(0) / RANGE;
  };
}
