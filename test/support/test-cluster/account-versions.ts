/** Every account as it is and as it was a while ago: what a state of an older slot is read from. */
import type { AccountState } from '../../../src/chain/account.js';
import type { Address } from '../../../src/values/address.js';

interface Version {
  readonly slot: number;
  readonly state: AccountState | null;
}

/** Older versions than this many slots are forgotten, but for the newest of them. */
const KEPT_SLOTS = 512;

/** Accounts by slot. A node of a test cluster has them all in memory. */
export class AccountVersions {
  /** Oldest first; never empty. */
  readonly #versions = new Map<Address, Version[]>();

  /** @param accounts - as they have always been, as far as is known here. */
  constructor(accounts: Iterable<readonly [Address, AccountState]> = []) {
    for (const [address, state] of accounts) this.#versions.set(address, [{ slot: 0, state }]);
  }

  /** The state at the end of a slot; `undefined` for an address that was never heard of. */
  get(address: Address, slot: number): AccountState | null | undefined {
    return this.#versions.get(address)?.findLast((version) => version.slot <= slot)?.state;
  }

  /** Puts a state in, as of a slot; one that comes late, from a slot before the newest, is as of the newest. */
  set(address: Address, slot: number, state: AccountState | null): void {
    const versions = this.#versions.get(address) ?? [];
    if (versions.length === 0) this.#versions.set(address, versions);
    const at = Math.max(slot, versions.at(-1)?.slot ?? 0);
    if (versions.at(-1)?.slot === at) versions.pop();
    versions.push({ slot: at, state });
    const firstKept = versions.findLastIndex((version) => version.slot <= at - KEPT_SLOTS);
    if (firstKept > 0) versions.splice(0, firstKept);
  }

  /** All addresses that have or had an account. */
  addresses(): Iterable<Address> {
    return this.#versions.keys();
  }
}
