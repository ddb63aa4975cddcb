/** The local chain as one that a signed transaction is sent to; what became of it is known as soon as it was taken. */
import type { Clock } from '../../values/time.js';
import type { Chain, ChainSender } from '../chain.js';
import { sendUntilKnown } from '../send.js';

/** What sending takes from outside. */
export interface LocalSenderDeps {
  readonly clock: Clock;
  /** @throws `ERR_INTERRUPTED` */
  readonly sleep: (ms: number) => Promise<void>;
}

/** A sender to the embedded ledger. */
export function createLocalSender(chain: Chain, { clock, sleep }: LocalSenderDeps): ChainSender {
  const steps = {
    clock,
    sleep,
    send: async (wire: Uint8Array) => (await chain.submit([wire]))[0] ?? null,
    lookUp: async (signature: string) => (await chain.lookUp([signature]))[0] ?? null,
    validity: async (blockhash: string) => ({
      isValid: await chain.isBlockhashValid(blockhash),
      blockHeight: await chain.blockHeight(),
      slot: 0,
    }),
  };
  return { submitAndConfirm: (wire, terms) => sendUntilKnown(steps, wire, terms) };
}
