/** The chain on this machine: the VM runs every transaction, and a durable ledger stores it. No network. */
import { setImmediate } from 'node:timers/promises';
import { invariant } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { base58Decode } from '../../values/bytes.js';
import { type AccountState, type Rent, rentExemptLamports } from '../account.js';
import {
  bundleSizeOf,
  type Chain,
  type Past,
  type PastTransaction,
  type RecentBlockhash,
  type Rejection,
  type Signature,
  type Sought,
  type Trace,
  type TransactionRecord,
} from '../chain.js';
import { memosOf } from '../small-programs.js';
import { decodeTransaction } from '../transaction/wire.js';
import { heightOf } from './ledger/clock.js';
import { type Ledger, type LedgerOptions, openLedger } from './ledger/ledger.js';
import type { Runtime } from './runtime/runtime.js';

interface LocalChainOptions extends LedgerOptions {
  /** Bytes of the real Squads program. @default the built-in reimplementation */
  readonly squadsProgram?: Uint8Array;
}

export interface LocalChain extends Chain {
  readonly ledger: Pick<Ledger, 'genesis' | 'knownMark' | 'landedAfter'>;
  close(): Promise<void>;
}

/** {@link Chain.trace} of a chain whose records are final. The caller must read `expiredHeight` before this call. */
export async function traceByLookUp(
  chain: Pick<Chain, 'lookUp'>,
  sought: readonly Sought[],
  expiredHeight: bigint,
): Promise<readonly Trace[]> {
  const records = await chain.lookUp(sought.map(({ signature }) => signature));
  return sought.map(({ lastValidBlockHeight }, index): Trace => {
    const record = records[index] ?? null;
    if (record !== null) return { kind: 'landed', record, isFinal: true };
    return { kind: lastValidBlockHeight <= expiredHeight ? 'never' : 'open' };
  });
}

class LedgerChain implements LocalChain {
  readonly pollMs = null;
  readonly fees = null;
  #runtime: Promise<Runtime> | undefined;

  constructor(
    readonly ledger: Ledger,
    private readonly loadRuntime: () => Promise<Runtime>,
  ) {}

  async getAccounts(addresses: readonly Address[]): Promise<readonly (AccountState | null)[]> {
    return this.ledger.read(({ accounts }) => addresses.map((address) => accounts.get(address)));
  }

  async latestBlockhash(): Promise<RecentBlockhash> {
    return this.ledger.read(({ clock, transactions }) => clock.latest(transactions.tip.id));
  }

  async rent(): Promise<Rent> {
    return rentExemptLamports;
  }

  /**
   * The slot is saved before the height is returned: no later call accepts a transaction that expired by this height, even if
   * the system clock is set back.
   */
  async expiredHeight(): Promise<bigint> {
    const slot = this.ledger.keepSlot();
    return BigInt(Math.max(0, heightOf(slot) - 1));
  }

  async trace(sought: readonly Sought[]): Promise<readonly Trace[]> {
    // Reading expiry takes a commit, which landed transactions do not need.
    const known = await traceByLookUp(this, sought, -1n);
    if (known.every(({ kind }) => kind === 'landed')) return known;
    return traceByLookUp(this, sought, await this.expiredHeight());
  }

  async isBlockhashValid(blockhash: string): Promise<boolean> {
    const bytes = base58Decode(blockhash);
    return bytes !== undefined && this.ledger.read(({ clock }) => clock.isGood(bytes, clock.slot()));
  }

  async lookUp(signatures: readonly Signature[]): Promise<readonly (TransactionRecord | null)[]> {
    return this.ledger.read(({ transactions }) => signatures.map((one) => transactions.kept(one)));
  }

  async history(
    account: Address,
    { sinceMs = 0, limit = Number.POSITIVE_INFINITY }: Past,
  ): Promise<readonly PastTransaction[]> {
    const past: PastTransaction[] = [];
    for (const { wire, slot, signature, blockTimeMs, error } of this.ledger.naming(account)) {
      if (blockTimeMs < sinceMs || past.length >= limit) break;
      const memo = memosOf(decodeTransaction(wire).message);
      const failed = error !== null;
      past.push({ signature, slot: Number(slot), failed, memo, blockTimeMs, isAgreed: true });
    }
    return past;
  }

  async submit(transactions: readonly Uint8Array[]): Promise<readonly (Rejection | null)[]> {
    if (transactions.length === 0) return [];
    const runtime = await this.#ready();
    return this.ledger.write((draft) =>
      transactions.map((wire, index) => {
        const result = draft.land(wire, runtime);
        if (result === null || result.landed || result.error === null) return null;
        return { index, error: result.error, logs: result.logs };
      }),
    );
  }

  async submitBundles(bundles: readonly (readonly Uint8Array[])[]): Promise<readonly (Rejection | null)[]> {
    for (const { length } of bundles) {
      invariant(
        length >= 1 && length <= bundleSizeOf(this),
        `A bundle has 1 to ${bundleSizeOf(this)} transactions, got ${length}.`,
      );
    }
    if (bundles.length === 0) return [];
    const runtime = await this.#ready();
    return this.ledger.write((draft) => {
      const receipt: (Rejection | null)[] = [];
      for (const bundle of bundles) {
        const rejected = draft.landWhole(bundle, runtime);
        receipt.push(rejected);
        if (rejected !== null) break;
      }
      return receipt;
    });
  }

  async close(): Promise<void> {
    this.ledger.close();
  }

  /** The VM, after a turn of the event loop: native memory of earlier calls is freed only then. */
  async #ready(): Promise<Runtime> {
    await setImmediate();
    this.#runtime ??= this.loadRuntime();
    return this.#runtime;
  }
}

/**
 * Opens the local chain and creates a missing ledger. The VM is loaded with the first transaction.
 *
 * @throws `ERR_STORE_UNAVAILABLE` naming the ledger and why it cannot be used.
 */
export async function openLocalChain(options: LocalChainOptions): Promise<LocalChain> {
  const ledger = await openLedger(options);
  return new LedgerChain(ledger, async () => {
    const { Runtime } = await import('./runtime/runtime.js');
    return new Runtime({ squadsProgram: options.squadsProgram });
  });
}
