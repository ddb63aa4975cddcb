/** Sends a signed transaction until it is known what became of it; over which chain, is decided by who brings the steps. */
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { base58Encode } from '../values/base58.js';
import type { Clock } from '../values/time.js';
import type { Rejection, SendOutcome, SendTerms, Signature, TransactionRecord } from './chain.js';
import { verifySignature } from './transaction/signer.js';
import { decodeTransaction } from './transaction/wire.js';

/** Whether a blockhash is still good, as of one state of the chain that cannot be taken back. */
export interface Validity {
  readonly isValid: boolean;
  readonly blockHeight: bigint;
  /** A look-up that has seen this slot has seen the state. */
  readonly slot: number;
}

/** What sending takes of a chain. */
export interface SendSteps {
  /** @returns why the chain did not take the bytes this time, or `null`. */
  send(wire: Uint8Array, deadlineMs: number): Promise<Rejection | null>;
  validity(blockhash: string, deadlineMs: number): Promise<Validity>;
  /**
   * @param minSlot - what is not found there had not landed by this slot.
   * @returns `processed`: a node has run it, and whether it stays is not settled.
   */
  lookUp(
    signature: Signature,
    minSlot: number,
    deadlineMs: number,
  ): Promise<TransactionRecord | 'processed' | null>;
  readonly clock: Clock;
  /** @throws `ERR_INTERRUPTED` */
  readonly sleep: (ms: number) => Promise<void>;
}

/** Time between two sendings. */
const RESEND_MS = 2_000;

/** What is sent, under its name on the chain. */
interface Signed {
  readonly wire: Uint8Array;
  readonly signature: Signature;
  readonly blockhash: string;
}

/** @throws `ERR_INVALID_REQUEST` unless every signature is there and holds: others could never land. */
function readSigned(wire: Uint8Array): Signed {
  const { signatures, message, messageBytes } = decodeTransaction(wire);
  const [first] = signatures;
  const areSigned =
    signatures.length === message.requiredSignatures &&
    signatures.every((signature, index) => {
      const signer = message.staticKeys[index];
      return signer !== undefined && verifySignature(signer, messageBytes, signature);
    });
  if (first === undefined || !areSigned)
    throw new FlywheelError('ERR_INVALID_REQUEST', 'A signature of the transaction is missing or wrong.');
  return { wire, signature: base58Encode(first), blockhash: base58Encode(message.blockhash) };
}

/** What is known so far of a transaction that is being sent. */
class Sending {
  readonly #steps: SendSteps;
  readonly #signed: Signed;
  readonly #terms: SendTerms;
  #rejection: Rejection | null = null;
  #problem: FlywheelError | null = null;
  #wasValid = false;

  constructor(steps: SendSteps, signed: Signed, terms: SendTerms) {
    this.#steps = steps;
    this.#signed = signed;
    this.#terms = terms;
  }

  async run(): Promise<SendOutcome> {
    const { clock, sleep } = this.#steps;
    const { deadlineMs } = this.#terms;
    for (;;) {
      const end = await this.#round();
      if (end !== null) return end;
      if (clock.nowMs() + RESEND_MS >= deadlineMs) return this.#unknown();
      await sleep(RESEND_MS);
    }
  }

  #unknown(): SendOutcome {
    return { kind: 'unknown', rejection: this.#rejection, problem: this.#problem };
  }

  /** One sending and one look; a chain that is out of reach for a while has not said anything. */
  async #round(): Promise<SendOutcome | null> {
    const { wire, signature } = this.#signed;
    const { deadlineMs } = this.#terms;
    await this.#attempt(async () => {
      this.#rejection = await this.#steps.send(wire, deadlineMs);
    });
    const end = await this.#attempt(
      async () => outcomeOf(await this.#steps.lookUp(signature, 0, deadlineMs)) ?? (await this.#expiry()),
    );
    return end ?? null;
  }

  /**
   * Has it proven never to land? A node that is behind does not know a young blockhash, so that one counts as too old only where
   * it was good before or the chain is above the height it was given for; and only a look-up *after* that, which has seen the
   * same state, finds all that landed until then.
   */
  async #expiry(): Promise<SendOutcome | null> {
    const { signature, blockhash } = this.#signed;
    const { lastValidBlockHeight, deadlineMs } = this.#terms;
    const { isValid, blockHeight, slot } = await this.#steps.validity(blockhash, deadlineMs);
    this.#wasValid ||= isValid;
    const isOver = lastValidBlockHeight === undefined ? this.#wasValid : blockHeight > lastValidBlockHeight;
    if (isValid || !isOver) return null;
    const found = await this.#steps.lookUp(signature, slot, deadlineMs);
    if (found === 'processed') return null;
    return outcomeOf(found) ?? { kind: 'expired', rejection: this.#rejection };
  }

  async #attempt<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
    try {
      const value = await work();
      return value;
    } catch (error) {
      if (!isFlywheelError(error) || error.code === 'ERR_INTERRUPTED') throw error;
      this.#problem = error;
      return undefined;
    }
  }
}

const outcomeOf = (found: TransactionRecord | 'processed' | null): SendOutcome | null =>
  found === null || found === 'processed'
    ? null
    : { kind: found.error === null ? 'landed' : 'failed', record: found };

/**
 * Sends, looks up, and sends again every two seconds, until the transaction has landed, has proven never to land, or the time is
 * over.
 * @throws `ERR_INVALID_REQUEST` for bytes that are no signed transaction, `ERR_INTERRUPTED`.
 */
export async function sendUntilKnown(
  steps: SendSteps,
  wire: Uint8Array,
  terms: SendTerms,
): Promise<SendOutcome> {
  return new Sending(steps, readSigned(wire), terms).run();
}
