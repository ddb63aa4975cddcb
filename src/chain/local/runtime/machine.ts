/**
 * Runs the instructions of one transaction, and their inner calls, on an overlay: native programs here, all others in LiteSVM.
 * Signatures, fees and the final rent check belong to the runtime.
 */
import type { Address } from '../../../values/address.js';
import { type AccountState, type ChainClock, EMPTY_ACCOUNT } from '../../account.js';
import { COMPUTE_BUDGET_PROGRAM } from '../../programs.js';
import {
  requestHeapFrame,
  setComputeUnitLimit,
  type TransactionBudget,
  transfer,
} from '../../small-programs.js';
import {
  type AccountMeta,
  type Instruction,
  isWritable,
  MAX_INSTRUCTION_TRACE,
} from '../../transaction/message.js';
import { draftTransaction } from '../../transaction/wire.js';
import { LOG_BYTES_LIMIT, RUN_PAYER, type Vm, type VmRun } from '../vm.js';
import {
  type InnerCall,
  InstructionFailure,
  type Invocation,
  innerCall,
  isStored,
  type NativeProgram,
  type Overlay,
} from './execution.js';

/** Call depth, the top-level instruction included (agave, `MAX_INSTRUCTION_STACK_DEPTH`). */
const MAX_DEPTH = 5;
/** Compute units of a builtin call (agave, `DEFAULT_COMPUTE_UNITS` of the system program). */
const BUILTIN_CALL_UNITS = 150;
/** Lent to an account during the rent check of LiteSVM; above the minimum of the largest account. */
const RENT_LOAN_LAMPORTS = 1_000_000_000_000n;
const LINES_A_BUILTIN_CALL = 2;

type InstructionFault = InstructionFailure['fault'];

interface Stop {
  readonly position: number;
  readonly fault: InstructionFault;
}

interface MachineParts {
  readonly vm: Vm;
  readonly overlay: Overlay;
  readonly clock: ChainClock;
  readonly budget: TransactionBudget;
  readonly programs: ReadonlyMap<Address, NativeProgram>;
}

export class Machine {
  readonly logs = new LogCollector();
  readonly innerCalls: InnerCall[] = [];
  #within = 0;
  #trace = 0;
  #units = 0;

  constructor(private readonly parts: MachineParts) {}

  get computeUnits(): bigint {
    return BigInt(this.#units);
  }

  /** Runs instructions in order; `depth` is 1 for top-level ones. @returns the first failure, or `null` */
  run(calls: readonly Instruction[], depth: number): Stop | null {
    for (const [position, call] of calls.entries()) {
      if (depth > MAX_DEPTH) return { position, fault: { error: 'CallDepth' } };
      if (depth === 1) this.#within = position;
      else if (isStored(call)) this.innerCalls.push(innerCall(call, this.#within));
      const fault = this.#runsHere(call.program) ? this.#runHere(call, depth) : this.#runInVm(call, depth);
      if (fault !== null) return { position, fault };
    }
    return null;
  }

  #runsHere(program: Address): boolean {
    return program === COMPUTE_BUDGET_PROGRAM || this.parts.programs.has(program);
  }

  #count(calls: number): boolean {
    this.#trace += calls;
    return this.#trace <= MAX_INSTRUCTION_TRACE;
  }

  #runHere(call: Instruction, depth: number): InstructionFault | null {
    if (!this.#count(1)) return { error: 'MaxInstructionTraceLengthExceeded' };
    this.logs.begin(call.program, depth);
    const failure = this.#failureOf(call, depth);
    this.logs.end(call.program, failure?.sentence ?? null);
    return failure?.fault ?? null;
  }

  #failureOf(call: Instruction, depth: number): InstructionFailure | null {
    const program = this.parts.programs.get(call.program);
    if (program === undefined) {
      this.#units += BUILTIN_CALL_UNITS;
      return null;
    }
    try {
      program(this.#invocation(call, depth));
      return null;
    } catch (error) {
      if (error instanceof InstructionFailure) return error;
      throw error;
    }
  }

  #invocation(call: Instruction, depth: number): Invocation {
    const { overlay, clock } = this.parts;
    return {
      accounts: call.accounts,
      data: call.data,
      unixTimestamp: clock.unixTimestamp,
      get: (address) => overlay.get(address) ?? this.#loaded(address) ?? EMPTY_ACCOUNT,
      set: (address, state) => overlay.set(address, state),
      log: (text) => this.logs.add(`Program log: ${text}`),
      invoke: (calls, derivedSigners) => this.#invoke(call.accounts, calls, derivedSigners, depth + 1),
    };
  }

  #loaded(address: Address): AccountState | null {
    const { vm, overlay } = this.parts;
    vm.load([address], overlay);
    return vm.peek(address);
  }

  /** A call may pass on only the rights of its caller, and signatures of addresses that the caller derived. */
  #invoke(
    own: readonly AccountMeta[],
    calls: readonly Instruction[],
    derivedSigners: readonly Address[],
    depth: number,
  ): void {
    const writable = new Set(own.filter((meta) => meta.writable).map((meta) => meta.address));
    const signers = new Set(own.filter((meta) => meta.signer).map((meta) => meta.address));
    for (const address of derivedSigners) signers.add(address);
    const escalates = ({ address, ...asked }: AccountMeta): boolean =>
      (asked.writable && !writable.has(address)) || (asked.signer && !signers.has(address));
    const first = calls.findIndex(({ accounts }) => accounts.some(escalates));
    const stop = this.run(first < 0 ? calls : calls.slice(0, first), depth);
    if (stop !== null) throw new InstructionFailure(stop.fault);
    if (first < 0) return;
    const culprit = calls[first]?.accounts.find(escalates);
    const right = culprit?.writable === true && !writable.has(culprit.address) ? 'writable' : 'signer';
    this.logs.add(`${culprit?.address}'s ${right} privilege escalated`);
    throw new InstructionFailure({ error: 'PrivilegeEscalation' });
  }

  #runInVm(call: Instruction, depth: number): InstructionFault | null {
    if (this.#loaded(call.program)?.executable !== true) return { error: 'UnsupportedProgramId' };
    const { budget, vm, overlay } = this.parts;
    const computeUnits = budget.computeUnits - this.#units;
    if (computeUnits <= 0) return { error: 'ComputationalBudgetExceeded' };
    const { run, written, leading, loans } = this.#runWithRentLoans(call, { ...budget, computeUnits });
    const { error } = run;
    const trailing = error === null ? loans.size : 0;
    const lines = run.logs.slice(
      leading * LINES_A_BUILTIN_CALL,
      run.logs.length - trailing * LINES_A_BUILTIN_CALL,
    );
    const fault = this.#account(lines, run, leading + loans.size, depth);
    if (fault !== null) return fault;
    if (error !== null) {
      return error.kind === 'instruction' && 'custom' in error
        ? { custom: error.custom }
        : { error: error.error };
    }
    for (const address of written) {
      const before = vm.peek(address);
      const after = vm.read(address);
      if (after === before) continue;
      const lent = loans.has(address) ? RENT_LOAN_LAMPORTS : 0n;
      overlay.set(address, after && { ...after, lamports: after.lamports - lent });
    }
    return null;
  }

  #account(lines: readonly string[], run: VmRun, extraCalls: number, depth: number): InstructionFault | null {
    this.#units += Math.max(0, Number(run.computeUnits) - extraCalls * BUILTIN_CALL_UNITS);
    let calls = 0;
    let deepest = depth;
    for (const line of lines) {
      const own = invokeDepth(line);
      this.logs.add(own === undefined || depth === 1 ? line : nestLine(line, own + depth - 1));
      if (own === undefined) continue;
      calls += 1;
      deepest = Math.max(deepest, own + depth - 1);
    }
    if (!this.#count(calls)) return { error: 'MaxInstructionTraceLengthExceeded' };
    return deepest > MAX_DEPTH ? { error: 'CallDepth' } : null;
  }

  /**
   * LiteSVM checks rent after every run, a cluster only once, after the whole transaction. An account below its minimum in
   * between gets a loan at the end of the run; the loan is subtracted when the account is read back.
   */
  #runWithRentLoans(call: Instruction, budget: TransactionBudget) {
    const { vm, overlay } = this.parts;
    const loans = new Set<Address>();
    for (;;) {
      const own = budget.heapBytes === null ? 1 : 2;
      const computeUnits = budget.computeUnits + (own + loans.size) * BUILTIN_CALL_UNITS;
      const limit = setComputeUnitLimit(computeUnits);
      const lead = budget.heapBytes === null ? [limit] : [limit, requestHeapFrame(budget.heapBytes)];
      const trail = [...loans].map((to) => transfer({ from: RUN_PAYER, to, lamports: RENT_LOAN_LAMPORTS }));
      const { message, bytes } = draftTransaction(RUN_PAYER, [...lead, call, ...trail]);
      const { staticKeys } = message;
      vm.load(staticKeys.slice(1), overlay);
      const run = vm.send(bytes, { verifySignatures: false, limitLogs: false });
      const low = run.error !== null && 'accountIndex' in run.error ? run.error : undefined;
      const address =
        low?.error === 'InsufficientFundsForRent' ? staticKeys[low.accountIndex ?? 0] : undefined;
      if (address === undefined || loans.has(address)) {
        const written = staticKeys.filter((_, index) => index > 0 && isWritable(message, index));
        return { run, written, loans, leading: lead.length };
      }
      loans.add(address);
    }
  }
}

const LOG_TRUNCATED = 'Log truncated';

/** The line with which the runtime starts a program. Lines of programs begin with `Program log: ` or similar. */
const INVOKE_LINE = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[(\d+)\]$/;
/**
 * Size of the line "consumed … of … compute units", which native programs do not write because they are not metered. Counting
 * the line keeps truncation as on a cluster.
 */
const UNWRITTEN_LINE_BYTES = 89;

function invokeDepth(line: string): number | undefined {
  if (!line.endsWith(']')) return undefined;
  const depth = INVOKE_LINE.exec(line)?.[2];
  return depth === undefined ? undefined : Number(depth);
}

const nestLine = (line: string, depth: number): string => `${line.slice(0, line.lastIndexOf('['))}[${depth}]`;

class LogCollector {
  readonly lines: string[] = [];
  #bytes = 0;
  #truncated = false;

  add(line: string): void {
    const bytes = this.#bytes + Buffer.byteLength(line);
    if (bytes < Number(LOG_BYTES_LIMIT)) {
      this.#bytes = bytes;
      this.lines.push(line);
    } else if (!this.#truncated) {
      this.#truncated = true;
      this.lines.push(LOG_TRUNCATED);
    }
  }

  begin(program: Address, depth: number): void {
    this.add(`Program ${program} invoke [${depth}]`);
  }

  end(program: Address, failure: string | null): void {
    this.#bytes += UNWRITTEN_LINE_BYTES;
    this.add(failure === null ? `Program ${program} success` : `Program ${program} failed: ${failure}`);
  }
}
