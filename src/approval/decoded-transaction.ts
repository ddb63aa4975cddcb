/** What is known of one transaction of a batch once it is read. */

import { describeInstruction, type Operation } from '../actions/registry.js';
import { vaultMessageInstructions } from '../chain/squads/instructions/vault-message.js';
import type { InnerMessage } from '../chain/squads/layouts/message.js';
import type { Address } from '../values/address.js';

/** One transaction of a batch, decoded. */
export interface DecodedTransaction {
  /** Place in the batch, from 1. */
  readonly number: number;
  readonly address: Address;
  readonly operations: readonly Operation[];
  /** As it is stored, with the rights that it gives to each account. */
  readonly message: InnerMessage;
  /** Keys that the message marks as signers; normally the vault alone. */
  readonly signers: readonly Address[];
  /** Further signers that the program itself would provide; normally none. */
  readonly ephemeralSigners: number;
  /** Why the content cannot be told, or `null`. */
  readonly problem: string | null;
}

/** Decodes one transaction of a batch; an unclear content becomes its `problem`. */
export function decodedTransaction(
  stored: Pick<DecodedTransaction, 'number' | 'address' | 'message' | 'ephemeralSigners'>,
): DecodedTransaction {
  const { message } = stored;
  const instructions = vaultMessageInstructions(message);
  const common = { ...stored, signers: message.keys.slice(0, message.signers) };
  if (instructions !== undefined)
    return { ...common, operations: instructions.map(describeInstruction), problem: null };
  const problem =
    message.lookups.length > 0 ? 'its accounts come from a lookup table' : 'its message is malformed';
  return { ...common, operations: [], problem };
}
