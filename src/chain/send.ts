/** Sends a signed transaction until it is known what became of it, on whichever chain. */
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { base58Encode } from '../values/base58.js';
import type { Clock } from '../values/time.js';
import type { Chain, Rejection, Signature, Trace, TransactionRecord } from './chain.js';
import { isSigned } from './transaction/sign.js';
import { decodeTransaction } from './transaction/wire.js';

/** Time between two sendings. */
const RESEND_MS = 2_000;

/** What became of a transaction that was sent until it was known. */
export type SendOutcome =
  | { readonly kind: 'landed' | 'failed'; readonly record: TransactionRecord }
  /** It has proven never to land; the last refusal says why, where the chain stated one. */
  | { readonly kind: 'expired'; readonly rejection: Rejection | null }
  /** The time was over first: it may have landed, or land yet. */
  | {
      readonly kind: 'unknown';
      readonly rejection: Rejection | null;
      readonly problem: FlywheelError | null;
    };

/**
 * Sends the same signed bytes again and again until it is known what became of them; they cannot land twice. All that a voter needs
 * who has signed elsewhere, and may have sent them as well.
 *
 * @param terms - the last height of their blockhash, and until when they are sent, in ms since the epoch by the clock of the sender.
 * @throws `ERR_INVALID_REQUEST` for bytes that are no signed transaction, `ERR_INTERRUPTED`.
 */
export type ChainSender = (
  wire: Uint8Array,
  terms: { readonly lastValidBlockHeight: bigint; readonly deadlineMs: number },
) => Promise<SendOutcome>;

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
 * @param sleep - throws `ERR_INTERRUPTED`.
 */
export const createSender =
  (
    chain: Pick<Chain, 'submit' | 'trace'>,
    { clock, sleep }: { readonly clock: Clock; readonly sleep: (ms: number) => Promise<void> },
  ): ChainSender =>
  async (wire, { lastValidBlockHeight, deadlineMs }) => {
    const sought = { signature: signatureOf(wire), lastValidBlockHeight };
    let rejection: Rejection | null = null;
    let problem: FlywheelError | null = null;
    for (;;) {
      // A chain that is out of reach for a while has not said anything.
      try {
        [rejection = null] = await chain.submit([wire], [true]);
      } catch (error) {
        problem = requireFailure(error);
      }
      try {
        const end = outcomeOf((await chain.trace([sought]))[0], rejection);
        if (end !== null) return end;
      } catch (error) {
        problem = requireFailure(error);
      }
      if (clock.nowMs() + RESEND_MS >= deadlineMs) return { kind: 'unknown', rejection, problem };
      await sleep(RESEND_MS);
    }
  };

/** @throws what is no failure of a chain. */
function requireFailure(error: unknown): FlywheelError {
  if (isFlywheelError(error) && error.code !== 'ERR_INTERRUPTED') return error;
  throw error;
}
