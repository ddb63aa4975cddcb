/** What is known of one transaction of a batch once it is read. */

import type { Operation } from '../actions/registry.js';
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
