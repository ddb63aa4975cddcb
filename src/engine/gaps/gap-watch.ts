/**
 * Does the chain know more of a project than the store? Everything is stored before it is sent, so that a transaction of ours
 * that the store does not know was sent by a store that had more: this one is an older copy. What is missing is written down as
 * a gap, and nothing is written for the project until somebody has accepted it.
 */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { GapRecord } from '../../store/records.js';
import type { Store, StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import type { EngineParts } from '../deps.js';
import { replacedJustNow, requireExpired } from './in-flight.js';
import { unknownOf } from './unknown.js';

type GapDeps = Pick<EngineParts, 'store' | 'chain' | 'ids'>;

/** Transactions that a look before a write, or at each round, reads at most: a second or two. */
const MAX_READ = 500;

/** Projects that are looked at unasked at each round. */
const PROJECTS_A_ROUND = 2;

const RETRY_AFTER_SECONDS = 60;

const burnsText = ({ burns, transactions }: GapRecord): string =>
  burns === transactions ? `${burns} burns` : `${burns} burns in ${transactions} transactions`;

/** Why nothing is written. */
export const storeBehind = (gap: GapRecord): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_BEHIND',
    `The chain has ${burnsText(gap)} of this project that the store does not know: an older copy of the store was restored, or somebody else signs with the same keys. Nothing was sent.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

/** The next look goes on where this one has stopped. */
const stillLooking = (left: number): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `${left} transactions that name the accounts of this project still have to be checked: the store may not know them. Nothing was sent.`,
    { hint: 'Run the command again; the check continues where it stopped.', retryAfterSeconds: 1 },
  );

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
      'The chain has burns of every project here that the store does not know. Nothing is written until you accept them.',
    );
}

/** What is known of gaps in this process; one for all that an engine does. */
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
  /** Projects with a gap that was told. */
  #told: ReadonlySet<string> = new Set();

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
    if (left > 0) throw stillLooking(left);
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
   * @returns the gaps that were not told here before.
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
    const told = this.#told;
    this.#told = new Set(open.map(({ tokenId }) => tokenId));
    return open.filter(({ tokenId }) => !told.has(tokenId));
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
