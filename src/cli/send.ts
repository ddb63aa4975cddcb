/**
 * Sends one request that changes something: its key is on disk before the first try and goes away when the outcome is
 * known (contract, section 2.5).
 */
import type { BatchCost, Call, ElementOutcome, Reply } from '../contract/call.js';
import { ERRORS } from '../errors/codes.js';
import type { FlywheelError } from '../errors/flywheel-error.js';
import { formatTokenAmount } from '../values/token-amount.js';
import type { Session } from './command.js';
import type { JournalEntry, JournalRequest, OpenedService } from './context.js';
import { asFlywheelError } from './interruption.js';
import { resumeCommand } from './resume-command.js';

/** A key that lasts as long as one logical request. */
export type RequestKey = Omit<JournalEntry, 'settle' | 'leave'> & Pick<JournalEntry, 'settle' | 'leave'>;

/** The key of a request: the one given, else the journal's. */
export function beginRequest(
  session: Session,
  opened: OpenedService,
  request: JournalRequest,
  given: string | undefined,
): RequestKey {
  if (given !== undefined)
    return { key: given, resumed: false, settle: () => undefined, leave: () => undefined };
  const entry = opened.journal.begin(request);
  session.output.detail(`idempotency key: ${entry.key}`);
  if (entry.resumed)
    session.output.notice(
      'The outcome of an earlier try of this command is not known; going on with its idempotency key.',
    );
  return entry;
}

/** Is it certain what became of the request? A refusal is; silence and internal errors are not. */
export function isOutcomeKnown(error: FlywheelError): boolean {
  const { code, status } = error;
  if (code === 'ERR_DUPLICATE_IDEMPOTENCY_KEY' || code === 'ERR_BATCH_IN_PROGRESS') return false;
  if (ERRORS[code].status === null)
    return code === 'ERR_INPUT_INVALID' || code === 'ERR_USAGE' || code === 'ERR_LOCAL_NOT_FOUND';
  return status !== undefined && status >= 400 && status < 500 && status !== 408;
}

/** An error with the key of its request and, where the outcome is open, the command that resumes. */
export function withKey(session: Session, thrown: unknown, key: string): FlywheelError {
  const error = asFlywheelError(thrown, session.context.signal).with({ idempotencyKey: key });
  if (error.code !== 'ERR_OUTCOME_UNKNOWN' && error.code !== 'ERR_INTERRUPTED') return error;
  return error.with({ hint: `This resumes safely: ${resumeCommand(session.commandLine, key)}` });
}

/** What goes along with one request. */
export function callWith(
  session: Session,
  opened: OpenedService,
  idempotencyKey?: string,
  onElement?: (outcome: ElementOutcome) => void,
): Call {
  return {
    credential: opened.credential,
    signal: session.context.signal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(onElement === undefined ? {} : { onElement }),
  };
}

const SOL_DECIMALS = 9;

/** What a batch has cost so far, and what of it came back. */
function costSentence({ feeLamports, rentPaidLamports, rentReclaimedLamports }: BatchCost): string {
  const sol = (lamports: bigint): string => `${formatTokenAmount(lamports, SOL_DECIMALS)} SOL`;
  return `Cost so far: fees ${sol(feeLamports)}, rent ${sol(rentPaidLamports)} of which ${sol(rentReclaimedLamports)} came back.`;
}

/** Says on stderr what the reply tells beside its value. */
export function noteReply(session: Session, reply: Reply<unknown>): void {
  if (reply.meta.replayed)
    session.output.notice('Done before: this is the outcome of the first request with this key.');
  if (reply.meta.cost !== undefined) session.output.notice(costSentence(reply.meta.cost));
  if (reply.meta.requestId !== undefined) session.output.detail(`request id: ${reply.meta.requestId}`);
}

/**
 * One request under one key.
 * @throws what the service throws, with the key.
 */
export async function sendOnce<Value>(
  session: Session,
  request: JournalRequest & { readonly givenKey: string | undefined },
  send: (opened: OpenedService, call: Call) => Promise<Reply<Value>>,
): Promise<Reply<Value>> {
  const opened = await session.service();
  const key = beginRequest(session, opened, request, request.givenKey);
  try {
    const reply = await send(opened, callWith(session, opened, key.key));
    key.settle();
    noteReply(session, reply);
    return reply;
  } catch (thrown) {
    const error = withKey(session, thrown, key.key);
    if (isOutcomeKnown(error)) key.settle();
    else key.leave();
    throw error;
  }
}
