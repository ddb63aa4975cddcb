/**
 * Does the chain know more of a project than the store? Everything is stored before it is sent, so that a transaction of ours
 * that the store does not know was sent by a store that had more: this one is an older copy. What is missing is written down as
 * a gap, and nothing is written for the project until somebody has accepted it.
 */
import { BLOCKHASH_LIFETIME_BLOCKS, type Chain } from '../../chain/chain.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { GapRecord, LostTransaction } from '../../store/records.js';
import type { Lineage } from '../../store/repositories/gaps.js';
import type { Store, StoreTransaction } from '../../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../../values/time.js';
import { recordAct, requireRegistration } from '../admin/project.js';
import type { EngineDeps, EngineParts } from '../deps.js';
import { unknownOf } from './unknown.js';

/** By so many blocks the node that a sender has asked may have been ahead of what is final here: some 30 always are, and this node may be behind. */
const AHEAD_BLOCKS = 150n;
const BLOCK_MS = 400n;

interface InFlightDeps {
  readonly store: Store;
  readonly chain: Pick<Chain, 'latestBlockhash' | 'expiredHeight'>;
}

/** What is asked again finds the copy that is there by then. */
const replacedJustNow = (): FlywheelError =>
  new FlywheelError('ERR_UNAVAILABLE', 'The database was just restarted or replaced.', {
    retryAfterSeconds: 1,
  });

/** A height by which all has expired that was sent before now, whichever node it was signed for. */
async function heightOfExpiry({ chain }: InFlightDeps): Promise<bigint> {
  const { lastValidBlockHeight } = await chain.latestBlockhash();
  const ahead = (await chain.expiredHeight()) + BLOCKHASH_LIFETIME_BLOCKS + AHEAD_BLOCKS;
  return ahead > lastValidBlockHeight ? ahead : lastValidBlockHeight;
}

/** Writes down what becomes of the line, unless others have. @returns how it stands then */
const move = ({ store }: InFlightDeps, from: Lineage, to: Lineage): Promise<Lineage> =>
  store.transaction(async (tx) => {
    if (tx.lineage !== to.lineage) throw replacedJustNow();
    const now = await tx.lineages.progress();
    if (now.lineage !== from.lineage || now.heldUntil !== from.heldUntil) return now;
    await tx.lineages.set(to);
    return to;
  });

/**
 * Notices another line of history, and waits it out.
 * @param replaced - lines that another was seen to take the place of: one that is back knows nothing of what that other has sent.
 * @returns the copy of the data on which nothing is in flight that it may not know of.
 * @throws `ERR_UNAVAILABLE` while something is, or when the chain cannot be asked.
 */
export async function requireExpired(deps: InFlightDeps, replaced = new Set<string>()): Promise<string> {
  const { copy, lineage, last } = await deps.store.read(async (tx) => ({
    ...{ copy: tx.copy, lineage: tx.lineage },
    last: await tx.lineages.progress(),
  }));
  const isKnown = last.lineage === lineage && !replaced.has(lineage);
  let now: Lineage = last;
  if (!isKnown) now = await move(deps, last, { lineage, heldUntil: await heightOfExpiry(deps) });
  // Whoever has ended the wait just now need not have seen what this process has.
  if (now.heldUntil === null && replaced.has(lineage)) throw replacedJustNow();
  replaced.delete(lineage);
  if (now.heldUntil === null) return copy;
  const left = now.heldUntil - (await deps.chain.expiredHeight());
  if (left > 0n) {
    const seconds = Number((left * BLOCK_MS + 999n) / 1_000n);
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The database was restored, copied or failed over. Transactions that were sent before may still land. Writes start in about ${seconds} s, when they have expired.`,
      { retryAfterSeconds: Math.max(1, seconds) },
    );
  }
  await move(deps, now, { lineage, heldUntil: null });
  return copy;
}

type GapDeps = Pick<EngineParts, 'store' | 'chain' | 'ids'>;

/** Transactions that a look before a write, or at each round, reads at most: a second or two. */
const MAX_READ = 500;

/** Projects that are looked at unasked at each round. */
const PROJECTS_A_ROUND = 2;

/** Why nothing is written. */
export function storeBehind({ burns, transactions }: GapRecord): FlywheelError {
  const beside = burns === transactions ? '' : ` in ${transactions} transactions`;
  return new FlywheelError(
    'ERR_STORE_BEHIND',
    `The chain has ${burns} burns${beside} of this project that the store lacks: an older copy of the store was restored, or another program signs with the same keys. Nothing was sent.`,
    { retryAfterSeconds: 60 },
  );
}

/**
 * A server none of whose projects may be written is of no use; with one that may it serves that one.
 * @throws `ERR_STORE_BEHIND`
 */
export async function requireOneWhole(store: Store): Promise<void> {
  const isBehind = await store.read(async (tx) => {
    const { length } = await tx.gaps.allOpen();
    return length > 0 && (await tx.flywheels.list(length + 1)).length === length;
  });
  if (isBehind)
    throw new FlywheelError(
      'ERR_STORE_BEHIND',
      'The chain has burns of every project here that the store lacks. Nothing is written until you accept them.',
    );
}

export class GapWatch {
  readonly #deps: GapDeps;
  /** The copy of the data that was looked at; of another one nothing is known. */
  #copy = '';
  #lineage = '';
  /** Lines of history that another was seen to take the place of: a database that is put back as it was does not know. */
  readonly #replaced = new Set<string>();
  /** Projects of this copy of which the chain knows no more than the store. */
  readonly #whole = new Set<string>();
  readonly #looking = new Map<string, Promise<number>>();

  constructor({ store, chain, ids }: GapDeps) {
    this.#deps = { store, chain, ids };
  }

  /**
   * Asked before anything is written for a project.
   * @throws `ERR_STORE_BEHIND`; `ERR_UNAVAILABLE` when the chain cannot be asked, or lists more than is looked at at once, or as
   * {@link requireExpired}.
   */
  async require(tokenId: string): Promise<void> {
    if (this.#deps.chain.pollMs === null) return;
    this.#forgetOthers();
    if (this.#whole.has(tokenId)) return;
    await this.#refuseBehind(tokenId);
    const left = await this.lookNow(tokenId, MAX_READ);
    await this.#refuseBehind(tokenId);
    // The next look goes on where this one has stopped.
    if (left > 0)
      throw new FlywheelError(
        'ERR_UNAVAILABLE',
        `${left} on-chain transactions of this project must still be compared with the store. Nothing was sent.`,
        { hint: 'Run the command again; the check continues where it stopped.', retryAfterSeconds: 1 },
      );
  }

  /**
   * Asked in the transaction that begins to write, after {@link GapWatch.require}: is it on the copy that was found to be whole?
   * @throws `ERR_UNAVAILABLE` when the database was restarted or replaced in between.
   */
  requireIn({ copy }: Pick<StoreTransaction, 'copy'>, tokenId: string): void {
    if (this.#deps.chain.pollMs === null) return;
    if (copy === this.#copy && this.#whole.has(tokenId)) return;
    throw replacedJustNow();
  }

  /**
   * Asked every few seconds: what others have found is known here, and some projects are looked at before anybody writes them.
   * @returns the gaps that are open.
   * @throws as {@link requireExpired}
   */
  async again(): Promise<readonly GapRecord[]> {
    const { store, chain } = this.#deps;
    if (chain.pollMs === null) return [];
    const some = await store.read((tx) => tx.flywheels.list(PROJECTS_A_ROUND));
    this.#forgetOthers();
    await requireExpired(this.#deps, this.#replaced);
    for (const { tokenId } of some) if (!this.#whole.has(tokenId)) await this.lookNow(tokenId, MAX_READ);
    const open = await store.read((tx) => tx.gaps.allOpen());
    for (const { tokenId } of open) this.#whole.delete(tokenId);
    return open;
  }

  /**
   * Looks at a project, whether or not it was looked at before.
   * @returns how many transactions are left to be read.
   * @throws as {@link requireExpired}
   */
  async lookNow(tokenId: string, most?: number): Promise<number> {
    if (this.#deps.chain.pollMs === null) return 0;
    const running =
      this.#looking.get(tokenId) ?? this.#look(tokenId, most).finally(() => this.#looking.delete(tokenId));
    this.#looking.set(tokenId, running);
    return running;
  }

  /** What was seen of another copy of the data says nothing of this one. */
  #forgetOthers(): void {
    const { copy, lineage } = this.#deps.store;
    if (copy !== this.#copy) this.#whole.clear();
    this.#copy = copy;
    if (lineage === this.#lineage) return;
    if (this.#lineage !== '') this.#replaced.add(this.#lineage);
    this.#lineage = lineage;
  }

  async #refuseBehind(tokenId: string): Promise<void> {
    const gap = await this.#deps.store.read((tx) => tx.gaps.open(tokenId));
    if (gap !== undefined) throw storeBehind(gap);
  }

  /** What is looked at while something may land says nothing of what will have, so all of that has to have expired. */
  async #look(tokenId: string, most?: number): Promise<number> {
    const { store } = this.#deps;
    const copy = await requireExpired(this.#deps, this.#replaced);
    const { marks, lost, left } = await unknownOf(this.#deps, tokenId, most);
    if (marks.length > 0 || lost.length > 0)
      await store.transaction(
        async (tx) => {
          const known = await tx.signatures.known(lost.map(({ signature }) => signature));
          const missing = lost.filter(({ signature }) => !known.has(signature));
          const gap = { id: this.#deps.ids.uuid(), tokenId, dateFound: isoTime(tx.nowMs) };
          if (missing.length > 0) await tx.gaps.add(gap, missing);
          for (const { account, signature } of marks) await tx.gaps.setMark(tokenId, account, signature);
        },
        { tokenId },
      );
    const gap = await store.read((tx) => tx.gaps.open(tokenId));
    // Where it was replaced while it was looked at, that says nothing, and is found out before anything is written.
    if (left === 0 && gap === undefined && store.copy === copy && this.#copy === copy)
      this.#whole.add(tokenId);
    return left;
  }
}

/** The open gap with all that is missing, and how many burns the store has as pending: once it is accepted they are carried on. */
export async function openGapIn(tx: StoreTransaction, tokenId: string) {
  const gap = await tx.gaps.open(tokenId);
  if (gap === undefined) return undefined;
  const lost = await tx.gaps.transactions(gap.id);
  return { ...gap, lost, pendingBurns: await tx.burns.countPending(tokenId) };
}

export const createGapAdmin = (deps: EngineDeps) => {
  const registered = () => deps.store.read((tx) => requireRegistration(tx, deps.project ?? null));
  return {
    /** @returns `null` when nothing is. @throws `ERR_UNAVAILABLE` when the chain cannot be asked; as {@link requireRegistration} */
    find: async () => {
      const project = await registered();
      const { id } = project.token;
      await deps.gaps.lookNow(id);
      const gap = await deps.store.read((tx) => openGapIn(tx, id));
      return gap === undefined ? null : { ...project, gap };
    },
    /** @param transactions - that were shown. @throws as {@link acceptGapIn} */
    accept: async (transactions: number): Promise<void> => {
      const { id: tokenId } = (await registered()).token;
      await deps.store.transaction((tx) => acceptGapIn(tx, tokenId, transactions, deps.actor), { tokenId });
    },
  };
};
export type GapAdmin = ReturnType<typeof createGapAdmin>;

/**
 * Accepts the open gap, of which so many transactions were shown: what was burned and airdropped counts on its days from now on, so that caps hold, and writes go on.
 * @throws `ERR_INPUT_INVALID` when it is not what was shown.
 */
export async function acceptGapIn(
  tx: StoreTransaction,
  tokenId: string,
  transactions: number,
  actor: string,
): Promise<void> {
  const gap = await tx.gaps.open(tokenId);
  if (gap === undefined || gap.transactions !== transactions)
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `Expected ${transactions} missing transactions, found ${gap?.transactions ?? 0}. Nothing was accepted.`,
      { hint: 'Review the list again: `flywheel db accept-gap`' },
    );
  const lost = await tx.gaps.transactions(gap.id);
  await countUse(tx, tokenId, lost);
  const dateAccepted = isoTime(tx.nowMs);
  await tx.gaps.change({ id: gap.id, status: 'OPEN' }, { status: 'ACCEPTED', dateAccepted });
  const { id: subject, burns, burned, airdropped } = gap;
  await recordAct({ actor }, tx, {
    ...{ tokenId, action: 'gap.accept', subject },
    detail: {
      ...{ burns, transactions, burned: burned.toString(), airdropped: airdropped.toString() },
      ...{ firstSignature: lost[0]?.signature, lastSignature: lost.at(-1)?.signature },
    },
  });
}

/** On the day on which each has landed; today, where no node says. */
async function countUse(
  tx: StoreTransaction,
  tokenId: string,
  lost: readonly LostTransaction[],
): Promise<void> {
  const sums = new Map<UtcDay, { burn: bigint; airdrop: bigint }>();
  for (const { burned, airdropped, dateLanded } of lost) {
    const day = utcDay(dateLanded === null ? tx.nowMs : Date.parse(dateLanded));
    const sum = sums.get(day) ?? { burn: 0n, airdrop: 0n };
    sums.set(day, { burn: sum.burn + burned, airdrop: sum.airdrop + airdropped });
  }
  for (const [day, sum] of sums)
    for (const kind of ['burn', 'airdrop'] as const)
      if (sum[kind] > 0n) await tx.usage.addLanded({ tokenId, day, kind }, sum[kind]);
}
