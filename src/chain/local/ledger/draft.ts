/** What one call adds to the ledger before it is committed: landed transactions and changed accounts. */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import type { TokenChange } from '../../chain.js';
import { decodeTokenAccount } from '../../tokens/accounts.js';
import type { AccountSource, RuntimeClock } from '../runtime/local-runtime.js';
import { Overlay } from '../runtime/overlay.js';
import type { AccountChanges, AccountTable } from './account-table.js';
import type { LedgerClock } from './clock.js';
import type { Landing, TransactionTable } from './transaction-table.js';

/** The tables as they are at one point in time, for as long as the call lasts that hands them out. */
export interface LedgerTables {
  readonly accounts: AccountTable;
  readonly clock: LedgerClock;
  readonly transactions: TransactionTable;
}

/** Slots in an epoch, as on mainnet. */
const SLOTS_PER_EPOCH = 432_000n;
const MS_PER_SECOND = 1_000;

/** The clock as programs see it in a slot. */
export const runtimeClock = (slot: number, timeMs: number): RuntimeClock => ({
  slot: BigInt(slot),
  epoch: BigInt(slot) / SLOTS_PER_EPOCH,
  unixTimestamp: BigInt(Math.floor(timeMs / MS_PER_SECOND)),
});

/** The ledger with what the running call has added; changed accounts are written by {@link flush}. */
export class LedgerDraft implements AccountSource {
  readonly #tables: LedgerTables;
  /** Of the block of all that this call adds. */
  readonly slot: number;
  readonly #timeMs: number;
  readonly #overlay: Overlay;

  constructor(tables: LedgerTables) {
    this.#tables = tables;
    this.slot = tables.clock.slot();
    this.#timeMs = tables.clock.timeMs(this.slot);
    this.#overlay = new Overlay(tables.accounts);
  }

  get(address: Address): AccountState | null {
    return this.#overlay.get(address);
  }

  /** The clock of its block. */
  clock(): RuntimeClock {
    return runtimeClock(this.slot, this.#timeMs);
  }

  /** Can a transaction with this blockhash land in its block? */
  isGoodBlockhash(blockhash: ReadonlyBytes): boolean {
    return this.#tables.clock.isGood(blockhash, this.slot);
  }

  hasLanded(signature: ReadonlyBytes): boolean {
    return this.#tables.transactions.hasLanded(signature);
  }

  /** Adds transactions in their order. */
  append(landings: readonly Landing[]): void {
    const block = { slot: this.slot, timeMs: this.#timeMs };
    for (const landing of landings) {
      this.#tables.transactions.append(block, landing, tokenChangesOf(landing, this.#overlay));
      for (const [address, state] of landing.changes) this.#overlay.set(address, state);
    }
  }

  /** Writes all of it, each changed account once. @returns the changes. */
  flush(): AccountChanges {
    const changes = this.#overlay.changes();
    this.#tables.accounts.put(changes);
    this.#tables.clock.save();
    return changes;
  }
}

/** Which token accounts a transaction left with another amount than the one they hold here. */
const tokenChangesOf = ({ changes }: Landing, source: AccountSource): readonly TokenChange[] =>
  [...changes].flatMap(([account, state]) => {
    const [was, is] = [decodeTokenAccount(source.get(account)), decodeTokenAccount(state)];
    const mint = (is ?? was)?.mint;
    const [before, after] = [was?.amount ?? 0n, is?.amount ?? 0n];
    return mint === undefined || before === after ? [] : [{ account, mint, before, after }];
  });
