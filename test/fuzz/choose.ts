/** Chooses the next instruction, usually one that advances a proposal, and changes made outside instructions. */

import { reconfigure } from './configuration.js';
import {
  activate,
  batchAdd,
  batchCreate,
  batchOf,
  close,
  createMultisig,
  execute,
  pickTarget,
  proposalCreate,
  proposalOf,
  type Target,
  VAULTS,
  vaultTransactionCreate,
  vote,
} from './operations.js';
import {
  type Address,
  copyBytes,
  ephemeralSignerAddress,
  type Instruction,
  programConfigAddress,
  proposalAddress,
  readonlyAccount,
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  transactionAddress,
  vaultAddress,
} from './program.js';
import type { World } from './world.js';

type Operation = (target: Target) => Instruction | undefined;

const OPERATIONS: readonly Operation[] = [
  batchCreate,
  vaultTransactionCreate,
  proposalCreate,
  batchAdd,
  activate,
  vote,
  execute,
  close,
];

/** Usually the operation that advances the transaction at the target's index. */
function nextOperation(target: Target): Operation {
  const { world, address, index, state } = target;
  const { random } = world;
  const begin = random.oneIn(2) ? batchCreate : vaultTransactionCreate;
  if (state.transactionIndex === 0n) return begin;
  // A closed transaction can be proposed again, though it cannot run.
  const isGone = world.get(transactionAddress(address, index).address) === null;
  if (isGone && !random.oneIn(4)) return begin;
  switch (proposalOf(target)?.status.kind) {
    case undefined:
      return random.oneIn(8) ? close : proposalCreate;
    case 'Draft':
      return batchOf(target) !== undefined && !random.oneIn(3) ? batchAdd : activate;
    case 'Active':
      return vote;
    case 'Approved':
      return random.oneIn(6) ? vote : execute;
    default:
      return random.oneIn(2) ? close : begin;
  }
}

function damaged(world: World, instruction: Instruction): Instruction {
  const { random } = world;
  const accounts = [...instruction.accounts];
  const at = random.below(Math.max(1, accounts.length));
  const old = accounts[at];
  const data = Uint8Array.from(instruction.data);
  switch (random.below(7)) {
    case 0:
      if (old !== undefined) accounts[at] = { ...old, address: world.anyAddress(), signer: false };
      break;
    case 1:
      if (old !== undefined) accounts[at] = { ...old, writable: !old.writable };
      break;
    case 2:
      if (old !== undefined) accounts[at] = { ...old, signer: false };
      break;
    case 3:
      accounts.splice(at, 1);
      break;
    case 4:
      accounts.push(readonlyAccount(world.anyAddress()));
      break;
    case 5:
      return { ...instruction, data: data.slice(0, random.below(data.length + 1)) };
    default:
      data[random.below(data.length)] = random.below(256);
  }
  return { ...instruction, accounts, data };
}

/** One instruction in eight is damaged. */
export function randomInstruction(world: World): Instruction {
  const { random } = world;
  const target = random.oneIn(25) ? undefined : pickTarget(world);
  const operation = target === undefined || random.oneIn(6) ? random.pick(OPERATIONS) : nextOperation(target);
  const instruction = (target === undefined ? undefined : operation(target)) ?? createMultisig(world);
  return random.oneIn(8) ? damaged(world, instruction) : instruction;
}

/** Changes that no instruction here makes, such as configuration changes or lamports from others. */
export function meddle(world: World): void {
  const target = pickTarget(world);
  if (target === undefined) return;
  const { random } = world;
  if (world.isSpoiled) spoil(world);
  const { address, index } = target;
  const funded = random.pick([
    vaultAddress(address, random.below(VAULTS)).address,
    transactionAddress(address, index + 1n).address,
    proposalAddress(address, index + 1n).address,
    ephemeralSignerAddress(transactionAddress(address, index).address, random.below(2)).address,
  ]);
  if (random.oneIn(2) && world.get(funded) === null) world.fund(funded, BigInt(1 + random.below(5_000_000)));
  const vault = vaultAddress(address, 0).address;
  if (random.oneIn(2)) {
    if (world.get(vault) === null) world.fund(vault, 1_000_000_000n);
    world.giveTokens(vault);
    if (random.oneIn(2)) world.giveOtherTokens(vault, random.oneIn(4));
  }
  if (random.oneIn(5)) reconfigure(world, address, target.state);
  if (random.oneIn(10)) {
    const lamports = random.oneIn(3) ? random.below(4_000_000) : 10_000_000_000;
    world.fund(world.wallet().address, BigInt(lamports));
  }
  if (random.oneIn(30)) occupy(world, funded);
}

function spoil(world: World): void {
  const { random } = world;
  const config = programConfigAddress().address;
  const own = world.accounts
    .addresses()
    .filter((address) => address !== config && world.get(address)?.owner === SQUADS_PROGRAM);
  if (own.length === 0) return;
  const address = random.pick(own);
  const account = world.get(address);
  if (account === null || account.data.length === 0) return;
  const data = copyBytes(account.data);
  for (let times = 1 + random.below(3); times > 0; times -= 1) {
    data[random.below(data.length)] = random.oneIn(3) ? random.below(256) : random.below(8);
  }
  const length = random.oneIn(6) ? random.below(data.length) : data.length;
  world.put(address, data.slice(0, length), SQUADS_PROGRAM, account.lamports);
}

/** Puts a foreign account where an account will be created. */
function occupy(world: World, address: Address): void {
  if (world.get(address) !== null) return;
  const owner = world.random.pick([SYSTEM_PROGRAM, TOKEN_PROGRAM, SQUADS_PROGRAM]);
  world.put(address, world.random.bytes(world.random.below(40)), owner);
}
