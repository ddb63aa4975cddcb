/** Sends a signed transaction until it is known what became of it, on whichever chain. */
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { base58Encode } from '../values/base58.js';
import type { Clock } from '../values/time.js';
import type { Chain, ChainSender, Rejection, SendOutcome, Signature, Trace } from './chain.js';
import { isSigned } from './transaction/sign.js';
import { decodeTransaction } from './transaction/wire.js';

/** Time between two sendings. */
const RESEND_MS = 2_000;

/** What sending takes from outside. */
interface SenderDeps {
  readonly clock: Clock;
  /** @throws `ERR_INTERRUPTED` */
  readonly sleep: (ms: number) => Promise<void>;
}

/** @throws `ERR_INVALID_REQUEST` unless every signature is there and holds: others could never land. */
function signatureOf(wire: Uint8Array): Signature {
  const transaction = decodeTransaction(wire);
  const [first] = transaction.signatures;
  if (first === undefined || !isSigned(transaction))
    throw new FlywheelError('ERR_INVALID_REQUEST', 'A signature of the transaction is missing or wrong.');
  return base58Encode(first);
}

const outcomeOf = (trace: Trace | undefined, rejection: Rejection | null): SendOutcome | null => {
  if (trace?.kind === 'never') return { kind: 'expired', rejection };
  if (trace?.kind !== 'landed') return null;
  return { kind: trace.record.error === null ? 'landed' : 'failed', record: trace.record };
};

/**
 * A sender to a chain. What is refused is sent again as well: who signed it may have sent it too, so that only the chain's own
 * trace says what became of it.
 */
export const createSender = (
  chain: Pick<Chain, 'submit' | 'trace'>,
  { clock, sleep }: SenderDeps,
): ChainSender => ({
  async submitAndConfirm(wire, { lastValidBlockHeight, deadlineMs }) {
    const sought = { signature: signatureOf(wire), lastValidBlockHeight };
    let rejection: Rejection | null = null;
    let problem: FlywheelError | null = null;
    /** A chain that is out of reach for a while has not said anything. */
    const attempt = async (work: () => Promise<SendOutcome | null>): Promise<SendOutcome | null> => {
      try {
        return await work();
      } catch (error) {
        if (!isFlywheelError(error) || error.code === 'ERR_INTERRUPTED') throw error;
        problem = error;
        return null;
      }
    };
    for (;;) {
      await attempt(async () => {
        rejection = (await chain.submit([wire], [true]))[0] ?? null;
        return null;
      });
      const end = await attempt(async () => outcomeOf((await chain.trace([sought]))[0], rejection));
      if (end !== null) return end;
      if (clock.nowMs() + RESEND_MS >= deadlineMs) return { kind: 'unknown', rejection, problem };
      await sleep(RESEND_MS);
    }
  },
});
