/** `flywheel pending`: operations whose outcome is not known, or has not been printed. */
import { Argument, type Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { type ArgsOf, defineCommand, type OptionsOf, type Session } from '../command.js';
import { requireConsent } from '../consent.js';
import { type Entry, isOver, type Journal, type OperationSummary } from '../journal/journal.js';
import { KEYPAIR_OPTION } from '../options/keypair.js';
import { shellLine } from '../shell-line.js';
import { type PendingRow, viewPending } from '../views/pending.js';

const configure = (command: Command) =>
  command
    .addArgument(new Argument('[action]', 'what to do (default: list)').choices(['list', 'resume', 'forget']))
    .argument('[id]', 'which operation; resume takes all without it')
    .addOption(KEYPAIR_OPTION);

/** What the list says of one; its key is what a support request would need. */
function describe(operation: OperationSummary, resume: string): PendingRow {
  const { id, kind, key, state, dateBegun, dateChanged, busy, command } = operation;
  return {
    id,
    operation: kind,
    outcome: state === 'open' ? 'unknown' : 'not printed yet',
    running: busy,
    command: shellLine(['flywheel', ...command]),
    idempotencyKey: key,
    dateBegun,
    dateChanged,
    resume,
  };
}

async function list(session: Session, journal: Journal): Promise<undefined> {
  const { resumeLine } = await import('../operation/resume-line.js');
  const rows = journal.pending().map((operation) => describe(operation, resumeLine(session, operation)));
  session.output.result(rows, (style) => viewPending(rows, style));
}

/** A batch that is being ended is ended first, so that nobody goes on with it. */
function inOrder(operations: readonly OperationSummary[]): readonly string[] {
  const isEnd = ({ kind }: OperationSummary): boolean => kind === 'cancel';
  const ordered = [...operations.filter(isEnd), ...operations.filter((operation) => !isEnd(operation))];
  return ordered.map(({ id }) => id);
}

/** Carries on with one, or with each; the first error of several is thrown when all have been tried. */
async function resume(
  session: Session,
  journal: Journal,
  id: string | undefined,
  keypair: string | undefined,
): Promise<undefined> {
  const [{ resumeOperation }, { takeOperation }] = await Promise.all([
    import('../operation/resume.js'),
    import('../operation/run-operation.js'),
  ]);
  const ids = id === undefined ? inOrder(journal.pending()) : [id];
  let failure: unknown;
  for (const one of ids) {
    // What an earlier one has settled on its way is pending no more.
    if (id === undefined && !journal.pending().some((operation) => operation.id === one)) continue;
    try {
      const entry = await takeOperation(session, journal, one);
      await resumeOperation(session, entry, keypair);
    } catch (error) {
      if (ids.length === 1) throw error;
      failure ??= error;
      session.output.warn(`${one}: ${error instanceof FlywheelError ? error.message : 'internal error.'}`);
    }
  }
  if (failure !== undefined) throw failure;
  if (ids.length === 0) session.output.tell('Nothing is pending.');
  return undefined;
}

async function forget(session: Session, journal: Journal, id: string): Promise<undefined> {
  const found = journal.pending().find((operation) => operation.id === id);
  if (found === undefined) {
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `No operation ${JSON.stringify(id.slice(0, 40))} is pending.`,
      {
        hint: '`flywheel pending` lists those there are.',
      },
    );
  }
  const line = shellLine(['flywheel', ...found.command]);
  await requireConsent(
    session,
    `Forget \`${line}\`, begun ${found.dateBegun}? It may have happened: asking for it again may do it twice.`,
    { declined: 'Declined; nothing was forgotten.' },
  );
  const { takeOperation } = await import('../operation/run-operation.js');
  const entry: Entry = await takeOperation(session, journal, id);
  if (isOver(entry.state)) entry.markPrinted();
  else if (entry.hasLanded) throw await keptFor(session, entry);
  else entry.remove();
  session.output.result({ id, forgotten: true }, (style) => [style.good(`Forgot ${id}.`)]);
  return undefined;
}

/** A rest that is under way: without its entry nobody would know any more what of its file has landed. */
async function keptFor(session: Session, entry: Entry): Promise<FlywheelError> {
  const { resumeLine } = await import('../operation/resume-line.js');
  entry.release();
  return new FlywheelError(
    'ERR_INPUT_INVALID',
    `Some of operation ${entry.id} has landed before, so it is not forgotten.`,
    { hint: `This resumes safely: ${resumeLine(session, entry)}` },
  );
}

async function run(
  session: Session,
  [action = 'list', id]: ArgsOf<typeof configure>,
  { keypair }: OptionsOf<typeof configure>,
): Promise<undefined> {
  const journal = await (await session.service()).journal();
  if (action === 'resume') return resume(session, journal, id, keypair);
  if (action === 'forget') {
    if (id === undefined) throw new FlywheelError('ERR_USAGE', '`flywheel pending forget` needs an id.');
    return forget(session, journal, id);
  }
  if (id !== undefined) throw new FlywheelError('ERR_USAGE', '`flywheel pending list` takes no id.');
  return list(session, journal);
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'An operation is pending from before its first request until its outcome is known and printed.',
    'Resuming does nothing twice: it learns what came of it, and does what is left.',
  ],
  output: [
    '[ { "id", "operation", "outcome": "unknown"|"not printed yet", "running", "command", "idempotencyKey",',
    '    "dateBegun", "dateChanged", "resume": command } ]',
    'resume: what the command itself prints; forget: { "id", "forgotten": true }',
  ],
  errors: ['ERR_INPUT_INVALID', 'ERR_DECLINED', 'ERR_OUTCOME_UNKNOWN', 'ERR_PARTIAL', 'ERR_BATCH_FAILED'],
  examples: ['flywheel pending', 'flywheel pending resume', 'flywheel pending forget 5f0c3c39'],
});
