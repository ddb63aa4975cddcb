/** The changes of one call to the ledger before commit: which transactions land, alone or as a bundle. */
import { type Address, addressBytes } from '../../../values/address.js';
import { type ReadonlyBytes, readBuffer, sameBytes } from '../../../values/bytes.js';
import type { AccountState, ChainClock } from '../../account.js';
import type { Balance, Rejection, TokenChange } from '../../chain.js';
import { decodeTokenAccount } from '../../tokens/accounts.js';
import { TRANSACTION_SIZE_LIMIT_BYTES } from '../../transaction/message.js';
import { decodeTransaction, type WireMessage } from '../../transaction/wire.js';
import { type ExecutionResult, Overlay, refused } from '../runtime/execution.js';
import { resolveAccounts } from '../runtime/resolve.js';
import type { Runtime } from '../runtime/runtime.js';
import type { AccountSource } from '../vm.js';
import type { LedgerClock } from './clock.js';
import type { AccountTable, NewTransaction, TransactionTable } from './tables.js';

/** The tables in one snapshot; valid only during the call that provides them. */
export interface LedgerTables {
  readonly accounts: AccountTable;
  readonly clock: LedgerClock;
  readonly transactions: TransactionTable;
}

const SLOTS_PER_EPOCH = 432_000n;
const MS_PER_SECOND = 1_000;

export const runtimeClock = (slot: number, timeMs: number): ChainClock => ({
  slot: BigInt(slot),
  epoch: BigInt(slot) / SLOTS_PER_EPOCH,
  unixTimestamp: BigInt(Math.floor(timeMs / MS_PER_SECOND)),
});

export class LedgerDraft implements AccountSource {
  readonly slot: number;
  readonly clock: ChainClock;
  readonly #timeMs: number;
  readonly #overlay: Overlay;

  constructor(private readonly tables: LedgerTables) {
    this.slot = tables.clock.slot();
    this.#timeMs = tables.clock.timeMs(this.slot);
    this.clock = runtimeClock(this.slot, this.#timeMs);
    this.#overlay = new Overlay(tables.accounts);
  }

  get(address: Address): AccountState | null {
    return this.#overlay.get(address);
  }

  /** Lands one transaction, even as failed, unless it cannot start. @returns `null` if the transaction had landed before. */
  land(wire: Uint8Array, runtime: Runtime): ExecutionResult | null {
    const sent = readSent(wire);
    if (this.#hasLanded(sent)) return null;
    const result = this.#run(sent, this, runtime);
    if (result.landed) this.append([{ ...sent, ...result, ...this.#named(sent) }]);
    return result;
  }

  /** Lands a whole bundle without any failure, or nothing. @returns `null` if the bundle was accepted. */
  landWhole(bundle: readonly Uint8Array[], runtime: Runtime): Rejection | null {
    const all = bundle.map(readSent);
    if (all.every((sent) => this.#hasLanded(sent))) return null;
    const overlay = new Overlay(this);
    const landings: NewTransaction[] = [];
    for (const [index, sent] of all.entries()) {
      const isRepeated = landings.some(({ signature }) => sameBytes(signature, sent.signature));
      const result =
        isRepeated || this.#hasLanded(sent) ? refused('AlreadyProcessed') : this.#run(sent, overlay, runtime);
      if (result.error !== null) return { index, error: result.error, logs: result.logs };
      for (const [address, state] of result.changes) overlay.set(address, state);
      landings.push({ ...sent, ...result, ...this.#named(sent) });
    }
    this.append(landings);
    return null;
  }

  append(landings: readonly NewTransaction[]): void {
    for (const landing of landings) {
      const balances = balancesOf(landing, this.#overlay);
      const tokenChanges = tokenChangesOf(landing, this.#overlay);
      const block = { slot: this.slot, timeMs: this.#timeMs };
      this.tables.transactions.append({ ...landing, ...block, balances, tokenChanges });
      for (const [address, state] of landing.changes) this.#overlay.set(address, state);
    }
  }

  flush(): void {
    this.tables.accounts.put(this.#overlay.changes());
    this.tables.clock.save();
  }

  #named({ message }: Sent): Pick<NewTransaction, 'accounts' | 'tableAddresses'> {
    if (message === null) return { accounts: [], tableAddresses: new Uint8Array(0) };
    const accounts = resolveAccounts(message, this).map(({ address }) => address);
    const added = accounts
      .slice(message.staticKeys.length)
      .map((address) => readBuffer(addressBytes(address)));
    return { accounts, tableAddresses: Buffer.concat(added) };
  }

  #hasLanded({ signature }: Sent): boolean {
    return signature.length > 0 && this.tables.transactions.hasLanded(signature);
  }

  #run({ wire, message, flaw }: Sent, source: AccountSource, runtime: Runtime): ExecutionResult {
    if (message === null) return refused('SanitizeFailure', [flaw]);
    if (!this.tables.clock.isGood(message.blockhash, this.slot)) return refused('BlockhashNotFound');
    return runtime.execute(wire, source, this.clock);
  }
}

interface Sent {
  readonly wire: Uint8Array;
  /** First signature, not verified; empty where the bytes are not a transaction. */
  readonly signature: ReadonlyBytes;
  readonly message: WireMessage | null;
  /** Why the bytes are not a transaction. */
  readonly flaw: string;
}

/** Never throws. */
function readSent(wire: Uint8Array): Sent {
  const flawed = (flaw: string): Sent => ({ wire, signature: new Uint8Array(0), message: null, flaw });
  const { length } = wire;
  if (length > TRANSACTION_SIZE_LIMIT_BYTES)
    return flawed(`A transaction has at most ${TRANSACTION_SIZE_LIMIT_BYTES} bytes, this one has ${length}.`);
  try {
    const { signatures, message } = decodeTransaction(wire);
    const [signature] = signatures;
    if (signature === undefined) return flawed('The transaction has no signature.');
    return { wire, signature, message, flaw: '' };
  } catch (error) {
    return flawed(error instanceof Error ? error.message : String(error));
  }
}

const balancesOf = ({ accounts, changes }: NewTransaction, source: AccountSource): readonly Balance[] =>
  accounts.map((address) => {
    const before = source.get(address)?.lamports ?? 0n;
    const state = changes.get(address);
    return { before, after: state === undefined ? before : (state?.lamports ?? 0n) };
  });

const tokenChangesOf = ({ changes }: NewTransaction, source: AccountSource): readonly TokenChange[] =>
  [...changes].flatMap(([account, state]) => {
    const [was, is] = [decodeTokenAccount(source.get(account)), decodeTokenAccount(state)];
    const mint = (is ?? was)?.mint;
    const [before, after] = [was?.amount ?? null, is?.amount ?? 0n];
    return mint === undefined || before === after ? [] : [{ account, mint, before, after }];
  });
