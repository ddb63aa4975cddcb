/**
 * Waiting for what the service is at: init and execute may take longer than a request, and may be asked for ten times a minute
 * only, so that the batch is looked at until that is over, and they are asked for once more then.
 */
import type { BatchStatus } from '../contract/schemas/batch.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import type { Failed, PreparedCall, Sender } from './attempt.js';
import type { CallBudget } from './pacing.js';

/** Between two looks at the batch. */
const LOOK_MS = 2_000;
/** From a request until it is sent once more, whatever the batch says: its work may have stopped without an end. */
const MAX_BETWEEN_MS = 30_000;

/** What a look at the batch says. */
export interface BatchSeen {
  /** `null`: there is none yet. */
  readonly status: BatchStatus | null;
  /** The operation has come to its end, or has nothing to wait for. */
  readonly isOver: boolean;
}

/** Is the service at it, as it says itself or as it may be where it has not answered in time? */
export function isUnderWay({ error, meaning, late }: Failed): boolean {
  if (late === true) return true;
  if (meaning !== 'under-way') return false;
  return (
    isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY') || isFlywheelError(error, 'ERR_BATCH_IN_PROGRESS')
  );
}

/** Waits between the requests of one call. */
export class UnderWay {
  readonly #sender: Sender;
  readonly #call: Pick<PreparedCall, 'look' | 'onWaiting' | 'signal'>;
  readonly #budget: CallBudget;
  #waitedMs = 0;

  constructor(sender: Sender, call: PreparedCall, budget: CallBudget) {
    this.#sender = sender;
    this.#call = call;
    this.#budget = budget;
  }

  /** Is there something to look at? */
  get canLook(): boolean {
    return this.#call.look !== undefined;
  }

  /** Waits until it is worth asking once more. @returns false where all the time is over */
  async wait(): Promise<boolean> {
    const untilMs = this.#waitedMs + MAX_BETWEEN_MS;
    for (;;) {
      const leftMs = Math.min(this.#budget.leftMs, this.#sender.totalTimeoutMs - this.#waitedMs);
      if (leftMs <= LOOK_MS) return false;
      this.#sender.log.wait(LOOK_MS, 'under way');
      await this.#sender.sleep(LOOK_MS, this.#call.signal);
      this.#waitedMs += LOOK_MS;
      const seen = await this.#look();
      if (seen?.isOver === true || this.#waitedMs >= untilMs) return true;
    }
  }

  async #look(): Promise<BatchSeen | undefined> {
    const { look, onWaiting, signal } = this.#call;
    try {
      const seen = await look?.();
      if (seen !== undefined) onWaiting?.({ status: seen.status });
      return seen;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      // What cannot be looked at now may be at the next look.
      return undefined;
    }
  }
}
