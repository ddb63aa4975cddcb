/**
 * Runs signed transactions on accounts that someone else keeps: whole in LiteSVM where no Squads instruction is in them,
 * piece by piece otherwise. What is committed, and whether a blockhash or signature is still good, the caller decides.
 */
import type { Address } from '../../../values/address.js';
import { base58Encode } from '../../../values/base58.js';
import type { AccountState } from '../../account.js';
import type { TransactionError } from '../../chain.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import type { AccountMeta, Instruction } from '../../transaction/instruction.js';
import { decodeTransaction, type WireTransaction } from '../../transaction/wire.js';
import { loadNative } from '../vm/native.js';
import { type AccountSource, type RuntimeClock, Vm, type VmRun } from '../vm/vm.js';
import { readBudget } from './budget.js';
import type { InstructionFault } from './failure.js';
import type { NativeProgram } from './invocation.js';
import { Machine, RUN_PAYER, type Stop } from './machine.js';
import { Overlay } from './overlay.js';
import { mayStandAs } from './rent.js';
import { resolveAccounts, resolveInstructions } from './resolve.js';

export type { AccountSource, RuntimeClock } from '../vm/vm.js';

/** What a transaction did. */
export interface ExecutionResult {
  readonly error: TransactionError | null;
  /** `false`: it could not start, and nothing is charged. */
  readonly landed: boolean;
  /** All accounts that differ now, `null` where one is gone; of a failed transaction its fee payer. */
  readonly changes: ReadonlyMap<Address, AccountState | null>;
  readonly logs: readonly string[];
  /** As metered by LiteSVM; Squads instructions that run natively add nothing of their own. */
  readonly computeUnits: bigint;
  readonly feeLamports: bigint;
  /** Base58 text of the first signature. */
  readonly signature: string;
}

export interface Runtime {
  /** Runs one transaction over `source`, which is only read. Calls build on each other only through the source. */
  execute(transaction: Uint8Array, source: AccountSource, clock: RuntimeClock): ExecutionResult;
}

export interface RuntimeOptions {
  /** The real program, loaded into LiteSVM in the place of the native one. */
  readonly squadsProgram?: Uint8Array;
  /** Programs that run natively, by address. */
  readonly nativePrograms: ReadonlyMap<Address, NativeProgram>;
}

const NATIVE_LOADER = 'NativeLoader1111111111111111111111111111111' as Address;
/** Enough for 2^48 signatures of runs inside the machine. */
const RUN_PAYER_LAMPORTS = 1n << 62n;

const fixture = (owner: Address, lamports: bigint, executable: boolean): AccountState => ({
  lamports,
  owner,
  data: new Uint8Array(0),
  executable,
  rentEpoch: 0n,
});

function tryDecode(transaction: Uint8Array): WireTransaction | undefined {
  try {
    return decodeTransaction(transaction);
  } catch {
    return undefined;
  }
}

/** What is the same for both ways of running a transaction. */
interface Prepared {
  readonly bytes: Uint8Array;
  readonly accounts: readonly AccountMeta[];
  readonly source: AccountSource;
  readonly clock: RuntimeClock;
  readonly signature: string;
}

const sumOf = (addresses: readonly Address[], read: (address: Address) => AccountState | null): bigint =>
  addresses.reduce((sum, address) => sum + (read(address)?.lamports ?? 0n), 0n);

/** A runtime with its own LiteSVM; one a process is enough. */
export class LocalRuntime implements Runtime {
  readonly #vm: Vm;
  readonly #native: ReadonlyMap<Address, NativeProgram>;

  constructor({ squadsProgram, nativePrograms }: RuntimeOptions) {
    this.#vm = new Vm(loadNative());
    this.#native = squadsProgram === undefined ? nativePrograms : new Map();
    if (squadsProgram !== undefined) this.#vm.addProgram(SQUADS_PROGRAM, squadsProgram);
    // To LiteSVM a native program is a builtin that it does not have: a transaction that calls one passes every check
    // before its start, pays its fee, and then fails there. That run decides about the start; see #runNatively.
    for (const program of this.#native.keys()) {
      this.#vm.setFixture(program, fixture(NATIVE_LOADER, 1n, true));
    }
    this.#vm.setFixture(RUN_PAYER, fixture(SYSTEM_PROGRAM, RUN_PAYER_LAMPORTS, false));
  }

  execute(transaction: Uint8Array, source: AccountSource, clock: RuntimeClock): ExecutionResult {
    const wire = tryDecode(transaction);
    const signature = wire?.signatures[0];
    if (wire === undefined || signature === undefined) {
      return refused({ kind: 'transaction', error: 'SanitizeFailure' }, '');
    }
    const accounts = resolveAccounts(wire.message, source);
    const prepared = { bytes: transaction, accounts, source, clock, signature: base58Encode(signature) };
    const instructions = resolveInstructions(wire.message, accounts);
    this.#vm.setClock(clock);
    const tables = wire.message.lookups.map(({ table }) => table);
    this.#vm.load([...accounts.map(({ address }) => address), ...tables], source);
    const native = instructions?.some(({ program }) => this.#native.has(program)) === true;
    const run = this.#vm.send(transaction, { verifySignatures: true, limitLogs: true });
    if (run.error === null) return this.#succeeded(prepared, run);
    const failed = this.#failed(prepared, run, run.error);
    return native && failed.landed ? this.#runNatively(prepared, instructions, failed) : failed;
  }

  #succeeded({ accounts, signature }: Prepared, run: VmRun): ExecutionResult {
    const writable = accounts.filter((meta) => meta.writable).map((meta) => meta.address);
    const changes = new Map<Address, AccountState | null>();
    // Lamports that the accounts have lost together are the fee: nothing else takes any away.
    const before = sumOf(writable, (address) => this.#vm.peek(address));
    for (const address of writable) {
      const held = this.#vm.peek(address);
      const after = this.#vm.read(address);
      if (after !== held) changes.set(address, after);
    }
    const feeLamports = before - sumOf(writable, (address) => this.#vm.peek(address));
    const { logs, computeUnits } = run;
    return { error: null, landed: true, changes, logs, computeUnits, feeLamports, signature };
  }

  /** A failed transaction that has started has changed its fee payer, and nothing else. */
  #failed({ accounts, source, signature }: Prepared, run: VmRun, error: TransactionError): ExecutionResult {
    const payer = accounts[0]?.address;
    if (payer === undefined) return refused(error, signature);
    const before = source.get(payer);
    const after = this.#vm.read(payer);
    if (after === before) return refused(error, signature);
    return {
      error,
      landed: true,
      changes: new Map([[payer, after]]),
      logs: run.logs,
      computeUnits: run.computeUnits,
      feeLamports: (before?.lamports ?? 0n) - (after?.lamports ?? 0n),
      signature,
    };
  }

  /** Runs the instructions on an overlay that begins with the fee paid; `charged` is what remains if one fails. */
  #runNatively(
    { accounts, source, clock }: Prepared,
    instructions: readonly Instruction[],
    charged: ExecutionResult,
  ): ExecutionResult {
    const overlay = new Overlay(source);
    for (const [address, state] of charged.changes) overlay.set(address, state);
    const machine = new Machine({
      vm: this.#vm,
      overlay,
      clock,
      budget: readBudget(instructions),
      programs: this.#native,
    });
    const stop = machine.run(instructions, 1);
    const error =
      stop === null ? this.#rentError(accounts, source, overlay, charged) : instructionError(stop);
    const { logs, computeUnits } = machine;
    const changes = error === null ? overlay.changes() : charged.changes;
    return { ...charged, error, changes, logs: logs.lines, computeUnits };
  }

  #rentError(
    accounts: readonly AccountMeta[],
    source: AccountSource,
    overlay: Overlay,
    charged: ExecutionResult,
  ): TransactionError | null {
    const accountIndex = accounts.findIndex(({ address, writable }) => {
      if (!writable) return false;
      const paid = charged.changes.get(address);
      const before = paid === undefined ? source.get(address) : paid;
      return !mayStandAs(address, before, overlay.get(address));
    });
    if (accountIndex < 0) return null;
    return { kind: 'transaction', error: 'InsufficientFundsForRent', accountIndex };
  }
}

const instructionError = ({ position: index, fault }: Stop): TransactionError => ({
  kind: 'instruction',
  index,
  ...(fault satisfies InstructionFault),
});

const refused = (error: TransactionError, signature: string): ExecutionResult => ({
  error,
  landed: false,
  changes: new Map(),
  logs: [],
  computeUnits: 0n,
  feeLamports: 0n,
  signature,
});
