/** Tries instructions out in LiteSVM, on accounts that were read from whatever chain. */
import type { Address } from '../../values/address.js';
import type { AccountState } from '../account.js';
import { decodeClock } from '../clock-account.js';
import { CLOCK_SYSVAR, SYSTEM_PROGRAM } from '../programs.js';
import type { SimulatedRun, Simulator } from '../simulator.js';
import type { Instruction } from '../transaction/instruction.js';
import { MAX_COMPUTE_UNITS } from '../transaction/limits.js';
import { Machine, RUN_PAYER } from './runtime/machine.js';
import { describeFault } from './runtime/native-program.js';
import { Overlay } from './runtime/overlay.js';
import { loadNative } from './vm/native.js';
import { type RuntimeClock, Vm } from './vm/vm.js';

/** Enough for any number of runs. */
const RUN_PAYER_LAMPORTS = 1n << 62n;
const BUDGET = { computeUnits: MAX_COMPUTE_UNITS, heapBytes: null, microLamports: 0n };
/** As if another program called: the rights that it passes on are those of its message. */
const CALLED = 2;

const NO_TIME: RuntimeClock = { slot: 0n, epoch: 0n, unixTimestamp: 0n };

class LocalSimulator implements Simulator {
  readonly #vm = new Vm(loadNative());

  constructor() {
    this.#vm.setFixture(RUN_PAYER, {
      lamports: RUN_PAYER_LAMPORTS,
      owner: SYSTEM_PROGRAM,
      data: new Uint8Array(0),
      executable: false,
      rentEpoch: 0n,
    });
  }

  run(
    accounts: ReadonlyMap<Address, AccountState | null>,
    steps: readonly (readonly Instruction[])[],
  ): SimulatedRun {
    const vm = this.#vm;
    const clock = decodeClock(accounts.get(CLOCK_SYSVAR)) ?? NO_TIME;
    vm.setClock(clock);
    const state = new Overlay({
      get: (address) => {
        const found = accounts.get(address) ?? null;
        // Programs and the clock are the machine's own.
        return found?.executable === true || address === CLOCK_SYSVAR ? null : found;
      },
    });
    const account = (address: Address): AccountState | null => state.get(address);
    const stopOf = (calls: readonly Instruction[]): string | null => {
      const overlay = new Overlay(state);
      const machine = new Machine({ vm, overlay, clock, budget: BUDGET, programs: new Map() });
      const stop = machine.run(calls, CALLED);
      if (stop === null) {
        for (const [address, changed] of overlay.changes()) state.set(address, changed);
        return null;
      }
      const reason = `instruction ${stop.position + 1}: ${describeFault(stop.fault)}`;
      return withLog(reason, machine.logs.lines);
    };
    for (const [step, calls] of steps.entries()) {
      const reason = stopOf(calls);
      if (reason !== null) return { failure: { step, reason }, account };
    }
    return { failure: null, account };
  }
}

const ERROR_LINE = /^Program log: (Error: .*)$/;

/** The program's own words, where it has any. */
function withLog(reason: string, lines: readonly string[]): string {
  const said = lines.map((line) => ERROR_LINE.exec(line)?.[1]).findLast((text) => text !== undefined);
  return said === undefined ? reason : `${reason} (${said})`;
}

/** @throws `ERR_INTERNAL` when there is no LiteSVM for this machine. */
export const createSimulator = (): Simulator => new LocalSimulator();
