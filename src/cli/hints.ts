/** Lines to paste: hints with the flags of this run, and what approves a waiting batch. */
import { existsSync } from 'node:fs';
import type { Settings } from '../compose/settings.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { apiKeyFile, ownerFile } from '../files/directories.js';
import { ownBatch } from './batch/batch-stages.js';
import type { Session } from './command.js';
import { canAsk } from './consent.js';
import { agreedLine, commandLine, runFlags } from './operation/resume-line.js';
import { callWith, soon } from './send.js';
import { shellLine } from './shell-line.js';

const COMMAND = /`flywheel ([^`]+)`/g;

const HIDDEN = '/***';

/** Adds the flags of this run to each command in the hint. Values without a hint are returned unchanged. */
export function withPlace(thrown: unknown, settings: Settings): unknown {
  if (!(thrown instanceof FlywheelError) || thrown.hint === undefined) return thrown;
  const hint = thrown.hint.replaceAll(COMMAND, (line: string, words: string) => {
    // It names a place of its own.
    if (words.includes(' --profile ')) return line;
    const flags = runFlags(settings, words.split(' ')).map(shellLine);
    const missing = flags.filter((text) => !words.includes(text));
    return `\`${['flywheel', words, ...missing].join(' ')}\``;
  });
  const way = hint.includes(HIDDEN)
    ? 'Put the key back in place of ***, or leave out --rpc-url and set FLYWHEEL_RPC_URL. '
    : '';
  return thrown.with({ hint: `${way}${hint}` });
}

/** The service does not tell a revoked key from an unknown one; the data directory does. */
export async function ofRevokedKey(thrown: unknown, session: Session): Promise<unknown> {
  if (!isFlywheelError(thrown, 'ERR_UNAUTHORIZED') || session.settings.apiUrl.value !== null) return thrown;
  const keys = await session.local().then(
    (local) => local.listKeys(),
    () => [],
  );
  const own = keys.find(({ isInUse }) => isInUse);
  const end = own?.dateRevoked ?? own?.dateExpires;
  if (own === undefined || end == null) return thrown;
  const how = own.dateRevoked === null ? 'expired' : 'was revoked';
  return new FlywheelError(
    'ERR_UNAUTHORIZED',
    `The API key of this machine, ${own.name ?? own.id}, ${how} on ${end}. Nothing was sent.`,
    {
      ...thrown.options,
      hint: newKeyHint(session.settings),
    },
  );
}

/** A command that replaces the key of this machine; its file stays private. */
export function newKeyHint(settings: Settings): string {
  const create = commandLine(settings, 'keys', 'create', '--json');
  const file = apiKeyFile(settings.dataDir.value, settings.project.value);
  return settings.apiKey.source !== 'environment' && existsSync(file)
    ? `Store another one: \`${create} | jq -r .key > ${shellLine([file])}\``
    : `Create another one and set FLYWHEEL_API_KEY to it: \`${create}\``;
}

/** `--keypair` with the owner's file: of this run, of the settings, or of the embedded project. Empty if none is known. */
function ownerFlags({ apiUrl, dataDir, keypair }: Settings, typed?: string | null): readonly string[] {
  const own = apiUrl.value === null ? ownerFile(dataDir.value) : null;
  const set = typeof keypair.value === 'string' && keypair.value !== '-' ? keypair.value : null;
  const file = typed ?? set ?? (own !== null && existsSync(own) ? own : null);
  return file === null ? [] : ['--keypair', file];
}

/**
 * The command that approves and executes a batch that waits for approval, or only approves it. Without a terminal it needs `--expect`
 * and `--yes`; for a batch of this machine the digest is that of the own file.
 */
export async function nextCommand(
  session: Session,
  batchId: string,
  { typed, verb = 'execute', digest }: NextTerms = {},
): Promise<string> {
  const { settings } = session;
  const owner = ownerFlags(settings, typed);
  const [word = '', ...signs] = owner.length === 0 ? ['approve', '--wallet'] : [verb, ...owner];
  const isAsked = owner.length === 0 || canAsk(session);
  const expected = digest ?? (isAsked ? undefined : await ownDigest(session, batchId));
  const expect = expected === undefined ? [] : ['--expect', expected];
  return commandLine(settings, 'batch', word, batchId, ...signs, ...expect, ...(isAsked ? [] : ['--yes']));
}

interface NextTerms {
  /** File of the owner's keypair. */
  readonly typed?: string | null | undefined;
  readonly verb?: 'approve' | 'execute';
  /** What the batch was compared with. */
  readonly digest?: string | undefined;
}

async function ownDigest(session: Session, batchId: string): Promise<string> {
  const own = ownBatch((await (await session.service()).journal()).ofBatch(batchId), batchId);
  // Shapes load slowly, and most commands print no such line.
  const { planPipelines } = await import('./input/pipelines-plan.js');
  return own ? planPipelines(own.part.pipelines).digest : 'FILE';
}

/** Without a terminal it needs `--yes`. */
export function cancelLine(
  session: Pick<Session, 'settings' | 'context'>,
  batchId: string,
  owner: readonly string[] = ownerFlags(session.settings),
): string {
  const yes = session.settings.yes || !canAsk(session);
  return `\`${agreedLine({ ...session.settings, yes }, 'batch', 'cancel', batchId, ...owner)}\``;
}

const lostOrUnread = (error: unknown) =>
  isFlywheelError(error, 'ERR_BATCH_NOT_FOUND') ? { value: null } : null;

/** A batch of another machine may have failed meanwhile; then only a cancellation leads on. */
export async function executeOrCancel(session: Session, batchId: string): Promise<string> {
  const opened = await session.service();
  const asked = opened.service.getBatch({ batchId }, callWith(session, opened));
  const batch = (await soon(asked.catch(lostOrUnread)))?.value;
  if (batch === null)
    return 'The service does not know that batch any more, as after a restore. Run the file of the batch again: the command says what the chain has of it.';
  const cancel = cancelLine(session, batchId);
  if (batch?.status === 'AVAILABLE_TO_QUEUE' && batch.dateCancelled === undefined)
    return `The set-up of the batch is not finished. Run its file again, or see \`flywheel pending\`. Or cancel it: ${cancel}`;
  return batch?.status === 'FAILED'
    ? `The batch failed, and executing it again sends nothing. Cancel it: ${cancel}. Then send its file again.`
    : `Approve and execute the batch: \`${await nextCommand(session, batchId)}\`. Or cancel it: ${cancel}`;
}
