/** Finds transactions of a project on chain that its store lacks, and what they moved; writes nothing. */
import { type Chain, dateLanded, type Past, type PastTransaction, type TokenChange } from '../chain/chain.js';
import { struct, tryDecode, u8, u64 } from '../chain/codec.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../chain/programs.js';
import { memosOf } from '../chain/small-programs.js';
import { TOKEN_INSTRUCTION } from '../chain/tokens/instructions.js';
import { type Call, callsIn } from '../chain/transaction/message.js';
import { decodeTransaction } from '../chain/transaction/wire.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { LostTransaction, ProjectRecord } from '../store/records.js';
import type { Address } from '../values/address.js';
import type { Sources } from './deps.js';

/** How many transactions of an account are listed, until it is enough. The second is a page of a node. */
const LIMITS = [20, 1_000, 30_000, 1_000_000] as const;
/** A signed transaction lands within this many slots or never; some slots have no block. */
const LIFETIME_SLOTS = 300;
const READ_AT_ONCE = 16;

type News = Awaited<ReturnType<typeof listOf>>;

/**
 * @param most - maximum of transactions to read, oldest first.
 * @param sinceSlot - lists of an older state are not accepted.
 * @returns per account with news the newest transaction up to which all were read; lost transactions in order of landing; and how
 * many are left to read. Empty for an unknown project.
 * @throws `ERR_UNAVAILABLE` when the chain is unreachable, or its nodes have too little history.
 */
export async function unknownOf(
  deps: Sources,
  tokenId: string,
  most = Number.POSITIVE_INFINITY,
  sinceSlot = 0,
) {
  const project = await deps.store.read((tx) => tx.projects.find({ id: tokenId }));
  if (project === undefined) return { marks: [], lost: [], left: 0 };
  const accounts = [project.burnTokenAccount, project.multisig];
  const news = await newsOf(deps, accounts, sinceSlot);
  const ours = await maybeOurs(deps, project, news, sinceSlot);
  const read = ours.slice(0, most);
  const left = new Set(ours.slice(most).map(({ signature }) => signature));
  const signatures = read.map(({ signature }) => signature);
  const lost = await lostOf(deps.chain, project, signatures);
  return { marks: marksOf(news, left), lost, left: left.size };
}

/**
 * Lists more and more, until every transaction that the store may lack is listed: up to the account's mark, or to
 * {@link LIFETIME_SLOTS} before the newest known transaction of any account. A known one is not enough: it may have been in flight
 * when the copy was made, and have landed after missing ones.
 */
async function newsOf(
  deps: Sources,
  accounts: readonly Address[],
  sinceSlot: number,
): Promise<readonly News[]> {
  for (const limit of LIMITS) {
    const lists = await Promise.all(accounts.map((account) => listOf(deps, account, { limit, sinceSlot })));
    const newestKnown = Math.max(...lists.map(({ knownSlot }) => knownSlot));
    const isRead = await Promise.all(
      lists.map(async (list) => {
        const { isAtMark, isShort, nodes } = list;
        // Nodes that list no more of one account still have all since the oldest that the same nodes list of another.
        const complete = isShort ? lists.filter((other) => other.nodes === nodes) : [list];
        const oldest = Math.min(...complete.map(({ oldestSlot }) => oldestSlot));
        if (isAtMark || oldest < newestKnown - LIFETIME_SLOTS) return true;
        return isShort && (await hasBeginning(deps.chain, list));
      }),
    );
    if (isRead.every(Boolean)) return lists;
    if (lists.every(({ isShort }) => isShort)) throw tooLittleHistory(accounts[isRead.indexOf(false)]);
  }
  throw tooMany(accounts.join(' or '));
}

/** Lists from the chain first, then asks the store: a transaction is stored before it can be listed. */
async function listOf({ store, chain }: Sources, account: Address, past: Past & { readonly limit: number }) {
  const listed = await chain.history(account, past);
  const [known, mark] = await store.read(async (tx) => [
    await tx.signatures.known(listed.map(({ signature }) => signature)),
    await tx.gaps.mark(account),
  ]);
  const agreed = listed.filter(({ isAgreed }) => isAgreed);
  const end = listed.findIndex(({ signature, isAgreed }) => isAgreed && signature === mark);
  // Transactions of the mark's own slot that only some nodes list may come after it.
  const looked = listed.filter(
    ({ slot, isAgreed }, at) => end < 0 || at < end || (!isAgreed && slot === listed[end]?.slot),
  );
  const oldest = agreed.at(-1);
  return {
    ...{ account, newest: agreed[0]?.signature, oldest: oldest?.signature },
    unknown: looked.filter(({ signature }) => !known.has(signature)),
    oldestSlot: oldest?.slot ?? Number.POSITIVE_INFINITY,
    knownSlot: agreed.find(({ signature }) => known.has(signature))?.slot ?? Number.NEGATIVE_INFINITY,
    ...{ isAtMark: end >= 0, isShort: listed.length < past.limit, nodes: listed.nodes },
  };
}

/** Whether the account did not exist before its oldest listed transaction. */
async function hasBeginning(chain: Chain, { account, oldest }: News): Promise<boolean> {
  if (chain.pollMs === null) return true;
  if (oldest === undefined) return (await chain.getAccounts([account]))[0] === null;
  const [record] = await chain.lookUp([oldest]);
  if (record?.wire == null) return false;
  const keys = [...decodeTransaction(record.wire).message.staticKeys, ...(record.tableAddresses ?? [])];
  return record.balances?.[keys.indexOf(account)]?.before === 0n;
}

const MORE_HISTORY = { hint: 'Use an RPC node with more history: --rpc-url.' };

const tooLittleHistory = (account: Address | undefined): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `No node has enough history of the account ${account} to say which transactions the store lacks. Nothing was sent.`,
    MORE_HISTORY,
  );

const tooMany = (account: string): FlywheelError =>
  new FlywheelError('ERR_UNAVAILABLE', `The account ${account} has too many transactions to check.`);

/**
 * Transactions that one of our keys may have signed, oldest first. Anyone can reference the project's accounts, and listings lack
 * signers. But a transaction signed by our key is also listed for that key's account.
 */
async function maybeOurs(
  { chain }: Sources,
  project: ProjectRecord,
  news: readonly News[],
  sinceSlot: number,
): Promise<readonly PastTransaction[]> {
  const all = new Map<string, PastTransaction>();
  for (const one of news.flatMap(({ unknown }) => unknown)) if (!one.failed) all.set(one.signature, one);
  const oldestFirst = [...all.values()].reverse().toSorted((a, b) => a.slot - b.slot);
  const [oldest] = oldestFirst;
  const newest = oldestFirst.at(-1);
  if (oldest === undefined || newest === undefined) return [];
  const signers = [project.burnWallet, project.operator];
  const lists = await Promise.all(
    signers.map((signer) => listedSince(chain, signer, oldest.slot, Math.max(newest.slot, sinceSlot))),
  );
  return oldestFirst.filter(({ signature, slot }) =>
    lists.some(({ signatures, fromSlot }) => slot <= fromSlot || signatures.has(signature)),
  );
}

/** @returns `fromSlot`: a node with less history reveals nothing at or below this slot. */
async function listedSince(
  chain: Chain,
  account: Address,
  oldestSlot: number,
  newestSlot: number,
): Promise<{ readonly signatures: ReadonlySet<string>; readonly fromSlot: number }> {
  for (const limit of LIMITS.slice(1)) {
    const listed = await chain.history(account, { limit, sinceSlot: newestSlot });
    const last = listed.findLast(({ isAgreed }) => isAgreed);
    if (listed.length < limit || (last !== undefined && last.slot < oldestSlot)) {
      const signatures = new Set(listed.map(({ signature }) => signature));
      return { signatures, fromSlot: last?.slot ?? newestSlot };
    }
  }
  throw tooMany(account);
}

/** A mark stops before the oldest unread transaction, so none is skipped. */
function marksOf(news: readonly News[], left: ReadonlySet<string>) {
  return news.flatMap(({ account, unknown, newest }) => {
    const firstLeft = unknown.findLastIndex(({ signature }) => left.has(signature));
    const signature = firstLeft < 0 ? newest : unknown[firstLeft + 1]?.signature;
    return unknown.length === 0 || signature === undefined ? [] : [{ account, signature }];
  });
}

/** @throws as {@link whatMoved} */
export async function lostOf(
  chain: Pick<Chain, 'lookUp'>,
  project: OwnAccounts,
  signatures: readonly string[],
): Promise<readonly LostTransaction[]> {
  const lost: LostTransaction[] = [];
  for (let from = 0; from < signatures.length; from += READ_AT_ONCE) {
    const some = signatures.slice(from, from + READ_AT_ONCE);
    const moved = await Promise.all(some.map((signature) => whatMoved(chain, project, signature)));
    lost.push(...moved.flatMap((one) => one ?? []));
  }
  return lost;
}

type OwnAccounts = Pick<
  ProjectRecord,
  'burnWallet' | 'burnTokenAccount' | 'mintAddress' | 'operator' | 'vaultTokenAccount'
>;

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n);

/** Data of a token instruction with an amount, checked or not. */
const moveData = struct({ number: u8, amount: u64 });

/**
 * Base units that a transaction took from the project's accounts. What its instructions did not burn was airdropped, also a fee that
 * the mint withholds, which is in no balance.
 */
function amountsOf(
  project: OwnAccounts,
  calls: readonly Call[],
  changes: readonly TokenChange[],
): Pick<LostTransaction, 'burned' | 'airdropped'> {
  const isOwn = (account: Address | undefined): boolean =>
    account === project.burnTokenAccount || account === project.vaultTokenAccount;
  const moves = calls.flatMap(({ program, accounts: [from, , to], data }) => {
    const isToken = program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM;
    return isToken && isOwn(from) ? { to, ...(tryDecode(moveData, data) ?? { number: -1, amount: 0n }) } : [];
  });
  const { burn, burnChecked, transferChecked } = TOKEN_INSTRUCTION;
  const total = (some: typeof moves): bigint => sum(some.map(({ amount }) => amount));
  const burned = total(moves.filter(({ number }) => number === burn || number === burnChecked));
  const sent = total(moves.filter(({ number, to }) => number === transferChecked && !isOwn(to)));
  const left = -sum(
    changes
      .filter(({ account, mint }) => mint === project.mintAddress && isOwn(account))
      .map(({ before, after }) => after - (before ?? 0n)),
  );
  // Tokens that others send in meanwhile reduce nothing.
  return { burned, airdropped: left - burned > sent ? left - burned : sent };
}

const cannotReturn = (signature: string): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `The node lists the transaction ${signature} but does not have its details.`,
    MORE_HISTORY,
  );

/**
 * Looks up a transaction that landed and succeeded.
 * @returns `undefined` if our keys did not sign it, or it took nothing.
 * @throws `ERR_UNAVAILABLE` when no node has the transaction, its balance changes or its inner instructions.
 */
export async function whatMoved(
  chain: Pick<Chain, 'lookUp'>,
  project: OwnAccounts,
  signature: string,
): Promise<LostTransaction | undefined> {
  const [record] = await chain.lookUp([signature]);
  if (record == null || record.wire === null) throw cannotReturn(signature);
  const { message } = decodeTransaction(record.wire);
  const signers = message.staticKeys.slice(0, message.signers);
  if (!signers.includes(project.burnWallet) && !signers.includes(project.operator)) return undefined;
  if (record.error !== null) return undefined;
  const { tokenChanges, innerCalls } = record;
  if (tokenChanges === undefined || innerCalls === undefined) throw cannotReturn(signature);
  const calls = [...callsIn(message, record.tableAddresses), ...innerCalls];
  const { burned, airdropped } = amountsOf(project, calls, tokenChanges);
  return burned + airdropped === 0n
    ? undefined
    : { signature, memo: memosOf(message), dateLanded: dateLanded(record) ?? null, burned, airdropped };
}
