/** Dry run of instructions in LiteSVM, on accounts read from any chain. */
import type { Address } from '../../values/address.js';
import { type AccountState, type ChainClock, decodeClock } from '../account.js';
import type { Simulator } from '../chain.js';
import { CLOCK_SYSVAR } from '../programs.js';
import { MAX_COMPUTE_UNITS } from '../transaction/message.js';
import { describeFault, Overlay } from './runtime/execution.js';
import { Machine } from './runtime/machine.js';
import { Vm } from './vm.js';

const BUDGET = { computeUnits: MAX_COMPUTE_UNITS, heapBytes: null, microLamports: 0n };
/** Depth 2, as if another program called: the caller passes on the rights of its message. */
const CALLED = 2;

const NO_TIME: ChainClock = { slot: 0n, epoch: 0n, unixTimestamp: 0n };

const ERROR_LINE = /^Program log: (Error: .*)$/;

function withLog(reason: string, lines: readonly string[]): string {
  const said = lines.map((line) => ERROR_LINE.exec(line)?.[1]).findLast((text) => text !== undefined);
  return said === undefined ? reason : `${reason} (${said})`;
}

/** @throws `ERR_INTERNAL` when there is no LiteSVM for this machine. */
export function createSimulator(): Simulator {
  const vm = new Vm();
  return {
    run(accounts, steps) {
      const clock = decodeClock(accounts.get(CLOCK_SYSVAR)) ?? NO_TIME;
      vm.setClock(clock);
      const state = new Overlay({
        get: (address) => {
          const found = accounts.get(address) ?? null;
          // Programs and the clock come from the VM.
          return found?.executable === true || address === CLOCK_SYSVAR ? null : found;
        },
      });
      const account = (address: Address): AccountState | null => state.get(address);
      for (const [step, calls] of steps.entries()) {
        const overlay = new Overlay(state);
        const machine = new Machine({ vm, overlay, clock, budget: BUDGET, programs: new Map() });
        const stop = machine.run(calls, CALLED);
        if (stop !== null) {
          const reason = `instruction ${stop.position + 1}: ${describeFault(stop.fault)}`;
          return { failure: { step, reason: withLog(reason, machine.logs.lines) }, account };
        }
        for (const [address, changed] of overlay.changes()) state.set(address, changed);
      }
      return { failure: null, account };
    },
  };
}
