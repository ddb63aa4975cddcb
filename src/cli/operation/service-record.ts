/** Looks up elements at the service by their proof hashes: what landed, and what may still land. */

import { MAX_PAGE_ITEMS } from '../../contract/limits.js';
import type { Batch, ListedBatch, Pipeline } from '../../contract/schemas/batch.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { InputOf } from '../../contract/service.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { proofHash } from '../../values/digest.js';
import { MAX_HASHES_ASKED } from '../../values/key-terms.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import type { Element } from '../journal/journal.js';
import { callWith, canBeDoneWithout } from '../send.js';
import { tellByNotes } from './done-there.js';
import { burnElements, pipelineElements } from './elements.js';

/** A burn or pipeline of the service with the type and proof of an element. */
export interface Found {
  readonly element: Element;
  /** `open`: it may still land. */
  readonly state: 'landed' | 'open' | 'failed';
  /** By a request with one of the requested keys. */
  readonly isOwn: boolean;
  /** The batch, or the transaction of the burn. */
  readonly id: string;
  readonly date: string;
}

interface DoneThere {
  /** Keys that the service knows. */
  readonly known: ReadonlySet<string>;
  readonly batch?: ListedBatch | undefined;
  /** Landed ones first: among equal elements they have the lower indexes. */
  readonly found: readonly Found[];
}

/** `null`: the service cannot be asked. @param keys - of the operation's own requests. */
export type AskDoneThere = (keys: readonly string[]) => Promise<DoneThere | null>;

export async function allOf<Item>(
  ask: (page: {
    readonly limit: number;
    readonly cursor?: string;
  }) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await ask({ limit: MAX_PAGE_ITEMS, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

const BURN_STATES = { SUCCESS: 'landed', PENDING: 'open', FAILED: 'failed' } as const;

/** By the clock of the service: those of the client and of the request may be wrong by weeks. */
const MS_PER_DAY = 86_400_000;

/** @param isEachNew - equal burns are told apart by their keys alone, which the service keeps for at least a day */
export const burnsDoneThere = (
  session: Session,
  burns: readonly BurnRequest[],
  isEachNew = false,
): AskDoneThere =>
  orNull(session, async (keys) => {
    const { service, call } = await calling(session);
    let nowMs = session.context.clock.nowMs();
    const list = (query: InputOf<'listBurns'>) =>
      allOf(async (page) => {
        const { value, meta } = await service.listBurns({ ...query, ...page }, call());
        nowMs = meta.serverTimeMs ?? nowMs;
        return value;
      });
    const isKeyKept = (dateCreated: string): boolean => {
      const ageMs = nowMs - Date.parse(dateCreated);
      return ageMs >= -MS_PER_DAY / 2 && ageMs <= MS_PER_DAY;
    };
    const named = byName(burns, ({ proof }) => proofHash(proof));
    const others = await eachOf(named.hashes, (hashes) => list({ proofHash: hashes }));
    const { known, own } = await byKey(keys, (idempotencyKey) => list({ idempotencyKey }));
    const ownHashes = new Set(own.map(({ txHash }) => txHash));
    const all = new Map([...others, ...own].map((burn) => [burn.txHash, burn]));
    const found = [...all.values()].flatMap(({ type, hash, amount, status, txHash, ...burn }) => {
      const asked = named.get(type, hash);
      const isOwn = ownHashes.has(txHash);
      if (asked === undefined || (isEachNew && !isOwn && isKeyKept(burn.dateCreated))) return [];
      return {
        ...{ item: { ...asked, burnAmount: Number(amount) }, state: BURN_STATES[status] },
        ...{ isOwn, id: txHash, date: burn.dateBurned ?? burn.dateCreated },
      };
    });
    return { known, found: numbered(found, burnElements) };
  });

const hashOf = ({ payload }: Pipeline): string => proofHash(parseStrictJson(payload).value as JsonObject);

/** @param hashes - of the proofs; @default those of the payloads, which a service may leave out */
export const pipelinesDoneThere = <Asked extends Pipeline>(
  session: Session,
  pipelines: readonly Asked[],
  hashes: (pipeline: Asked) => string = hashOf,
): AskDoneThere =>
  orNull(session, async (keys) => {
    const { service, call } = await calling(session);
    const list = (query: InputOf<'listBatches'>) =>
      allOf(async (page) => (await service.listBatches({ ...query, ...page }, call())).value);
    const named = byName(pipelines, hashes);
    const states = await eachOf(named.hashes, async (hash) =>
      eachOf(await list({ proofHash: hash }), async (batch) => {
        const asked = { batchId: batch.id, proofHash: hash };
        const ask = async (page: object) =>
          (await service.batchPipelines({ ...asked, ...page }, call())).value;
        return (await allOf(ask)).map((pipeline) => ({ batch, pipeline }));
      }),
    );
    const { known, own } = await byKey(keys, (idempotencyKey) => list({ idempotencyKey }));
    const ownIds = new Set(own.map(({ id }) => id));
    const found = states.flatMap(({ batch, pipeline: { type, proofHash: hash, actions, ...pipeline } }) => {
      const asked = named.get(type, hash);
      const hasLanded = pipeline.state === 'EXECUTED';
      // Members can execute the rest of a failed batch until it is cancelled.
      if (asked === undefined || (!hasLanded && isEnded(batch))) return [];
      return {
        ...{ item: { ...asked, actions }, state: hasLanded ? ('landed' as const) : ('open' as const) },
        ...{ isOwn: ownIds.has(batch.id), id: batch.id, date: pipeline.dateExecuted ?? batch.dateUpdated },
      };
    });
    return { known, batch: own[0], found: numbered(found, pipelineElements) };
  });

const ORDER: readonly Found['state'][] = ['landed', 'open', 'failed'];

function numbered<Item>(
  found: readonly (Omit<Found, 'element'> & { readonly item: Item })[],
  elementsOf: (items: readonly Item[]) => readonly Element[],
): readonly Found[] {
  const ordered = found.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  const elements = elementsOf(ordered.map(({ item }) => item));
  return ordered.map(({ item: _item, ...one }, at) => ({ ...one, element: elements[at] as Element }));
}

export const isFinal = ({ status }: Pick<Batch, 'status'>): boolean =>
  status === 'EXECUTED' || status === 'FAILED';

/** Nothing more can be executed. After a failure without cancellation, members can still execute the rest. */
export const isEnded = ({ status, dateCancelled }: Pick<Batch, 'status' | 'dateCancelled'>): boolean =>
  status === 'EXECUTED' || dateCancelled !== undefined;

export async function getBatch(session: Session, batchId: string): Promise<Batch> {
  const { service, call } = await calling(session);
  return (await service.getBatch({ batchId }, call())).value;
}

export const findBatch = (session: Session, batchId: string): Promise<Batch | null> =>
  getBatch(session, batchId).catch((error: unknown) => {
    if (isFlywheelError(error, 'ERR_BATCH_NOT_FOUND') && error.options.doubtful !== true) return null;
    throw error;
  });

/** Requested last, to include changes of other processes under the same key. */
async function byKey<Own>(keys: readonly string[], find: (key: string) => Promise<readonly Own[]>) {
  const known = new Set<string>();
  const own = await eachOf(keys, async (key) => {
    const found = await find(key);
    if (found.length > 0) known.add(key);
    return found;
  });
  return { known, own };
}

async function eachOf<One, Item>(
  all: readonly One[],
  find: (one: One) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const found: Item[] = [];
  for (const one of all) found.push(...(await find(one)));
  return found;
}

async function calling(session: Session) {
  const opened = await session.service();
  return { service: opened.service, call: () => callWith(session, opened) };
}

/** Items by type and hash of their proof, and their hashes in pieces of as many as one request may name. */
function byName<Item extends { readonly type: string }>(
  items: readonly Item[],
  hashOf: (item: Item) => string,
) {
  const hashes = items.map(hashOf);
  // Of equal names the first one counts.
  const names = new Map(items.map((item, at) => [`${hashes[at]} ${item.type}`, item] as const).reverse());
  const different = [...new Set(hashes)];
  const starts = [...different.keys()].filter((at) => at % MAX_HASHES_ASKED === 0);
  return {
    hashes: starts.map((start) => different.slice(start, start + MAX_HASHES_ASKED).join(',')),
    get: (type: string, hash: string): Item | undefined => names.get(`${hash} ${type}`),
  };
}

const orNull =
  (session: Session, ask: AskDoneThere): AskDoneThere =>
  (keys) =>
    ask(keys).catch(async (error: unknown) => {
      if (!(await canBeDoneWithout(session, error))) throw error;
      return null;
    });

/** Asks the service for its project, if no pins name it. Without an answer, the address identifies the target. */
export async function locate(session: Session): Promise<void> {
  const opened = await session.service();
  const { locate: tell } = opened;
  if (tell === null) return;
  try {
    const { value } = await opened.service.describeKey(callWith(session, opened));
    const { multisig, mintAddress } = value;
    if (multisig != null) tell({ multisig: address(multisig), mint: address(mintAddress) });
  } catch (error) {
    if (isAnswer(error)) return;
    if (!session.isDryRun) throw error;
    tellByNotes(session);
  }
}

/** Any answer proves that the service is there; the next request shows what it means. */
const isAnswer = (error: unknown): boolean =>
  isFlywheelError(error) &&
  (error.code === 'ERR_RESPONSE_INVALID' || ((error.status ?? 500) < 500 && error.status !== 429));
