/**
 * The ledger as a node of a cluster works with it: transactions land at a time and under blockhashes of the node's own, and
 * everything is read with what a node tells of it. Which slot that is, is decided by the node.
 */
import { type Address, addressBytes } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import { type AccountState, RENT_EPOCH_EXEMPT } from '../account.js';
import type { Signature } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import { decodeTransaction } from '../transaction/wire.js';
import { Admission, type Execution, type OtherBlockhashes } from './ledger/admission.js';
import type { Block } from './ledger/block-table.js';
import { type Envelope, readEnvelope } from './ledger/envelope.js';
import { type Ledger, type LedgerOptions, openLedger } from './ledger/ledger.js';
import type { KeptTransaction } from './ledger/transaction-table.js';
import type { AccountSource, RecentSlot, Runtime } from './runtime/local-runtime.js';
import { resolveAccounts } from './runtime/resolve.js';

/** An account that a transaction names, before and after it. */
export interface TouchedAccount {
  readonly address: Address;
  readonly signer: boolean;
  readonly writable: boolean;
  readonly before: AccountState | null;
  readonly after: AccountState | null;
}

/** What running a transaction did, and to what. */
export interface BankRun extends Omit<Execution, 'changes'> {
  /** In the order of the message: static keys, writable looked-up, readonly looked-up. */
  readonly accounts: readonly TouchedAccount[];
}

/** Where the ledger lies; it is there already. */
export type LedgerBankOptions = Omit<LedgerOptions, 'clock' | 'genesis' | 'create'> & {
  /** The Squads program itself; without it the built-in one runs. */
  readonly squadsProgram?: Uint8Array;
};

const PAGE = 500;
const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111' as Address;
const PROGRAM_LAMPORTS = 1_141_440n;
const SLOTS_PER_EPOCH = 432_000n;
const MS_PER_SECOND = 1_000;

/** As a cluster shows the program that runs natively here. */
const SQUADS_ACCOUNT: AccountState = {
  lamports: PROGRAM_LAMPORTS,
  owner: UPGRADEABLE_LOADER,
  data: new Uint8Array(0),
  executable: true,
  rentEpoch: RENT_EPOCH_EXEMPT,
};

/** Runs nothing by itself: every method ends before it returns. */
export class LedgerBank {
  readonly #ledger: Ledger;
  readonly #runtime: Runtime;
  readonly #time: { nowMs: number };
  /** Base58 hash of the first block. */
  readonly genesisHash: string;
  readonly genesisMs: number;

  constructor(ledger: Ledger, runtime: Runtime, time: { nowMs: number }) {
    this.#ledger = ledger;
    this.#runtime = runtime;
    this.#time = time;
    const { hash, timeMs } = ledger.read(({ blocks }) => blocks.genesis);
    this.genesisHash = base58Encode(hash);
    this.genesisMs = timeMs;
  }

  /** The newest block. */
  get tip(): Block {
    return this.#ledger.read(({ blocks }) => blocks.tip);
  }

  get(address: Address): AccountState | null {
    return this.#ledger.read(({ accounts }) => accounts.get(address));
  }

  accounts(): readonly (readonly [Address, AccountState])[] {
    return this.#ledger.read(({ accounts }) => accounts.all());
  }

  find(signature: Signature): KeptTransaction | null {
    return this.#ledger.read(({ transactions }) => transactions.kept(signature));
  }

  /**
   * Transactions whose bytes hold an address, newest first.
   * @param before - a place in the order of all; `null` for the newest.
   * @param take - looks at each; `false` ends the search.
   */
  search(address: Address, before: number | null, take: (transaction: KeptTransaction) => boolean): void {
    let place = before ?? Number.MAX_SAFE_INTEGER;
    for (;;) {
      const page = this.#ledger.read(({ transactions }) =>
        transactions.holding(addressBytes(address), place, PAGE),
      );
      for (const transaction of page) {
        place = transaction.place;
        if (!take(transaction)) return;
      }
      if (page.length < PAGE) return;
    }
  }

  /** Is it one of the ledger's own that was good after all blocks up to a time? */
  isGoodBlockhash(blockhash: ReadonlyBytes, timeMs: number): boolean {
    return this.#ledger.read(({ blocks }) => blocks.wasGood(blockhash, timeMs));
  }

  /**
   * Lands transactions in order, each in a block of its own.
   * @param timeMs - of the blocks, unless the ledger is ahead of it.
   * @param others - blockhashes that are good beside the ledger's own.
   * @returns one entry a transaction, `null` for one that had landed before.
   */
  land(wires: readonly Uint8Array[], timeMs: number, others: OtherBlockhashes): readonly (BankRun | null)[] {
    this.#time.nowMs = timeMs;
    const envelopes = wires.map(readEnvelope);
    return this.#ledger.write((draft) => {
      const admission = new Admission(draft, this.#runtime, others);
      return envelopes.map((envelope) => {
        const names = namesIn(envelope, draft);
        const before = this.#statesOf(names, draft);
        const execution = admission.land(envelope);
        return execution && runOf(execution, names, before);
      });
    });
  }

  /** What a transaction would do to accounts from elsewhere; nothing is kept, and its blockhash is not looked at. */
  run(
    wire: Uint8Array,
    source: AccountSource,
    timeMs: number,
    options: { readonly verifySignatures: boolean },
  ): BankRun {
    const envelope = readEnvelope(wire);
    if (envelope.flaw !== null) return runOf(NOT_STARTED, [], []);
    const slot = BigInt(this.#ledger.read(({ blocks }) => blocks.tip.height) + 1);
    const clock = {
      slot,
      epoch: slot / SLOTS_PER_EPOCH,
      unixTimestamp: BigInt(Math.floor(timeMs / MS_PER_SECOND)),
    };
    const names = namesIn(envelope, source);
    const before = this.#statesOf(names, source);
    return runOf(this.#runtime.execute(wire, source, clock, options), names, before);
  }

  /** The accounts that a transaction names, in the order of its message; entries of lookup tables as they stand in the source. */
  named(wire: Uint8Array, source: AccountSource): readonly Named[] {
    return namesIn(readEnvelope(wire), source);
  }

  /** A program or sysvar that is no account of the ledger. */
  builtIn(address: Address): AccountState | null {
    if (address === SQUADS_PROGRAM) return SQUADS_ACCOUNT;
    return this.#runtime.builtIn(address);
  }

  #statesOf(names: readonly Named[], source: AccountSource): readonly (AccountState | null)[] {
    return names.map(
      ({ address, writable }) => source.get(address) ?? (writable ? null : this.builtIn(address)),
    );
  }

  /** The slots that programs take for recent, newest first. */
  setRecentSlots(slots: readonly RecentSlot[]): void {
    this.#runtime.setRecentSlots(slots);
  }

  /** What a node has noted with the ledger, or `null`. */
  note(name: string): string | null {
    return this.#ledger.note(name);
  }

  keepNote(name: string, text: string): void {
    this.#ledger.keepNote(name, text);
  }

  close(): void {
    this.#ledger.close();
  }
}

type Named = Pick<TouchedAccount, 'address' | 'signer' | 'writable'>;

const namesIn = ({ wire, flaw }: Envelope, source: AccountSource): readonly Named[] =>
  flaw === null ? resolveAccounts(decodeTransaction(wire).message, source) : [];

function runOf(
  { changes, ...execution }: Execution,
  names: readonly Named[],
  before: readonly (AccountState | null)[],
): BankRun {
  const { error, landed, logs, computeUnits, feeLamports } = execution;
  const accounts = names.map(({ address, signer, writable }, at) => {
    const state = before[at] ?? null;
    const changed = changes.get(address);
    return { address, signer, writable, before: state, after: changed === undefined ? state : changed };
  });
  return { error, landed, logs, computeUnits, feeLamports, accounts };
}

const NOT_STARTED: Execution = {
  error: { kind: 'transaction', error: 'SanitizeFailure' },
  landed: false,
  changes: new Map(),
  logs: [],
  computeUnits: 0n,
  feeLamports: 0n,
};

/**
 * Opens the ledger of a data directory and loads the machine.
 * @throws `ERR_STORE_UNAVAILABLE` naming the ledger and why it cannot be used, `ERR_INTERNAL` without LiteSVM.
 */
export async function openLedgerBank({ squadsProgram, ...options }: LedgerBankOptions): Promise<LedgerBank> {
  const time = { nowMs: 0 };
  const clock = { nowMs: () => time.nowMs };
  const ledger = await openLedger({ ...options, clock, create: false, genesis: { accounts: [] } });
  try {
    const { createRuntime } = await import('./runtime/runtime.js');
    const runtime = createRuntime(squadsProgram === undefined ? {} : { squadsProgram });
    return new LedgerBank(ledger, runtime, time);
  } catch (error) {
    ledger.close();
    throw error;
  }
}
