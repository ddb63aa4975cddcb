/**
 * A burn-batch as an operation: its requests go out one after the other, the outcome of each element is stored as it is known,
 * and an element that has landed is never sent again.
 */
import { attributeOutcomes } from '../../contract/burn-outcomes.js';
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { sumAmounts } from '../input/amount.js';
import type { Element, Entry } from '../journal/journal.js';
import {
  noteDone,
  requireAnswersBurn,
  requireNoted,
  requireRefused,
  type Unanswered,
} from '../operation/done-there.js';
import { burnElements, warnOfEqual } from '../operation/elements.js';
import { restBegunElsewhere, stillToDo } from '../operation/overlap.js';
import { type Performed, REPLAYED, type Work } from '../operation/run-operation.js';
import { type AskDoneThere, burnsDoneThere } from '../operation/service-record.js';
import {
  isUntried,
  outcomeUnknown,
  saysNothingWasDone,
  saysNothingWasEverDone,
  untried,
} from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import type { OutputFile } from '../output/output-file.js';
import { callWith, noteReply } from '../send.js';
import { MAX_LISTED, viewBurnBatch } from '../views/burn.js';
import { countText, grouped, tokensText } from '../views/unit.js';
import { confirmSpending, requireNotOnChain } from './burn-work.js';
import {
  latestOutcomes,
  nameOf,
  outcomesOf,
  type Part,
  partsOf,
  pick,
  printOutcomes,
  stageOf,
  stagesOf,
  storedOutcomes,
  totalsOf,
  writeFailed,
} from './requests.js';

/** What it burns, and where to write what failed; as the journal keeps it. */
export interface BurnBatchBody {
  readonly burns: readonly BurnRequest[];
  /** `null`: not asked for. */
  readonly failedOut: OutputFile | null;
}

/** In the order of the file. */
type Outcomes = readonly ElementOutcome[];

/** The work of a burn-batch. */
export class BurnBatchWork implements Work<Outcomes> {
  readonly ask: AskDoneThere;
  readonly outputs: readonly OutputFile[];
  readonly rest: boolean;
  readonly allowChanged: boolean;
  readonly #session: Session;
  readonly #body: BurnBatchBody;
  readonly #strict: boolean;
  readonly #elements: readonly Element[];
  /** The latest outcome of each element that has one. */
  readonly #latest = new Map<number, ElementOutcome['status']>();
  /** Of the transactions that burned, in whichever request. */
  readonly #signatures = new Set<string>();
  /** What the token is called. */
  #symbol: string | null = null;

  /** @param how - `strict`: send nothing if any element would fail. */
  constructor(
    session: Session,
    body: BurnBatchBody,
    { rest, strict, allowChanged }: Pick<HowOften, 'rest' | 'allowChanged'> & { readonly strict: boolean },
  ) {
    this.#session = session;
    this.#body = body;
    this.outputs = body.failedOut === null ? [] : [body.failedOut];
    this.rest = rest;
    this.#strict = strict;
    this.allowChanged = allowChanged;
    this.ask = burnsDoneThere(session, body.burns);
    this.#elements = burnElements(body.burns);
  }

  readonly unanswered = (operation: Entry): Unanswered => {
    const parts = stagesOf(operation.notes).flatMap((stage, at) => partsOf(operation, at, stage));
    const outcomes = parts.flatMap((part) => storedOutcomes(operation, part) ?? []);
    const landed = outcomes.flatMap(({ index, status }) => (status === 'success' ? [index] : []));
    return {
      ...{ ask: this.ask, elements: this.#elements },
      requests: parts.filter((part) => storedOutcomes(operation, part) === undefined),
      own: pick(this.#elements, landed).map(({ digest }) => digest),
    };
  };

  /** A request that is left with nothing goes out all the same: one that was held up on its way does nothing then. */
  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean {
    const stages = stagesOf(entry.notes).map((stage, at) => {
      const parts = partsOf(entry, at, stage).map((part) =>
        storedOutcomes(entry, part) === undefined
          ? part.indexes.filter((index) => !indexes.has(index))
          : part.indexes,
      );
      return { indexes: parts.flat(), cut: parts.map(({ length }) => length) };
    });
    entry.note({ stages });
    return true;
  }

  async perform(entry: Entry): Promise<Performed<Outcomes> | null> {
    this.#latest.clear();
    this.#signatures.clear();
    if (entry.state === 'done' && latestOutcomes(entry).some(({ status }) => status === 'error')) {
      await this.requireKnown(entry);
      this.#session.output.tell('What did not land by it has landed by another request.');
      return null;
    }
    this.#symbol = (await this.#session.service()).symbol;
    if (entry.isNew) await this.#confirm(entry);
    const stages = stagesOf(entry.notes);
    const last = stages.length - 1;
    // A rest that went out tells of itself; the file, of each element's latest outcome.
    const tellsLast = this.rest || last === 0;
    const parts = stages.flatMap((stage, at) => partsOf(entry, at, stage).map((part) => ({ at, part })));
    const progress = new Progress(
      this.#session,
      parts.map(({ part }) => part),
    );
    for (const { at, part } of parts) {
      const hear = (outcome: ElementOutcome): void => {
        this.#latest.set(outcome.index, outcome.status);
        progress.count(outcome);
        if (tellsLast && at === last) this.#print([outcome]);
      };
      await this.#bring(entry, part, { hear, send: () => progress.send(part) }).catch((error: unknown) => {
        progress.stop(error);
        throw error;
      });
    }
    const result = tellsLast ? outcomesOf(entry, last) : latestOutcomes(entry);
    if (!tellsLast) this.#print(result);
    if (entry.state !== 'open') {
      await this.requireKnown(entry);
      return { result };
    }
    const latest = [...this.#latest];
    const landed = latest.flatMap(([index, status]) => (status === 'success' ? [index] : []));
    const state = landed.length === latest.length ? 'done' : 'partial';
    return { result, verdict: { state, landed: pick(this.#elements, landed).map(({ digest }) => digest) } };
  }

  async present(outcomes: Outcomes): Promise<FlywheelError | undefined> {
    const { output } = this.#session;
    const { burns, failedOut } = this.#body;
    const failures = outcomes.filter((outcome) => outcome.status === 'error');
    const failed = failures.map(({ index }) => index);
    if (failedOut !== null) writeFailed(this.#session, failedOut, pick(burns, failed));
    if (output.mode === 'json') printOutcomes(this.#session, outcomes);
    else if (output.mode !== 'ndjson') {
      const totals = totalsOf(outcomes, burns);
      const listed = { totals, failures: failures.slice(0, MAX_LISTED), symbol: this.#symbol };
      output.result(null, (style) => viewBurnBatch(listed, style));
    }
    if (failed.length === 0) return undefined;
    const hint =
      failedOut === null
        ? '--rest sends the failed burns again. --failed-out FILE writes them to a file that you can correct.'
        : `Correct the failed entries in ${failedOut.path} and send that file, or send them unchanged with --rest.`;
    const message = `${failed.length} of ${countText(outcomes.length, 'burn')} failed.`;
    return new FlywheelError('ERR_PARTIAL', message, { hint });
  }

  summary(outcomes: Outcomes): string {
    const burned = outcomes.filter(({ status }) => status === 'success').length;
    return `${grouped(burned)} of ${countText(outcomes.length, 'burn')} succeeded.`;
  }

  requireKnown(entry: Entry): Promise<void> {
    return requireNoted(this.#session, entry, this.#elements, this.ask);
  }

  /** Begins a stage with all that has failed so far; one that is under way already is carried on. */
  async prepare(entry: Entry): Promise<boolean> {
    if (!this.rest || entry.state !== 'partial') return true;
    const { burns } = this.#body;
    const failed = latestOutcomes(entry).flatMap(({ index, status }) => (status === 'error' ? [index] : []));
    const all = this.#elements;
    await noteDone(this.#session, entry, { ask: this.ask, elements: all });
    const left = await stillToDo(this.#session, entry, { all, indexes: failed }, this);
    if (left.length === 0) return false;
    await this.#requireAllPossible(left);
    const stages = stagesOf(entry.notes);
    const next = { stages: [...stages, stageOf(burns, left)], ...untried(nameOf(stages.length, 0)) };
    if (!entry.reopen(pick(all, left), next)) throw restBegunElsewhere();
    return true;
  }

  /** Points out what a person should know before anything is sent, and asks where that is due. */
  async #confirm(entry: Entry): Promise<void> {
    const { burns } = this.#body;
    warnOfEqual(this.#session, burns, 'burn', 'burned');
    const indexes = stagesOf(entry.notes)[0]?.indexes ?? null;
    await this.#requireAllPossible(indexes);
    const opened = await this.#session.service();
    const sent = pick(burns, indexes);
    const amount = tokensText(sumAmounts(sent.map(({ burnAmount }) => burnAmount)), opened.symbol);
    await confirmSpending(this.#session, opened, `Burn ${amount} in ${countText(sent.length, 'burn')}`);
  }

  /** This looks at all of them together. @param indexes - `null`: all. */
  async #requireAllPossible(indexes: readonly number[] | null): Promise<void> {
    if (!this.#strict) return;
    const { burns } = this.#body;
    const { requireAllPossible } = await import('./plan.js');
    await requireAllPossible(this.#session, pick(burns, indexes), indexes ?? [...burns.keys()]);
  }

  /** Tells the outcomes of one request: those that are stored, else those that it is answered with. */
  async #bring(
    entry: Entry,
    part: Part,
    on: { readonly hear: (outcome: ElementOutcome) => void; readonly send: () => void },
  ): Promise<void> {
    const stored = storedOutcomes(entry, part);
    if (stored !== undefined) {
      for (const outcome of stored) {
        this.#requireNew(outcome);
        on.hear(outcome);
      }
      return;
    }
    const { context } = this.#session;
    if (context.signal.aborted)
      throw new FlywheelError(
        'ERR_INTERRUPTED',
        'Interrupted between two requests. Run the same command again to resume.',
      );
    const opened = await this.#session.service();
    const burns = pick(this.#body.burns, part.indexes);
    const outcomes: ElementOutcome[] = [];
    const hear = (outcome: ElementOutcome): void => {
      if (outcomes[outcome.index] !== undefined) return;
      this.#requireNew(outcome);
      const own = { ...outcome, index: part.indexes[outcome.index] ?? outcome.index };
      outcomes[outcome.index] = own;
      on.hear(own);
    };
    on.send();
    const reply = await trying(entry, part.name, async () => {
      try {
        return await opened.service.burnBatch([...burns], callWith(this.#session, opened, part.key, hear));
      } catch (error) {
        await requireRefused(this.#session, part.key, error);
        throw error;
      }
    });
    const isNamed = reply.meta.requestId !== undefined;
    for (const { txHash } of reply.value.success.slice(0, 1))
      await requireAnswersBurn(this.#session, { idempotencyKey: part.key, txHash }, isNamed);
    noteReply(this.#session, reply);
    if (entry.isNew && reply.meta.replayed) this.#session.output.tell(REPLAYED);
    const heard = (): number => outcomes.filter((outcome) => outcome !== undefined).length;
    if (heard() < burns.length) attributeOutcomes(burns, reply.value).outcomes.forEach(hear);
    if (heard() < burns.length) {
      throw new FlywheelError(
        'ERR_RESPONSE_INVALID',
        'The answer of the service lacks burns of the request.',
      );
    }
    const failed = burns.filter((_, at) => outcomes[at]?.status === 'error');
    await requireNotOnChain(opened, entry, failed);
    entry.keep(part.name, outcomes);
  }

  /** One transaction burns one element. @throws `ERR_OUTCOME_UNKNOWN` for an answer that was given before. */
  #requireNew(outcome: ElementOutcome): void {
    if (outcome.status === 'error') return;
    if (this.#signatures.has(outcome.txHash))
      throw outcomeUnknown(
        `The service answered with transaction ${outcome.txHash}, which belongs to another burn.`,
      );
    this.#signatures.add(outcome.txHash);
  }

  #print(outcomes: Outcomes): void {
    const { output } = this.#session;
    if (output.mode === 'ndjson') outcomes.forEach(output.jsonLine);
  }
}

/** How far it is, on standard error. */
class Progress {
  readonly #session: Session;
  /** Of each element, by its number, what is known of its latest request. */
  readonly #states = new Map<number, ElementOutcome['status'] | 'sent' | 'left'>();

  constructor(session: Session, parts: readonly Part[]) {
    this.#session = session;
    for (const index of parts.flatMap(({ indexes }) => indexes)) this.#states.set(index, 'left');
  }

  /** A request goes out. */
  send({ indexes }: Part): void {
    for (const index of indexes) this.#states.set(index, 'sent');
    this.#session.output.progress.measure(this.#look);
  }

  /** One element has its outcome. */
  count({ index, status }: ElementOutcome): void {
    this.#states.set(index, status);
  }

  /** Says how far it came when it cannot go on. @param reason - of that; some say that the request did nothing. */
  stop(reason: unknown): void {
    const { done, failed, total } = this.#look();
    if (done === 0 || done === total) return;
    const wasSent = !(isFlywheelError(reason) && saysNothingWasDone(reason));
    const unknown = wasSent ? this.#count('sent') : 0;
    const parts = [
      `${grouped(done - failed)} burned`,
      `${grouped(failed)} failed`,
      `${grouped(unknown)} unknown`,
      `${grouped(total - done - unknown)} not attempted`,
    ];
    this.#session.output.warn(
      `Of ${countText(total, 'burn')}: ${parts.join(', ')}. Run the same command again to resume.`,
    );
  }

  #count(wanted: ElementOutcome['status'] | 'sent'): number {
    return [...this.#states.values()].filter((state) => state === wanted).length;
  }

  readonly #look = () => {
    const failed = this.#count('error');
    return { noun: 'burn', done: this.#count('success') + failed, failed, total: this.#states.size };
  };
}

/** Sends a request, and notes a refusal that says that it was never carried out: asked again, that is still known. */
async function trying<Value>(entry: Entry, request: string, send: () => Promise<Value>): Promise<Value> {
  const isNoted = isUntried(entry, request);
  const isFirst = entry.isNew || entry.hasActed || isNoted;
  if (isNoted) entry.note(untried(null));
  try {
    return await send();
  } catch (thrown) {
    // An entry of which nothing was done at all is given up.
    const isKept = !entry.isNew || entry.hasActed;
    if (isKept && isFlywheelError(thrown)) {
      const isRefused = isFirst && saysNothingWasDone(thrown);
      if (isRefused || saysNothingWasEverDone(thrown)) entry.note(untried(request));
    }
    throw thrown;
  }
}
