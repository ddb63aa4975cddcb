/** Random Squads instructions on the multisigs of a world, most of them nearly valid. */

import { randomMessage } from './messages.js';
import {
  type AccountMeta,
  type Address,
  addressFromBytes,
  BATCH,
  batchTransactionAddress,
  decodeAccount,
  encodeVaultMessage,
  ephemeralSignerAddress,
  type Instruction,
  type Message,
  MULTISIG,
  type Multisig,
  multisigAddress,
  PROPOSAL,
  type Proposal,
  partOf,
  programConfigAddress,
  proposalAddress,
  readonlyAccount,
  squadsInstruction,
  staticAccounts,
  transactionAddress,
  VAULT_BATCH_TRANSACTION,
  VAULT_TRANSACTION,
  type VaultBatchTransaction,
  vaultAddress,
  writableAccount,
} from './program.js';
import type { World } from './world.js';

export const VAULTS = 2;

/** A multisig's state, and the index of the next instruction. */
export interface Target {
  readonly world: World;
  readonly address: Address;
  readonly state: Multisig;
  readonly index: bigint;
  /** Usually a member with the permission. */
  readonly member: Address;
}

const memoOf = ({ random }: World): string | null => (random.oneIn(6) ? 'why not' : null);

/** Half of the multisigs are valid; members are wallets and vaults of other multisigs. */
export function createMultisig(world: World): Instruction {
  const { random } = world;
  const createKey = random.oneIn(8) ? world.wallet() : world.newSigner();
  const vaults = world.multisigs.map(({ address }) => vaultAddress(address, 0).address);
  const people = random
    .shuffled([...world.wallets.map(({ address }) => address), ...vaults])
    .slice(0, 1 + random.below(4));
  const members = people.map((key) => ({ key, permissions: random.oneIn(4) ? random.below(9) : 7 }));
  const known = random.oneIn(15) ? [...members, ...members.slice(0, 1)] : members;
  const { address } = multisigAddress(createKey.address);
  world.multisigs.push({ address, createKey });
  const args = {
    configAuthority: random.oneIn(4) ? world.anyAddress() : null,
    threshold: random.oneIn(10) ? random.below(6) : 1 + random.below(members.length),
    members: known,
    timeLockSeconds: random.oneIn(3) ? random.below(60) : random.oneIn(20) ? 7_776_000 + random.below(2) : 0,
    rentCollector: random.oneIn(5) ? null : world.wallet().address,
    memo: memoOf(world),
  };
  return squadsInstruction('multisigCreateV2', {
    ...args,
    ...{ programConfig: programConfigAddress().address, treasury: world.treasury, multisig: address },
    ...{ createKey: createKey.address, creator: world.wallet().address },
  });
}

export function pickTarget(world: World): Target | undefined {
  const { random } = world;
  const known = world.multisigs.filter(({ address }) => world.get(address) !== null);
  if (known.length === 0) return undefined;
  const { address } = known.find((one) => one === world.stay) ?? random.pick(known);
  const state = decodeAccount(MULTISIG, world.get(address)?.data ?? new Uint8Array(0));
  if (state === undefined) return undefined;
  const last = Number(state.transactionIndex);
  const index = BigInt(random.oneIn(12) ? random.below(last + 2) : Math.max(1, last - random.below(3)));
  const able = state.members.filter(({ permissions }) => permissions === 7).map(({ key }) => key);
  const signing = new Set(world.wallets.map((wallet) => wallet.address));
  const candidates = able.filter((key) => signing.has(key));
  const member = candidates.length > 0 && !random.oneIn(6) ? random.pick(candidates) : world.wallet().address;
  return { world, address, state, index, member };
}

export const proposalOf = ({ world, address, index }: Target): Proposal | undefined =>
  decodeAccount(PROPOSAL, world.get(proposalAddress(address, index).address)?.data ?? new Uint8Array(0));

export const batchOf = ({ world, address, index }: Target) =>
  decodeAccount(BATCH, world.get(transactionAddress(address, index).address)?.data ?? new Uint8Array(0));

/** What instructions name at an index: accounts and a memo, by their names in the program. */
function named({ world, address: multisig, index, state, member }: Target) {
  const transaction = transactionAddress(multisig, index).address;
  return {
    ...{ multisig, member, creator: member, transaction, batch: transaction, memo: memoOf(world) },
    proposal: proposalAddress(multisig, index).address,
    rentPayer: world.wallet().address,
    rentCollector: state.rentCollector ?? world.wallet().address,
  };
}

const atNext = (target: Target): Target => ({ ...target, index: target.state.transactionIndex + 1n });

export const batchCreate = (target: Target): Instruction =>
  squadsInstruction('batchCreate', {
    ...named(atNext(target)),
    vaultIndex: target.world.random.below(VAULTS),
  });

function messageFor({ world, address, index }: Target, vaultIndex: number): Uint8Array {
  const vault = vaultAddress(address, vaultIndex).address;
  const parent = transactionAddress(address, index).address;
  const protectedAccounts = [proposalAddress(address, index).address, parent, address];
  const context = { vault, parent, protectedAccounts };
  return encodeVaultMessage(randomMessage(world, context, () => nestedCall(world, vault)));
}

/** An act of a vault as a member, usually of a multisig that it belongs to: vote, propose, execute, close. */
function nestedCall(world: World, vault: Address): Instruction | undefined {
  const { random } = world;
  const states = world.multisigs.flatMap(({ address }) => {
    const state = decodeAccount(MULTISIG, world.get(address)?.data ?? new Uint8Array(0));
    return state === undefined || state.transactionIndex === 0n ? [] : [{ address, state }];
  });
  const own = states.filter(({ state }) => state.members.some(({ key }) => key === vault));
  const candidates = own.length > 0 && !random.oneIn(6) ? own : states;
  if (candidates.length === 0) return undefined;
  const picked = random.pick(candidates);
  const target: Target = { ...picked, world, index: picked.state.transactionIndex, member: vault };
  const operation = random.pick([vote, vote, execute, activate, proposalCreate, batchCreate, close]);
  const instruction = operation(target);
  if (instruction === undefined) return undefined;
  const wallets = new Set(world.wallets.map(({ address }) => address));
  // The vault replaces every signing wallet.
  const accounts = instruction.accounts.map((account) =>
    account.signer && wallets.has(account.address) ? { ...account, address: vault } : account,
  );
  return { ...instruction, accounts };
}

export function vaultTransactionCreate(target: Target): Instruction {
  const { random } = target.world;
  const vaultIndex = random.below(VAULTS);
  return squadsInstruction('vaultTransactionCreate', {
    ...{ ...named(atNext(target)), vaultIndex },
    ephemeralSigners: random.oneIn(3) ? random.below(3) : 0,
    message: messageFor(atNext(target), vaultIndex),
  });
}

export const proposalCreate = (target: Target): Instruction =>
  squadsInstruction('proposalCreate', {
    ...{ ...named(target), transactionIndex: target.index },
    draft: target.world.random.oneIn(2),
  });

export function batchAdd(target: Target): Instruction {
  const { world, address, index, member } = target;
  const batch = batchOf(target);
  return squadsInstruction('batchAddTransaction', {
    ...named(target),
    transaction: batchTransactionAddress(address, index, (batch?.size ?? 0) + 1).address,
    member: world.random.oneIn(5) ? member : (batch?.creator ?? member),
    ephemeralSigners: world.random.oneIn(4) ? world.random.below(3) : 0,
    message: messageFor(target, batch?.vaultIndex ?? 0),
  });
}

export const activate = (target: Target): Instruction => squadsInstruction('proposalActivate', named(target));

export function vote(target: Target): Instruction {
  const { world } = target;
  const signing = new Set(world.wallets.map((wallet) => wallet.address));
  const members = target.state.members.map(({ key }) => key).filter((key) => signing.has(key));
  const member = members.length > 0 ? world.random.pick(members) : target.member;
  const approved = proposalOf(target)?.status.kind === 'Approved';
  const names =
    approved && world.random.oneIn(2)
      ? (['proposalCancel', 'proposalCancelV2'] as const)
      : (['proposalApprove', 'proposalApprove', 'proposalApprove', 'proposalReject'] as const);
  return squadsInstruction(world.random.pick(names), { ...named(target), member });
}

type MessageHolder = Pick<VaultBatchTransaction, 'message' | 'ephemeralSignerBumps'>;

/** Remaining accounts, in the order of squads-v4.md, section 8. */
function messageAccounts(world: World, message: Message, own: readonly Address[]): AccountMeta[] {
  const statics = staticAccounts(message).map((account) => ({
    ...account,
    signer: account.signer && !own.includes(account.address),
  }));
  const lookedUp = message.lookups.flatMap(({ table, writableIndexes, readonlyIndexes }) => {
    const data = world.get(table)?.data ?? new Uint8Array(0);
    const entry = (index: number) => partOf(data, 56 + 32 * index, 88 + 32 * index);
    const known = (index: number) => entry(index).length === 32;
    return [
      ...[...writableIndexes].filter(known).map((index) => writableAccount(addressFromBytes(entry(index)))),
      ...[...readonlyIndexes].filter(known).map((index) => readonlyAccount(addressFromBytes(entry(index)))),
    ];
  });
  return [...message.lookups.map(({ table }) => readonlyAccount(table)), ...statics, ...lookedUp];
}

export function execute(target: Target): Instruction | undefined {
  const { world, address, index } = target;
  const transaction = transactionAddress(address, index).address;
  const tailOf = (vaultIndex: number, { message, ephemeralSignerBumps: bumps }: MessageHolder) =>
    messageAccounts(world, message, [
      vaultAddress(address, vaultIndex).address,
      ...Array.from(bumps, (_, at) => ephemeralSignerAddress(transaction, at).address),
    ]);
  const batch = batchOf(target);
  if (batch !== undefined) {
    const inner = batchTransactionAddress(address, index, batch.executedTransactionIndex + 1).address;
    const state = decodeAccount(VAULT_BATCH_TRANSACTION, world.get(inner)?.data ?? new Uint8Array(0));
    const tail = state === undefined ? [] : tailOf(batch.vaultIndex, state);
    return squadsInstruction('batchExecuteTransaction', { ...named(target), transaction: inner }, tail);
  }
  const state = decodeAccount(VAULT_TRANSACTION, world.get(transaction)?.data ?? new Uint8Array(0));
  if (state === undefined) return undefined;
  return squadsInstruction('vaultTransactionExecute', named(target), tailOf(state.vaultIndex, state));
}

export function close(target: Target): Instruction {
  const { world, address, index } = target;
  const batch = batchOf(target);
  if (batch === undefined) return squadsInstruction('vaultTransactionAccountsClose', named(target));
  if (batch.size === 0 || world.random.oneIn(8))
    return squadsInstruction('batchAccountsClose', named(target));
  const transaction = batchTransactionAddress(address, index, batch.size).address;
  return squadsInstruction('vaultBatchTransactionAccountClose', { ...named(target), transaction });
}
