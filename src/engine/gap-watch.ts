/** Detects gaps: transactions of a project's keys that the chain has and the store lacks. */
import { decodeClock } from '../chain/account.js';
import { BLOCKHASH_LIFETIME_BLOCKS, type Chain } from '../chain/chain.js';
import { clusterName } from '../chain/node-address.js';
import { CLOCK_SYSVAR } from '../chain/programs.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { GapRecord } from '../store/records.js';
import type { Lineage } from '../store/repositories/gaps.js';
import type { Store, StoreTransaction } from '../store/store.js';
import { isoTime, utcDay } from '../values/time.js';
import { recordAct, requireRegistration } from './admin/project.js';
import { countUses } from './caps.js';
import type { EngineDeps, Sources } from './deps.js';
import { unknownOf } from './unknown-transactions.js';

/** Blocks by which another node may have been ahead of our finalized height: about 30 always, more if our node is behind. */
const AHEAD_BLOCKS = 150n;
const BLOCK_MS = 400n;
/** About an hour, far above any wait for expiry: more are left only if a node once named a height that was too high. */
const MAX_WAIT_BLOCKS = 9_000n;

interface InFlightDeps {
  readonly store: Store;
  readonly chain: Pick<Chain, 'latestBlockhash' | 'expiredHeight' | 'getAccounts'>;
}

const replacedJustNow = (): FlywheelError =>
  new FlywheelError('ERR_UNAVAILABLE', 'The database was just restarted or replaced.', {
    retryAfterSeconds: 1,
  });

/** Block height at which every transaction sent before now has expired, with the blockhash of any node. @throws as {@link requireRecent} */
async function heightOfExpiry(deps: InFlightDeps): Promise<bigint> {
  const { chain } = deps;
  const sinceSlot = await requireRecent(deps);
  const { lastValidBlockHeight } = await chain.latestBlockhash();
  const expiring = (await chain.expiredHeight(sinceSlot)) + BLOCKHASH_LIFETIME_BLOCKS;
  return (expiring > lastValidBlockHeight ? expiring : lastValidBlockHeight) + AHEAD_BLOCKS;
}

const isFarTooHigh = async ({ chain }: InFlightDeps, { heldUntil }: Lineage): Promise<boolean> =>
  heldUntil !== null && heldUntil - (await chain.expiredHeight()) > MAX_WAIT_BLOCKS;

const move = ({ store }: InFlightDeps, from: Lineage, to: Lineage): Promise<Lineage> =>
  store.transaction(async (tx) => {
    if (tx.lineage !== to.lineage) throw replacedJustNow();
    const now = await tx.lineages.progress();
    if (now.lineage !== from.lineage || now.heldUntil !== from.heldUntil) return now;
    await tx.lineages.set(to);
    return to;
  });

/**
 * Detects a changed lineage (restored, copied or failed-over database), and refuses until every transaction sent before has
 * expired.
 * @param replaced - lineages that this process saw replaced; when one comes back, it lacks the transactions of its successor.
 * @returns the copy for which no unknown transaction is in flight.
 * @throws `ERR_UNAVAILABLE` while transactions may be in flight, or when the chain is unreachable.
 */
export async function requireExpired(deps: InFlightDeps, replaced = new Set<string>()): Promise<string> {
  const { copy, lineage, last } = await deps.store.read(async (tx) => ({
    ...{ copy: tx.copy, lineage: tx.lineage },
    last: await tx.lineages.progress(),
  }));
  const isKnown = last.lineage === lineage && !replaced.has(lineage) && !(await isFarTooHigh(deps, last));
  let now: Lineage = last;
  if (!isKnown) now = await move(deps, last, { lineage, heldUntil: await heightOfExpiry(deps) });
  // The process that ended the wait may not have seen the replacement that this process saw.
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

const MAX_READ = 500;
/** As `doctor` allows it. What was signed before the look has landed or expired by then. */
const MAX_SECONDS_BEHIND = 60;

const PROJECTS_A_ROUND = 2;

export function storeBehind({ burns, transactions }: GapRecord): FlywheelError {
  const beside = burns === transactions ? '' : ` in ${transactions} transactions`;
  return new FlywheelError(
    'ERR_STORE_BEHIND',
    `The chain has ${burns} burn${burns === 1 ? '' : 's'}${beside} of this project that the store lacks: an older copy of the store was restored, or another program or data directory signs with the same keys. Nothing was sent.`,
    { retryAfterSeconds: 60 },
  );
}

/**
 * A node that catches up does not list the newest transactions yet, and its height is too low. A private cluster may have another
 * time.
 * @returns the slot of a recent state; what is read for a decision must be no older.
 */
async function requireRecent({ store, chain }: InFlightDeps): Promise<number> {
  const { genesis } = await store.progress();
  if (clusterName(genesis ?? '') === null) return 0;
  const [account] = await chain.getAccounts([CLOCK_SYSVAR], 'finalized');
  const { slot = 0n, unixTimestamp = 0n } = decodeClock(account) ?? {};
  const seconds = Math.floor(store.latestMs() / 1_000) - Number(unixTimestamp);
  if (seconds <= MAX_SECONDS_BEHIND) return Number(slot);
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `The newest final state of the RPC node is ${seconds} s behind the clock, so it may lack transactions of this project. Nothing was sent.`,
    {
      hint: 'Wait until the node catches up, or use another node (--rpc-url). If the clock of this machine is wrong, correct it: `flywheel doctor`',
      retryAfterSeconds: 10,
    },
  );
}

/** @throws `ERR_STORE_BEHIND` when every project has an open gap. */
export async function requireOneWhole(store: Store): Promise<void> {
  const isBehind = await store.read(async (tx) => {
    const { length } = await tx.gaps.allOpen();
    return length > 0 && (await tx.projects.list(length + 1)).length === length;
  });
  if (isBehind)
    throw new FlywheelError(
      'ERR_STORE_BEHIND',
      'The chain has burns of every project here that the store lacks. Nothing is written until you accept them.',
    );
}

export class GapWatch {
  #copy = '';
  #lineage = '';
  /** Lineages that this process saw replaced; a database restored again does not know of the replacement. */
  readonly #replaced = new Set<string>();
  readonly #whole = new Set<string>();
  /** Projects that had their turn in {@link GapWatch.again}. */
  readonly #seen = new Set<string>();
  readonly #looking = new Map<string, Promise<number>>();

  constructor(private readonly deps: Sources) {}

  /**
   * Runs before any write for a project. Every transaction is stored before it is sent, so one that the store lacks shows that
   * the store is an older copy; writes are refused until the gap is accepted.
   * @throws `ERR_STORE_BEHIND`; `ERR_UNAVAILABLE` when the chain is unreachable, or more transactions than {@link MAX_READ} are
   * unchecked, or as {@link requireExpired}.
   */
  async require(tokenId: string): Promise<void> {
    if (this.deps.chain.pollMs === null) return;
    this.#forgetOthers();
    if (this.#whole.has(tokenId)) return;
    await this.#refuseBehind(tokenId);
    const left = await this.lookNow(tokenId, MAX_READ);
    await this.#refuseBehind(tokenId);
    if (left > 0)
      throw new FlywheelError(
        'ERR_UNAVAILABLE',
        `${left} on-chain transactions of this project must still be compared with the store. Nothing was sent.`,
        { hint: 'Run the command again; the check continues where it stopped.', retryAfterSeconds: 1 },
      );
  }

  /**
   * Runs inside the first write transaction, after {@link GapWatch.require}: the copy must be the checked one.
   * @throws `ERR_UNAVAILABLE` when the database was restarted or replaced in between.
   */
  requireIn({ copy }: Pick<StoreTransaction, 'copy'>, tokenId: string): void {
    if (this.deps.chain.pollMs === null) return;
    if (copy === this.#copy && this.#whole.has(tokenId)) return;
    throw replacedJustNow();
  }

  /**
   * Runs every few seconds: loads gaps that other processes found, and checks some projects before their next write.
   * @throws as {@link requireExpired}
   */
  async again(): Promise<readonly GapRecord[]> {
    const { store, chain } = this.deps;
    if (chain.pollMs === null) return [];
    this.#forgetOthers();
    await requireExpired(this.deps, this.#replaced);
    const unseen = (await store.read((tx) => tx.projects.list())).filter(({ id }) => !this.#seen.has(id));
    for (const { id } of unseen.slice(0, PROJECTS_A_ROUND)) {
      this.#seen.add(id);
      if (!this.#whole.has(id)) await this.lookNow(id, MAX_READ);
    }
    // A project that could not be checked, or has an open gap, has its turn again.
    if (unseen.length <= PROJECTS_A_ROUND) this.#seen.clear();
    const open = await store.read((tx) => tx.gaps.allOpen());
    for (const { tokenId } of open) this.#whole.delete(tokenId);
    return open;
  }

  /**
   * Checks a project even if it was checked before.
   * @returns the number of transactions left to read.
   * @throws as {@link requireExpired}
   */
  async lookNow(tokenId: string, most?: number): Promise<number> {
    if (this.deps.chain.pollMs === null) return 0;
    // A look without a limit must not end with a limited one.
    const key = `${tokenId} ${most}`;
    const running =
      this.#looking.get(key) ?? this.#look(tokenId, most).finally(() => this.#looking.delete(key));
    this.#looking.set(key, running);
    return running;
  }

  #forgetOthers(): void {
    const { copy, lineage } = this.deps.store;
    if (copy !== this.#copy) this.#whole.clear();
    this.#copy = copy;
    if (lineage === this.#lineage) return;
    if (this.#lineage !== '') this.#replaced.add(this.#lineage);
    this.#lineage = lineage;
  }

  async #refuseBehind(tokenId: string): Promise<void> {
    const gap = await this.deps.store.read((tx) => tx.gaps.open(tokenId));
    if (gap !== undefined) throw storeBehind(gap);
  }

  /** Expiry comes before look-up: a listing made while transactions may still land does not prove that they never land. */
  async #look(tokenId: string, most?: number): Promise<number> {
    const { store } = this.deps;
    const copy = await requireExpired(this.deps, this.#replaced);
    const sinceSlot = await requireRecent(this.deps);
    const { marks, lost, left } = await unknownOf(this.deps, tokenId, most, sinceSlot);
    if (marks.length > 0 || lost.length > 0)
      await store.transaction(
        async (tx) => {
          await tx.gaps.add({ tokenId, dateFound: isoTime(tx.nowMs) }, lost);
          for (const { account, signature } of marks) await tx.gaps.setMark(tokenId, account, signature);
        },
        { tokenId },
      );
    const gap = await store.read((tx) => tx.gaps.open(tokenId));
    // If the copy changed during the check, the result is void, and the next check before a write finds that.
    if (left === 0 && gap === undefined && store.copy === copy && this.#copy === copy)
      this.#whole.add(tokenId);
    return left;
  }
}

export const createGapAdmin = (deps: EngineDeps) => {
  const registered = () => deps.store.read((tx) => requireRegistration(tx, deps.project ?? null));
  return {
    /** @throws `ERR_UNAVAILABLE` when the chain is unreachable; as {@link requireRegistration} */
    find: async () => {
      const project = await registered();
      const { id } = project;
      await deps.gaps.lookNow(id);
      const gap = await deps.store.read((tx) => tx.gaps.open(id));
      return gap === undefined ? null : { ...project, gap };
    },
    /**
     * Accepts the open gap: its burns and airdrops count against the caps of their days, and writes resume.
     * @param transactions - number shown to the operator.
     * @throws `ERR_INPUT_INVALID` when the gap has changed since.
     */
    accept: async (transactions: number): Promise<void> => {
      const { id: tokenId } = await registered();
      await deps.store.transaction(
        async (tx) => {
          const gap = await tx.gaps.open(tokenId);
          if (gap?.transactions !== transactions)
            throw new FlywheelError(
              'ERR_INPUT_INVALID',
              `Expected ${transactions} missing transactions, found ${gap?.transactions ?? 0}. Nothing was accepted.`,
              { hint: 'Review the list again: `flywheel db accept-gap`' },
            );
          const { burns, burned, airdropped, lost } = gap;
          const uses = lost.map(({ burned: burn, airdropped: airdrop, dateLanded }) => ({
            ...{ day: utcDay(dateLanded === null ? tx.nowMs : Date.parse(dateLanded)), burn, airdrop },
          }));
          await countUses(tx, tokenId, uses);
          await tx.gaps.accept(tokenId, isoTime(tx.nowMs));
          await recordAct(deps, tx, {
            ...{ tokenId, action: 'gap.accept', subject: tokenId },
            detail: {
              ...{ burns, transactions, burned: burned.toString(), airdropped: airdropped.toString() },
              ...{ firstSignature: lost[0]?.signature, lastSignature: lost.at(-1)?.signature },
            },
          });
        },
        { tokenId },
      );
    },
  };
};
