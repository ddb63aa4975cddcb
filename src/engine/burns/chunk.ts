/**
 * One chunk of burns through intent, submit and outcome (one store transaction, one ledger commit, one store
 * transaction). What becomes of a burn is only ever learned by looking its signature up.
 */
import type { RecentBlockhash } from '../../chain/chain.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { BurnIntent, BurnOutcome, BurnRecord, RequestRecord, TokenRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../../values/time.js';
import type { Principal } from '../authenticate.js';
import { dailyCap, dayOfNow } from '../daily-cap.js';
import type { EngineDeps } from '../deps.js';
import type { Failed, Landed, Unit } from '../settle/fate.js';
import { settle } from '../settle/settle.js';
import { BurnAllowance, type BurnWalletBalance } from './allowance.js';
import { signBurn, signBurns } from './burn-transaction.js';
import type { PreparedBurn, Refusal } from './prepare-burns.js';

/** Of what is burned, and with what. */
export interface BurnSource {
  readonly deps: EngineDeps;
  readonly token: TokenRecord;
}

/** Of what is burned, and for whom. */
export interface BurnContext extends BurnSource {
  readonly principal: Principal;
}

/** An element that may be burned. */
export interface ChunkElement {
  readonly index: number;
  readonly prepared: PreparedBurn;
}

/** A burn that may be under way: its intent is stored. */
export type OpenBurn = Pick<
  BurnRecord,
  | 'sequence'
  | 'index'
  | 'amount'
  | 'proofType'
  | 'proofHash'
  | 'persistOnchain'
  | 'day'
  | 'signature'
  | 'transaction'
  | 'lastValidBlockHeight'
>;

/** What intents are written on the strength of; one time for all of them. */
export interface IntentBasis {
  readonly balance: BurnWalletBalance;
  readonly recent: RecentBlockhash;
  readonly nowMs: number;
}

/**
 * Elements that balance and cap allow, in order, and why the others are refused. Nothing is reserved beside: a pending burn
 * counts against the cap by itself.
 */
async function select(
  { token, principal }: BurnContext,
  tx: StoreTransaction,
  elements: readonly ChunkElement[],
  { day, balance }: { readonly day: UtcDay; readonly balance: BurnWalletBalance },
): Promise<{ readonly accepted: readonly ChunkElement[]; readonly refusals: ReadonlyMap<number, Refusal> }> {
  const cap = dailyCap(principal.flywheel, 'burn');
  const used = cap === null ? 0n : await tx.usage.used({ tokenId: token.id, day, kind: 'burn' });
  const allowance = new BurnAllowance(token, balance, { day, cap, used });
  const refusals = new Map<number, Refusal>();
  const accepted: ChunkElement[] = [];
  for (const element of elements) {
    const refusal = allowance.take(element.prepared.amount);
    if (refusal === undefined) accepted.push(element);
    else refusals.set(element.index, refusal);
  }
  return { accepted, refusals };
}

/**
 * Writes the intents of elements that have none, within balance and cap: sequence, signed transaction.
 * @returns the burns to submit, and the elements that were refused.
 */
export async function writeIntents(
  context: BurnContext,
  tx: StoreTransaction,
  request: RequestRecord,
  elements: readonly ChunkElement[],
  at: IntentBasis,
): Promise<{ readonly burns: readonly OpenBurn[]; readonly refusals: ReadonlyMap<number, Refusal> }> {
  const { deps, token, principal } = context;
  const day = await dayOfNow(tx, token.id, at.nowMs);
  const { accepted, refusals } = await select(context, tx, elements, { day, balance: at.balance });
  if (accepted.length === 0) return { burns: [], refusals };
  const first = await tx.burns.reserveSequences(accepted.length);
  const wallet = deps.keyring.get(token.burnWallet);
  const { nowMs, recent } = at;
  const common = {
    requestId: request.id,
    tokenId: token.id,
    keyId: principal.key.id,
    day,
    dateCreated: isoTime(nowMs),
  };
  const terms = accepted.map(({ prepared }, position) => ({
    sequence: first + position,
    amount: prepared.amount,
    proofType: prepared.type,
    proofHash: prepared.proofHash,
    persistOnchain: prepared.persistOnchain,
  }));
  const signatures = await signBurns(token, wallet, terms, recent);
  const intents = accepted.map(({ index }, position): BurnIntent => {
    const own = terms[position];
    const signed = signatures[position];
    invariant(own !== undefined && signed !== undefined, 'Every accepted burn is signed.');
    return { ...common, ...own, ...signed, index };
  });
  await tx.burns.insertMany(intents);
  return { burns: intents, refusals };
}

/** A burn with its outcome. */
export interface SettledBurn {
  readonly burn: OpenBurn;
  readonly outcome: BurnOutcome;
}

/** A burn is a unit of one transaction. */
interface BurnUnit extends Unit {
  readonly burn: OpenBurn;
}

const unitOf = (burn: OpenBurn): BurnUnit => ({
  burn,
  transactions: [{ signature: burn.signature, bytes: burn.transaction }],
  lastValidBlockHeight: burn.lastValidBlockHeight,
});

/**
 * Submits burns and finds out what became of them.
 *
 * @param areNew - burns that were stored just now, so are certain not to have been submitted.
 * @throws `ERR_UNAVAILABLE` when the outcome of some burn is not known yet; running the request again finds it.
 */
export async function settleBurns(
  source: BurnSource,
  burns: readonly OpenBurn[],
  areNew: boolean,
): Promise<readonly SettledBurn[]> {
  const settled = await settle(source.deps.chain, {
    units: burns.map(unitOf),
    areNew,
    as: 'alone',
    renew: (expired) => signAgain(source, expired),
  });
  return settled.map(({ unit: { burn }, end }) => ({ burn, outcome: outcomeOf(source, burn, end) }));
}

function outcomeOf({ deps, token }: BurnSource, burn: OpenBurn, end: Landed | Failed): BurnOutcome {
  const [record] = end.records;
  const dateSettled = isoTime(record?.blockTimeMs ?? deps.clock.nowMs());
  const { sequence, signature } = burn;
  if (end.kind === 'landed')
    return { sequence, status: 'SUCCESS', errorCode: null, errorMessage: null, dateSettled };
  const errorMessage =
    end.rejection === null
      ? `The burn of ${token.symbol} failed on chain: ${end.reason} (transaction ${signature}).`
      : `The chain refused the burn: ${end.reason}; the burn wallet is ${token.burnWallet}.`;
  return { sequence, status: 'FAILED', errorCode: 'ERR_BURN_TOKENOMICS_FAILED', errorMessage, dateSettled };
}

async function signAgain(
  { deps, token }: BurnSource,
  expired: readonly BurnUnit[],
): Promise<readonly BurnUnit[]> {
  const recent = await deps.chain.latestBlockhash();
  const wallet = deps.keyring.get(token.burnWallet);
  const renewed = expired.map(({ burn }) => unitOf({ ...burn, ...signBurn(token, wallet, burn, recent) }));
  await deps.store.transaction(async (tx) => {
    for (const [position, { burn }] of renewed.entries()) {
      const before = expired[position]?.burn.signature;
      if (before !== undefined) await tx.burns.resign(burn.sequence, before, burn);
    }
  });
  return renewed;
}

/** Writes outcomes; what has burned counts for the day on which it landed. */
export async function writeOutcomes(
  tx: StoreTransaction,
  tokenId: string,
  settled: readonly SettledBurn[],
): Promise<void> {
  if (settled.length === 0) return;
  await tx.burns.settleMany(settled.map(({ outcome }) => outcome));
  const landed = new Map<UtcDay, bigint>();
  for (const { burn, outcome } of settled) {
    if (outcome.status === 'FAILED') continue;
    const day = utcDay(Date.parse(outcome.dateSettled));
    landed.set(day, (landed.get(day) ?? 0n) + burn.amount);
  }
  for (const [day, amount] of landed) await tx.usage.addLanded({ tokenId, day, kind: 'burn' }, amount);
}
