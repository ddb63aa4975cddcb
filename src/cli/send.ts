/** The context of a service call (credential, signal, progress), and the notices about its reply. */
import {
  type BatchCost,
  type Call,
  costLamports,
  type ElementOutcome,
  type Reply,
  type Steps,
  type Waiting,
} from '../contract/call.js';
import { isFlywheelError, wrapUnknown } from '../errors/flywheel-error.js';
import type { Session } from './command.js';
import type { OpenedService } from './context.js';
import { STATUS_WORDS, solText } from './views/unit.js';

export function callWith(
  session: Session,
  opened: OpenedService,
  idempotencyKey?: string,
  onElement?: (outcome: ElementOutcome) => void,
): Call {
  session.output.progress.wait('working …');
  let steps: Steps = { done: 0, total: 0 };
  return {
    credential: opened.credential,
    signal: session.context.signal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    // With onElement the caller shows the progress.
    ...(onElement === undefined
      ? {
          onSteps: (now) => {
            const isFirst = now.total > 1 && steps.total !== now.total;
            steps = now;
            if (isFirst)
              session.output.progress.measure(() => ({ noun: 'transaction', failed: 0, ...steps }));
          },
          onWaiting: (waiting) => {
            if (steps.total <= 1) session.output.progress.show(waitingText(waiting));
          },
        }
      : { onElement }),
  };
}

function waitingText(waiting: Waiting): string {
  if ('status' in waiting) {
    const status = waiting.status === null ? '' : `; batch: ${STATUS_WORDS[waiting.status]}`;
    return `the service is working on it${status} …`;
  }
  const { transactions, signature, slot, isRun } = waiting;
  const more = transactions > 1 ? ` and ${transactions - 1} more` : '';
  const state = isRun === true ? 'executed, waiting for confirmation' : 'sent, waiting for confirmation';
  return `${state}${slot === undefined ? '' : ` (slot ${slot})`}: ${signature}${more} …`;
}

function costSentence(cost: BatchCost, isOpen: boolean): string {
  const { operatorLamports, vaultLamports } = cost;
  const who = `operator ${solText(operatorLamports)}, vault ${solText(vaultLamports)}`;
  const rent = isOpen
    ? 'including rent that comes back when the batch is closed'
    : 'without the rent that came back';
  return `Cost of the batch${isOpen ? ' so far' : ''}: ${solText(costLamports(cost))} (${who}), ${rent}.`;
}

export function noteReply(
  { output }: Session,
  { meta }: Reply<unknown>,
  { isLast = true, isOpen = false }: { readonly isLast?: boolean; readonly isOpen?: boolean } = {},
): void {
  // The cost in the last reply covers all steps. It is 0 while the first transaction is on its way.
  if (isLast && meta.cost !== undefined && costLamports(meta.cost) > 0n)
    output.notice(costSentence(meta.cost, isOpen));
  if (meta.requestId !== undefined) output.detail(`request id: ${meta.requestId}`);
}

/** Is the operation missing in the service (404, 405)? */
export const isNotOffered = (error: unknown): boolean =>
  isFlywheelError(error, 'ERR_NOT_FOUND') || isFlywheelError(error, 'ERR_METHOD_NOT_ALLOWED');

/**
 * Also a 404 page without an API error, as proxies and frameworks give it. A proxy that has lost its service answers the same, so
 * the page counts only while an operation of the specification is answered.
 */
export async function isUnoffered(session: Session, error: unknown): Promise<boolean> {
  if (isNotOffered(error)) return true;
  const isPage = isFlywheelError(error, 'ERR_RESPONSE_INVALID') && [404, 405].includes(error.status ?? 0);
  if (!isPage) return false;
  const opened = await session.service();
  return opened.service.currentBatch(callWith(session, opened)).then(
    () => true,
    () => false,
  );
}

/** Optional operations may be missing. A dry run also accepts every other error, except a 401 for a configured key. */
export async function canBeDoneWithout(session: Session, error: unknown): Promise<boolean> {
  const { context, isDryRun = false, service } = session;
  if (context.signal.aborted) return false;
  if (!isDryRun || isNotOffered(error)) return isUnoffered(session, error);
  return !isFlywheelError(error, 'ERR_UNAUTHORIZED') || (await service()).credential === null;
}

/** Time limit of a request that only adds information. */
const SOON_MS = 5_000;

/** @returns `null` after the time limit */
export const soon = <Value>(said: Promise<Value>): Promise<Value | null> =>
  Promise.race([
    said,
    new Promise<null>((resolve) => {
      setTimeout(() => resolve(null), SOON_MS).unref();
    }),
  ]);

/** A dry run works without a service: a warning says what was not checked, and why. */
export async function outlookOf(
  session: Session,
): Promise<Pick<OpenedService, 'foresight' | 'credential' | 'symbol'>> {
  let reason = 'the service has not been asked.';
  const opened = await session.service().catch((error: unknown) => {
    reason = wrapUnknown(error).message;
    return { foresight: null, credential: null, symbol: null };
  });
  if (opened.foresight === null)
    session.output.warn(`Scopes, types, caps and balances were not checked: ${reason}`);
  return opened;
}
