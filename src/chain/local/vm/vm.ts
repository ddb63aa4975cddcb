/** One LiteSVM instance that holds whatever accounts the next run needs; where they come from and what becomes of them is the caller's. */
import { type Address, addressBytes, addressFromBytes } from '../../../values/address.js';
import { type ReadonlyBytes, sameBytes } from '../../../values/bytes.js';
import type { AccountState, ChainClock } from '../../account.js';
import type { TransactionError } from '../../chain.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import type { CompiledInstruction } from '../../transaction/message.js';
import type { NativeAccount, NativeInstruction, NativeModule, NativeSvm } from './native.js';
import { transactionError } from './native.js';

/** A synchronous reading of accounts as they stand; `null` where there is none. */
export interface AccountSource {
  get(address: Address): AccountState | null;
}

/** A slot whose block programs know of. */
export interface RecentSlot {
  readonly slot: number;
  /** Base58. */
  readonly hash: string;
}

/** How a run ended. */
export interface VmRun {
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly computeUnits: bigint;
  /** What each instruction called in its turn, all of it in one list. */
  innerCalls(): readonly (readonly CompiledInstruction[])[];
}

/** Accounts the instance keeps at most before it forgets them all: bounds the memory of a long session. */
const MAX_HELD_ACCOUNTS = 4_096;
/** As on a cluster; a program writing more gets "Log truncated". */
export const LOG_BYTES_LIMIT = 10_000n;

/** LiteSVM with a memory of which version of each account it holds; a state object is a version, as it is never changed in place. */
export class Vm {
  readonly #native: NativeModule;
  readonly #svm: NativeSvm;
  readonly #gone: NativeAccount;
  /** What the instance holds, for every address ever loaded. */
  readonly #held = new Map<Address, AccountState | null>();
  /** Programs and sysvars the instance came with, as they were when first met: where the source has nothing, they stay. */
  readonly #builtIn = new Map<Address, AccountState>();

  constructor(native: NativeModule) {
    this.#native = native;
    this.#svm = new native.LiteSvm();
    this.#svm.setTransactionHistory(0n);
    this.#svm.setBlockhashCheck(false);
    this.#gone = new native.Account(0n, new Uint8Array(0), addressBytes(SYSTEM_PROGRAM), false, 0n);
  }

  /** Puts a program there for good. @throws what LiteSVM throws for bytes that are no program. */
  addProgram(address: Address, program: ReadonlyBytes): void {
    this.#svm.addProgram(addressBytes(address), program);
  }

  /** Puts an account there for good; it is not looked up in any source afterwards unless loaded. */
  setFixture(address: Address, state: AccountState): void {
    this.#set(address, state);
  }

  setClock({ slot, epoch, unixTimestamp }: ChainClock): void {
    this.#svm.setClock(new this.#native.Clock(slot, 0n, epoch, epoch, unixTimestamp));
  }

  /** The slots that programs take for recent, newest first, with the hash of each in base58. */
  setRecentSlots(slots: readonly RecentSlot[]): void {
    this.#svm.setSlotHashes(slots.map(({ slot, hash }) => ({ slot: BigInt(slot), hash })));
  }

  /** Makes the instance hold these accounts as the source has them; what it holds already is left alone. */
  load(addresses: readonly Address[], source: AccountSource): void {
    if (this.#held.size > MAX_HELD_ACCOUNTS) this.#forget();
    for (const address of addresses) {
      // The Squads program is this project's own: what lies there is decided when the runtime is made.
      if (address !== SQUADS_PROGRAM) this.#hold(address, source.get(address));
    }
  }

  /** The account as the instance knows it, programs and sysvars it came with included. */
  peek(address: Address): AccountState | null {
    const held = this.#held.get(address);
    return held === undefined ? this.#current(address) : held;
  }

  /** A program or sysvar that the instance came with. */
  builtIn(address: Address): AccountState | null {
    const state = this.#held.has(address) ? this.#builtIn.get(address) : this.#current(address);
    return state === undefined || state === null || state.lamports === 0n ? null : state;
  }

  /** Reads an account back after a run; the very object that was loaded if nothing changed. */
  read(address: Address): AccountState | null {
    const before = this.#held.get(address) ?? null;
    const native = this.#svm.getAccount(addressBytes(address));
    const after = native === null || native.lamports() === 0n ? null : versionOf(native, before);
    if (after !== before) this.#held.set(address, after);
    return after;
  }

  /** Runs a transaction that has been found well-formed; accounts are committed inside the instance only. */
  send(
    transaction: ReadonlyBytes,
    { verifySignatures, limitLogs }: { readonly verifySignatures: boolean; readonly limitLogs: boolean },
  ): VmRun {
    this.#svm.setSigverify(verifySignatures);
    this.#svm.setLogBytesLimit(limitLogs ? LOG_BYTES_LIMIT : undefined);
    const outcome = this.#svm.sendVersionedTransaction(transaction);
    const error = 'err' in outcome ? transactionError(outcome.err()) : null;
    const meta = 'meta' in outcome ? outcome.meta() : outcome;
    const innerCalls = () =>
      meta.innerInstructions().map((calls) => calls.map((call) => compiledOf(call.instruction())));
    return { error, logs: meta.logs(), computeUnits: meta.computeUnitsConsumed(), innerCalls };
  }

  #hold(address: Address, state: AccountState | null): void {
    const held = this.#held.get(address);
    if (held === undefined) this.#meet(address);
    const wanted = state ?? this.#builtIn.get(address) ?? null;
    if (wanted === (this.#held.get(address) ?? null)) return;
    this.#set(address, wanted);
    this.#held.set(address, wanted);
  }

  #current(address: Address): AccountState | null {
    const native = this.#svm.getAccount(addressBytes(address));
    return native === null ? null : fromNative(native);
  }

  /** Notes what the instance itself has at an address that is loaded for the first time. */
  #meet(address: Address): void {
    const state = this.#builtIn.get(address) ?? this.#current(address);
    if (state !== null) this.#builtIn.set(address, state);
    this.#held.set(address, state);
  }

  #set(address: Address, state: AccountState | null): void {
    const { Account } = this.#native;
    const account =
      state === null
        ? this.#gone
        : new Account(
            state.lamports,
            state.data,
            addressBytes(state.owner),
            state.executable,
            state.rentEpoch,
          );
    this.#svm.setAccount(addressBytes(address), account);
  }

  #forget(): void {
    for (const [address, held] of this.#held) {
      const builtIn = this.#builtIn.get(address) ?? null;
      if (held !== builtIn) this.#set(address, builtIn);
    }
    this.#held.clear();
  }
}

const compiledOf = (native: NativeInstruction): CompiledInstruction => ({
  programIndex: native.programIdIndex(),
  accountIndexes: native.accounts(),
  data: native.data(),
});

/** The state before where nothing differs; its parts where they do not. */
function versionOf(native: NativeAccount, before: AccountState | null): AccountState {
  const now = fromNative(native);
  if (before === null) return now;
  const { rentEpoch } = before;
  const data = sameBytes(now.data, before.data) ? before.data : now.data;
  const isSame = data === before.data && now.lamports === before.lamports && now.owner === before.owner;
  return isSame ? before : { ...now, data, rentEpoch };
}

function fromNative(native: NativeAccount): AccountState {
  return {
    lamports: native.lamports(),
    owner: addressFromBytes(native.owner()),
    data: native.data(),
    executable: native.executable(),
    rentEpoch: native.rentEpoch(),
  };
}
