/**
 * A burn-batch as an operation: its requests go out one after the other, the outcome of each element is stored as it is known,
 * and an element that has landed is never sent again.
 */
import { attributeOutcomes } from '../../contract/burn-outcomes.js';
import type { ElementOutcome } from '../../contract/call.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { requireNotOnChain } from '../burn/chain-contradicts.js';
import type { Session } from '../command.js';
import { AmountSum } from '../input/amount.js';
import type { Entry, Verdict } from '../journal/journal.js';
import { confirmSpending } from '../operation/confirm-spending.js';
import { stillToDo } from '../operation/overlap.js';
import { type Performed, REPLAYED, type Work } from '../operation/run-operation.js';
import { isUntried, saysNothingWasDone, saysNothingWasEverDone, untried } from '../operation/verdicts.js';
import type { OutputFile } from '../output/output-file.js';
import { callWith, noteReply } from '../send.js';
import { MAX_LISTED, viewBurnBatch } from '../views/burn-batch.js';
import { countText, grouped, tokensText } from '../views/unit.js';
import type { BurnBatchBody } from './body.js';
import { writeFailed } from './failed-file.js';
import { failedOf, printResults } from './print-results.js';
import { BurnBatchProgress } from './progress.js';
import {
  answersOf,
  latestOf,
  nameOf,
  type Part,
  partsOf,
  stageOf,
  stagesOf,
  storedOutcomes,
} from './stages.js';
import { BurnTotals, type Totals } from './totals.js';

type Failure = ElementOutcome & { readonly status: 'error' };

/** What is printed at the end: of the stage that was asked for, or of all of them together. */
interface Summary {
  readonly totals: Totals;
  /** The first that failed. */
  readonly listed: readonly Failure[];
  /** All outcomes in the order of the file, request by request; they are read from the journal. */
  readonly results: () => Iterable<readonly ElementOutcome[]>;
}

/** How a burn-batch is carried out. */
export interface BurnBatchOptions {
  /** Begin a stage with what has not landed. */
  readonly rest: boolean;
  /** Send nothing if any element would fail. */
  readonly strict: boolean;
}

/** The work of a burn-batch. */
export class BurnBatchWork implements Work<Summary> {
  readonly #session: Session;
  readonly #body: BurnBatchBody;
  readonly outputs: readonly OutputFile[];
  readonly rest: boolean;
  readonly #strict: boolean;
  /** Elements whose latest outcome is a failure. */
  readonly #failed = new Set<number>();
  /** Of the transactions that burned, in whichever request. */
  readonly #signatures = new Set<string>();
  /** What the token is called. */
  #symbol: string | null = null;

  constructor(session: Session, body: BurnBatchBody, { rest, strict }: BurnBatchOptions) {
    this.#session = session;
    this.#body = body;
    this.outputs = body.failedOut === null ? [] : [body.failedOut];
    this.rest = rest;
    this.#strict = strict;
  }

  async perform(entry: Entry): Promise<Performed<Summary>> {
    if (this.rest && !(await this.#beginRest(entry))) return { result: NOTHING };
    this.#symbol = (await this.#session.service()).symbol;
    if (entry.isNew) await this.#confirm(entry);
    const stages = stagesOf(entry.notes);
    const printed = this.rest ? stages.length - 1 : 0;
    // What is printed as it lands cannot be printed better afterwards; of several stages only the sum is of use.
    const streams = printed === stages.length - 1;
    const parts = stages.flatMap((stage, at) => partsOf(entry, at, stage).map((part) => ({ at, part })));
    const progress = new BurnBatchProgress(this.#session, parts);
    const sum = new Summing(this.#body.list);
    for (const { at, part } of parts) {
      const isPrinted = streams && at === printed;
      const hear = (outcome: ElementOutcome): void => {
        if (outcome.status === 'error') this.#failed.add(outcome.index);
        else this.#failed.delete(outcome.index);
        progress.count(outcome);
        if (isPrinted) this.#print(outcome);
      };
      const outcomes = await this.#bring(entry, part, { hear, send: () => progress.send(part) }).catch(
        (error: unknown) => {
          progress.stop(error);
          throw error;
        },
      );
      if (isPrinted) sum.add(outcomes);
      await this.#session.context.io.stdout.drained();
    }
    if (!streams) await this.#printLatest(entry, sum);
    const result = sum.of(streams ? () => answersOf(entry, printed) : () => latestOf(entry));
    return entry.state === 'open' ? { result, verdict: this.#verdict() } : { result };
  }

  async #printLatest(entry: Entry, sum: Summing): Promise<void> {
    for (const outcomes of latestOf(entry)) {
      sum.add(outcomes);
      for (const outcome of outcomes) this.#print(outcome);
      await this.#session.context.io.stdout.drained();
    }
  }

  async present(summary: Summary = NOTHING): Promise<FlywheelError | undefined> {
    const { output } = this.#session;
    const { list, failedOut } = this.#body;
    const { totals, listed } = summary;
    if (failedOut !== null) writeFailed(this.#session, failedOut, list.pick(failedOf(summary)));
    if (output.mode === 'json') await printResults(this.#session, summary);
    else if (output.mode !== 'ndjson')
      output.result(null, (style) =>
        viewBurnBatch({ totals, failures: listed, symbol: this.#symbol }, style),
      );
    const { burned, failed } = totals;
    return failed.elements === 0
      ? undefined
      : partial(failed.elements, burned.elements + failed.elements, failedOut?.path ?? null);
  }

  summary({ totals: { burned, failed } }: Summary): string {
    return `Burned ${grouped(burned.elements)} of ${countText(burned.elements + failed.elements, 'element')}.`;
  }

  /**
   * Begins a stage with all that has failed so far; one that is under way already is carried on.
   * @returns false when all of it has landed by other operations.
   */
  async #beginRest(entry: Entry): Promise<boolean> {
    if (entry.isNew) {
      throw new FlywheelError(
        'ERR_INPUT_INVALID',
        'Nothing of this file was done yet, so there is no rest.',
        {
          hint: 'Leave out --rest.',
        },
      );
    }
    if (entry.state !== 'partial') return true;
    const { list } = this.#body;
    const stages = stagesOf(entry.notes);
    const failed = new Set<number>();
    for (const at of stages.keys())
      for (const outcomes of answersOf(entry, at))
        for (const { index, status } of outcomes)
          status === 'error' ? failed.add(index) : failed.delete(index);
    const inOrder = [...failed].sort((left, right) => left - right);
    const digests = list.digests(inOrder);
    const elements = stillToDo(this.#session, entry, digests, 'burn');
    if (elements.size === 0) return false;
    const indexes = inOrder.filter((_, at) => digests.slice(at, at + 1).some((one) => elements.has(one)));
    await this.#requireAllPossible(indexes);
    const stage = stageOf(list, indexes);
    const next = { stages: [...stages, stage], ...untried(nameOf(stages.length, 0)) };
    if (!entry.reopen([...elements], next)) {
      throw new FlywheelError('ERR_TIMEOUT', 'Another process has just taken up the rest.', {
        hint: 'Run the command again.',
      });
    }
    return true;
  }

  /** Points out what a person should know before anything is sent, and asks where that is due. */
  async #confirm(entry: Entry): Promise<void> {
    const { list } = this.#body;
    const { equal } = list;
    if (equal !== undefined) {
      const [first, second] = equal.first;
      this.#session.output.warn(
        `${equal.count} of ${countText(list.length, 'element')} equal one before them, [${second}] the one at [${first}]; each is burned.`,
      );
    }
    const [stage] = stagesOf(entry.notes);
    const indexes = stage?.indexes ?? null;
    await this.#requireAllPossible(indexes);
    const opened = await this.#session.service();
    // Nobody is asked, and adding up many takes its time.
    if (opened.kind === 'embedded' && opened.isOnThisMachine) return;
    const total = new AmountSum();
    for (const { burnAmount } of list.each(indexes)) total.add(burnAmount);
    const count = countText(indexes?.length ?? list.length, 'burn');
    await confirmSpending(this.#session, opened, `Burn ${tokensText(total.text, opened.symbol)} in ${count}`);
  }

  /** This looks at all of them together. @param indexes - `null`: all. */
  async #requireAllPossible(indexes: readonly number[] | null): Promise<void> {
    if (!this.#strict) return;
    const { list } = this.#body;
    const { requireAllPossible } = await import('./plan.js');
    const all = indexes ?? Array.from({ length: list.length }, (_, index) => index);
    await requireAllPossible(this.#session, [...list.each(indexes)], all);
  }

  /** @returns the outcomes of one request in their order: those that are stored, else those that it is answered with. */
  async #bring(
    entry: Entry,
    part: Part,
    on: { readonly hear: (outcome: ElementOutcome) => void; readonly send: () => void },
  ): Promise<readonly ElementOutcome[]> {
    const stored = storedOutcomes(entry, part);
    if (stored !== undefined) {
      stored.forEach((outcome) => {
        this.#requireNew(outcome);
        on.hear(outcome);
      });
      return stored;
    }
    const { context } = this.#session;
    if (context.signal.aborted)
      throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted between two requests.');
    const opened = await this.#session.service();
    const indexes = part.indexes();
    const burns = this.#body.list.pick(indexes);
    const outcomes: ElementOutcome[] = [];
    const hear = (outcome: ElementOutcome): void => {
      if (outcomes[outcome.index] !== undefined) return;
      this.#requireNew(outcome);
      const own = { ...outcome, index: indexes[outcome.index] ?? outcome.index };
      outcomes[outcome.index] = own;
      on.hear(own);
    };
    on.send();
    const reply = await trying(entry, part.name, () =>
      opened.service.burnBatch([...burns], callWith(this.#session, opened, part.key, hear)),
    );
    noteReply(this.#session, reply);
    if (entry.isNew && reply.meta.replayed) this.#session.output.tell(REPLAYED);
    const heard = (): number => outcomes.filter((outcome) => outcome !== undefined).length;
    if (heard() < burns.length) attributeOutcomes(burns, reply.value).outcomes.forEach(hear);
    if (heard() < burns.length) {
      throw new FlywheelError(
        'ERR_RESPONSE_INVALID',
        'The service did not answer for every element of the request.',
      );
    }
    const failed = burns.filter((_, at) => outcomes[at]?.status === 'error');
    await requireNotOnChain(opened, entry, failed);
    entry.keep(part.name, outcomes);
    return outcomes;
  }

  /** One transaction burns one element. @throws `ERR_OUTCOME_UNKNOWN` for an answer that was given before. */
  #requireNew(outcome: ElementOutcome): void {
    if (outcome.status === 'error') return;
    if (this.#signatures.has(outcome.txHash))
      throw new FlywheelError(
        'ERR_OUTCOME_UNKNOWN',
        `The service answered with transaction ${outcome.txHash}, which burned another element.`,
      );
    this.#signatures.add(outcome.txHash);
  }

  #print(outcome: ElementOutcome): void {
    const { output } = this.#session;
    if (output.mode === 'ndjson') output.jsonLine(outcome);
  }

  #verdict(): Verdict {
    const allBut = this.#body.list.digests([...this.#failed]);
    return { state: this.#failed.size === 0 ? 'done' : 'partial', landed: { allBut } };
  }
}

const NOTHING: Summary = { totals: new BurnTotals().sums, listed: [], results: () => [] };

/** Adds up what is printed, in the order of the file. */
class Summing {
  readonly #list: BurnBatchBody['list'];
  readonly #totals = new BurnTotals();
  readonly #listed: Failure[] = [];

  constructor(list: BurnBatchBody['list']) {
    this.#list = list;
  }

  /** The outcomes of one request. */
  add(outcomes: readonly ElementOutcome[]): void {
    const burns = this.#list.pick(outcomes.map(({ index }) => index));
    for (const [at, outcome] of outcomes.entries()) {
      const burn = burns[at];
      if (burn !== undefined) this.#totals.count(outcome, burn);
      if (outcome.status === 'error' && this.#listed.length < MAX_LISTED) this.#listed.push(outcome);
    }
  }

  of(results: Summary['results']): Summary {
    return { totals: this.#totals.sums, listed: this.#listed, results };
  }
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
      if (isRefused || saysNothingWasEverDone(entry.kind, thrown)) entry.note(untried(request));
    }
    throw thrown;
  }
}

function partial(failed: number, total: number, failedOut: string | null): FlywheelError {
  return new FlywheelError('ERR_PARTIAL', `${failed} of ${countText(total, 'element')} failed.`, {
    hint:
      failedOut === null
        ? 'The same command with --rest sends these once more; --failed-out FILE writes them to correct.'
        : `${failedOut} holds the failed elements: correct what is wrong and send that. Or send them as they are: --rest.`,
  });
}
