/** Changes to accounts that lie over a source until they are committed or dropped. */
import type { Address } from '../../../values/address.js';
import type { AccountState } from '../../account.js';
import type { AccountSource } from '../vm/vm.js';

/** Reads each account of the source once, keeps what is written; dropping it is rolling back. */
export class Overlay implements AccountSource {
  readonly #source: AccountSource;
  readonly #read = new Map<Address, AccountState | null>();
  readonly #now = new Map<Address, AccountState | null>();

  constructor(source: AccountSource) {
    this.#source = source;
  }

  get(address: Address): AccountState | null {
    const known = this.#now.get(address);
    if (known !== undefined) return known;
    const state = this.#source.get(address);
    this.#read.set(address, state);
    this.#now.set(address, state);
    return state;
  }

  /** An account without lamports is gone. */
  set(address: Address, state: AccountState | null): void {
    this.#now.set(address, state === null || state.lamports === 0n ? null : state);
  }

  /** All that was written and is not what was read. */
  changes(): Map<Address, AccountState | null> {
    return new Map([...this.#now].filter(([address, state]) => this.#read.get(address) !== state));
  }
}
