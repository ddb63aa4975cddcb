/** A burn-batch as an operation: sends its requests one by one, stores their outcomes, and never resends what landed. */
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
import { burnElements, pick, warnOfEqual } from '../operation/elements.js';
import { beginRest } from '../operation/overlap.js';
import { type Performed, REPLAYED, type Work } from '../operation/run-operation.js';
import { type AskDoneThere, burnsDoneThere } from '../operation/service-record.js';
import { outcomeUnknown, saysNothingWasDone, trying, untried } from '../operation/verdicts.js';
import type { HowOften } from '../options.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';
import { callWith, noteReply } from '../send.js';
import { MAX_LISTED, viewBurnBatch } from '../views/burn.js';
import { countText, grouped, tokensText } from '../views/unit.js';
import { confirmSpending, requireNotOnChain } from './burn-work.js';
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

export interface BurnBatchBody {
  readonly burns: readonly BurnRequest[];
  /** `null`: not requested. */
  readonly failedOut: OutputFile | null;
}

type Outcomes = readonly ElementOutcome[];

export class BurnBatchWork implements Work<Outcomes> {
  readonly ask: AskDoneThere;
  readonly outputs: readonly OutputFile[];
  readonly rest: boolean;
  readonly allowChanged: boolean;
  readonly #session: Session;
  readonly #body: BurnBatchBody;
  readonly #strict: boolean;
  readonly #elements: readonly Element[];
  readonly #signatures = new Set<string>();
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
    const parts = partsOf(operation);
    return {
      ...{ ask: this.ask, elements: this.#elements },
      requests: parts.filter(({ outcomes }) => outcomes === undefined),
      own: landedOf(this.#elements, outcomesOf(parts)),
    };
  };

  /** An empty request is sent too: then a delayed request under the same key has no effect. */
  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean {
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
  }

  async perform(entry: Entry): Promise<Performed<Outcomes> | null> {
    const { output } = this.#session;
    this.#signatures.clear();
    const parts = partsOf(entry);
    if (entry.state === 'done' && latestOutcomes(parts).some(({ status }) => status === 'error')) {
      await this.requireKnown(entry);
      output.tell('Another request landed what this operation did not.');
      return null;
    }
    this.#symbol = (await this.#session.service()).symbol;
    if (entry.isNew) await this.#confirm(entry);
    const last = stagesOf(entry).length - 1;
    // `--rest` prints only the rest; the whole file prints the latest outcome of each element.
    const tellsLast = this.rest || last === 0;
    const progress = new Progress(this.#session, parts);
    for (const part of parts) {
      const hear = (outcome: ElementOutcome): void => {
        progress.count(outcome);
        if (tellsLast && part.stage === last) this.#print([outcome]);
      };
      await this.#bring(entry, part, { hear, send: () => progress.send(part) }).catch((error: unknown) => {
        progress.stop(error);
        throw error;
      });
    }
    const answered = partsOf(entry);
    const latest = latestOutcomes(answered);
    const result = tellsLast ? outcomesOf(answered.filter(({ stage }) => stage === last)) : latest;
    if (!tellsLast) this.#print(result);
    if (entry.state !== 'open') {
      await this.requireKnown(entry);
      return { result };
    }
    const landed = landedOf(this.#elements, latest);
    return { result, verdict: { state: landed.length === latest.length ? 'done' : 'partial', landed } };
  }

  async present(outcomes: Outcomes): Promise<FlywheelError | undefined> {
    const { output } = this.#session;
    const { burns, failedOut } = this.#body;
    const failures = outcomes.filter((outcome) => outcome.status === 'error');
    const failed = failures.map(({ index }) => index);
    if (failedOut !== null) writeFailed(this.#session, failedOut, pick(burns, failed));
    if (output.mode === 'json') {
      const of = (wanted: ElementOutcome['status']): object[] =>
        outcomes.flatMap(({ index: _index, status, ...rest }) => (status === wanted ? [rest] : []));
      output.result({ success: of('success'), errors: of('error') }, () => []);
    } else if (output.mode !== 'ndjson') {
      const totals = totalsOf(outcomes, burns);
      const listed = { totals, failures: failures.slice(0, MAX_LISTED), symbol: this.#symbol };
      output.result(null, (style) => viewBurnBatch(listed, style));
    }
    if (failed.length === 0) return undefined;
    const hint =
      failedOut === null
        ? 'Add --rest to send the failed burns again, or --failed-out to write them to a file that you can correct.'
        : `Correct the failed entries in ${failedOut.path} and send that file, or send them unchanged with --rest.`;
    const message = `${grouped(failed.length)} of ${countText(outcomes.length, 'burn')} failed.`;
    return new FlywheelError('ERR_PARTIAL', message, { hint });
  }

  summary(outcomes: Outcomes): string {
    const burned = outcomes.filter(({ status }) => status === 'success').length;
    return `${grouped(burned)} of ${countText(outcomes.length, 'burn')} succeeded.`;
  }

  requireKnown(entry: Entry): Promise<void> {
    return requireNoted(this.#session, entry, this.#elements, this.ask);
  }

  /** A rest in progress continues; otherwise a rest starts with all failed elements. */
  async prepare(entry: Entry): Promise<boolean> {
    if (!this.rest || entry.state !== 'partial') return true;
    const all = this.#elements;
    const indexes = latestOutcomes(partsOf(entry)).flatMap(({ index, status }) =>
      status === 'error' ? index : [],
    );
    await noteDone(this.#session, entry, { ask: this.ask, elements: all });
    const notes = async (left: readonly number[]) => {
      await this.#requireAllPossible(left);
      const stages = [...stagesOf(entry), stageOf(this.#body.burns, left)];
      return { stages, ...untried(nameOf(stages.length - 1, 0)) };
    };
    return beginRest(this.#session, entry, { all, indexes, allowChanged: this.allowChanged, notes });
  }

  async #confirm(entry: Entry): Promise<void> {
    const { burns } = this.#body;
    warnOfEqual(this.#session, burnElements(burns), 'burn', 'burned');
    const indexes = stagesOf(entry)[0]?.indexes ?? null;
    await this.#requireAllPossible(indexes);
    const opened = await this.#session.service();
    const sent = pick(burns, indexes);
    const amount = tokensText(sumAmounts(sent.map(({ burnAmount }) => burnAmount)), opened.symbol);
    await confirmSpending(this.#session, opened, `Burn ${amount} in ${countText(sent.length, 'burn')}`);
  }

  async #requireAllPossible(indexes: readonly number[] | null): Promise<void> {
    if (!this.#strict) return;
    const { burns } = this.#body;
    const { requireAllPossible } = await import('./plan.js');
    await requireAllPossible(this.#session, pick(burns, indexes), indexes ?? [...burns.keys()]);
  }

  async #bring(
    entry: Entry,
    { name, key, indexes, outcomes: stored }: Part,
    on: { readonly hear: (outcome: ElementOutcome) => void; readonly send: () => void },
  ): Promise<void> {
    const tell = (outcome: ElementOutcome): void => {
      this.#requireNew(outcome);
      on.hear(outcome);
    };
    if (stored !== undefined) return stored.forEach(tell);
    const session = this.#session;
    if (session.context.signal.aborted)
      throw new FlywheelError(
        'ERR_INTERRUPTED',
        'Interrupted between two requests. Run the same command again to resume.',
      );
    const opened = await session.service();
    const burns = pick(this.#body.burns, indexes);
    const outcomes: ElementOutcome[] = [];
    const hear = (outcome: ElementOutcome): void => {
      const { index } = outcome;
      if (outcomes[index] !== undefined) return;
      const own = { ...outcome, index: indexes[index] ?? index };
      tell(own);
      outcomes[index] = own;
    };
    on.send();
    const reply = await trying(entry, name, async () => {
      try {
        return await opened.service.burnBatch([...burns], callWith(session, opened, key, hear));
      } catch (error) {
        await requireRefused(session, key, error);
        throw error;
      }
    });
    const isNamed = reply.meta.requestId !== undefined;
    const [first] = reply.value.success;
    if (first !== undefined)
      await requireAnswersBurn(session, { idempotencyKey: key, txHash: first.txHash }, isNamed);
    noteReply(session, reply);
    if (entry.isNew && reply.meta.replayed) session.output.tell(REPLAYED);
    const isWhole = (): boolean => outcomes.filter(Boolean).length === burns.length;
    if (!isWhole()) attributeOutcomes(burns, reply.value).outcomes.forEach(hear);
    if (!isWhole())
      throw new FlywheelError(
        'ERR_RESPONSE_INVALID',
        'The answer of the service lacks burns of the request.',
      );
    const failed = burns.filter((_, at) => outcomes[at]?.status === 'error');
    await requireNotOnChain(opened, entry, failed);
    entry.keep(name, outcomes);
  }

  /** One transaction burns one element. */
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

class Progress {
  readonly #session: Session;
  readonly #states = new Map<number, ElementOutcome['status'] | 'sent' | 'left'>();

  constructor(session: Session, parts: readonly Part[]) {
    this.#session = session;
    for (const index of parts.flatMap(({ indexes }) => indexes)) this.#states.set(index, 'left');
  }

  send({ indexes }: Part): void {
    for (const index of indexes) this.#states.set(index, 'sent');
    this.#session.output.progress.measure(this.#look);
  }

  count({ index, status }: ElementOutcome): void {
    this.#states.set(index, status);
  }

  /** Prints the progress so far. @param reason - some errors say that the request did nothing */
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
