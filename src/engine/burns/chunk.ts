/**
 * One chunk of burns through intent, submit and outcome (one store transaction, one ledger commit, one store
 * transaction). What becomes of a burn is only ever learned by looking its signature up.
 */
import type { RecentBlockhash, Rejection, TransactionRecord } from '../../chain/chain.js';
import { describeTransactionError } from '../../chain/transaction/program-errors.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BurnIntent, BurnOutcome, BurnRecord, RequestRecord, TokenRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime, type UtcDay, utcDay } from '../../values/time.js';
import type { Principal } from '../auth/authenticate.js';
import type { EngineDeps } from '../deps.js';
import { hasExpired, isExpiry } from '../expiry.js';
import { dailyCap, dayOfNow } from '../limits/daily-cap.js';
import { BurnAllowance, type BurnWalletBalance } from './allowance.js';
import { signBurn, signBurns } from './burn-transaction.js';
import type { PreparedBurn, Refusal } from './prepare-burns.js';

/** Where burns are made. */
export interface BurnScene {
  readonly deps: EngineDeps;
  readonly token: TokenRecord;
}

/** Where and for whom burns are made. */
export interface BurnContext extends BurnScene {
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

/**
 * Times that a burn is sent or signed anew in one run before it is left to the next one. Each proves first that the last one
 * has not landed; several are only needed where the process stood still for longer than a blockhash lives.
 */
const MAX_ROUNDS = 20;

/** What intents are written on the strength of; one moment for all of them. */
export interface IntentMoment {
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
  at: IntentMoment,
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

/**
 * Submits burns and finds out what became of them. A burn that was never submitted, or whose blockhash has proven expired
 * without its landing, is submitted, or signed anew and submitted.
 *
 * @param submitted - false for burns that were just written, so certainly not submitted yet.
 * @throws `ERR_UNAVAILABLE` when the outcome of some burn is not known yet; running the request again finds it.
 */
export async function settleBurns(
  context: BurnScene,
  burns: readonly OpenBurn[],
  submitted: boolean,
): Promise<readonly SettledBurn[]> {
  const settled: SettledBurn[] = [];
  let open = burns;
  for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round += 1) {
    if (submitted || round > 0) open = await resolve(context, open, settled);
    if (open.length === 0) break;
    const receipt = await context.deps.chain.submit(open.map((burn) => burn.transaction));
    open = await takeRejected(context, open, receipt, settled);
    open = await takeLanded(context, open, settled);
  }
  if (open.length > 0) {
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The chain has not told yet what became of ${open.length} burns.`,
    );
  }
  return settled;
}

/** A burn with its outcome. */
export interface SettledBurn {
  readonly burn: OpenBurn;
  readonly outcome: BurnOutcome;
}

async function takeLanded(
  { deps, token }: BurnScene,
  burns: readonly OpenBurn[],
  settled: SettledBurn[],
): Promise<readonly OpenBurn[]> {
  if (burns.length === 0) return burns;
  const records = await deps.chain.lookUp(burns.map((burn) => burn.signature));
  return burns.filter((burn, position) => {
    const record = records[position];
    if (record == null) return true;
    settled.push({ burn, outcome: landedOutcome(burn, record, token) });
    return false;
  });
}

function landedOutcome(burn: OpenBurn, record: TransactionRecord, token: TokenRecord): BurnOutcome {
  const dateSettled = isoTime(record.blockTimeMs);
  if (record.error === null) {
    return { sequence: burn.sequence, status: 'SUCCESS', errorCode: null, errorMessage: null, dateSettled };
  }
  const reason = describeTransactionError(record.error, record.logs);
  return failure(
    burn,
    'ERR_BURN_TOKENOMICS_FAILED',
    `The burn of ${token.symbol} failed on chain: ${reason} (transaction ${burn.signature}).`,
    dateSettled,
  );
}

const failure = (
  burn: OpenBurn,
  errorCode: ErrorCode,
  errorMessage: string,
  dateSettled: string,
): BurnOutcome => ({
  sequence: burn.sequence,
  status: 'FAILED',
  errorCode,
  errorMessage,
  dateSettled,
});

async function takeRejected(
  { deps, token }: BurnScene,
  burns: readonly OpenBurn[],
  receipt: readonly (Rejection | null)[],
  settled: SettledBurn[],
): Promise<readonly OpenBurn[]> {
  return burns.filter((burn, position) => {
    const rejection = receipt[position];
    // An unknown blockhash may only mean that it ran out meanwhile; the next round proves it and signs anew.
    if (rejection == null || isExpiry(rejection)) return true;
    const reason = describeTransactionError(rejection.error, rejection.logs);
    const message = `The chain refused the burn: ${reason}; the burn wallet is ${token.burnWallet}.`;
    settled.push({
      burn,
      outcome: failure(burn, 'ERR_BURN_TOKENOMICS_FAILED', message, isoTime(deps.clock.nowMs())),
    });
    return false;
  });
}

/** Takes what has landed and signs anew what is proven never to. */
async function resolve(
  context: BurnScene,
  burns: readonly OpenBurn[],
  settled: SettledBurn[],
): Promise<readonly OpenBurn[]> {
  // This comes first: a burn that is not found once it has expired can never land.
  const expiredHeight = await context.deps.chain.expiredHeight();
  const open = await takeLanded(context, burns, settled);
  const expired = open.filter((burn) => hasExpired(burn.lastValidBlockHeight, expiredHeight));
  return expired.length === 0 ? open : signAnew(context, open, new Set(expired));
}

async function signAnew(
  { deps, token }: BurnScene,
  burns: readonly OpenBurn[],
  expired: ReadonlySet<OpenBurn>,
): Promise<readonly OpenBurn[]> {
  const recent = await deps.chain.latestBlockhash();
  const wallet = deps.keyring.get(token.burnWallet);
  const renewed = burns.map((burn) =>
    expired.has(burn) ? { ...burn, ...signBurn(token, wallet, burn, recent) } : burn,
  );
  await deps.store.transaction(async (tx) => {
    for (const [position, burn] of renewed.entries()) {
      const before = burns[position];
      if (before !== undefined && before !== burn)
        await tx.burns.resign(burn.sequence, before.signature, burn);
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
