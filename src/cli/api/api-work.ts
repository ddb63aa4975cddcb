/** A request that was put together by hand as an operation: under one key, however often it is sent, and printed as it was answered. */
import type { RawAnswer, RawRequest } from '../../contract/raw-api.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { confirmSpending } from '../operation/confirm-spending.js';
import type { Work } from '../operation/run-operation.js';
import { printableLine } from '../output/safe-text.js';

/** How an answer is shown. */
export interface Showing {
  /** Status and headers above the body. */
  readonly withHeaders: boolean;
}

/** Prints an answer as it came; a terminal gets nothing that it would obey. */
export function showAnswer(
  { output, context }: Session,
  { status, headers, text }: RawAnswer,
  { withHeaders }: Showing,
): void {
  output.progress.clear();
  const head = withHeaders
    ? [`HTTP/1.1 ${status}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', '']
    : [];
  const all = head.join('\n') + text;
  const isTerminal = context.io.stdout.isTTY;
  const shown = isTerminal ? all.split(/\r?\n/).map(printableLine).join('\n') : all;
  output.text(isTerminal && !shown.endsWith('\n') ? `${shown}\n` : shown);
}

/** Sends a request once by the rules of all others. What is answered instead of success is printed too, before it is thrown. */
export async function sendRequest(
  session: Session,
  request: RawRequest,
  showing: Showing,
  idempotencyKey?: string,
): Promise<RawAnswer> {
  const opened = await session.service();
  const api = await opened.rawApi();
  let last: RawAnswer | undefined;
  try {
    return await api.send(request, {
      credential: opened.credential,
      signal: session.context.signal,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      onAnswer: (answer) => {
        last = answer;
      },
    });
  } catch (error) {
    if (last !== undefined && isFlywheelError(error) && error.status === last.status)
      showAnswer(session, last, showing);
    throw error;
  } finally {
    await api.close();
  }
}

const ANSWER = 'api';

/** The work of a request that takes an idempotency key. */
export const apiWork = (session: Session, request: RawRequest, showing: Showing): Work<RawAnswer> => ({
  perform: async (entry) => {
    const stored = entry.answer(ANSWER) as RawAnswer | undefined;
    if (stored !== undefined) return { result: stored };
    const opened = await session.service();
    if (entry.isNew) await confirmSpending(session, opened, `Send POST ${request.path}`);
    session.output.tell(`Idempotency key: ${entry.key}`);
    const result = await sendRequest(session, request, showing, entry.key);
    return { result, verdict: { state: 'done', landed: [], answers: { [ANSWER]: result } } };
  },
  present: (result) => {
    showAnswer(session, result, showing);
    return undefined;
  },
  summary: ({ status }) => `POST ${request.path} was answered ${status}.`,
});
