/** The ledger as a node works with it: everything is read and run with what a node tells of it. */
import { type Address, addressBytes } from '../../values/address.js';
import { base58Decode, base58Encode } from '../../values/base58.js';
import { type AccountState, RENT_EPOCH_EXEMPT } from '../account.js';
import type { Signature } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import { decodeTransaction } from '../transaction/wire.js';
import { Admission, type Execution } from './ledger/admission.js';
import { runtimeClock } from './ledger/draft.js';
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
interface BankRun extends Omit<Execution, 'changes'> {
  /** In the order of the message: static keys, writable looked-up, readonly looked-up. */
  readonly accounts: readonly TouchedAccount[];
}

/** Where the ledger lies; it is there already. */
export type LedgerBankOptions = Omit<LedgerOptions, 'genesis' | 'create'> & {
  /** The Squads program itself; without it the built-in one runs. */
  readonly squadsProgram?: Uint8Array;
};

const PAGE = 500;
const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111' as Address;
const PROGRAM_LAMPORTS = 1_141_440n;

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
  /** Tells the ledger from all others, base58. */
  readonly genesisHash: string;
  readonly slotMs: number;

  constructor(ledger: Ledger, runtime: Runtime) {
    this.#ledger = ledger;
    this.#runtime = runtime;
    this.genesisHash = ledger.genesis;
    this.slotMs = ledger.read(({ clock }) => clock.slotMs);
  }

  /** The newest slot. */
  slot(): number {
    return this.#ledger.read(({ clock }) => clock.slot());
  }

  heightOf(slot: number): number {
    return this.#ledger.read(({ clock }) => clock.heightOf(slot));
  }

  /** Time of the block of a slot, in ms since the Unix epoch. */
  timeMs(slot: number): number {
    return this.#ledger.read(({ clock }) => clock.timeMs(slot));
  }

  blockhash(slot: number): string {
    return this.#ledger.read(({ clock }) => base58Encode(clock.blockhash(slot)));
  }

  /** May the block of a slot take a transaction with this blockhash? */
  isGoodBlockhash(blockhash: string, slot: number): boolean {
    const bytes = base58Decode(blockhash);
    return bytes !== undefined && this.#ledger.read(({ clock }) => clock.isGood(bytes, slot));
  }

  /** Stores the newest slot: no process begins before it, however its clock is set. */
  keepSlot(): number {
    return this.#ledger.keepSlot();
  }

  /** Transactions that have landed. */
  transactionCount(): number {
    return this.#ledger.read(({ transactions }) => transactions.tip.id);
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

  /** Lands transactions in order, in the newest slot. @returns one entry a transaction, `null` for one that had landed before. */
  land(wires: readonly Uint8Array[]): readonly (BankRun | null)[] {
    const envelopes = wires.map(readEnvelope);
    return this.#ledger.write((draft) => {
      const admission = new Admission(draft, this.#runtime);
      return envelopes.map((envelope) => {
        const names = namesIn(envelope, draft);
        const before = this.#statesOf(names, draft);
        const execution = admission.land(envelope);
        return execution && runOf(execution, names, before);
      });
    });
  }

  /** What a transaction would do to accounts from elsewhere in a slot; nothing is kept, and its blockhash is not looked at. */
  run(
    wire: Uint8Array,
    source: AccountSource,
    slot: number,
    options: { readonly verifySignatures: boolean },
  ): BankRun {
    const envelope = readEnvelope(wire);
    if (envelope.flaw !== null) return runOf(NOT_STARTED, [], []);
    const names = namesIn(envelope, source);
    const before = this.#statesOf(names, source);
    const clock = runtimeClock(slot, this.timeMs(slot));
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
  const ledger = await openLedger({ ...options, create: false, genesis: { accounts: [] } });
  try {
    const { createRuntime } = await import('./runtime/runtime.js');
    return new LedgerBank(ledger, createRuntime(squadsProgram === undefined ? {} : { squadsProgram }));
  } catch (error) {
    ledger.close();
    throw error;
  }
}
