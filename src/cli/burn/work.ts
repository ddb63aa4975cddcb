/** Burns as operations: one, or a file request by request, whose outcomes are stored so that what landed is never sent again. */
import { memosOf, proofMemoText } from '../../chain/small-programs.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import type { Call, ElementOutcome, Reply } from '../../contract/call.js';
import type { BurnBatchResult, BurnRequest, BurnResult } from '../../contract/schemas/burn.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { proofHash, type Sha256 } from '../../values/digest.js';
import { grouped } from '../../values/token-amount.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';
import { sumAmounts } from '../input/amount.js';
import { type Entry, hasRest, type Verdict } from '../journal/journal.js';
import {
  burnsDoneThere,
  type Found,
  hiddenOf,
  lookingAgain,
  NOT_SEEN,
  noteDone,
  requireAnswersKey,
  requireRefused,
  requireThere,
} from '../operation/done-there.js';
import { burnElements, pick, warnOfEqual } from '../operation/elements.js';
import { beginRest } from '../operation/overlap.js';
import { commandLine } from '../operation/resume-line.js';
import type { Work } from '../operation/run-operation.js';
import {
  afterwards,
  isUntried,
  lookedUp,
  notSent,
  outcomeUnknown,
  saysNothingWasDone,
  trying,
  untried,
} from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';
import { callWith, canBeDoneWithout, isUnoffered, noteReply } from '../send.js';
import { MAX_LISTED, viewBurn, viewBurnBatch } from '../views/burn.js';
import { countText, tokensText } from '../views/unit.js';
import { requireAllPossible } from './plan.js';
import {
  landedOf,
  latestOutcomes,
  nameOf,
  outcomesOf,
  type Part,
  partsOf,
  stageOf,
  stagesOf,
  totalsOf,
} from './requests.js';

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
    requireSeen: () => requireSeen(session, [request]),
    requireUnsent: (entry, { key }, lost) => requireNotOnChain(session, entry, key, [request], { lost }),
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
      const amount = tokensText(sumAmounts([request.burnAmount]), symbol);
      output.result(result, (style) => viewBurn(result, amount, style));
      return undefined;
    },
    summary: ({ txHash, dateBurned }) => `Burned on ${dateBurned} in transaction ${txHash}.`,
  };
}

async function requireSeen(session: Session, burns: readonly BurnRequest[]): Promise<void> {
  const hidden = await hiddenOf(session, burns).catch(async (error: unknown) => {
    if (await canBeDoneWithout(session, error)) return [];
    throw error;
  });
  if (hidden.length > 0) throw notSent(`${NOT_SEEN} --again needs a key that may.`);
}

/** @throws `ERR_INPUT_INVALID` if the service no longer knows the key of a burn that it may have landed; as {@link requireNotOnChain} */
async function requireNotForgotten(session: Session, entry: Entry, request: BurnRequest): Promise<void> {
  const { id, key } = entry;
  const there = await burnsDoneThere(session, [request], true)([key]);
  if (there === null || there.known.has(key)) return;
  const landed = there.found.find(({ state }) => state !== 'failed');
  if (landed === undefined) return requireNotOnChain(session, entry, key, [request], { lost: there.found });
  const forget = `\`${commandLine(session.settings, 'pending', 'forget', id)}\``;
  throw notSent(
    `This burn may have landed: an equal one has, on ${landed.date} in transaction ${landed.id}, and the service no longer knows its key.`,
    `Drop this operation: ${forget}. To burn again, run the command again.`,
    { keyUnused: false },
  );
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
        await afterwards(() => requireNotOnChain(session, entry, entry.key, [request]));
      throw error;
    }),
  );
}

const REPLAYED =
  'Already done: this is the stored result of a request with the same key. Nothing was burned again.';

/** Sends a request of burns, and checks that it was the service that refused it, or has sent what it names for it. */
async function sendBurns<Value>(
  session: Session,
  entry: Entry,
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
  const call = await lookedUp(entry, beforeTry, callWith(session, opened, idempotencyKey, onElement));
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
  if (entry.isNew && meta.replayed) session.output.tell(REPLAYED);
  return value;
}

/** Maximum difference between the clocks of this machine and the chain. */
const CLOCK_SKEW_MS = 30_000;
const WRONG_CLOCK_MS = 86_400_000;
/** Transactions that are searched at most, however many a node lists. */
const MAX_PAST = 20_000;

/** Transactions since then with proofs that burns record. */
async function withProofs(session: Session, sinceMs: number, burns: readonly BurnRequest[]) {
  const { chain, pins } = await session.service();
  const recorded = burns.filter(({ persistOnchain }) => persistOnchain);
  const texts = recorded.map(({ type, proof }) => proofMemoText(type, proofHash(proof)));
  if (chain === null || pins === null || texts.length === 0) return [];
  const has = (memo: string | null | undefined): boolean => texts.some((text) => memo?.includes(text));
  const past = await chain.history(pins.mint, { sinceMs, limit: MAX_PAST, withMemos: true });
  const listed = past.filter(({ failed, memo }) => !failed && has(memo));
  // A list is not signed. What a node no longer has is believed.
  const records = await chain.lookUp(listed.map(({ signature }) => signature));
  return listed.filter((_, at) => {
    const wire = records[at]?.wire;
    return wire == null || has(memosOf(decodeTransaction(wire).message));
  });
}

/**
 * Looks on chain for burns that failed for the service, or (`lost`: what it has of their proofs) whose request it does not know.
 * @param key - of the request, whose other burns landed by the transactions `own`
 * @throws `ERR_OUTCOME_UNKNOWN` with one found that is not of another request
 */
async function requireNotOnChain(
  session: Session,
  { id, dateBegun }: Pick<Entry, 'id' | 'dateBegun'>,
  key: string,
  burns: readonly BurnRequest[],
  { lost, own = [] }: { readonly lost?: readonly Found[]; readonly own?: readonly string[] } = {},
): Promise<void> {
  const known = new Set(lost?.map(({ id: txHash }) => txHash) ?? own);
  const since = Date.parse(dateBegun) - (lost ? WRONG_CLOCK_MS : CLOCK_SKEW_MS);
  for (const { signature, blockTimeMs } of await withProofs(session, since, burns)) {
    // A request that the service knows by now is sent again.
    if (known.has(signature) || (await isOfAnother(session, lost ? null : key, signature))) continue;
    const when = blockTimeMs === null ? '' : `, since ${new Date(blockTimeMs).toISOString()}`;
    const found = `but transaction ${signature} on chain has the proof${when}.`;
    if (lost === undefined) throw outcomeUnknown(`The service says that the burn failed, ${found}`);
    const isHidden = (await hiddenOf(session, burns)).length > 0;
    if (isHidden) throw outcomeUnknown(`The API key may not see this request, ${found}`);
    throw outcomeUnknown(
      `The service does not know this request, ${found} The service may have been restored from a backup.`,
      `See on chain what landed, and drop this operation: \`${commandLine(session.settings, 'pending', 'forget', id)}\`. Then send only what has not landed.`,
      { keyUnused: false },
    );
  }
}

/** Whether the service lists a transaction as a burn of another request than that of the key. @param key - `null`: of any */
async function isOfAnother(session: Session, key: string | null, txHash: string): Promise<boolean> {
  const opened = await session.service();
  const isListed = async (more: { readonly idempotencyKey?: string }): Promise<boolean> => {
    const asked = { txHash, ...(key !== null && { status: 'SUCCESS' as const }), limit: 1, ...more };
    return (await opened.service.listBurns(asked, callWith(session, opened))).value.items.length > 0;
  };
  try {
    return (await isListed({})) && (key === null || !(await isListed({ idempotencyKey: key })));
  } catch (error) {
    if (await isUnoffered(session, error)) return false;
    throw error;
  }
}

type Place = Pick<OpenedService, 'kind' | 'pins' | 'isOnThisMachine' | 'explorer'>;

/** A script needs no consent for a remote service, and `--yes` on a cluster. @param deed - such as `Burn 12.5 tokens`. */
async function confirmSpending(
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

interface BurnBatchBody {
  readonly burns: readonly BurnRequest[];
  /** `null`: not requested. */
  readonly failedOut: OutputFile | null;
}

type Outcomes = readonly ElementOutcome[];

const CHECK_LOST =
  'Check the transactions in the messages of the failed burns. Send those that have not landed in a new file.';

/** The service lost what became of it. */
const mayHaveLanded = (one: ElementOutcome): boolean =>
  one.status === 'error' && one.type === 'ERR_STORE_BEHIND';
/** What the key may not burn is refused before all else, and it may not see what others burned for the proof either. */
const hasFailed = (one?: ElementOutcome): boolean =>
  one?.status === 'error' && !mayHaveLanded(one) && one.type !== 'ERR_INVALID_PROOF';

/** @param how - `strict`: send nothing if any element would fail. */
export function burnBatchWork(
  session: Session,
  { burns, failedOut }: BurnBatchBody,
  how: Pick<HowOften, 'rest' | 'allowChanged'> & { readonly strict: boolean },
): Work<Outcomes> {
  const { output } = session;
  const ask = burnsDoneThere(session, burns);
  const elements = burnElements(burns);
  const requireKnown = (entry: Entry): Promise<void> => requireThere(session, entry, { ask, elements });
  const lookAgain = lookingAgain(session, 'ERR_PARTIAL');
  const requireAllowed = async (indexes: readonly number[] | null): Promise<void> => {
    if (how.strict) await requireAllPossible(session, pick(burns, indexes), indexes ?? [...burns.keys()]);
  };
  const printLines = (outcomes: Outcomes): void => {
    if (output.mode === 'ndjson') outcomes.forEach(output.jsonLine);
  };

  const isSkipped = (latest: Outcomes): boolean => latest.length === 0 && burns.length > 0;
  const isDoneByOthers = (latest: Outcomes): boolean =>
    isSkipped(latest) || latest.some(({ status }) => status === 'error');

  const verdictOf = (latest: Outcomes): Verdict => {
    const landed = landedOf(elements, latest);
    return { state: landed.length === latest.length ? 'done' : 'partial', landed };
  };

  async function confirm(entry: Entry): Promise<void> {
    warnOfEqual(session, elements, 'burn', 'burned');
    const indexes = stagesOf(entry)[0]?.indexes ?? null;
    await requireAllowed(indexes);
    const opened = await session.service();
    const sent = pick(burns, indexes);
    const amount = tokensText(sumAmounts(sent.map(({ burnAmount }) => burnAmount)), opened.symbol);
    await confirmSpending(session, opened, `Burn ${amount} in ${countText(sent.length, 'burn')}`);
  }

  /** @param shown - the stage whose outcomes are printed as they come */
  async function bringAll(entry: Entry, parts: readonly Part[], shown: number | null): Promise<void> {
    const progress = createProgress(session, entry, parts);
    const signatures = new Set<string>();
    const landed: Sha256[] = [];
    for (const part of parts) {
      const hear = (outcome: ElementOutcome): void => {
        requireNew(signatures, outcome);
        landed.push(...landedOf(elements, [outcome]));
        progress.count(outcome);
        if (part.stage === shown) printLines([outcome]);
      };
      const beforeTry = async (): Promise<void> => {
        entry.requireHeld();
        await lookForOthers(entry, part, landed);
        progress.send(part);
      };
      await bring(entry, part, hear, beforeTry).catch((error: unknown) => {
        progress.stop(error);
        throw error;
      });
    }
  }

  /** Looks up only burns with the proofs of the part: a file has up to a hundred parts. @param own - landed by other parts */
  async function lookForOthers(entry: Entry, { key, indexes }: Part, own: readonly Sha256[]): Promise<void> {
    const proofs = new Set(pick(elements, indexes).map(({ subject }) => subject));
    const near = elements.flatMap(({ subject }, index) => (proofs.has(subject) ? index : []));
    const some = { ask: burnsDoneThere(session, pick(burns, near)), elements: pick(elements, near) };
    const sent = new Set(indexes);
    const requests = [{ key, indexes: near.flatMap((index, at) => (sent.has(index) ? at : [])) }];
    await lookAgain(entry, { ...some, allowChanged: how.allowChanged }, { requests, own });
  }

  /** Sends the request of a part, unless its answer is stored. */
  async function bring(
    entry: Entry,
    { name, key, indexes, outcomes: stored }: Part,
    hear: (outcome: ElementOutcome) => void,
    beforeTry: () => Promise<void>,
  ): Promise<void> {
    if (stored !== undefined) return stored.forEach(hear);
    if (session.context.signal.aborted)
      throw new FlywheelError(
        'ERR_INTERRUPTED',
        'Interrupted between two requests. Run the same command again to resume.',
      );
    const { service } = await session.service();
    const asked = pick(burns, indexes);
    const outcomes: ElementOutcome[] = [];
    const onElement = (outcome: ElementOutcome): void => {
      const { index } = outcome;
      if (outcomes[index] !== undefined) return;
      const own = { ...outcome, index: indexes[index] ?? index };
      hear(own);
      outcomes[index] = own;
    };
    const txHashOf = ({ success }: BurnBatchResult) => success[0]?.txHash;
    const terms = { key, txHashOf, beforeTry, onElement };
    await trying(entry, name, () =>
      sendBurns(session, entry, terms, (call) => service.burnBatch([...asked], call)),
    );
    if (outcomes.filter(Boolean).length !== asked.length)
      throw new FlywheelError(
        'ERR_RESPONSE_INVALID',
        'The answer of the service lacks burns of the request.',
      );
    const failed = asked.filter((_, at) => hasFailed(outcomes[at]));
    const own = outcomes.flatMap((outcome) => (outcome.status === 'success' ? outcome.txHash : []));
    await afterwards(() => requireNotOnChain(session, entry, key, failed, { own }));
    entry.keep(name, outcomes);
  }

  async function perform(entry: Entry) {
    const parts = partsOf(entry);
    if (entry.state === 'done' && isDoneByOthers(latestOutcomes(parts))) {
      output.tell('Other requests landed the burns that this one did not. Nothing was sent.');
      return null;
    }
    if (entry.isNew) await confirm(entry);
    const last = stagesOf(entry).length - 1;
    // `--rest` prints only the rest; the whole file prints the latest outcome of each element.
    const shown = how.rest || last === 0 ? last : null;
    await bringAll(entry, parts, shown);
    const answered = partsOf(entry);
    const latest = latestOutcomes(answered);
    const result = shownOf(answered, shown);
    if (shown === null) printLines(result);
    if (entry.state !== 'open') {
      await requireKnown(entry);
      return { result };
    }
    return isSkipped(latest) ? null : { result, verdict: verdictOf(latest) };
  }

  async function present(outcomes: Outcomes): Promise<FlywheelError | undefined> {
    const failures = outcomes.filter((outcome) => outcome.status === 'error');
    const failed = failures.map(({ index }) => index);
    if (failedOut !== null) writeFailed(session, failedOut, pick(burns, failed));
    if (output.mode === 'json') {
      const of = (wanted: ElementOutcome['status']): object[] =>
        outcomes.flatMap(({ index: _index, status, ...rest }) => (status === wanted ? [rest] : []));
      output.result({ success: of('success'), errors: of('error') }, () => []);
    } else if (output.mode !== 'ndjson') {
      const { symbol } = await session.service();
      const listed = { totals: totalsOf(outcomes, burns), failures: failures.slice(0, MAX_LISTED), symbol };
      output.result(null, (style) => viewBurnBatch(listed, style));
    }
    if (failed.length === 0) return undefined;
    const hint = failures.some(mayHaveLanded)
      ? CHECK_LOST
      : failedOut === null
        ? 'With --rest the failed burns are sent again. --failed-out writes them to a file that you can correct.'
        : `Correct the failed entries in ${failedOut.path} and send that file, or send them unchanged with --rest.`;
    const message = `${grouped(failed.length)} of ${countText(outcomes.length, 'burn')} failed.`;
    return new FlywheelError('ERR_PARTIAL', message, { hint });
  }

  return {
    ...{ ask, elements, rest: how.rest, allowChanged: how.allowChanged, requireKnown, perform, present },
    outputs: failedOut === null ? [] : [failedOut],
    requireUnsent: (entry, { key, indexes }, lost) =>
      requireNotOnChain(session, entry, key, pick(burns, indexes), { lost }),
    requireSeen: () => requireSeen(session, burns),
    unanswered: (operation) => {
      const parts = partsOf(operation);
      return {
        own: landedOf(elements, outcomesOf(parts)),
        requests: parts.filter(({ outcomes }) => outcomes === undefined),
      };
    },
    // An empty request is sent too: then a delayed request under the same key has no effect.
    leaveOut: (entry, indexes) => {
      const parts = partsOf(entry);
      const stages = stagesOf(entry).map((_, at) => {
        const left = parts
          .filter(({ stage }) => stage === at)
          .map((part) =>
            part.outcomes === undefined ? part.indexes.filter((index) => !indexes.has(index)) : part.indexes,
          );
        return { indexes: left.flat(), cut: left.map(({ length }) => length) };
      });
      entry.note({ stages });
      return true;
    },
    // A rest in progress continues; otherwise a rest starts with all failed elements.
    prepare: async (entry) => {
      if (!how.rest || !hasRest(entry.state)) return true;
      const latest = latestOutcomes(partsOf(entry));
      if (latest.some(mayHaveLanded)) throw notSent('Burns of the file may have landed.', CHECK_LOST);
      const indexes = latest.flatMap(({ index, status }) => (status === 'error' ? index : []));
      await noteDone(session, entry, { ask, elements });
      const notes = async (left: readonly number[]) => {
        await requireAllowed(left);
        const stages = [...stagesOf(entry), stageOf(burns, left)];
        return { stages, ...untried(nameOf(stages.length - 1, 0)) };
      };
      return beginRest(session, entry, { all: elements, indexes, allowChanged: how.allowChanged, notes });
    },
    nothing: { success: [], errors: [] },
    summary: (outcomes) => {
      const burned = outcomes.filter(({ status }) => status === 'success').length;
      return `${grouped(burned)} of ${countText(outcomes.length, 'burn')} succeeded.`;
    },
  };
}

const shownOf = (parts: readonly Part[], shown: number | null): Outcomes =>
  shown === null ? latestOutcomes(parts) : outcomesOf(parts.filter(({ stage }) => stage === shown));

/** One transaction burns one element. */
function requireNew(signatures: Set<string>, outcome: ElementOutcome): void {
  if (outcome.status === 'error') return;
  if (signatures.has(outcome.txHash))
    throw outcomeUnknown(
      `The service answered with transaction ${outcome.txHash}, which belongs to another burn.`,
    );
  signatures.add(outcome.txHash);
}

/** A JSON array or NDJSON, by the file's extension; no file if no burn failed. */
function writeFailed(session: Session, file: OutputFile, burns: readonly BurnRequest[]): void {
  if (burns.length === 0) {
    noteEarlier(session, file);
    return;
  }
  const lines = burns.map((burn) => JSON.stringify(burn));
  const isLines = /\.(ndjson|jsonl)$/i.test(file.path);
  writeOutput(file, isLines ? lines.map((line) => `${line}\n`).join('') : `[${lines.join(',\n')}]\n`);
}

function createProgress({ output }: Session, entry: Entry, parts: readonly Part[]) {
  type State = ElementOutcome['status'] | 'sent' | 'sent before' | 'left';
  const states = new Map<number, State>();
  const first = parts.find(({ outcomes }) => outcomes === undefined);
  for (const part of parts) {
    const wasSent = part === first && !entry.isNew && !isUntried(entry, part.name);
    for (const index of part.indexes) states.set(index, wasSent ? 'sent before' : 'left');
  }
  const count = (wanted: State): number => [...states.values()].filter((state) => state === wanted).length;
  const look = () => {
    const failed = count('error');
    return { noun: 'burn', done: count('success') + failed, failed, total: states.size };
  };
  return {
    send: ({ indexes }: Part): void => {
      for (const index of indexes) if (states.get(index) === 'left') states.set(index, 'sent');
      output.progress.measure(look);
    },
    count: ({ index, status }: ElementOutcome): void => void states.set(index, status),
    /** Prints the progress so far. @param reason - some errors say that the request did nothing */
    stop: (reason: unknown): void => {
      const { done, failed, total } = look();
      if (done === 0 || done === total) return;
      const wasSent = !(isFlywheelError(reason) && saysNothingWasDone(reason));
      // A refusal now says nothing about an earlier run.
      const unknown = (isUntried(entry) ? 0 : count('sent before')) + (wasSent ? count('sent') : 0);
      const all = [
        `${grouped(done - failed)} burned`,
        `${grouped(failed)} failed`,
        `${grouped(unknown)} unknown`,
        `${grouped(total - done - unknown)} not attempted`,
      ];
      output.warn(`Of ${countText(total, 'burn')}: ${all.join(', ')}. Run the same command again to resume.`);
    },
  };
}
