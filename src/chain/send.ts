/** Sends a signed transaction to any chain until its outcome is known. */
import { type FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Clock } from '../values/time.js';
import type { Chain, Rejection, Trace } from './chain.js';
import { decodeTransaction, signatureOf } from './transaction/wire.js';

const RESEND_MS = 2_000;

/**
 * Sends the same signed bytes until their outcome is known; the same bytes cannot land twice. Serves votes that were signed
 * elsewhere, where the signer may have sent the bytes too.
 *
 * @param terms - last valid block height of the blockhash, and the deadline in ms since the epoch by the sender's clock.
 * @returns what became of them; *open* where the deadline passed first. `rejection` and `problem` are the chain's last reason
 * against them, and why it was out of reach.
 * @throws `ERR_INTERRUPTED`
 */
export type ChainSender = (
  wire: Uint8Array,
  terms: { readonly lastValidBlockHeight: bigint; readonly deadlineMs: number },
) => Promise<Trace & { readonly rejection: Rejection | null; readonly problem: FlywheelError | null }>;

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
    const signature = signatureOf(decodeTransaction(wire));
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
      const sought = { signature, lastValidBlockHeight, bytes: wire };
      const trace = (await asked(chain.trace([sought]))) ?? { kind: 'open' as const };
      const isLast = trace.kind !== 'open' || clock.nowMs() + RESEND_MS >= deadlineMs;
      if (isLast) return { ...trace, rejection, problem };
      await sleep(RESEND_MS);
    }
  };
