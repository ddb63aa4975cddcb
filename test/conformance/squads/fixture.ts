/** A recorded transaction taken apart: its accounts and instructions can be changed, and run without signatures. */
import { type AccountState, RENT_EPOCH_EXEMPT } from '../../../src/chain/account.js';
import type { InstructionFault } from '../../../src/chain/local/runtime/failure.js';
import { Machine, RUN_PAYER } from '../../../src/chain/local/runtime/machine.js';
import { Overlay } from '../../../src/chain/local/runtime/overlay.js';
import { resolveAccounts, resolveInstructions } from '../../../src/chain/local/runtime/resolve.js';
import { runSquads } from '../../../src/chain/local/squads/program.js';
import { loadNative } from '../../../src/chain/local/vm/native.js';
import { type RuntimeClock, Vm } from '../../../src/chain/local/vm/vm.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../../src/chain/programs.js';
import type { AccountMeta, Instruction } from '../../../src/chain/transaction/instruction.js';
import { decodeTransaction } from '../../../src/chain/transaction/wire.js';
import type { Address } from '../../../src/values/address.js';
import { LedgerAccounts } from '../../support/ledger-accounts.js';
import { readVectors, toState, type Vector } from './vector.js';

const FOLDER = 'test/conformance/vectors/squads';

/** What became of a fixture. */
export interface FixtureEnd {
  /** Error number, name of a runtime error, or `ok`; or which accounts were changed in place. */
  readonly end: number | string;
  readonly logs: readonly string[];
  get(address: Address): AccountState | null;
}

const endOf = (fault: InstructionFault): number | string => ('custom' in fault ? fault.custom : fault.error);

let vm: Vm | undefined;
function machineVm(): Vm {
  if (vm !== undefined) return vm;
  vm = new Vm(loadNative());
  const payer = { lamports: 1n << 60n, owner: SYSTEM_PROGRAM, data: new Uint8Array(0) };
  vm.setFixture(RUN_PAYER, { ...payer, executable: false, rentEpoch: RENT_EPOCH_EXEMPT });
  return vm;
}

export class Fixture {
  readonly accounts: Map<Address, AccountState | null>;
  readonly instructions: Instruction[];
  clock: RuntimeClock;

  constructor(vector: Vector) {
    this.accounts = new Map(
      Object.entries(vector.pre).map(([address, account]) => [address as Address, toState(account)]),
    );
    const { message } = decodeTransaction(Buffer.from(vector.transaction, 'base64'));
    const metas = resolveAccounts(message, this);
    this.instructions = [...(resolveInstructions(message, metas) ?? [])];
    const { slot, epoch, unixTimestamp } = vector.clock;
    this.clock = { slot: BigInt(slot), epoch: BigInt(epoch), unixTimestamp: BigInt(unixTimestamp) };
  }

  get(address: Address): AccountState | null {
    return this.accounts.get(address) ?? null;
  }

  /** Position of the first Squads instruction. */
  get position(): number {
    return this.instructions.findIndex(({ program }) => program === SQUADS_PROGRAM);
  }

  get instruction(): Instruction {
    const found = this.instructions[this.position];
    if (found === undefined) throw new Error('The fixture has no Squads instruction.');
    return found;
  }

  set instruction(changed: Instruction) {
    this.instructions[this.position] = changed;
  }

  account(index: number): AccountMeta {
    const meta = this.instruction.accounts[index];
    if (meta === undefined) throw new Error(`The instruction has no account ${index}.`);
    return meta;
  }

  /** Another address in one place, or other rights for the address in all its places: a transaction knows no others. */
  setAccount(index: number, change: Partial<AccountMeta>): void {
    const { address } = this.account(index);
    const { address: other, ...rights } = change;
    const accounts = this.instruction.accounts.map((meta, at) => ({
      ...meta,
      ...(meta.address === address ? rights : {}),
      ...(at === index && other !== undefined ? { address: other } : {}),
    }));
    this.instruction = { ...this.instruction, accounts };
  }

  /** The state behind an account of the instruction. */
  state(index: number): AccountState {
    const { address } = this.account(index);
    return (
      this.get(address) ?? {
        lamports: 0n,
        owner: SYSTEM_PROGRAM,
        data: new Uint8Array(0),
        executable: false,
        rentEpoch: RENT_EPOCH_EXEMPT,
      }
    );
  }

  setState(index: number, change: Partial<AccountState>): void {
    this.accounts.set(this.account(index).address, { ...this.state(index), ...change });
  }

  run(): FixtureEnd {
    const accounts = new LedgerAccounts(this.accounts);
    const overlay = new Overlay(accounts);
    const machine = new Machine({
      vm: machineVm(),
      overlay,
      clock: this.clock,
      budget: { computeUnits: 1_400_000, heapBytes: null },
      programs: new Map([[SQUADS_PROGRAM, runSquads]]),
    });
    machineVm().setClock(this.clock);
    const stop = machine.run(this.instructions, 1);
    const spoiled = accounts.changedInPlace();
    return {
      end: spoiled.length > 0 ? spoiled.join() : stop === null ? 'ok' : endOf(stop.fault),
      logs: machine.logs.lines,
      get: (address) => (stop === null ? overlay : accounts).get(address),
    };
  }
}

let vectors: ReadonlyMap<string, Vector> | undefined;

/** A fresh fixture of the vector with this name. */
export function fixtureOf(name: string): Fixture {
  vectors ??= new Map(readVectors(FOLDER, { metered: false }).map((vector) => [vector.name, vector]));
  const vector = vectors.get(name);
  if (vector === undefined) throw new Error(`There is no vector ${name}.`);
  return new Fixture(vector);
}
