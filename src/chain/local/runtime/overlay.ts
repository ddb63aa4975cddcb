/** Changes to accounts that lie over a source until they are committed or dropped. */
import type { Address } from '../../../values/address.js';
import type { AccountState } from '../../account.js';
import type { AccountSource } from '../vm/vm.js';

/** Reads through to the source, keeps what is written; dropping it is rolling back. */
export class Overlay implements AccountSource {
  readonly #changes = new Map<Address, AccountState | null>();

  constructor(readonly source: AccountSource) {}

  get(address: Address): AccountState | null {
    const changed = this.#changes.get(address);
    return changed === undefined ? this.source.get(address) : changed;
  }

  /** An account without lamports is gone. */
  set(address: Address, state: AccountState | null): void {
    this.#changes.set(address, state === null || state.lamports === 0n ? null : state);
  }

  /** All that was written and differs from the source. */
  changes(): Map<Address, AccountState | null> {
    const different = new Map<Address, AccountState | null>();
    for (const [address, state] of this.#changes) {
      if (this.source.get(address) !== state) different.set(address, state);
    }
    return different;
  }
}
