/**
 * What has landed is watched until no fork can take it back. What one has taken back is an intent again, and is carried to its end
 * as every intent is: the same bytes while they are good, then signed once more.
 */
import { setTimeout } from 'node:timers/promises';
import type { Finality } from '../../chain/chain.js';
import type { RecoveryScope } from '../../contract/recovery.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { WatchedLanding } from '../../store/records.js';
import type { EngineDeps } from '../deps.js';
import type { Lease } from '../lease.js';
import { reopenBatch } from './reopen-batch.js';
import { reopenBurns } from './reopen-burns.js';

const isBurn = (landing: WatchedLanding) => landing.kind === 'burn';
const isBundle = (landing: WatchedLanding) => landing.kind === 'bundle';

/** For how long the end of a batch waits for what it rests on to become final. */
const MAX_WAIT_MS = 60_000;

/** Whose landings are looked at; all of the store, where nothing is said. */
export interface WatchScope extends RecoveryScope {
  readonly batchId?: string;
}

/** What of a batch, of a project or of all became of the landings that are not final. */
export interface Watched {
  readonly waiting: number;
  readonly undone: number;
}

const NOTHING: Watched = { waiting: 0, undone: 0 };

/**
 * Looks at what has landed and is not final: stops watching what is, and takes up again what was taken back, where nobody works on it.
 * @throws `ERR_UNAVAILABLE` when the chain is out of reach; nothing has changed then.
 */
export async function watchLandings(deps: EngineDeps, scope: WatchScope = {}): Promise<Watched> {
  if (deps.chain.pollMs === null) return NOTHING;
  const all = await deps.store.read((tx) => tx.landings.waiting());
  const landings = all.filter((landing) => isIn(scope, landing));
  if (landings.length === 0) return NOTHING;
  const found = await finalityOf(deps, landings);
  const of = (finality: Finality) => landings.filter((_, index) => found[index] === finality);
  await forget(deps, of('final'));
  const undone = of('undone');
  await takeUp(deps, undone, of('waiting'));
  return { waiting: of('waiting').length, undone: undone.length };
}

const isIn = ({ batchId, tokenId = null }: WatchScope, landing: WatchedLanding): boolean =>
  (batchId === undefined || (isBundle(landing) && landing.batchId === batchId)) &&
  (tokenId === null || landing.tokenId === tokenId);

/**
 * Waits until all that a batch rests on is final, so that its end is as well.
 * @throws `ERR_UNAVAILABLE` when that takes too long, or something was taken back.
 */
export const awaitFinal = (deps: EngineDeps, batchId: string, lease: Lease): Promise<void> =>
  untilFinal(deps, batchId, lease, async () => {
    const { waiting, undone } = await watchLandings(deps, { batchId });
    if (undone > 0) throw notFinal(batchId);
    return waiting === 0;
  });

/**
 * Looks until what a batch rests on is final.
 * @throws `ERR_UNAVAILABLE` when that takes too long.
 */
export async function untilFinal(
  { chain: { pollMs } }: EngineDeps,
  batchId: string,
  lease: Lease,
  isFinal: () => Promise<boolean>,
): Promise<void> {
  for (let waitedMs = 0; !(await isFinal()); waitedMs += pollMs ?? 0) {
    if (pollMs === null || waitedMs >= MAX_WAIT_MS) throw notFinal(batchId);
    const { signal } = lease;
    await setTimeout(pollMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    signal?.throwIfAborted();
    await lease.check();
  }
}

const notFinal = (batchId: string): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `What batch ${batchId} has done is not final on the chain yet; try again.`,
  );

async function finalityOf(
  { chain }: EngineDeps,
  landings: readonly WatchedLanding[],
): Promise<readonly Finality[]> {
  const asked = landings.flatMap(({ signatures, slot }) =>
    signatures.map((signature) => ({ signature, slot })),
  );
  const found = await chain.finality(asked);
  let from = 0;
  return landings.map(({ signatures: { length } }): Finality => {
    from += length;
    const own = found.slice(from - length, from);
    if (own.every((finality) => finality === 'final')) return 'final';
    return own.includes('undone') ? 'undone' : 'waiting';
  });
}

async function forget({ store }: EngineDeps, landings: readonly WatchedLanding[]): Promise<void> {
  if (landings.length === 0) return;
  await store.transaction(({ landings: watched }) => watched.forget(landings), { tokenId: null });
}

/** Each bundle of a batch rests on those before it, so that what came after one that is undone does not stand either. */
async function takeUp(
  deps: EngineDeps,
  undone: readonly WatchedLanding[],
  waiting: readonly WatchedLanding[],
): Promise<void> {
  const burns = undone.filter(isBurn);
  for (const id of new Set(burns.map(({ requestId }) => requestId)))
    await reopenBurns(
      deps,
      id,
      burns.filter(({ requestId }) => requestId === id),
    );
  const bundles = [...undone, ...waiting].filter(isBundle);
  for (const id of new Set(undone.filter(isBundle).map(({ batchId }) => batchId)))
    await reopenBatch(
      deps,
      id,
      bundles.filter(({ batchId }) => batchId === id),
    );
}
