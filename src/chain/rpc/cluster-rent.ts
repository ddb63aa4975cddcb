/** What accounts cost on a cluster: asked for now and then, since a cluster may change it. */
import type { Clock } from '../../values/time.js';
import { type Rent, rentFromEmpty } from '../account.js';
import type { NodePool } from './node-pool.js';
import { rentQuestion } from './questions.js';

/** How long an answer is good for. */
const GOOD_FOR_MS = 600_000;

/** @returns the rent as it is now; of nodes that do not agree the highest. */
export function createClusterRent(pool: NodePool, quorum: number, clock: Clock): () => Promise<Rent> {
  let known: { readonly rent: Rent; readonly atMs: number } | undefined;
  return async () => {
    if (known !== undefined && clock.nowMs() - known.atMs < GOOD_FOR_MS) return known.rent;
    const voices = await pool.ask(rentQuestion(0), { voices: quorum });
    const most = voices.map(({ value }) => value).reduce((high, next) => (next > high ? next : high));
    known = { rent: rentFromEmpty(most), atMs: clock.nowMs() };
    return known.rent;
  };
}
