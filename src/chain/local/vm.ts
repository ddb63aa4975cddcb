/** One LiteSVM instance that caches the accounts of the next run. The caller provides the accounts and commits the results. */
import { type Address, addressBytes, addressFromBytes } from '../../values/address.js';
import { type ReadonlyBytes, sameBytes } from '../../values/bytes.js';
import { type AccountState, type ChainClock, EMPTY_ACCOUNT, RENT_EPOCH_EXEMPT } from '../account.js';
import type { TransactionError } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import type { CompiledInstruction } from '../transaction/message.js';
import { loadNative, transactionError } from './native-vm.js';

type Native = ReturnType<typeof loadNative>;
type NativeAccount = InstanceType<Native['Account']>;

export interface AccountSource {
  get(address: Address): AccountState | null;
}

export interface VmRun {
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly computeUnits: bigint;
  /** Inner calls per top-level instruction, nested ones flattened. */
  innerCalls(): readonly (readonly CompiledInstruction[])[];
}

/** Above this number of cached accounts the cache is cleared, which bounds memory. */
const MAX_HELD_ACCOUNTS = 4_096;
/** Pays for the single runs of which a transaction with native instructions consists. */
export const RUN_PAYER: Address = addressFromBytes(Buffer.from('flywheel pays for runs inside it'));
/** As on a cluster; longer logs end with "Log truncated". */
export const LOG_BYTES_LIMIT = 10_000n;

/** LiteSVM with a record of the version of each cached account. States are immutable, so object identity is the version. */
export class Vm {
  readonly #native = loadNative();
  readonly #svm = new this.#native.LiteSvm();
  readonly #held = new Map<Address, AccountState | null>();
  /** Programs and sysvars of the instance itself, used where the source has no account. */
  readonly #builtIn = new Map<Address, AccountState>();
  #clock: ChainClock | undefined;

  /** @throws `ERR_INTERNAL` when there is no LiteSVM for this machine. */
  constructor() {
    this.#svm.setTransactionHistory(0n);
    this.#svm.setBlockhashCheck(false);
    this.setFixture(RUN_PAYER, { ...EMPTY_ACCOUNT, lamports: 1n << 62n });
  }

  /** Adds a program for good. @throws the error of LiteSVM for bytes that are not a program. */
  addProgram(address: Address, program: ReadonlyBytes): void {
    this.#svm.addProgram(addressBytes(address), program);
  }

  /** Adds an account for good. No source replaces it unless the address is loaded. */
  setFixture(address: Address, state: AccountState): void {
    this.#set(address, state);
  }

  setClock(clock: ChainClock): void {
    if (clock === this.#clock) return;
    this.#clock = clock;
    const { slot, epoch, unixTimestamp } = clock;
    this.#svm.setClock(new this.#native.Clock(slot, 0n, epoch, epoch, unixTimestamp));
  }

  /** Slots that programs accept as recent, newest first. Creating a lookup table needs one of these slots. */
  setRecentSlots(slots: readonly { readonly slot: number; readonly hash: string }[]): void {
    this.#svm.setSlotHashes(slots.map(({ slot, hash }) => ({ slot: BigInt(slot), hash })));
  }

  /** Loads accounts from the source; cached versions are not loaded again. */
  load(addresses: readonly Address[], source: AccountSource): void {
    if (this.#held.size > MAX_HELD_ACCOUNTS) this.#forget();
    for (const address of addresses) {
      // The runtime sets the Squads program when it is created.
      if (address !== SQUADS_PROGRAM) this.#hold(address, source.get(address));
    }
  }

  peek(address: Address): AccountState | null {
    const held = this.#held.get(address);
    return held === undefined ? this.#current(address) : held;
  }

  builtIn(address: Address): AccountState | null {
    const state = this.#held.has(address) ? this.#builtIn.get(address) : this.#current(address);
    return state === undefined || state === null || state.lamports === 0n ? null : state;
  }

  /** Reads an account after a run; returns the loaded object itself if the account is unchanged. */
  read(address: Address): AccountState | null {
    const before = this.#held.get(address) ?? null;
    const native = this.#svm.getAccount(addressBytes(address));
    const after = native === null || native.lamports() === 0n ? null : versionOf(native, before);
    if (after !== before) this.#held.set(address, after);
    return after;
  }

  /** Runs a transaction that the caller has checked to be well-formed. Changes are committed inside the instance only. */
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
      meta.innerInstructions().map((calls) =>
        calls.map((call): CompiledInstruction => {
          const native = call.instruction();
          const [programIndex, accountIndexes] = [native.programIdIndex(), native.accounts()];
          return { programIndex, accountIndexes, data: native.data() };
        }),
      );
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

  #meet(address: Address): void {
    const state = this.#builtIn.get(address) ?? this.#current(address);
    if (state !== null) this.#builtIn.set(address, state);
    this.#held.set(address, state);
  }

  #set(address: Address, state: AccountState | null): void {
    const { Account } = this.#native;
    const { lamports, data, owner, executable } = state ?? EMPTY_ACCOUNT;
    const account = new Account(lamports, data, addressBytes(owner), executable, RENT_EPOCH_EXEMPT);
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

/** Reuses the previous state, or its data, where they are equal, so that identity means "unchanged". */
function versionOf(native: NativeAccount, before: AccountState | null): AccountState {
  const now = fromNative(native);
  if (before === null) return now;
  const data = sameBytes(now.data, before.data) ? before.data : now.data;
  const isSame = data === before.data && now.lamports === before.lamports && now.owner === before.owner;
  return isSame ? before : { ...now, data };
}

function fromNative(native: NativeAccount): AccountState {
  return {
    lamports: native.lamports(),
    owner: addressFromBytes(native.owner()),
    data: native.data(),
    executable: native.executable(),
  };
}
