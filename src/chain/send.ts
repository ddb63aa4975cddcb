/** Sends a signed transaction to any chain until its outcome is known. */
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Clock } from '../values/time.js';
import type { Chain, Rejection, Trace, TransactionRecord } from './chain.js';
import { isSigned } from './transaction/sign.js';
import { decodeTransaction, signatureOf } from './transaction/wire.js';

const RESEND_MS = 2_000;

export type SendOutcome =
  | { readonly kind: 'landed' | 'failed'; readonly record: TransactionRecord }
  /** Proof that the transaction never lands. The last rejection gives the reason, if the chain stated one. */
  | { readonly kind: 'expired'; readonly rejection: Rejection | null }
  /** The deadline passed first: the transaction may have landed, or may still land. */
  | {
      readonly kind: 'unknown';
      readonly rejection: Rejection | null;
      readonly problem: FlywheelError | null;
    };

/**
 * Sends the same signed bytes until their outcome is known; the same bytes cannot land twice. Serves votes that were signed
 * elsewhere, where the signer may have sent the bytes too.
 *
 * @param terms - last valid block height of the blockhash, and the deadline in ms since the epoch by the sender's clock.
 * @throws `ERR_INVALID_REQUEST` for bytes that are not a fully signed transaction, `ERR_INTERRUPTED`.
 */
export type ChainSender = (
  wire: Uint8Array,
  terms: { readonly lastValidBlockHeight: bigint; readonly deadlineMs: number },
) => Promise<SendOutcome>;

const outcomeOf = (trace: Trace | undefined, rejection: Rejection | null): SendOutcome | null => {
  if (trace?.kind === 'never') return { kind: 'expired', rejection };
  if (trace?.kind !== 'landed') return null;
  return { kind: trace.record.error === null ? 'landed' : 'failed', record: trace.record };
};

/**
 * A sender for a chain. Rejected bytes are sent again too: the signer may have sent them, so only the trace decides the
 * outcome.
 * @param sleep - throws `ERR_INTERRUPTED`.
 */
export const createSender =
  (
    chain: Pick<Chain, 'submit' | 'trace'>,
    { clock, sleep }: { readonly clock: Clock; readonly sleep: (ms: number) => Promise<void> },
  ): ChainSender =>
  async (wire, { lastValidBlockHeight, deadlineMs }) => {
    const transaction = decodeTransaction(wire);
    // Else the bytes could never land.
    if (!isSigned(transaction))
      throw new FlywheelError('ERR_INVALID_REQUEST', 'A signature of the transaction is missing or wrong.');
    const signature = signatureOf(transaction);
    let rejection: Rejection | null = null;
    let problem: FlywheelError | null = null;
    /** An unreachable chain says nothing about the outcome. */
    const asked = async <Answer>(answer: Promise<readonly Answer[]>): Promise<Answer | undefined> => {
      try {
        return (await answer)[0];
      } catch (error) {
        if (!isFlywheelError(error) || error.code === 'ERR_INTERRUPTED') throw error;
        problem = error;
        return undefined;
      }
    };
    for (;;) {
      const answer = await asked(chain.submit([wire], [true]));
      if (answer !== undefined) rejection = answer;
      const trace = await asked(chain.trace([{ signature, lastValidBlockHeight }]));
      const end = outcomeOf(trace, rejection);
      if (end !== null) return end;
      if (clock.nowMs() + RESEND_MS >= deadlineMs) return { kind: 'unknown', rejection, problem };
      await sleep(RESEND_MS);
    }
  };
