/** `flywheel pending`: operations with an unknown or unprinted outcome, and batches that wait for approval. */
import { Argument, type Command } from '@commander-js/extra-typings';
import { MAX_PAGE_ITEMS } from '../../contract/limits.js';
import type { InitBatchRequest } from '../../contract/schemas/batch.js';
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError, invalidInput, usageError, wrapUnknown } from '../../errors/flywheel-error.js';
import { isUuid } from '../../values/ids.js';
import { batchStages, giveUpRest } from '../batch/batch-stages.js';
import { giveUpBurns } from '../burn/requests.js';
import { type ArgsOf, defineCommand, type OptionsOf, type Session } from '../command.js';
import { canAsk, requireConsent, withoutQuestion } from '../consent.js';
import { executeOrCancel, nextCommand } from '../hints.js';
import { type Entry, isOver, type Journal, type OperationSummary } from '../journal/journal.js';
import { absoluteSource, keypairLocation } from '../load-keypair.js';
import { locate } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { wasCancelled } from '../operation/overlap.js';
import { agreedLine, commandLine, resumeLine, typedLine } from '../operation/resume-line.js';
import { carryOut, takeOperation, type Work } from '../operation/run-operation.js';
import { withoutNothingSent } from '../operation/verdicts.js';
import { KEYPAIR_OPTION } from '../options.js';
import type { Style } from '../output/color.js';
import { type OutputFile, outputFile } from '../output/output-file.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, headed, type Layout } from '../output/table.js';
import { asFlywheelError } from '../report-failure.js';
import { callWith, isUnoffered, soon } from '../send.js';
import { shellLine } from '../shell-line.js';
import { totalFields } from '../views/batch.js';
import { agoText } from '../views/unit.js';

/** The key is printed for support requests. */
const operationRow = async (session: Session, operation: OperationSummary) => {
  const { id, kind, key, state, dateBegun, dateChanged, busy, command } = operation;
  const waiting = waitingId(operation);
  const outcome = state === 'open' ? 'unknown' : waiting === undefined ? 'not printed yet' : WAITS;
  return {
    ...{ id: waiting ?? id, operation: kind, outcome, running: busy },
    ...{ command: shellLine(['flywheel', ...command]), idempotencyKey: key, dateBegun, dateChanged },
    resume: waiting === undefined ? resumeLine(session, operation) : await nextCommand(session, waiting),
  };
};

const WAITS = 'waits for approval';

/** The batch of an operation that is set up and waits; it is listed by its own id. */
const waitingId = ({ state, notes }: OperationSummary): string | undefined =>
  state === 'waiting' ? batchStages(notes).at(-1)?.batchId : undefined;

/** Unfinished work of the data directory's service that no operation of the journal covers. */
async function leftByService(session: Session, journal: Journal) {
  const { recovery } = await session.service();
  const keys = new Set(journal.pending().map(({ key }) => key));
  const resume = agreedLine(session.settings, 'pending', 'resume');
  return ((await recovery?.unfinished()) ?? [])
    .filter(({ idempotencyKey }) => idempotencyKey === null || !keys.has(idempotencyKey))
    .map(({ operation, ...work }) => ({
      ...{ ...work, operation: `service ${operation}`, outcome: 'unknown', resume },
    }));
}

/** Without those in `named`; or the error of the service. */
async function waitingBatches(session: Session, named: ReadonlySet<string>) {
  const opened = await session.service();
  const query = { status: 'FINALIZED', limit: MAX_PAGE_ITEMS } as const;
  const asked = opened.service.listBatches(query, callWith(session, opened)).then(
    ({ value }) => value.items,
    (error: unknown) => wrapUnknown(error),
  );
  const items = (await soon(asked)) ?? new FlywheelError('ERR_UNAVAILABLE', 'The service does not answer.');
  session.output.progress.clear();
  session.context.signal.throwIfAborted();
  if ('code' in items) {
    if (await isUnoffered(session, items)) return [];
    const message = `Batches that wait for approval could not be listed. ${items.message}`;
    return new FlywheelError(items.code, message, items.options);
  }
  const waiting = items.filter(({ id }) => !named.has(id));
  return Promise.all(
    waiting.map(async ({ id, totals, dateCreated: dateBegun }) => ({
      ...{ id, operation: 'batch', outcome: WAITS, running: false, totals },
      ...{ dateBegun, resume: await nextCommand(session, id) },
    })),
  );
}

type Row =
  | Awaited<ReturnType<typeof operationRow>>
  | Awaited<ReturnType<typeof leftByService>>[number]
  | Exclude<Awaited<ReturnType<typeof waitingBatches>>, FlywheelError>[number];

const plainly = ({ width }: Style): Layout => ({ width, dim: (text) => text });

function fieldsOf(row: Row, symbol: string | null): readonly Field[] {
  if ('totals' in row) return totalFields(row.totals, symbol);
  if ('command' in row) return [['last change', row.dateChanged]];
  return row.signatures.map((signature) => ['transaction', signature]);
}

const viewRow = (row: Row, symbol: string | null, nowMs: number, style: Style): readonly string[] => [
  ...headed(safeLine(row.id), 'command' in row ? row.command : row.operation, plainly(style), style.bold),
  ...fieldLines(
    [
      ['status', row.running ? `${row.outcome} (still running)` : row.outcome],
      ['started', `${row.dateBegun}, ${agoText(nowMs - Date.parse(row.dateBegun))}`],
      ...fieldsOf(row, symbol),
      ['next', row.resume, 'whole'],
    ],
    style,
  ),
];

const configure = (command: Command) =>
  command
    .addArgument(new Argument('[action]', 'action (default: list)').choices(['list', 'resume', 'forget']))
    .argument('[id]', 'id as listed (resume without an id resumes all operations)')
    .addOption(KEYPAIR_OPTION);

async function list(session: Session, journal: Journal): Promise<void> {
  const pending = journal.pending();
  const left = await leftByService(session, journal);
  const begun = [
    ...left.map(({ id }) => id),
    ...pending
      .filter((operation) => waitingId(operation) === undefined)
      .flatMap(({ notes }) => batchStages(notes).flatMap(({ batchId }) => batchId ?? [])),
  ];
  const waiting = await waitingBatches(session, new Set(begun));
  const listed = 'code' in waiting ? [] : waiting;
  const own = (await Promise.all(pending.map((operation) => operationRow(session, operation)))).filter(
    (row) => !listed.some(({ id }) => id === row.id),
  );
  const rows = [...own, ...left, ...listed];
  const { symbol } = await session.service();
  const nowMs = session.context.clock.nowMs();
  session.output.result(rows, (style) =>
    rows.length === 0 && !('code' in waiting)
      ? ['No pending operations.']
      : rows.flatMap((row) => viewRow(row, symbol, nowMs, style)),
  );
  if ('code' in waiting) throw waiting;
}

const POLL_MS = 500;

/** {@link leftByService}, once no process works on it. Work of a dead process is free when its lease expires. */
async function freeOfService(session: Session, journal: Journal): ReturnType<typeof leftByService> {
  const { clock, sleep } = session.context;
  const endMs = clock.nowMs() + session.settings.waitSeconds.value * 1_000;
  for (;;) {
    const left = await leftByService(session, journal);
    if (!left.some(({ running }) => running)) return left;
    if (clock.nowMs() >= endMs)
      throw new FlywheelError('ERR_TIMEOUT', 'Another process is still finishing the work of the service.', {
        hint: 'Run the same command again to keep waiting. Nothing happens twice.',
      });
    session.output.progress.show('waiting for another process …');
    await sleep(POLL_MS);
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof FlywheelError ? error.message : 'internal error.';

async function finishForService(session: Session, journal: Journal): Promise<number> {
  const { recovery } = await session.service();
  const before = await freeOfService(session, journal);
  if (recovery === null || before.length === 0) return 0;
  session.output.progress.show('finishing the unfinished work of the service …');
  await recovery.finish({
    signal: session.context.signal,
    onProblem: (what, error) => {
      session.output.warn(`Not finished: ${what}. ${reasonOf(error)}`);
    },
  });
  session.output.progress.clear();
  const left = new Set((await recovery.unfinished()).map(({ id }) => id));
  const done = before.filter(({ id }) => !left.has(id)).length;
  session.output.tell(
    `The service has looked up what ${done} of ${before.length} unfinished requests had sent. It sends nothing new by itself. To send the rest, run the files again.`,
  );
  return before.length;
}

/** The journal deletes the request of a finished, printed operation, or the whole operation. */
type Resumed = 'resumed' | 'told before' | 'not there';

interface Terms {
  /** From the option, else from the first run, else the default. */
  readonly keypair: string | undefined;
  /** For a waiting batch named by its own id: approve and execute it. */
  readonly isExecuted?: boolean;
}

/** Resumes an operation once no other process works on it. @throws the errors of its command */
async function resumeOperation(
  session: Session,
  journal: Journal,
  id: string,
  terms: Terms,
): Promise<Resumed> {
  const entry = await takeOperation(session, journal, id);
  if (entry === undefined) return 'not there';
  const body = entry.body();
  if (body === undefined) return 'told before';
  if (entry.state === 'cancelled') {
    const { pipelines = [] } = JSON.parse(body) as Partial<InitBatchRequest>;
    entry.markPrinted();
    throw wasCancelled(journal, pipelineElements(pipelines), entry.dateChanged);
  }
  const work = await workOf(session, entry, JSON.parse(body), terms);
  await carryOut(session, { entry }, work);
  return 'resumed';
}

async function workOf(session: Session, entry: Entry, body: unknown, terms: Terms): Promise<Work<unknown>> {
  switch (entry.kind) {
    case 'burn': {
      const { burnWork } = await import('../burn/work.js');
      return burnWork(session, body as Parameters<typeof burnWork>[1]);
    }
    case 'burn-batch': {
      const { burnBatchWork } = await import('../burn/work.js');
      const burns = body as Parameters<typeof burnBatchWork>[1];
      const noted = { ...burns, failedOut: stillFree(session, burns.failedOut) };
      return burnBatchWork(session, noted, { ...AS_BEGUN, strict: false });
    }
    case 'batch':
      return workOfBatch(session, entry, body as InitBatchRequest, terms);
  }
}

/** The path may have another file by now. @throws `ERR_INPUT_INVALID` for a file that no command may replace */
const stillFree = (session: Session, file: OutputFile | null): OutputFile | null =>
  file && outputFile(session, '--failed-out', file.path, file);

const AS_BEGUN = { rest: false, allowChanged: false } as const;

/** An approval that is not signed yet needs consent. @throws `ERR_USAGE` where nobody can be asked; nothing was sent then */
function requireAgreed(
  session: Session,
  { state, notes }: Pick<Entry, 'state' | 'notes'>,
  run: { readonly wallet: boolean } | undefined,
  keypair: string | undefined,
): void {
  if (run === undefined || (run.wallet && keypair === undefined)) return;
  const { settings, commandLine: typed } = session;
  if (settings.yes || canAsk(session) || isOver(state)) return;
  if (batchStages(notes).at(-1)?.digest !== undefined) return;
  throw usageError(
    `${withoutQuestion(session)}, \`pending resume\` needs --yes. Nothing was sent.`,
    `It approves a batch. To agree: \`${typedLine(settings, ...typed, '--yes')}\``,
  );
}

/** Resumes a batch as its last command would: only set up, or run to the end. */
async function workOfBatch(
  session: Session,
  entry: Entry,
  request: InitBatchRequest,
  { keypair: typed, isExecuted = false }: Terms,
): Promise<Work<unknown>> {
  const { batchWork, runNoteOf } = await import('../batch/batch-work.js');
  const run =
    runNoteOf(entry) ??
    (isExecuted && entry.state === 'waiting' ? { keypair: null, wallet: false, failedOut: null } : undefined);
  if (run === undefined)
    return batchWork(session, request, AS_BEGUN, { run: null, out: null, failedOut: null });
  const { context, settings } = session;
  const wallet = run.wallet && typed === undefined;
  requireAgreed(session, entry, run, typed);
  const location = () => keypairLocation(settings, typed ?? run.keypair ?? undefined);
  const keypair = wallet ? null : absoluteSource(context, location());
  const failedOut = stillFree(session, run.failedOut);
  return batchWork(session, request, AS_BEGUN, { run: { wallet, keypair }, out: null, failedOut });
}

/**
 * Throws after all were tried: an unknown outcome rather than the first error.
 * @throws as {@link requireAgreed} before the first is resumed
 */
async function resumeAll(session: Session, journal: Journal, keypair: string | undefined): Promise<void> {
  const { runNoteOf } = await import('../batch/batch-work.js');
  for (const operation of journal.pending()) requireAgreed(session, operation, runNoteOf(operation), keypair);
  const finished = await finishForService(session, journal);
  const ids = journal.pending().map(({ id }) => id);
  const failures: FlywheelError[] = [];
  for (const id of ids) {
    // An earlier one of this list may have finished it.
    if (!journal.pending().some((operation) => operation.id === id)) continue;
    try {
      if ((await resumeOperation(session, journal, id, { keypair })) !== 'resumed')
        session.output.tell(`Another process finished operation ${id} and printed its outcome.`);
    } catch (error) {
      if (ids.length === 1) throw error;
      failures.push(asFlywheelError(error, session.context.signal));
      session.output.warn(`${id}: ${reasonOf(error)}`);
    }
  }
  const [first] = failures;
  if (first !== undefined) {
    const told = failures.find(({ exitCode }) => exitCode === EXIT.unknownOutcome) ?? first;
    throw new FlywheelError(told.code, withoutNothingSent(told.message), told.options);
  }
  if (finished + ids.length === 0)
    session.output.tell('Nothing to resume. `flywheel pending` also lists batches that wait for approval.');
}

/** @throws `ERR_INPUT_INVALID` when there is nothing to resume */
async function resumeOne(session: Session, journal: Journal, id: string, terms: Terms): Promise<void> {
  const resumed = await resumeOperation(session, journal, id, terms);
  if (resumed === 'not there') throw await notThere(session, journal, id);
  if (resumed === 'told before')
    throw invalidInput(
      `Operation ${id} is already finished.`,
      'Run the original command again to see its stored result.',
    );
}

async function notThere(session: Session, journal: Journal, id: string): Promise<FlywheelError> {
  const message = `No operation ${JSON.stringify(id.slice(0, 40))} is pending.`;
  if (!isUuid(id))
    return invalidInput(message, `List pending operations: \`${commandLine(session.settings, 'pending')}\``);
  const ofService = (await leftByService(session, journal)).find((work) => work.id === id);
  return invalidInput(
    message,
    ofService === undefined
      ? await executeOrCancel(session, id)
      : `That request is one of the service. Finish it: \`${ofService.resume}\``,
  );
}

/** @param word - as typed, for a batch */
async function forget(session: Session, journal: Journal, id: string, word: string): Promise<void> {
  const found = journal.pending().find((operation) => operation.id === id);
  if (found === undefined) throw await notThere(session, journal, word);
  const isRepeated = found.kind === 'burn' && !found.command.includes('--once');
  const again = isRepeated ? 'burns again' : 'looks up what its requests did';
  const line = shellLine(['flywheel', ...found.command]);
  await requireConsent(session, `Forget \`${line}\`, started ${found.dateBegun}? The same command ${again}.`);
  const entry = await takeOperation(session, journal, id);
  if (entry === undefined) throw await notThere(session, journal, id);
  if (isOver(entry.state)) entry.markPrinted();
  else if (await giveUp(entry)) {
    entry.markPrinted();
    session.output.tell(
      'Requests without an answer now count as failed. The same command with --rest looks them up and sends only those that did not land.',
    );
  } else if (entry.hasLanded) {
    // Its batch is in progress and ends without this command.
    entry.release();
    throw invalidInput(
      `Operation ${id} cannot be forgotten: part of it landed, and its batch is set up.`,
      `Resume it: ${resumeLine(session, entry)}`,
    );
  } else entry.remove();
  session.output.result({ id, forgotten: true }, (style) => [style.good(`Forgot ${id}.`)]);
}

/** Stored answers stay, because only they say which part of the file landed. @returns false when all can be deleted. */
async function giveUp(entry: Entry): Promise<boolean> {
  if (entry.kind === 'batch') return giveUpRest(entry);
  if (!entry.hasAnswers) return false;
  giveUpBurns(entry, JSON.parse(entry.body() ?? '').burns);
  return true;
}

async function run(
  session: Session,
  [action = 'list', word]: ArgsOf<typeof configure>,
  { keypair }: OptionsOf<typeof configure>,
): Promise<void> {
  // The journal is shown even if the service does not answer.
  await soon(locate(session)).catch(() => null);
  const journal = await (await session.service()).journal();
  const id = word !== undefined && isUuid(word) ? (journal.ofBatch(word.toLowerCase())?.id ?? word) : word;
  if (action === 'resume' && id !== undefined)
    return resumeOne(session, journal, id, { keypair, isExecuted: id !== word });
  if (action === 'resume') return resumeAll(session, journal, keypair);
  if (action === 'forget') {
    if (id === undefined) throw usageError('`flywheel pending forget` needs an id.');
    return forget(session, journal, id, word ?? id);
  }
  if (id !== undefined) throw usageError('`flywheel pending list` takes no id.');
  return list(session, journal);
}

export const commands = {
  pending: defineCommand({
    configure,
    run,
    details: [
      'An operation is pending until its outcome is known and printed.',
      '`resume` looks up what was sent and sends only the rest, so nothing happens twice. Without a terminal, approving a batch needs --yes.',
      '`forget` removes an operation from the list; it undoes nothing. What was answered stays done. Send the rest of the file with --rest.',
      'The list includes batches that wait for approval, with amounts and the command that approves and executes them. If the service does not answer, the list has only what this machine knows, and the exit code is that of the failure.',
      'With the embedded engine the list includes unfinished requests of the service. `resume` without an id looks up what they had sent.',
    ],
    output: [
      '[ { "id", "operation", "outcome": "unknown"|"not printed yet", "running", "command", "idempotencyKey",',
      '    "dateBegun", "dateChanged", "resume": command } ]',
      'of the service: { "id", "operation": "service …", "outcome", "running", "idempotencyKey", "dateBegun", "signatures", "resume" }',
      'of a batch: { "id", "operation": "batch", "outcome": "waits for approval", "totals": { "pipelines", "burn", "airdrop", "recipients" }, "dateBegun", "resume" }',
      'resume: the output of the command itself; forget: { "id", "forgotten": true }',
    ],
    examples: ['flywheel pending', 'flywheel pending resume', 'flywheel pending forget 5f0c3c39'],
  }),
};
