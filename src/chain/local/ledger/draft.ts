/** What one call adds to the ledger before it is committed: blocks, landed transactions, changed accounts. */
import { invariant } from '../../../errors/flywheel-error.js';
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import type { TokenChange } from '../../chain.js';
import { decodeTokenAccount } from '../../tokens/accounts.js';
import type { AccountSource, RuntimeClock } from '../runtime/local-runtime.js';
import { Overlay } from '../runtime/overlay.js';
import type { AccountChanges, AccountTable } from './account-table.js';
import { type BlockTable, nextBlock } from './block-table.js';
import type { Landing, TransactionTable } from './transaction-table.js';

/** The tables as they are at one point in time, for as long as the call lasts that hands them out. */
export interface LedgerTables {
  readonly accounts: AccountTable;
  readonly blocks: BlockTable;
  readonly transactions: TransactionTable;
}

/** Slots in an epoch, as on mainnet. */
const SLOTS_PER_EPOCH = 432_000n;
const MS_PER_SECOND = 1_000;

/** The ledger with what the running call has added; changed accounts are written by {@link flush}. */
export class LedgerDraft implements AccountSource {
  readonly #tables: LedgerTables;
  readonly #nowMs: number;
  readonly #overlay: Overlay;

  constructor(tables: LedgerTables, nowMs: number) {
    this.#tables = tables;
    this.#nowMs = nowMs;
    this.#overlay = new Overlay(tables.accounts);
  }

  get(address: Address): AccountState | null {
    return this.#overlay.get(address);
  }

  /** The clock of the next block. */
  clock(): RuntimeClock {
    const slot = BigInt(this.#tables.blocks.tip.height + 1);
    return {
      slot,
      epoch: slot / SLOTS_PER_EPOCH,
      unixTimestamp: BigInt(Math.floor(this.timeMs / MS_PER_SECOND)),
    };
  }

  /** Can a transaction with this blockhash land in the next block? */
  isGoodBlockhash(blockhash: ReadonlyBytes): boolean {
    return this.#tables.blocks.isGood(blockhash);
  }

  hasLanded(signature: ReadonlyBytes): boolean {
    return this.#tables.transactions.hasLanded(signature);
  }

  /** Adds one block with these transactions in their order. */
  append(landings: readonly Landing[]): void {
    const { blocks, transactions } = this.#tables;
    invariant(landings.length > 0, 'A block holds at least one transaction.');
    const signatures = landings.map(({ signature }) => signature);
    const block = nextBlock(blocks.tip, signatures, this.timeMs);
    blocks.append(block);
    for (const [position, landing] of landings.entries()) {
      transactions.append(block.height, position, landing, tokenChangesOf(landing, this.#overlay));
      for (const [address, state] of landing.changes) this.#overlay.set(address, state);
    }
  }

  /** Writes all of it, each changed account once. @returns the changes. */
  flush(): AccountChanges {
    const changes = this.#overlay.changes();
    this.#tables.accounts.put(changes);
    return changes;
  }

  /** Time of the next block: that of the wall clock, unless it went backwards. */
  get timeMs(): number {
    return Math.max(Math.floor(this.#nowMs), this.#tables.blocks.tip.timeMs);
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
