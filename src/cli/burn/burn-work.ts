/** One burn as an operation. */
import type { PastTransaction } from '../../chain/chain.js';
import { proofMemoText } from '../../chain/small-programs.js';
import type { Call, ElementOutcome, Reply } from '../../contract/call.js';
import type { BurnRequest, BurnResult } from '../../contract/schemas/burn.js';
import { type FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { proofHash } from '../../values/digest.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { BurnsForesight, OpenedService } from '../context.js';
import { sumAmounts } from '../input/amount.js';
import type { Entry } from '../journal/journal.js';
import {
  burnsDoneThere,
  lookingAgain,
  requireAnswersKey,
  requireRefused,
  requireThere,
} from '../operation/done-there.js';
import { burnElements } from '../operation/elements.js';
import { commandLine } from '../operation/resume-line.js';
import type { Work } from '../operation/run-operation.js';
import { notSent, outcomeUnknown } from '../operation/verdicts.js';
import { callWith, isUnoffered, noteReply } from '../send.js';
import { viewBurn } from '../views/burn.js';
import { tokensText } from '../views/unit.js';

interface BurnBody {
  readonly request: BurnRequest;
  readonly once: boolean;
}

const ANSWER = 'burn';

export function burnWork(session: Session, { request, once }: BurnBody): Work<BurnResult> {
  const elements = burnElements([request]);
  const ask = burnsDoneThere(session, [request]);
  const requireKnown = (entry: Entry): Promise<void> =>
    requireThere(session, entry, { ask, elements }, elements);
  const lookAgain = lookingAgain(session, 'ERR_PARTIAL');
  return {
    ...{ ask, elements },
    unanswered: (operation) =>
      once && operation.answer(ANSWER) === undefined
        ? { requests: [{ key: operation.key, indexes: [0] }] }
        : undefined,
    leaveOut: () => false,
    prepare: async (entry) => {
      const isResumed = !once && !entry.isNew && entry.answer(ANSWER) === undefined;
      if (isResumed) await requireNotForgotten(session, entry, request);
      return true;
    },
    requireKnown,
    perform: async (entry) => {
      const stored = entry.answer(ANSWER) as BurnResult | undefined;
      if (stored !== undefined) {
        await requireKnown(entry);
        return { result: stored };
      }
      const result = await send(session, entry, request, async () => {
        entry.requireHeld();
        if (once) await lookAgain(entry, { ask, elements }, { requests: [{ key: entry.key, indexes: [0] }] });
      });
      const landed = once ? elements.map(({ digest }) => digest) : [];
      // Without --once the journal forgets the burn when it is printed; until then no other starts.
      return { result, verdict: { state: 'done', landed, mayLand: true, answers: { [ANSWER]: result } } };
    },
    present: async (result) => {
      const { output } = session;
      const { symbol } = await session.service();
      const left = output.mode === 'human' ? await leftNow(session) : null;
      const burned = { amount: request.burnAmount, symbol, left };
      output.result(result, (style) => viewBurn(result, burned, style));
      return undefined;
    },
    summary: ({ txHash, dateBurned }) => `Burned on ${dateBurned} in transaction ${txHash}.`,
  };
}

/** @throws `ERR_INPUT_INVALID` if the service no longer knows the key of a burn that it may have landed */
async function requireNotForgotten(
  session: Session,
  { id, key }: Entry,
  request: BurnRequest,
): Promise<void> {
  const there = await burnsDoneThere(session, [request], true)([key]);
  if (there === null || there.known.has(key)) return;
  const landed = there.found.find(({ state }) => state !== 'failed');
  if (landed === undefined) return;
  const forget = `\`${commandLine(session.settings, 'pending', 'forget', id)}\``;
  throw notSent(
    `This burn may have landed: an equal one has, on ${landed.date} in transaction ${landed.id}, and the service no longer knows its key.`,
    `Drop this operation: ${forget}. To burn again, run the command again.`,
    { keyUnused: false },
  );
}

/** Balances after the burn, without network requests. A failure says nothing about the burn. */
async function leftNow(session: Session): Promise<BurnsForesight | null> {
  const { foresight, credential, isOnThisMachine } = await session.service();
  if (foresight === null || !isOnThisMachine) return null;
  return foresight.burns([], credential).catch(() => null);
}

async function send(
  session: Session,
  entry: Entry,
  request: BurnRequest,
  beforeTry: () => Promise<void>,
): Promise<BurnResult> {
  const opened = await session.service();
  const amount = tokensText(sumAmounts([request.burnAmount]), opened.symbol);
  if (entry.isNew) await confirmSpending(session, opened, `Burn ${amount} for ${request.type}`);
  const asked = { key: entry.key, txHashOf: ({ txHash }: BurnResult) => txHash, beforeTry };
  return sendBurns(session, entry, asked, (call) =>
    opened.service.burn(request, call).catch(async (error: unknown) => {
      if (isFlywheelError(error, 'ERR_BURN_TOKENOMICS_FAILED'))
        await requireNotOnChain(session, entry, entry.key, { failed: [request] });
      throw error;
    }),
  );
}

const REPLAYED =
  'Already done: this is the result of an earlier request with the same key. Nothing was sent.';

/** Sends a request of burns, and checks that it was the service that refused it, or has sent what it names for it. */
export async function sendBurns<Value>(
  session: Session,
  { isNew }: Entry,
  asked: {
    readonly key: string;
    readonly txHashOf: (value: Value) => string | undefined;
    readonly beforeTry: () => Promise<void>;
    readonly onElement?: (outcome: ElementOutcome) => void;
  },
  send: (call: Call) => Promise<Reply<Value>>,
): Promise<Value> {
  const { key: idempotencyKey, txHashOf, beforeTry, onElement } = asked;
  const opened = await session.service();
  await beforeTry();
  const call = { ...callWith(session, opened, idempotencyKey, onElement), beforeTry };
  const reply = await send(call).catch(async (error: unknown) => {
    await requireRefused(session, idempotencyKey, error);
    throw error;
  });
  const { value, meta } = reply;
  const txHash = txHashOf(value);
  const listed = async () => {
    const query = { idempotencyKey, ...(txHash !== undefined && { txHash }), limit: 1 };
    return (await opened.service.listBurns(query, callWith(session, opened))).value.items;
  };
  const names = `transaction ${txHash}`;
  if (txHash !== undefined)
    await requireAnswersKey(session, listed, { names, isNamed: meta.requestId !== undefined });
  noteReply(session, reply);
  if (isNew && meta.replayed) session.output.tell(REPLAYED);
  return value;
}

/** Maximum difference between the clocks of this machine and the chain. */
const CLOCK_SKEW_MS = 30_000;
/** Transactions that are searched at most, however many a node lists. */
const MAX_PAST = 20_000;

/**
 * Searches the chain for recorded proofs of burns that failed for the service.
 * @param key - of their request, whose other burns landed by the transactions `own`
 * @throws `ERR_OUTCOME_UNKNOWN` with one found that is not of another request
 */
export async function requireNotOnChain(
  session: Session,
  entry: Pick<Entry, 'dateBegun'>,
  key: string,
  { failed, own = [] }: { readonly failed: readonly BurnRequest[]; readonly own?: readonly string[] },
): Promise<void> {
  const { kind, chain, pins } = await session.service();
  const recorded = failed.filter(({ persistOnchain }) => persistOnchain);
  // The embedded engine shares its ledger.
  if (kind === 'embedded' || chain === null || pins === null || recorded.length === 0) return;
  const since = Date.parse(entry.dateBegun) - CLOCK_SKEW_MS;
  const past = await chain.history(pins.mint, { sinceMs: since, limit: MAX_PAST });
  for (const { type, proof } of recorded) {
    const text = proofMemoText(type, proofHash(proof));
    for (const landed of past) {
      if (landed.failed || landed.memo?.includes(text) !== true || own.includes(landed.signature)) continue;
      if (!(await isOfAnother(session, key, landed.signature))) throw contradiction(landed);
    }
  }
}

/** Whether the service lists a transaction as a burn that landed by another request. */
async function isOfAnother(session: Session, key: string, txHash: string): Promise<boolean> {
  const opened = await session.service();
  const isListed = async (more: { readonly idempotencyKey?: string }): Promise<boolean> => {
    const asked = { txHash, status: 'SUCCESS', limit: 1, ...more } as const;
    return (await opened.service.listBurns(asked, callWith(session, opened))).value.items.length > 0;
  };
  try {
    return (await isListed({})) && !(await isListed({ idempotencyKey: key }));
  } catch (error) {
    if (await isUnoffered(session, error)) return false;
    throw error;
  }
}

function contradiction({ signature, blockTimeMs }: PastTransaction): FlywheelError {
  const when = blockTimeMs === null ? '' : `, since ${new Date(blockTimeMs).toISOString()}`;
  return outcomeUnknown(
    `The service says that the burn failed, but transaction ${signature} on chain has the proof${when}.`,
  );
}

type Place = Pick<OpenedService, 'kind' | 'pins' | 'isOnThisMachine' | 'explorer'>;

/** A script needs no consent for a remote service, and `--yes` on a cluster. @param deed - such as `Burn 12.5 tokens`. */
export async function confirmSpending(
  session: Session,
  { kind, pins, isOnThisMachine, explorer }: Place,
  deed: string,
): Promise<void> {
  if (kind === 'embedded' ? isOnThisMachine : !canAsk(session)) return;
  const mint = pins === null ? '' : ` of ${pins.mint}`;
  const place =
    kind === 'remote'
      ? `through ${session.settings.apiUrl.value ?? ''}`
      : `on ${explorer ?? 'your own cluster'}`;
  await requireConsent(session, `${deed}${mint} ${place}?`, { otherwise: 'Nothing was burned.' });
}
