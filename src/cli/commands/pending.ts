/** `flywheel pending`: operations whose outcome is not known, or has not been printed, and batches that wait for approval. */
import { Argument, type Command } from '@commander-js/extra-typings';
import type { ListedBatch } from '../../contract/schemas/batch.js';
import { MAX_PAGE_ITEMS } from '../../contract/schemas/page.js';
import { FlywheelError, wrapUnknown } from '../../errors/flywheel-error.js';
import { batchStages, giveUpRest } from '../batch/batch-stages.js';
import type { BurnBatchBody } from '../burn/burn-batch-work.js';
import { giveUpBurns } from '../burn/requests.js';
import { type ArgsOf, defineCommand, type OptionsOf, type Session } from '../command.js';
import { requireConsent } from '../consent.js';
import { type Entry, isOver, type Journal, type OperationSummary } from '../journal/journal.js';
import { resumeOperation } from '../operation/resume.js';
import { agreedLine, commandLine, resumeLine } from '../operation/resume-line.js';
import { takeOperation } from '../operation/run-operation.js';
import { locate } from '../operation/service-record.js';
import { KEYPAIR_OPTION } from '../options.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, headed, type Layout } from '../output/table.js';
import { callWith, isNotOffered, soon } from '../send.js';
import { shellLine, shownWords } from '../shell-line.js';
import { totalFields } from '../views/batch.js';
import { agoText } from '../views/unit.js';

/** One operation of the list. */
export interface PendingRow {
  readonly id: string;
  readonly operation: string;
  readonly outcome: string;
  readonly running: boolean;
  readonly command: string;
  readonly idempotencyKey: string;
  readonly dateBegun: string;
  readonly dateChanged: string;
  readonly resume: string;
}

/** What the service of the data directory has left. */
interface ServiceRow {
  readonly id: string;
  readonly operation: string;
  readonly outcome: string;
  readonly running: boolean;
  readonly idempotencyKey: string | null;
  readonly dateBegun: string;
  readonly signatures: readonly string[];
  readonly resume: string;
}

/** A batch that is set up and not executed. */
interface WaitingRow extends Pick<ListedBatch, 'id' | 'totals'> {
  readonly operation: 'batch';
  readonly outcome: 'waits for approval';
  readonly running: false;
  readonly dateBegun: string;
  /** Approves and executes it. */
  readonly resume: string;
}

/** The command is what one looks for: it is not pale. */
const plainly = ({ width }: Style): Layout => ({ width, dim: (text) => text });

/** What else a row says. */
function fieldsOf(row: PendingRow | ServiceRow | WaitingRow, symbol: string | null): readonly Field[] {
  if ('totals' in row) return totalFields(row.totals, symbol);
  if ('command' in row) return [['last change', row.dateChanged]];
  return row.signatures.map((signature) => ['transaction', signature]);
}

/** @param symbol - of the token; `null` where nobody here says */
function viewPending(
  rows: readonly (PendingRow | ServiceRow | WaitingRow)[],
  symbol: string | null,
  nowMs: number,
  style: Style,
): readonly string[] {
  if (rows.length === 0) return ['No pending operations.'];
  return rows.flatMap((row) => [
    ...headed(safeLine(row.id), 'command' in row ? row.command : row.operation, plainly(style), style.bold),
    ...fieldLines(
      [
        ['outcome', row.running ? `${row.outcome} (still running)` : row.outcome],
        ['begun', `${row.dateBegun}, ${agoText(nowMs - Date.parse(row.dateBegun))}`],
        ...fieldsOf(row, symbol),
        ['totals' in row ? 'to execute' : 'to resume', row.resume, 'whole'],
      ],
      style,
    ),
  ]);
}

/** What was typed; an older journal may have kept it with a key in it. */
const typed = (words: readonly string[]): string => shellLine(['flywheel', ...shownWords(words)]);

const configure = (command: Command) =>
  command
    .addArgument(new Argument('[action]', 'action (default: list)').choices(['list', 'resume', 'forget']))
    .argument('[id]', 'operation id; without it, resume takes all')
    .addOption(KEYPAIR_OPTION);

/** What the list says of one; its key is what a support request would need. */
function describe(operation: OperationSummary, resume: string): PendingRow {
  const { id, kind, key, state, dateBegun, dateChanged, busy, command } = operation;
  return {
    id,
    operation: kind,
    outcome: state === 'open' ? 'unknown' : 'not printed yet',
    running: busy,
    command: typed(command),
    idempotencyKey: key,
    dateBegun,
    dateChanged,
    resume,
  };
}

/** What the service of a data directory has left, and no operation of the journal stands for. */
async function leftByService(session: Session, journal: Journal): Promise<readonly ServiceRow[]> {
  const { recovery } = await session.service();
  const keys = new Set(journal.pending().map(({ key }) => key));
  const left = (await recovery?.unfinished()) ?? [];
  const resume = agreedLine(session.settings, 'pending', 'resume');
  return left
    .filter(({ idempotencyKey }) => idempotencyKey === null || !keys.has(idempotencyKey))
    .map(({ operation, ...work }) => ({
      ...work,
      operation: `service ${operation}`,
      outcome: 'unknown',
      resume,
    }));
}

/** Batches that are set up and not executed, but for those that somebody has begun to execute. */
async function waitingBatches(session: Session, begun: ReadonlySet<string>): Promise<readonly WaitingRow[]> {
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
    if (!isNotOffered(items)) session.output.warn(`Waiting batches could not be listed. ${items.message}`);
    return [];
  }
  return items
    .filter(({ id }) => !begun.has(id))
    .map(({ id, totals, dateCreated }) => ({
      ...{ id, operation: 'batch', outcome: 'waits for approval', running: false, totals },
      ...{ dateBegun: dateCreated, resume: commandLine(session.settings, 'batch', 'execute', id) },
    }));
}

async function list(session: Session, journal: Journal): Promise<void> {
  const pending = journal.pending();
  const own = pending.map((operation) => describe(operation, resumeLine(session, operation)));
  const left = await leftByService(session, journal);
  const begun = [
    ...left.map(({ id }) => id),
    ...pending.flatMap(({ notes }) => batchStages(notes).flatMap(({ batchId }) => batchId ?? [])),
  ];
  const rows = [...own, ...left, ...(await waitingBatches(session, new Set(begun)))];
  const { symbol } = await session.service();
  const nowMs = session.context.clock.nowMs();
  session.output.result(rows, (style) => viewPending(rows, symbol, nowMs, style));
}

/** Pause between two looks at what another process is at. */
const POLL_MS = 500;

/** The same, when nobody is at any of it; what was left by a process that died is free when its lease has run out. */
async function freeOfService(session: Session, journal: Journal): Promise<readonly ServiceRow[]> {
  const { clock, sleep } = session.context;
  const endMs = clock.nowMs() + session.settings.waitSeconds.value * 1_000;
  for (;;) {
    const left = await leftByService(session, journal);
    if (!left.some(({ running }) => running)) return left;
    if (clock.nowMs() >= endMs)
      throw new FlywheelError('ERR_TIMEOUT', 'Another process is still at what the service has left.', {
        hint: 'Run the command again to wait on; it does nothing twice.',
      });
    session.output.progress.show('waiting for another process …');
    await sleep(POLL_MS);
  }
}

/** Brings to its end what the service has left. @returns how much there was */
async function finishForService(session: Session, journal: Journal): Promise<number> {
  const { recovery } = await session.service();
  const before = await freeOfService(session, journal);
  if (recovery === null || before.length === 0) return 0;
  session.output.progress.show('finishing the unfinished work of the service …');
  await recovery.finish({
    signal: session.context.signal,
    onProblem: (what, error) => {
      const reason = error instanceof FlywheelError ? error.message : 'internal error.';
      session.output.warn(`Not finished yet: ${what}. ${reason}`);
    },
  });
  session.output.progress.clear();
  const left = new Set((await recovery.unfinished()).map(({ id }) => id));
  const done = before.filter(({ id }) => !left.has(id)).length;
  session.output.tell(`The service finished ${done} of ${before.length} unfinished requests.`);
  return before.length;
}

/** Carries on with one. @throws `ERR_INPUT_INVALID` where there is nothing to carry on */
async function resumeOne(
  session: Session,
  journal: Journal,
  id: string,
  keypair: string | undefined,
): Promise<void> {
  const resumed = await resumeOperation(session, journal, id, keypair);
  if (resumed !== 'resumed') throw resumed === 'not there' ? notThere(session, id) : toldBefore(id);
}

/** Carries on with each; the first error of several is thrown when all have been tried. @returns how many there were */
async function resumeAll(session: Session, journal: Journal, keypair: string | undefined): Promise<number> {
  const ids = journal.pending().map(({ id }) => id);
  let failure: unknown;
  for (const id of ids) {
    // What an earlier one has settled on its way is pending no more.
    if (!journal.pending().some((operation) => operation.id === id)) continue;
    try {
      if ((await resumeOperation(session, journal, id, keypair)) !== 'resumed')
        session.output.tell(`Another process finished operation ${id} and printed its outcome.`);
    } catch (error) {
      if (ids.length === 1) throw error;
      failure ??= error;
      session.output.warn(`${id}: ${error instanceof FlywheelError ? error.message : 'internal error.'}`);
    }
  }
  if (failure !== undefined) throw failure;
  return ids.length;
}

/** Of what was typed in the place of an id. */
const MAX_SHOWN = 40;

const notThere = ({ settings }: Session, id: string): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `No operation ${safeLine(id.slice(0, MAX_SHOWN))}.`, {
    hint: `List pending operations: \`${commandLine(settings, 'pending')}\``,
  });

const toldBefore = (id: string): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `Operation ${id} is already finished.`, {
    hint: 'Run the original command again to see its stored result.',
  });

async function forget(session: Session, journal: Journal, id: string): Promise<void> {
  const found = journal.pending().find((operation) => operation.id === id);
  if (found === undefined) {
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `No operation ${JSON.stringify(id.slice(0, 40))} is pending.`,
      {
        hint: `List pending operations: \`${commandLine(session.settings, 'pending')}\``,
      },
    );
  }
  const line = typed(found.command);
  await requireConsent(
    session,
    `Forget \`${line}\`, started ${found.dateBegun}? It may have been sent. Running it again may do it twice.`,
    { declined: 'Declined. Nothing was forgotten.' },
  );
  const entry = await takeOperation(session, journal, id);
  if (entry === undefined) throw notThere(session, id);
  if (isOver(entry.state)) entry.markPrinted();
  else if (await giveUp(entry)) {
    entry.markPrinted();
    session.output.tell(
      'Requests without an answer count as failed. Add --rest to the same command: it looks them up and sends the others.',
    );
  } else if (entry.hasLanded) throw await keptFor(session, entry);
  else entry.remove();
  session.output.result({ id, forgotten: true }, (style) => [style.good(`Forgot ${id}.`)]);
}

/**
 * Gives up what has no answer: what has one is kept, since nobody else knows what of the file has landed.
 * @returns false where all of it can be forgotten, or a batch is set up.
 */
async function giveUp(entry: Entry): Promise<boolean> {
  if (entry.kind === 'batch') return giveUpRest(entry);
  if (!entry.hasAnswers) return false;
  giveUpBurns(entry, (JSON.parse(entry.body() ?? '') as BurnBatchBody).burns);
  return true;
}

/** A batch of it is under way, and ends by itself. */
async function keptFor(session: Session, entry: Entry): Promise<FlywheelError> {
  entry.release();
  return new FlywheelError(
    'ERR_INPUT_INVALID',
    `Part of operation ${entry.id} has landed and its batch is set up, so it cannot be forgotten.`,
    { hint: `Resume it: ${resumeLine(session, entry)}` },
  );
}

async function run(
  session: Session,
  [action = 'list', id]: ArgsOf<typeof configure>,
  { keypair }: OptionsOf<typeof configure>,
): Promise<void> {
  // What the journal has is told without the service, too.
  await soon(locate(session)).catch(() => null);
  const journal = await (await session.service()).journal();
  if (action === 'resume' && id !== undefined) {
    return resumeOne(session, journal, id, keypair);
  }
  if (action === 'resume') {
    const finished = await finishForService(session, journal);
    const resumed = await resumeAll(session, journal, keypair);
    if (finished + resumed === 0) session.output.tell('No pending operations.');
    return;
  }
  if (action === 'forget') {
    if (id === undefined) throw new FlywheelError('ERR_USAGE', '`flywheel pending forget` needs an id.');
    return forget(session, journal, id);
  }
  if (id !== undefined) throw new FlywheelError('ERR_USAGE', '`flywheel pending list` takes no id.');
  return list(session, journal);
}

export const commands = {
  pending: defineCommand({
    configure,
    run,
    details: [
      'An operation is pending until its outcome is known and printed.',
      'Resuming does nothing twice: it looks up what was sent and sends only the rest.',
      '`forget` drops requests without an answer. Answered ones are kept; the same command with --rest sends the others.',
      'Batches that wait for approval are listed too, with their amounts and the command that approves and executes them.',
      'With the embedded engine, unfinished requests of the service are listed too, and `resume` without an id finishes them.',
    ],
    uses: ['service', 'request', 'chain', 'approval'],
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
