/** What the chain lists of a project and its store has no record of; looks, and writes nothing down. */
import type { NamedTransaction } from '../../chain/chain.js';
import type { FlywheelRecord, LostTransaction, TokenRecord } from '../../store/records.js';
import type { Address } from '../../values/address.js';
import type { EngineDeps } from '../deps.js';
import { whatMoved } from './what-moved.js';

type GapDeps = Pick<EngineDeps, 'store' | 'chain'>;

/** Nearly always the newest of all is known, so that the first look is a short one. */
const FIRST_PAGE = 20;
const PAGE = 1_000;
/** What is signed lands within so many slots, or never; in some there is no block. */
const LIFETIME_SLOTS = 300;
/** Pages that are asked for at most. */
const MAX_PAGES = 20;

interface Project {
  readonly token: TokenRecord;
  readonly flywheel: FlywheelRecord;
}

/** What is new of an account since it was last looked at. */
interface News {
  readonly account: Address;
  /** Newest first; the store knows none of them. */
  readonly unknown: readonly NamedTransaction[];
  readonly newest: string | undefined;
  /** Nothing of the account was ever known. */
  readonly isFirstLook: boolean;
}

/** What is new of the accounts of a project, and what of it was taken from the flywheel. */
export interface UnknownOf {
  readonly news: readonly News[];
  /** In the order in which they landed. */
  readonly lost: readonly LostTransaction[];
}

/** @returns nothing new of a project that is not there. @throws `ERR_UNAVAILABLE` when the chain cannot be asked. */
export async function unknownOf(deps: GapDeps, tokenId: string): Promise<UnknownOf> {
  const project = await deps.store.read(async (tx) => {
    const token = await tx.tokens.get(tokenId);
    const flywheel = await tx.flywheels.ofToken(tokenId);
    return token === undefined || flywheel === undefined ? undefined : { token, flywheel };
  });
  if (project === undefined) return { news: [], lost: [] };
  const accounts = [project.token.burnTokenAccount, project.flywheel.multisig];
  const news = await Promise.all(accounts.map((account) => newsOf(deps, account)));
  return { news, lost: await lostOf(deps, project, news) };
}

/** What an account lists, and what of it the store knows; asked for in this order: it was stored before it could be listed. */
async function pageOf(
  { store, chain }: GapDeps,
  account: Address,
  terms: { limit: number; before?: string },
) {
  const listed = (await chain.newestOf?.(account, terms)) ?? [];
  const signatures = listed.map(({ signature }) => signature);
  const [known, mark] = await store.read(async (tx) => [
    await tx.signatures.known(signatures),
    await tx.gaps.mark(account),
  ]);
  const end = mark === undefined ? -1 : signatures.indexOf(mark);
  const looked = end < 0 ? listed : listed.slice(0, end);
  const unknown = looked.filter(({ signature }) => !known.has(signature));
  const newestKnown = listed.find(({ signature }) => known.has(signature));
  return { listed, unknown, newestKnown, isMarked: mark !== undefined, isAtMark: end >= 0 };
}

/** By the time of the earlier, was nothing signed yet of all that could land beside the later one? */
const isFarBefore = (earlier: NamedTransaction | undefined, { slot }: NamedTransaction): boolean =>
  earlier !== undefined && earlier.slot < slot - LIFETIME_SLOTS;

/**
 * Page after page until something is known. Beside what is unknown that is no end: it may have been on its way when the copy was
 * made, and have landed after much of what is missing.
 */
async function newsOf(deps: GapDeps, account: Address): Promise<News> {
  const unknown: NamedTransaction[] = [];
  let newest: string | undefined;
  let known: NamedTransaction | undefined;
  let before: string | undefined;
  for (let number = 1; number <= MAX_PAGES; number += 1) {
    const limit = number === 1 ? FIRST_PAGE : PAGE;
    const page = await pageOf(deps, account, before === undefined ? { limit } : { limit, before });
    const last = page.listed.at(-1);
    newest ??= page.listed[0]?.signature;
    known ??= page.newestKnown;
    unknown.push(...page.unknown);
    const isAtKnown = known !== undefined && (unknown.length === 0 || isFarBefore(last, known));
    if (page.isAtMark || isAtKnown) break;
    if (page.listed.length < limit)
      return { account, unknown, newest, isFirstLook: !page.isMarked && known === undefined };
    before = last?.signature;
  }
  return { account, unknown, newest, isFirstLook: false };
}

/** What an account was used for before it was registered is not of this store. */
async function lostOf(
  { chain }: GapDeps,
  project: Project,
  news: readonly News[],
): Promise<readonly LostTransaction[]> {
  const registeredMs = Date.parse(project.token.dateCreated);
  const lost = new Map<string, { readonly slot: number; readonly moved: LostTransaction }>();
  for (const { unknown, isFirstLook } of news)
    for (const { signature, slot, failed, blockTimeMs } of unknown.toReversed()) {
      const isEarlier = isFirstLook && (blockTimeMs ?? registeredMs) < registeredMs;
      if (failed || isEarlier || lost.has(signature)) continue;
      const moved = await whatMoved(chain, project, signature);
      if (moved !== undefined) lost.set(signature, { slot, moved });
    }
  return [...lost.values()].toSorted((a, b) => a.slot - b.slot).map(({ moved }) => moved);
}
