/**
 * A burn-batch as an operation: its requests go out one after the other, the outcome of each element is stored as it is known,
 * and an element that has landed is never sent again.
 */
import { attributeOutcomes } from '../../contract/burn-outcomes.js';
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnError, BurnRequest, BurnResult } from '../../contract/schemas/burn.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { writeFileAtomic } from '../../files/write-file.js';
import { fingerprint } from '../../values/digest.js';
import { requireNotOnChain } from '../burn/chain-contradicts.js';
import type { Session } from '../command.js';
import { sumAmounts } from '../input/amount.js';
import type { Entry, Verdict } from '../journal/journal.js';
import { confirmSpending } from '../operation/confirm-spending.js';
import { burnDigests, equalElements } from '../operation/elements.js';
import { stillToDo } from '../operation/overlap.js';
import { type Performed, REPLAYED, type Work } from '../operation/run-operation.js';
import { isUntried, saysNothingWasDone, saysNothingWasEverDone, untried } from '../operation/verdicts.js';
import { callWith, noteReply } from '../send.js';
import { viewBurnBatch } from '../views/burn-batch.js';
import { countText, grouped, tokensText } from '../views/unit.js';
import { BurnBatchProgress } from './progress.js';
import {
  nameOf,
  type Part,
  partsOf,
  pick,
  type StageNote,
  stageOf,
  stagesOf,
  storedOutcomes,
} from './stages.js';
import { BurnTotals, type Totals } from './totals.js';

/** What carrying on needs. */
export interface BurnBatchBody {
  readonly burns: readonly BurnRequest[];
  /** Absolute path; `null`: not asked for. */
  readonly failedOut: string | null;
}

type Failure = ElementOutcome & { readonly status: 'error' };

/** What is printed at the end: of the stage that was asked for, or of all of them together. */
interface Summary {
  readonly elements: number;
  readonly success: readonly BurnResult[];
  readonly failures: readonly Failure[];
  readonly totals: Totals;
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
  readonly rest: boolean;
  readonly #strict: boolean;
  /** The latest outcome of each element. */
  readonly #outcomes = new Map<number, ElementOutcome>();
  readonly #success: BurnResult[] = [];
  readonly #failures: Failure[] = [];
  readonly #totals = new BurnTotals();
  /** What the token is called. */
  #symbol: string | null = null;

  constructor(session: Session, body: BurnBatchBody, { rest, strict }: BurnBatchOptions) {
    this.#session = session;
    this.#body = body;
    this.rest = rest;
    this.#strict = strict;
  }

  async perform(entry: Entry): Promise<Performed<Summary>> {
    if (this.rest && !(await this.#beginRest(entry))) return { result: this.#result() };
    this.#symbol = (await this.#session.service()).symbol;
    if (entry.isNew) await this.#confirm(entry);
    const stages = stagesOf(entry.notes);
    const printed = this.rest ? stages.length - 1 : 0;
    // What is printed as it lands cannot be printed better afterwards; of several stages only the sum is of use.
    const streams = printed === stages.length - 1;
    const parts = stages.flatMap((stage, at) => partsOf(entry, at, stage).map((part) => ({ at, part })));
    const progress = new BurnBatchProgress(this.#session, parts);
    for (const { at, part } of parts) {
      const isPrinted = streams && at === printed;
      const hear = (outcome: ElementOutcome): void => {
        this.#outcomes.set(outcome.index, outcome);
        progress.count(outcome);
        if (isPrinted) this.#print(outcome);
      };
      await this.#bring(entry, part, { hear, send: () => progress.send(part) }).catch((error: unknown) => {
        progress.stop(error);
        throw error;
      });
      await this.#session.context.io.stdout.drained();
    }
    if (!streams) for (const outcome of this.#inOrder()) this.#print(outcome);
    const result = this.#result();
    return entry.state === 'open' ? { result, verdict: this.#verdict() } : { result };
  }

  #result(): Summary {
    const totals = this.#totals.sums;
    const elements = totals.burned.elements + totals.failed.elements;
    return { elements, success: this.#success, failures: this.#failures, totals };
  }

  present({ elements, success, failures, totals }: Summary = this.#result()): FlywheelError | undefined {
    const { output } = this.#session;
    const { burns, failedOut } = this.#body;
    const sorted = [...failures].sort((left, right) => left.index - right.index);
    if (failedOut !== null)
      writeFailed(
        failedOut,
        pick(
          burns,
          sorted.map(({ index }) => index),
        ),
      );
    if (output.mode !== 'ndjson') {
      const result: { success: readonly BurnResult[]; errors: readonly BurnError[] } = {
        success,
        errors: sorted.map(withoutIndex),
      };
      output.result(result, (style) =>
        viewBurnBatch({ totals, failures: sorted, symbol: this.#symbol }, style),
      );
    }
    return sorted.length === 0 ? undefined : partial(sorted.length, elements, failedOut);
  }

  summary({ elements, failures }: Summary): string {
    return `Burned ${grouped(elements - failures.length)} of ${countText(elements, 'element')}.`;
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
    const stages = stagesOf(entry.notes);
    const failed = new Set<number>();
    for (const [at, stage] of stages.entries()) {
      for (const { index, status } of allStored(entry, at, stage))
        status === 'error' ? failed.add(index) : failed.delete(index);
    }
    const digests = burnDigests(this.#body.burns);
    const elements = stillToDo(this.#session, entry, pick(digests, [...failed]), 'burn');
    if (elements.size === 0) return false;
    const indexes = digests.flatMap((digest, index) => (elements.has(digest) ? [index] : []));
    await this.#requireAllPossible(indexes);
    const stage = stageOf(this.#body.burns, indexes);
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
    const equal = equalElements(this.#body.burns.map((burn) => fingerprint({ ...burn })));
    if (equal !== undefined) {
      const [first, second] = equal.first;
      this.#session.output.warn(
        `${equal.count} of ${countText(this.#body.burns.length, 'element')} equal one before them, [${second}] the one at [${first}]; each is burned.`,
      );
    }
    const [stage] = stagesOf(entry.notes);
    const indexes = stage?.indexes ?? this.#body.burns.map((_, index) => index);
    await this.#requireAllPossible(indexes);
    const opened = await this.#session.service();
    if (opened.kind === 'embedded') return;
    const burns = pick(this.#body.burns, indexes);
    const total = sumAmounts(burns.map(({ burnAmount }) => burnAmount));
    const what = `Burn ${tokensText(total, opened.symbol)} in ${countText(burns.length, 'burn')}`;
    await confirmSpending(this.#session, opened, what);
  }

  async #requireAllPossible(indexes: readonly number[]): Promise<void> {
    if (!this.#strict) return;
    const { requireAllPossible } = await import('./plan.js');
    await requireAllPossible(this.#session, pick(this.#body.burns, indexes), indexes);
  }

  /** The outcomes of one request: those that are stored, else those that it is answered with. */
  async #bring(
    entry: Entry,
    part: Part,
    on: { readonly hear: (outcome: ElementOutcome) => void; readonly send: () => void },
  ): Promise<void> {
    const stored = storedOutcomes(entry, part);
    if (stored !== undefined) return stored.forEach(on.hear);
    const { context } = this.#session;
    if (context.signal.aborted)
      throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted between two requests.');
    const opened = await this.#session.service();
    const burns = pick(this.#body.burns, part.indexes);
    const outcomes: ElementOutcome[] = [];
    const hear = (outcome: ElementOutcome): void => {
      if (outcomes[outcome.index] !== undefined) return;
      const own = { ...outcome, index: part.indexes[outcome.index] ?? outcome.index };
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
    const failed = outcomes.flatMap(({ status }, at) => (status === 'error' ? [at] : []));
    await requireNotOnChain(opened, entry, pick(burns, failed));
    entry.keep(part.name, outcomes);
  }

  #print(outcome: ElementOutcome): void {
    const { output } = this.#session;
    const burn = this.#body.burns[outcome.index];
    if (burn !== undefined) this.#totals.count(outcome, burn);
    if (output.mode === 'ndjson') output.jsonLine(outcome);
    if (outcome.status === 'error') this.#failures.push(outcome);
    else if (output.mode === 'json') this.#success.push(withoutIndex(outcome));
  }

  #inOrder(): readonly ElementOutcome[] {
    return [...this.#outcomes.values()].sort((left, right) => left.index - right.index);
  }

  #verdict(): Verdict {
    const outcomes = [...this.#outcomes.values()];
    const digests = burnDigests(this.#body.burns);
    const landed = outcomes.filter(({ status }) => status === 'success').map(({ index }) => index);
    return { state: landed.length === outcomes.length ? 'done' : 'partial', landed: pick(digests, landed) };
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

const allStored = (entry: Entry, at: number, stage: StageNote): readonly ElementOutcome[] =>
  partsOf(entry, at, stage).flatMap((part) => storedOutcomes(entry, part) ?? []);

function withoutIndex<Outcome extends ElementOutcome>(outcome: Outcome): Omit<Outcome, 'index' | 'status'> {
  const { index: _index, status: _status, ...rest } = outcome;
  return rest;
}

/** Failed elements in the form of the file's name: a JSON array, or one object a line. */
function writeFailed(file: string, burns: readonly BurnRequest[]): void {
  const lines = burns.map((burn) => JSON.stringify(burn));
  const isLines = /\.(ndjson|jsonl)$/i.test(file);
  writeFileAtomic(
    file,
    isLines ? lines.map((line) => `${line}\n`).join('') : `[${lines.join(',\n')}]\n`,
    'ERR_INPUT_INVALID',
    {
      mode: 0o600,
    },
  );
}

function partial(failed: number, total: number, failedOut: string | null): FlywheelError {
  return new FlywheelError('ERR_PARTIAL', `${failed} of ${countText(total, 'element')} failed.`, {
    hint:
      failedOut === null
        ? 'The same command with --rest sends these once more; --failed-out FILE writes them to correct.'
        : `${failedOut} holds the failed elements: correct what is wrong and send that. Or send them as they are: --rest.`,
  });
}
