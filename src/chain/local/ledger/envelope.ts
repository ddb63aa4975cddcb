/** What the ledger has to know of a transaction before it runs: its name, its blockhash, and whether it is one at all. */
import type { ReadonlyBytes } from '../../../values/bytes.js';
import { decodeTransaction, MAX_TRANSACTION_BYTES } from '../../transaction/wire.js';

/** The outside of a transaction. */
export interface Envelope {
  readonly wire: ReadonlyBytes;
  /** The first signature, 64 bytes; empty when there is none. Not checked here. */
  readonly signature: ReadonlyBytes;
  readonly blockhash: ReadonlyBytes;
  /** Why the bytes are no transaction, or `null` if they are one. */
  readonly flaw: string | null;
}

const NOTHING = new Uint8Array(0);

const flawed = (wire: ReadonlyBytes, flaw: string): Envelope => ({
  wire,
  signature: NOTHING,
  blockhash: NOTHING,
  flaw,
});

/** Reads wire bytes; never throws. */
export function readEnvelope(wire: ReadonlyBytes): Envelope {
  if (wire.length > MAX_TRANSACTION_BYTES) {
    return flawed(
      wire,
      `A transaction has at most ${MAX_TRANSACTION_BYTES} bytes, this one has ${wire.length}.`,
    );
  }
  try {
    const { signatures, message } = decodeTransaction(wire);
    const [signature] = signatures;
    if (signature === undefined) return flawed(wire, 'The transaction has no signature.');
    return { wire, signature, blockhash: message.blockhash, flaw: null };
  } catch (error) {
    return flawed(wire, error instanceof Error ? error.message : String(error));
  }
}
