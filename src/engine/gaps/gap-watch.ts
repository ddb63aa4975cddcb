/**
 * Does the chain know more of a project than the store? Everything is stored before it is sent, so that a transaction of ours
 * that the store does not know was sent by a store that had more: this one is an older copy. What is missing is written down as
 * a gap, and nothing is written for the project until somebody has accepted it.
 */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { GapRecord } from '../../store/records.js';
import type { Store, StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import { replacedJustNow, requireExpired } from './in-flight.js';
import { unknownOf } from './unknown.js';

type GapDeps = Pick<EngineDeps, 'store' | 'chain' | 'ids'>;

/** Transactions that a look before a write, or at each round, reads at most: a second or two. */
const MAX_READ = 500;

/** Projects that are looked at again at each round, in turn. */
const PROJECTS_A_ROUND = 2;

const RETRY_AFTER_SECONDS = 60;

const burnsText = ({ burns, transactions }: GapRecord): string =>
  burns === transactions ? `${burns} burns` : `${burns} burns in ${transactions} transactions`;

/** Why nothing is written. */
export const storeBehind = (gap: GapRecord): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_BEHIND',
    `The chain knows ${burnsText(gap)} of this project of which the store has no record: an older copy of the store was restored, or somebody else signs with the same keys. Nothing is written until that is accepted.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

/** The next look goes on where this one has stopped. */
const stillLooking = (left: number): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `${left} transactions that name the accounts of this project are still to be checked, since they may be burns of which the store has no record. Nothing was sent.`,
    { hint: 'Run it again: it goes on where this one has stopped.', retryAfterSeconds: 1 },
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
      'The chain knows burns of every project here of which the store has no record. Nothing is written until that is accepted.',
    );
}

const watches = new WeakMap<Store, GapWatch>();

/** The watch of a store; one, however many ask. */
export function gapWatchOf(deps: GapDeps): GapWatch {
  const watch = watches.get(deps.store) ?? new GapWatch(deps);
  watches.set(deps.store, watch);
  return watch;
}

export class GapWatch {
  readonly #deps: GapDeps;
  /** Of each project that was looked at, whether it has a gap. */
  readonly #looked = new Map<string, 'whole' | 'behind'>();
  /** The copy of the data that was looked at; of another one nothing is known. */
  #copy = '';
  #lineage = '';
  /** Lines of history that another was seen to take the place of: a database that is put back as it was does not know. */
  readonly #replaced = new Set<string>();
  /** The copy on which nothing is in flight that it may not know of. */
  #expiredOn: string | undefined;
  readonly #looking = new Map<string, Promise<number>>();
  #revision = 0;
  #turn = 0;

  constructor(deps: GapDeps) {
    this.#deps = deps;
  }

  /**
   * Asked before anything is written for a project.
   * @throws `ERR_STORE_BEHIND`; `ERR_UNAVAILABLE` when the chain cannot be asked, or lists more than is looked at at once, or as
   * {@link requireExpired}.
   */
  async require(tokenId: string): Promise<void> {
    if (this.#deps.chain.pollMs === null) return;
    this.#forgetOthers();
    if (this.#looked.get(tokenId) === 'whole') return;
    const left = this.#looked.has(tokenId) ? 0 : await this.lookNow(tokenId, MAX_READ);
    const gap = await this.#judge(tokenId, left);
    if (gap !== undefined) throw storeBehind(gap);
    if (left > 0) throw stillLooking(left);
  }

  /**
   * Asked in the transaction that begins to write, after {@link GapWatch.require}: is it on the copy that was found to be whole?
   * @throws `ERR_UNAVAILABLE` when the database was restarted or replaced in between.
   */
  requireIn({ copy }: Pick<StoreTransaction, 'copy'>, tokenId: string): void {
    if (this.#deps.chain.pollMs === null) return;
    if (copy === this.#copy && this.#looked.get(tokenId) === 'whole') return;
    throw replacedJustNow();
  }

  /** The project that a request or a batch is of. */
  async requireOf(of: { readonly request: string } | { readonly batch: string }): Promise<void> {
    if (this.#deps.chain.pollMs === null) return;
    const found = await this.#deps.store.read(async (tx) =>
      'request' in of ? await tx.requests.get(of.request) : await tx.batches.head(of.batch),
    );
    if (found !== undefined) await this.require(found.tokenId);
  }

  /**
   * Asked every few seconds: what others have found or accepted is known here, and a few projects are looked at again. A store
   * that has come less far than before is an older copy; then every project is looked at before its next write.
   * @returns the gaps that were not known here before.
   * @throws as {@link requireExpired}
   */
  async again(): Promise<readonly GapRecord[]> {
    const { store, chain } = this.#deps;
    if (chain.pollMs === null) return [];
    const { revision } = await store.progress();
    this.#forgetOthers();
    if (revision < this.#revision) this.#looked.clear();
    this.#revision = revision;
    await this.#requireExpired();
    const copy = this.#copy;
    const before = new Map(this.#looked);
    const looked = await this.#inTurn();
    const whole: string[] = [];
    for (const tokenId of looked) if ((await this.#lookOnce(tokenId, MAX_READ)) === 0) whole.push(tokenId);
    const open = await store.read((tx) => tx.gaps.allOpen());
    // See {@link GapWatch.#judge}; of all at once.
    if (store.copy === copy && this.#copy === copy)
      for (const tokenId of whole) this.#looked.set(tokenId, 'whole');
    for (const { tokenId } of open) this.#looked.set(tokenId, 'behind');
    return open.filter(({ tokenId }) => before.get(tokenId) !== 'behind');
  }

  /** What was seen of another copy of the data says nothing of this one. */
  #forgetOthers(): void {
    const { copy, lineage } = this.#deps.store;
    if (copy !== this.#copy) this.#looked.clear();
    this.#copy = copy;
    if (lineage === this.#lineage) return;
    if (this.#lineage !== '') this.#replaced.add(this.#lineage);
    this.#lineage = lineage;
    this.#expiredOn = undefined;
  }

  /** Whoever accepts a gap does so in the store. */
  async #judge(tokenId: string, left: number): Promise<GapRecord | undefined> {
    const gap = await this.#deps.store.read((tx) => tx.gaps.open(tokenId));
    // It was replaced while it was looked at: that says nothing, and is found out before anything is written.
    if (this.#deps.store.copy !== this.#copy || left > 0) return gap;
    this.#looked.set(tokenId, gap === undefined ? 'whole' : 'behind');
    return gap;
  }

  /** The projects of this round. */
  async #inTurn(): Promise<readonly string[]> {
    const projects = await this.#projects();
    const from = projects.length === 0 ? 0 : this.#turn % projects.length;
    this.#turn = from + PROJECTS_A_ROUND;
    return [...projects.slice(from), ...projects.slice(0, from)].slice(0, PROJECTS_A_ROUND);
  }

  /** Those that were looked at; at the start of a server, some. */
  async #projects(): Promise<readonly string[]> {
    if (this.#looked.size > 0) return [...this.#looked.keys()];
    const first = await this.#deps.store.read((tx) => tx.flywheels.list(PROJECTS_A_ROUND));
    return first.map(({ tokenId }) => tokenId);
  }

  /**
   * Looks at a project, whether or not it was looked at before.
   * @returns how many transactions are left to be read.
   * @throws as {@link requireExpired}
   */
  async lookNow(tokenId: string, most?: number): Promise<number> {
    if (this.#deps.chain.pollMs === null) return 0;
    await this.#requireExpired();
    return this.#lookOnce(tokenId, most);
  }

  /** What is looked at while something may land says nothing of what will have. */
  async #requireExpired(): Promise<void> {
    if (this.#expiredOn !== this.#copy) this.#expiredOn = await requireExpired(this.#deps, this.#replaced);
  }

  #lookOnce(tokenId: string, most?: number): Promise<number> {
    const running =
      this.#looking.get(tokenId) ?? this.#look(tokenId, most).finally(() => this.#looking.delete(tokenId));
    this.#looking.set(tokenId, running);
    return running;
  }

  async #look(tokenId: string, most?: number): Promise<number> {
    const { store } = this.#deps;
    const { marks, lost, left } = await unknownOf(this.#deps, tokenId, most);
    if (marks.length === 0 && lost.length === 0) return left;
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
    return left;
  }
}
