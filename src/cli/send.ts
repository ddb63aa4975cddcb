/** What goes along with a call of the service, and what its reply tells beside its value. */
import {
  type BatchCost,
  type Call,
  costLamports,
  type ElementOutcome,
  type Reply,
  type Steps,
  type Waiting,
} from '../contract/call.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import type { Session } from './command.js';
import type { OpenedService } from './context.js';
import { STATUS_WORDS, solText } from './views/unit.js';

/** What goes along with one request. */
export function callWith(
  session: Session,
  opened: OpenedService,
  idempotencyKey?: string,
  onElement?: (outcome: ElementOutcome) => void,
): Call {
  session.output.progress.wait(opened.kind === 'embedded' ? 'working …' : 'waiting for the service …');
  let steps: Steps = { done: 0, total: 0 };
  return {
    credential: opened.credential,
    signal: session.context.signal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    // Of many elements another line says how far they have come.
    ...(onElement === undefined
      ? {
          onSteps: (now) => {
            // A step of one transaction is over with it.
            if (now.total > 1 && steps.total !== now.total)
              session.output.progress.measure(() => ({ noun: 'transaction', failed: 0, ...steps }));
            steps = now;
          },
          onWaiting: (waiting) => {
            if (steps.total <= 1) session.output.progress.show(waitingText(waiting));
          },
        }
      : { onElement }),
  };
}

/** What is waited for, on one line. */
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

/** What a batch has cost, and who paid. */
function costSentence(cost: BatchCost): string {
  const { operatorLamports, vaultLamports } = cost;
  return `Cost of the batch: ${solText(costLamports(cost))} (operator ${solText(operatorLamports)}, vault ${solText(vaultLamports)}).`;
}

/** Says on stderr what the reply tells beside its value. */
export function noteReply(
  { output }: Session,
  { meta }: Reply<unknown>,
  { isLast = true }: { readonly isLast?: boolean } = {},
): void {
  // Of several steps the last one tells what all have cost.
  if (isLast && meta.cost !== undefined) output.notice(costSentence(meta.cost));
  if (meta.requestId !== undefined) output.detail(`request id: ${meta.requestId}`);
}

/** Does the service not know the operation at all? */
export const isNotOffered = (error: unknown): boolean =>
  isFlywheelError(error, 'ERR_NOT_FOUND') || isFlywheelError(error, 'ERR_METHOD_NOT_ALLOWED');

/** A service need not offer what it is asked for here; a dry run needs neither a key nor a service that answers. */
export async function canBeDoneWithout(
  { context, isDryRun = false, service }: Session,
  error: unknown,
): Promise<boolean> {
  if (context.signal.aborted) return false;
  if (!isDryRun || isNotOffered(error)) return isNotOffered(error);
  return !isFlywheelError(error, 'ERR_UNAUTHORIZED') || (await service()).credential === null;
}

/** How long what is known already waits for another word of its service. */
const PATIENCE_MS = 5_000;

/** What is said soon; else `null`. */
export const soon = <Value>(said: Promise<Value>): Promise<Value | null> =>
  Promise.race([
    said,
    new Promise<null>((resolve) => {
      setTimeout(() => resolve(null), PATIENCE_MS).unref();
    }),
  ]);
