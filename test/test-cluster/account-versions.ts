/** Stores recent versions of every account, so that a node can answer from an older slot. */
import type { AccountState } from '../../src/chain/account.js';
import type { Address } from '../../src/values/address.js';

interface Version {
  readonly slot: number;
  readonly state: AccountState | null;
}

/** Versions older than this many slots are dropped, except the newest of them. */
const KEPT_SLOTS = 512;

export class AccountVersions {
  /** Oldest first; never empty. */
  readonly #versions = new Map<Address, Version[]>();

  /** @param accounts - the versions for all earlier slots. */
  constructor(accounts: Iterable<readonly [Address, AccountState]> = []) {
    for (const [address, state] of accounts) this.#versions.set(address, [{ slot: 0, state }]);
  }

  /** The state at the end of a slot; `undefined` for an unknown address. */
  get(address: Address, slot: number): AccountState | null | undefined {
    return this.#versions.get(address)?.findLast((version) => version.slot <= slot)?.state;
  }

  /** Sets the state as of a slot. A slot before the newest version counts as the newest. */
  set(address: Address, slot: number, state: AccountState | null): void {
    const versions = this.#versions.get(address) ?? [];
    if (versions.length === 0) this.#versions.set(address, versions);
    const at = Math.max(slot, versions.at(-1)?.slot ?? 0);
    if (versions.at(-1)?.slot === at) versions.pop();
    versions.push({ slot: at, state });
    const firstKept = versions.findLastIndex((version) => version.slot <= at - KEPT_SLOTS);
    if (firstKept > 0) versions.splice(0, firstKept);
  }

  addresses(): Iterable<Address> {
    return this.#versions.keys();
  }
}
