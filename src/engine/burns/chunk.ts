/**
 * One chunk of burns: check balance and cap, sign, store, send, look up, store the outcomes. The outcome of a burn comes only
 * from looking its signature up. A burn is one transaction: compute limit, optional memo of the proof, BurnChecked.
 */
import type { Chain } from '../../chain/chain.js';
import { tokenProgramAddress } from '../../chain/programs.js';
import {
  memo,
  proofMemoText,
  setComputeUnitLimit,
  setLoadedAccountsDataSizeLimit,
} from '../../chain/small-programs.js';
import { decodeTokenAccount } from '../../chain/tokens/accounts.js';
import { burnChecked } from '../../chain/tokens/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { type Signer, sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { ErrorCode } from '../../errors/codes.js';
import { invariant } from '../../errors/flywheel-error.js';
import type {
  BurnIntent,
  BurnOutcome,
  BurnRecord,
  ProjectRecord,
  RequestRecord,
} from '../../store/records.js';
import type { Room } from '../../store/repositories/burns.js';
import type { StoreTransaction } from '../../store/store.js';
import { sha256 } from '../../values/digest.js';
import { isoTime, utcDay } from '../../values/time.js';
import { solText, tokenText } from '../../values/token-amount.js';
import { capExceededMessage, countUses, dailyCap, dayOfUse, landedMs } from '../caps.js';
import { type EngineDeps, tellSettled, tellSigned } from '../deps.js';
import type { Lease } from '../lease.js';
import { type Failed, type Landed, settle, type Unit } from '../settle.js';
import { budgetFor, maxFeeLamports, type SigningTerms, signingTerms } from '../signing-terms.js';
import { type Burn, findLost, maybeLost, type Refusal } from './elements.js';

/** Memo and burn together use less than 15,000 (squads-v4.md, section 10). */
const COMPUTE_UNITS = 100_000;
const DISTINCT_LIMITS = 1_000_000;
const LOADED_BYTES = 32 * 1_024 * 1_024;
/** The maximum is 64 MiB, which is also the default. */
const DISTINCT_LOADED_BYTES = 32 * 1_024 * 1_024;

export interface BurnContext {
  readonly deps: EngineDeps;
  readonly project: ProjectRecord;
}

type NumberedBurn = Burn & Pick<BurnIntent, 'sequence'>;

type SignedBurn = NumberedBurn & Pick<BurnIntent, 'signature' | 'transaction' | 'lastValidBlockHeight'>;

const PLACE_DIGITS = 7;

/** Offset of this registration: another registration of the same burn wallet also counts sequences from 1. */
const placeOf = ({ id }: ProjectRecord): number => Number.parseInt(sha256(id).slice(0, PLACE_DIGITS), 16);

/** Encodes the sequence number in a limit that costs nothing, so that equal burns differ in bytes. */
function distinct(
  project: ProjectRecord,
  { sequence }: NumberedBurn,
  { priority, units = COMPUTE_UNITS }: SigningTerms,
): readonly Instruction[] {
  if (priority === undefined) return [setComputeUnitLimit(COMPUTE_UNITS + (sequence % DISTINCT_LIMITS))];
  // With a priority fee, units cost money and lower the priority, so the data-size limit carries the number.
  return [
    ...budgetFor(priority, units),
    setLoadedAccountsDataSizeLimit(LOADED_BYTES + ((placeOf(project) + sequence) % DISTINCT_LOADED_BYTES)),
  ];
}

function burnInstructions(project: ProjectRecord, terms: Burn): readonly Instruction[] {
  const { amount, proofType, proofHash, persistOnchain } = terms;
  const burn = burnChecked({
    ...{ account: project.burnTokenAccount, mint: project.mintAddress, owner: project.burnWallet },
    ...{ amount, decimals: project.decimals, tokenProgram: tokenProgramAddress(project.tokenProgram) },
  });
  if (!persistOnchain) return [burn];
  return [memo(proofMemoText(proofType, proofHash), [project.burnWallet]), burn];
}

function burnSigningTerms(
  chain: Chain,
  project: ProjectRecord,
  burns: readonly Burn[],
): Promise<SigningTerms> {
  const sample = burns.find(({ persistOnchain }) => persistOnchain) ?? (burns[0] as Burn);
  return signingTerms(chain, { payer: project.burnWallet, instructions: burnInstructions(project, sample) });
}

/**
 * Two burns of one amount under one blockhash would have the same bytes and signature, and the second would never land; the
 * sequence number keeps them distinct.
 */
const burnMessage = (project: ProjectRecord, terms: NumberedBurn, signing: SigningTerms): Uint8Array =>
  compileLegacyMessage({
    payer: project.burnWallet,
    instructions: [...distinct(project, terms, signing), ...burnInstructions(project, terms)],
    blockhash: signing.blockhash,
  });

export async function signBurns<One extends NumberedBurn>(
  project: ProjectRecord,
  burnWallet: Signer,
  burns: readonly One[],
  signing: SigningTerms,
): Promise<readonly (One & SignedBurn)[]> {
  const messages = burns.map((terms) => burnMessage(project, terms, signing));
  const { lastValidBlockHeight } = signing;
  const signed = await sign(messages, [burnWallet]);
  return signed.map(({ signature, bytes }, at) => ({
    ...(burns[at] as One),
    ...{ signature, transaction: bytes, lastValidBlockHeight },
  }));
}

type BurnWalletBalance = Awaited<ReturnType<typeof readBurnWallet>>;

export async function readBurnWallet(chain: Pick<Chain, 'getAccounts' | 'rent'>, project: ProjectRecord) {
  const [[wallet, account], rent] = await Promise.all([
    chain.getAccounts([project.burnWallet, project.burnTokenAccount]),
    chain.rent(),
  ]);
  return {
    keptLamports: rent(0),
    tokens: decodeTokenAccount(account ?? null)?.amount ?? 0n,
    lamports: wallet?.lamports ?? 0n,
  };
}

/** @returns a function that takes an amount and one fee, or returns the reason and takes nothing. */
export function allowanceOf(
  { deps, project }: BurnContext,
  balance: BurnWalletBalance,
  room: Pick<Room, 'day' | 'used'>,
): (amount: bigint) => Refusal | undefined {
  const { symbol, burnWallet } = project;
  const cap = dailyCap(project, 'burn');
  const fee = maxFeeLamports(deps.chain);
  let { tokens, lamports } = balance;
  let { used } = room;
  return (amount) => {
    const lacks = (held: string, needed: string, what: string): Refusal => ({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
      message: `Insufficient funds: the burn wallet ${burnWallet} has ${held} and needs ${needed}. Send ${what} to that address.`,
    });
    if (amount > tokens) return lacks(tokenText(tokens, project), tokenText(amount, project), symbol);
    const spendable = lamports > balance.keptLamports ? lamports - balance.keptLamports : 0n;
    if (spendable < fee) return lacks(`${solText(spendable)} for fees`, solText(fee), 'SOL');
    if (cap !== null && used + amount > cap) {
      const at = { kind: 'burn', cap, used, asked: amount, day: room.day } as const;
      return { code: 'ERR_DAILY_LIMIT_EXCEEDED', message: capExceededMessage(project, at) };
    }
    tokens -= amount;
    lamports -= fee;
    used += amount;
    return undefined;
  };
}

export type PendingBurn = SignedBurn & Pick<BurnIntent, 'day'>;

export const pendingOf = (burns: readonly BurnRecord[]): readonly PendingBurn[] =>
  burns
    .filter(({ status }) => status === 'PENDING')
    .map(({ transaction, ...burn }) => {
      invariant(transaction !== null, 'A pending burn has its bytes.');
      return { ...burn, transaction };
    });

/** Reserves nothing more: a pending burn counts against the cap. */
function allowed<Asked extends Burn>(
  context: BurnContext,
  burns: readonly Asked[],
  { balance, room }: { readonly balance: BurnWalletBalance; readonly room: Room },
) {
  const take = allowanceOf(context, balance, room);
  const refusals = new Map<number, Refusal>();
  const accepted = burns.filter(({ index, amount }) => {
    const refusal = take(amount);
    if (refusal !== undefined) refusals.set(index, refusal);
    return refusal === undefined;
  });
  return { accepted, refusals };
}

/**
 * Signs before the transaction that writes the intents, because a slow signer would block all other writers. A burn without a
 * stored intent is never sent.
 */
export async function signChunk(context: BurnContext, burns: readonly Burn[]) {
  const { deps, project } = context;
  const [balance, terms] = await Promise.all([
    readBurnWallet(deps.chain, project),
    burnSigningTerms(deps.chain, project, burns),
  ]);
  const room = await deps.store.reserve(project.id, burns.length);
  const { accepted, refusals } = allowed(context, burns, { balance, room });
  const numbered = accepted.map((burn, at) => {
    const sequence = room.sequences[at];
    invariant(sequence !== undefined, 'Every accepted burn has a number.');
    return { ...burn, sequence };
  });
  const wallet = deps.keyring.get(project.burnWallet, 'burn wallet');
  return { signed: await signBurns(project, wallet, numbered, terms), refusals, balance };
}

/** @returns the burns that still fit balance and cap, now stored, and the reason for each refused one. */
export async function writeIntents(
  context: BurnContext,
  tx: StoreTransaction,
  { id, keyId }: Pick<RequestRecord, 'id' | 'keyId'>,
  { signed, balance }: Awaited<ReturnType<typeof signChunk>>,
): Promise<{ readonly burns: readonly PendingBurn[]; readonly refusals: ReadonlyMap<number, Refusal> }> {
  const room = await tx.burns.room(context.project.id, utcDay(tx.nowMs));
  const found = allowed(context, signed, { balance, room });
  const burns = found.accepted.map((burn) => ({ ...burn, day: room.day }));
  const common = { keyId, dateCreated: isoTime(tx.nowMs) };
  await tx.burns.insertMany(
    { id, tokenId: context.project.id },
    burns.map((burn) => ({ ...burn, ...common })),
  );
  tx.whenCommitted(() => tellSigned(context.deps, id, 'BURN', burns.map(unitOf)));
  return { burns, refusals: found.refusals };
}

export type SettledBurn = PendingBurn & BurnOutcome;

const unitOf = (burn: PendingBurn): Unit => ({
  transactions: [{ signature: burn.signature, bytes: burn.transaction }],
  lastValidBlockHeight: burn.lastValidBlockHeight,
  paysOnlyFee: true,
});

/**
 * @param how - `areNew`: just stored, so certainly not sent before.
 * @throws `ERR_UNAVAILABLE` when an outcome is unknown; running the request again finds it.
 */
export async function settleBurns(
  source: BurnContext,
  pending: readonly PendingBurn[],
  { areNew, lease }: { readonly areNew: boolean; readonly lease: Lease },
): Promise<readonly SettledBurn[]> {
  const { deps } = source;
  const burns = [...pending];
  const renew = async (expired: readonly number[]): Promise<readonly (Unit | Failed)[]> => {
    const before = expired.map((at) => burns[at] as PendingBurn);
    const renewed = await signAgain(source, before, lease);
    return renewed.map((one, nth) => {
      if ('kind' in one) return one;
      burns[expired[nth] as number] = one;
      return unitOf(one);
    });
  };
  const ends = await settle(deps.chain, { units: burns.map(unitOf), areNew, lease, renew });
  tellSettled(deps, lease.id, 'BURN', burns.map(unitOf), ends);
  return burns.map((burn, at) => ({ ...burn, ...outcomeOf(source, burn, ends[at] as Landed | Failed) }));
}

function outcomeOf({ deps, project }: BurnContext, burn: PendingBurn, end: Landed | Failed): BurnOutcome {
  const [record] = end.records;
  const settled = {
    sequence: burn.sequence,
    dateSettled: isoTime(landedMs(record, deps)),
    feeLamports: record?.feeLamports ?? null,
  };
  if (end.kind === 'landed')
    return { ...settled, status: end.isFinal ? 'FINAL' : 'CONFIRMED', errorCode: null, errorMessage: null };
  const failed = (code: ErrorCode, errorMessage: string): BurnOutcome => ({
    ...settled,
    status: 'FAILED',
    errorCode: code,
    errorMessage,
  });
  if (end.rejection !== null)
    return failed(
      'ERR_BURN_TOKENOMICS_FAILED',
      `The chain refused the burn of the wallet ${project.burnWallet}: ${end.reason}.`,
    );
  if (record === undefined) return failed('ERR_STORE_BEHIND', end.reason);
  return failed(
    'ERR_BURN_TOKENOMICS_FAILED',
    `The burn of ${project.symbol} failed on chain: ${end.reason} (transaction ${burn.signature}).`,
  );
}

async function signAgain(
  { deps, project }: BurnContext,
  expired: readonly PendingBurn[],
  lease: Lease,
): Promise<readonly (PendingBurn | Failed)[]> {
  const request = { id: lease.id, tokenId: project.id };
  const lost = await deps.store.read((tx) => findLost(tx, request, expired));
  const safe = expired.filter(({ index }) => !lost.has(index));
  const wallet = deps.keyring.get(project.burnWallet, 'burn wallet');
  const renewed = await signBurns(
    project,
    wallet,
    safe,
    await burnSigningTerms(deps.chain, project, expired),
  );
  await lease.write(async (tx) => {
    for (const [at, { sequence, signature }] of safe.entries())
      await tx.burns.resign(sequence, signature, renewed[at] as PendingBurn);
  });
  tellSigned(deps, lease.id, 'BURN', renewed.map(unitOf));
  const again = renewed.values();
  const none = { kind: 'failed', at: 0, records: [], rejection: null } as const;
  return expired.map(({ index }) => {
    const like = lost.get(index);
    return like === undefined
      ? (again.next().value as PendingBurn)
      : { ...none, reason: maybeLost(like).message };
  });
}

/** Writes outcomes. Only finalized burns add to the daily usage. */
export async function writeOutcomes(
  tx: StoreTransaction,
  tokenId: string,
  settled: readonly SettledBurn[],
): Promise<void> {
  if (settled.length === 0) return;
  const final = settled.filter(({ status }) => status === 'FINAL');
  await tx.burns.settleMany(settled);
  await countUses(tx, tokenId, usesOf(final));
}

/** Marks burns as finalized. Those still confirmed in the store are added to the daily usage, once. */
export async function writeFinal(
  tx: StoreTransaction,
  tokenId: string,
  confirmed: readonly Pick<BurnRecord, 'signature'>[],
): Promise<void> {
  const final = await tx.burns.finalize(confirmed.map(({ signature }) => signature));
  await countUses(tx, tokenId, usesOf(final));
}

const usesOf = (burns: readonly Pick<BurnRecord, 'day' | 'amount' | 'dateSettled'>[]) =>
  burns.map(({ day, amount, dateSettled }) => ({
    ...{ day: dayOfUse(day, Date.parse(dateSettled ?? '')), burn: amount, airdrop: 0n },
  }));
