/**
 * Runs signed transactions on the accounts of a caller: whole in LiteSVM, or instruction by instruction if the transaction
 * calls Squads. The caller commits the changes and checks blockhash and repeated signatures.
 */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import { type AccountState, type ChainClock, EMPTY_ACCOUNT, rentExemptLamports } from '../../account.js';
import type { TransactionError } from '../../chain.js';
import { SQUADS_PROGRAM } from '../../programs.js';
import { budgetOf } from '../../small-programs.js';
import {
  type AccountMeta,
  type CompiledInstruction,
  type Instruction,
  instructionsOf,
} from '../../transaction/message.js';
import { decodeTransaction, type WireTransaction } from '../../transaction/wire.js';
import { runSquads } from '../squads/program.js';
import { type AccountSource, Vm, type VmRun } from '../vm.js';
import {
  type ExecutionResult,
  type InnerCall,
  innerCall,
  isStored,
  type NativeProgram,
  Overlay,
  refused,
} from './execution.js';
import { Machine } from './machine.js';
import { resolveAccounts } from './resolve.js';

const INCINERATOR = '1nc1nerator11111111111111111111111111111111';

/**
 * Rent rule after a transaction: deleted or rent-exempt accounts pass. An account that was below its minimum already passes if
 * it loses no lamports, keeps its owner and does not grow (LiteSVM 1.5.0, and clusters since SIMD-0392).
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
  readonly squadsProgram?: ReadonlyBytes | undefined;
  readonly nativePrograms?: ReadonlyMap<Address, NativeProgram>;
}

const NATIVE_LOADER = 'NativeLoader1111111111111111111111111111111' as Address;
const MISSING_BUILTIN = { ...EMPTY_ACCOUNT, owner: NATIVE_LOADER, lamports: 1n, executable: true };

/** `undefined` for bytes that are not a transaction; LiteSVM would abort the process. */
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

/** Has its own LiteSVM instance: create one per process, and only when transactions must run. */
export class Runtime {
  readonly vm = new Vm();
  readonly #native: ReadonlyMap<Address, NativeProgram>;

  /** @throws `ERR_INTERNAL` when there is no LiteSVM for this machine. */
  constructor({
    squadsProgram,
    nativePrograms = new Map([[SQUADS_PROGRAM, runSquads]]),
  }: RuntimeOptions = {}) {
    this.#native = squadsProgram === undefined ? nativePrograms : new Map();
    if (squadsProgram !== undefined) this.vm.addProgram(SQUADS_PROGRAM, squadsProgram);
    // LiteSVM treats a native program as a missing builtin: a transaction that calls one passes all checks before its start,
    // pays its fee, and fails at that instruction. That run decides about the start; see #runNatively.
    for (const program of this.#native.keys()) this.vm.setFixture(program, MISSING_BUILTIN);
  }

  /** Runs one transaction over `source`, which is only read. Later calls see the changes only through the source. */
  execute(
    transaction: ReadonlyBytes,
    source: AccountSource,
    clock: ChainClock,
    { verifySignatures = true }: { readonly verifySignatures?: boolean } = {},
  ): ExecutionResult {
    const wire = tryDecode(transaction);
    if (wire === undefined) return refused('SanitizeFailure');
    const accounts = resolveAccounts(wire.message, source);
    this.vm.setClock(clock);
    const instructions = instructionsOf(wire.message, accounts) ?? [];
    const native = instructions.some(({ program }) => this.#native.has(program));
    // For a transaction with a native instruction, LiteSVM only decides about the start, so fee payer, programs and tables
    // suffice.
    const named = native
      ? [...wire.message.staticKeys.slice(0, 1), ...instructions.map(({ program }) => program)]
      : accounts.map(({ address }) => address);
    for (const { table } of wire.message.lookups) named.push(table);
    this.vm.load(named, source);
    const [payer] = accounts;
    const before = payer === undefined ? null : this.vm.peek(payer.address);
    const run = this.vm.send(transaction, { verifySignatures, limitLogs: !native });
    if (run.error === null) return this.#succeeded(accounts, run);
    const after = payer === undefined ? null : this.vm.read(payer.address);
    if (payer === undefined || after === before) return refused(run.error);
    const feeLamports = sumOf([before]) - sumOf([after]);
    const { logs, computeUnits } = run;
    const changes = new Map([[payer.address, after]]);
    const failed = { ...refused(run.error, logs), landed: true, changes, computeUnits, feeLamports };
    if (!native) return failed;
    const paid = new Overlay(source);
    paid.set(payer.address, after);
    return { ...failed, ...this.#runNatively(instructions, accounts, paid, clock) };
  }

  #succeeded(accounts: readonly AccountMeta[], run: VmRun): ExecutionResult {
    const writable = accounts.filter((meta) => meta.writable).map((meta) => meta.address);
    const before = writable.map((address) => this.vm.peek(address));
    const after = writable.map((address) => this.vm.read(address));
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
      // The fee is the net loss of all accounts: no other rule burns lamports.
      feeLamports: sumOf(before) - sumOf(after),
      innerCalls: accounts.some(({ address }) => address === SQUADS_PROGRAM)
        ? storedCalls(run.innerCalls(), accounts)
        : [],
    };
  }

  /** @param paid - the accounts after the fee. */
  #runNatively(
    instructions: readonly Instruction[],
    accounts: readonly AccountMeta[],
    paid: Overlay,
    clock: ChainClock,
  ): Partial<ExecutionResult> {
    const overlay = new Overlay(paid);
    const budget = budgetOf(instructions);
    const machine = new Machine({ vm: this.vm, overlay, clock, budget, programs: this.#native });
    const stop = machine.run(instructions, 1);
    const error: TransactionError | null =
      stop === null
        ? rentError(accounts, paid, overlay)
        : { kind: 'instruction', index: stop.position, ...stop.fault };
    const { computeUnits, innerCalls } = machine;
    const ran = { error, logs: machine.logs.lines, computeUnits };
    if (error !== null) return ran;
    return { ...ran, innerCalls, changes: new Map([...paid.changes(), ...overlay.changes()]) };
  }
}

const storedCalls = (
  calls: readonly (readonly CompiledInstruction[])[],
  accounts: readonly AccountMeta[],
): readonly InnerCall[] =>
  calls.flatMap((group, within) =>
    (instructionsOf({ instructions: group }, accounts) ?? []).flatMap((call) =>
      isStored(call) ? innerCall(call, within) : [],
    ),
  );

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
