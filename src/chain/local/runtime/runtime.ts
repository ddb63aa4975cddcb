/**
 * Runs signed transactions on accounts that someone else keeps: whole in LiteSVM where no Squads instruction is in them,
 * piece by piece otherwise. What is committed, and whether a blockhash or signature is still good, the caller decides.
 */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import { type AccountState, type ChainClock, rentExemptLamports } from '../../account.js';
import type { TransactionError } from '../../chain.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import { budgetOf } from '../../small-programs.js';
import type { AccountMeta, CompiledInstruction, Instruction } from '../../transaction/message.js';
import { instructionsOf } from '../../transaction/message.js';
import { decodeTransaction, type WireTransaction } from '../../transaction/wire.js';
import { runSquads } from '../squads/program.js';
import { loadNative } from '../vm/native.js';
import { type AccountSource, type RecentSlot, Vm, type VmRun } from '../vm/vm.js';
import type { NativeProgram } from './execution.js';
import { type ExecutionResult, type InnerCall, innerCall, Overlay, refused } from './execution.js';
import { Machine, RUN_PAYER, type Stop } from './machine.js';
import { resolveAccounts } from './resolve.js';

const INCINERATOR = '1nc1nerator11111111111111111111111111111111';

/**
 * May an account go from one state to the other in a transaction? Empty and rent-exempt always; one that was below its
 * minimum already may stay so if it loses nothing, keeps its owner and does not grow (as LiteSVM 1.5.0 and clusters since
 * SIMD-0392 have it).
 */
function mayStandAs(address: string, before: AccountState | null, after: AccountState | null): boolean {
  if (after === null || after.lamports >= rentExemptLamports(after.data.length)) return true;
  if (address === INCINERATOR) return true;
  return (
    before !== null &&
    after.lamports >= before.lamports &&
    after.owner === before.owner &&
    after.data.length <= before.data.length
  );
}

interface RuntimeOptions {
  /** The real program, loaded into LiteSVM in the place of the native one. */
  readonly squadsProgram?: ReadonlyBytes;
  /** Programs that run natively, by address. @default Squads */
  readonly nativePrograms?: ReadonlyMap<Address, NativeProgram>;
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

/** What is the same for both ways of running a transaction. */
interface Prepared {
  readonly accounts: readonly AccountMeta[];
  readonly source: AccountSource;
  readonly clock: ChainClock;
}

/** A fee payer who has paid; `after` is all that a failed transaction changes. */
interface Charge {
  readonly payer: Address;
  readonly after: AccountState | null;
  readonly feeLamports: bigint;
}

/** `undefined` for bytes that are no transaction; LiteSVM would end the process. */
function tryDecode(transaction: ReadonlyBytes): WireTransaction | undefined {
  try {
    const wire = decodeTransaction(transaction);
    return wire.signatures.length === 0 ? undefined : wire;
  } catch {
    return undefined;
  }
}

const sumOf = (states: readonly (AccountState | null)[]): bigint =>
  states.reduce((sum, state) => sum + (state?.lamports ?? 0n), 0n);

/** A runtime with its own LiteSVM, so make one a process and only when transactions have to run. */
export class Runtime {
  readonly #vm: Vm;
  readonly #native: ReadonlyMap<Address, NativeProgram>;

  /** @throws `ERR_INTERNAL` when there is no LiteSVM for this machine. */
  constructor({
    squadsProgram,
    nativePrograms = new Map([[SQUADS_PROGRAM, runSquads]]),
  }: RuntimeOptions = {}) {
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

  /** A program or sysvar that belongs to the machine itself and to no source. */
  builtIn(address: Address): AccountState | null {
    return this.#vm.builtIn(address);
  }

  /** The slots that programs take for recent, newest first: a lookup table is made with one of them. */
  setRecentSlots(slots: readonly RecentSlot[]): void {
    this.#vm.setRecentSlots(slots);
  }

  /** Runs one transaction over `source`, which is only read. Calls build on each other only through the source. */
  execute(
    transaction: ReadonlyBytes,
    source: AccountSource,
    clock: ChainClock,
    { verifySignatures = true }: { readonly verifySignatures?: boolean } = {},
  ): ExecutionResult {
    const wire = tryDecode(transaction);
    if (wire === undefined) return refused('SanitizeFailure');
    const accounts = resolveAccounts(wire.message, source);
    const prepared: Prepared = { accounts, source, clock };
    this.#vm.setClock(clock);
    const instructions = instructionsOf(wire.message, accounts) ?? [];
    const native = instructions.some(({ program }) => this.#native.has(program));
    // One that cannot get past its native instruction depends on what decides about its start, and on nothing else.
    const named = native
      ? [...wire.message.staticKeys.slice(0, 1), ...instructions.map(({ program }) => program)]
      : accounts.map(({ address }) => address);
    for (const { table } of wire.message.lookups) named.push(table);
    this.#vm.load(named, source);
    const [payer] = accounts;
    const before = payer === undefined ? null : this.#vm.peek(payer.address);
    const run = this.#vm.send(transaction, { verifySignatures, limitLogs: !native });
    if (run.error === null) return this.#succeeded(prepared, run);
    const after = payer === undefined ? null : this.#vm.read(payer.address);
    if (payer === undefined || after === before) return refused(run.error);
    const charge = { payer: payer.address, after, feeLamports: sumOf([before]) - sumOf([after]) };
    return native ? this.#runNatively(prepared, instructions, charge) : failed(run, charge);
  }

  #succeeded({ accounts }: Prepared, run: VmRun): ExecutionResult {
    const writable = accounts.filter((meta) => meta.writable).map((meta) => meta.address);
    const before = writable.map((address) => this.#vm.peek(address));
    const after = writable.map((address) => this.#vm.read(address));
    const changes = new Map<Address, AccountState | null>();
    writable.forEach((address, at) => {
      const state = after[at] ?? null;
      if (state !== before[at]) changes.set(address, state);
    });
    return {
      error: null,
      landed: true,
      changes,
      logs: run.logs,
      computeUnits: run.computeUnits,
      // Lamports that the accounts have lost together are the fee: nothing else takes any away.
      feeLamports: sumOf(before) - sumOf(after),
      innerCalls: accounts.some(({ address }) => address === SQUADS_PROGRAM)
        ? squadsCalls(run.innerCalls(), accounts)
        : [],
    };
  }

  /** Runs the instructions on an overlay that begins with the fee paid; the charge is what remains if one fails. */
  #runNatively(
    { accounts, source, clock }: Prepared,
    instructions: readonly Instruction[],
    { payer, after, feeLamports }: Charge,
  ): ExecutionResult {
    const paid = new Overlay(source);
    paid.set(payer, after);
    const overlay = new Overlay(paid);
    const machine = new Machine({
      vm: this.#vm,
      overlay,
      clock,
      budget: budgetOf(instructions),
      programs: this.#native,
    });
    const stop = machine.run(instructions, 1);
    const error = stop === null ? rentError(accounts, paid, overlay) : instructionError(stop);
    const changes = new Map([[payer, after]]);
    if (error === null) for (const [address, state] of overlay.changes()) changes.set(address, state);
    return {
      error,
      landed: true,
      changes,
      logs: machine.logs.lines,
      computeUnits: machine.computeUnits,
      feeLamports,
      innerCalls: error === null ? machine.innerCalls : [],
    };
  }
}

const failed = (run: VmRun, { payer, after, feeLamports }: Charge): ExecutionResult => ({
  error: run.error,
  landed: true,
  changes: new Map([[payer, after]]),
  logs: run.logs,
  computeUnits: run.computeUnits,
  feeLamports,
  innerCalls: [],
});

/** Those of the Squads program among the calls of each instruction. */
const squadsCalls = (
  calls: readonly (readonly CompiledInstruction[])[],
  accounts: readonly AccountMeta[],
): readonly InnerCall[] =>
  calls.flatMap((group, within) =>
    (instructionsOf({ instructions: group }, accounts) ?? []).flatMap((call) =>
      call.program === SQUADS_PROGRAM ? innerCall(call, within) : [],
    ),
  );

/** The first writable account that may not stand as it was left; `before` is as of after the fee. */
function rentError(
  accounts: readonly AccountMeta[],
  before: AccountSource,
  after: AccountSource,
): TransactionError | null {
  const accountIndex = accounts.findIndex(
    ({ address, writable }) => writable && !mayStandAs(address, before.get(address), after.get(address)),
  );
  if (accountIndex < 0) return null;
  return { kind: 'transaction', error: 'InsufficientFundsForRent', accountIndex };
}

const instructionError = ({ position: index, fault }: Stop): TransactionError => ({
  kind: 'instruction',
  index,
  ...fault,
});
