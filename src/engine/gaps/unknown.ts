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

/** Page after page until something is known. What is listed is asked for first: it was stored before it could be listed. */
async function newsOf({ store, chain }: GapDeps, account: Address): Promise<News> {
  const unknown: NamedTransaction[] = [];
  let newest: string | undefined;
  let before: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const limit = page === 1 ? FIRST_PAGE : PAGE;
    const terms = before === undefined ? { limit } : { limit, before };
    const listed = (await chain.newestOf?.(account, terms)) ?? [];
    newest ??= listed[0]?.signature;
    const signatures = listed.map(({ signature }) => signature);
    const [known, mark] = await store.read(async (tx) => [
      await tx.signatures.known(signatures),
      await tx.gaps.mark(account),
    ]);
    const end = mark === undefined ? -1 : signatures.indexOf(mark);
    const looked = end < 0 ? listed : listed.slice(0, end);
    unknown.push(...looked.filter(({ signature }) => !known.has(signature)));
    if (end >= 0 || known.size > 0) return { account, unknown, newest, isFirstLook: false };
    if (listed.length < limit) return { account, unknown, newest, isFirstLook: mark === undefined };
    before = signatures.at(-1);
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
