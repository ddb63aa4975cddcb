/** Random Squads instructions on the multisigs of a world, most of them nearly valid. */

import { randomMessage } from './messages.js';
import { call, meta, r, s, w, ws } from './pieces.js';
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
  isSigner,
  isWritable,
  type Message,
  MULTISIG,
  type Multisig,
  multisigAddress,
  PROPOSAL,
  type Proposal,
  partOf,
  programConfigAddress,
  proposalAddress,
  SYSTEM_PROGRAM,
  transactionAddress,
  VAULT_BATCH_TRANSACTION,
  VAULT_TRANSACTION,
  vaultAddress,
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
  return call('multisigCreateV2', args, [
    r(programConfigAddress().address),
    w(world.treasury),
    w(address),
    s(createKey.address),
    ws(world.wallet().address),
    r(SYSTEM_PROGRAM),
  ]);
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

export function batchCreate({ world, address, state, member }: Target): Instruction {
  const next = state.transactionIndex + 1n;
  return call('batchCreate', { vaultIndex: world.random.below(VAULTS), memo: memoOf(world) }, [
    w(address),
    w(transactionAddress(address, next).address),
    s(member),
    ws(world.wallet().address),
    r(SYSTEM_PROGRAM),
  ]);
}

function messageFor(target: Target, vaultIndex: number, index: bigint): Message {
  const { world, address } = target;
  const vault = vaultAddress(address, vaultIndex).address;
  return randomMessage(
    world,
    {
      vault,
      parent: transactionAddress(address, index).address,
      protectedAccounts: [
        proposalAddress(address, index).address,
        transactionAddress(address, index).address,
        address,
      ],
    },
    () => nestedCall(world, vault),
  );
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
  const { world, address, state, member } = target;
  const next = state.transactionIndex + 1n;
  const vaultIndex = world.random.below(VAULTS);
  const args = {
    vaultIndex,
    ephemeralSigners: world.random.oneIn(3) ? world.random.below(3) : 0,
    message: encodeVaultMessage(messageFor(target, vaultIndex, next)),
    memo: memoOf(world),
  };
  return call('vaultTransactionCreate', args, [
    w(address),
    w(transactionAddress(address, next).address),
    s(member),
    ws(world.wallet().address),
    r(SYSTEM_PROGRAM),
  ]);
}

export function proposalCreate({ world, address, index, member }: Target): Instruction {
  return call('proposalCreate', { transactionIndex: index, draft: world.random.oneIn(2) }, [
    r(address),
    w(proposalAddress(address, index).address),
    s(member),
    ws(world.wallet().address),
    r(SYSTEM_PROGRAM),
  ]);
}

export function batchAdd(target: Target): Instruction {
  const { world, address, index, member } = target;
  const batch = batchOf(target);
  const number = (batch?.size ?? 0) + 1;
  const args = {
    ephemeralSigners: world.random.oneIn(4) ? world.random.below(3) : 0,
    message: encodeVaultMessage(messageFor(target, batch?.vaultIndex ?? 0, index)),
  };
  return call('batchAddTransaction', args, [
    r(address),
    r(proposalAddress(address, index).address),
    w(transactionAddress(address, index).address),
    w(batchTransactionAddress(address, index, number).address),
    s(world.random.oneIn(5) ? member : (batch?.creator ?? member)),
    ws(world.wallet().address),
    r(SYSTEM_PROGRAM),
  ]);
}

export const activate = ({ address, index, member }: Target): Instruction =>
  call('proposalActivate', {}, [r(address), ws(member), w(proposalAddress(address, index).address)]);

export function vote(target: Target): Instruction {
  const { world, address, index } = target;
  const signing = new Set(world.wallets.map((wallet) => wallet.address));
  const members = target.state.members.map(({ key }) => key).filter((key) => signing.has(key));
  const member = members.length > 0 ? world.random.pick(members) : target.member;
  const approved = proposalOf(target)?.status.kind === 'Approved';
  const names =
    approved && world.random.oneIn(2)
      ? (['proposalCancel', 'proposalCancelV2'] as const)
      : (['proposalApprove', 'proposalApprove', 'proposalApprove', 'proposalReject'] as const);
  return call(world.random.pick(names), { memo: memoOf(world) }, [
    r(address),
    ws(member),
    w(proposalAddress(address, index).address),
    r(SYSTEM_PROGRAM),
  ]);
}

/** Remaining accounts, in the order of squads-v4.md, section 8. */
function messageAccounts(world: World, message: Message, own: readonly Address[]): AccountMeta[] {
  const statics = message.staticKeys.map((key, index) =>
    meta(key, isSigner(message, index) && !own.includes(key), isWritable(message, index)),
  );
  const lookedUp = message.lookups.flatMap(({ table, writableIndexes, readonlyIndexes }) => {
    const data = world.get(table)?.data ?? new Uint8Array(0);
    const entry = (index: number) => partOf(data, 56 + 32 * index, 88 + 32 * index);
    const known = (index: number) => entry(index).length === 32;
    return [
      ...[...writableIndexes].filter(known).map((index) => w(addressFromBytes(entry(index)))),
      ...[...readonlyIndexes].filter(known).map((index) => r(addressFromBytes(entry(index)))),
    ];
  });
  return [...message.lookups.map(({ table }) => r(table)), ...statics, ...lookedUp];
}

export function execute(target: Target): Instruction | undefined {
  const { world, address, index, member } = target;
  const transaction = transactionAddress(address, index).address;
  const own = (vaultIndex: number, count: number) => [
    vaultAddress(address, vaultIndex).address,
    ...Array.from({ length: count }, (_, at) => ephemeralSignerAddress(transaction, at).address),
  ];
  const proposal = w(proposalAddress(address, index).address);
  const batch = batchOf(target);
  if (batch !== undefined) {
    const inner = batchTransactionAddress(address, index, batch.executedTransactionIndex + 1).address;
    const state = decodeAccount(VAULT_BATCH_TRANSACTION, world.get(inner)?.data ?? new Uint8Array(0));
    const tail =
      state === undefined
        ? []
        : messageAccounts(world, state.message, own(batch.vaultIndex, state.ephemeralSignerBumps.length));
    return call('batchExecuteTransaction', {}, [
      r(address),
      s(member),
      proposal,
      w(transaction),
      r(inner),
      ...tail,
    ]);
  }
  const state = decodeAccount(VAULT_TRANSACTION, world.get(transaction)?.data ?? new Uint8Array(0));
  if (state === undefined) return undefined;
  const tail = messageAccounts(
    world,
    state.message,
    own(state.vaultIndex, state.ephemeralSignerBumps.length),
  );
  return call('vaultTransactionExecute', {}, [r(address), proposal, r(transaction), s(member), ...tail]);
}

export function close(target: Target): Instruction {
  const { world, address, index, state } = target;
  const collector = w(state.rentCollector ?? world.wallet().address);
  const transaction = w(transactionAddress(address, index).address);
  const proposal = w(proposalAddress(address, index).address);
  const batch = batchOf(target);
  if (batch === undefined) {
    return call('vaultTransactionAccountsClose', {}, [
      r(address),
      proposal,
      transaction,
      collector,
      r(SYSTEM_PROGRAM),
    ]);
  }
  if (batch.size === 0 || world.random.oneIn(8)) {
    return call('batchAccountsClose', {}, [r(address), proposal, transaction, collector, r(SYSTEM_PROGRAM)]);
  }
  const last = w(batchTransactionAddress(address, index, batch.size).address);
  return call('vaultBatchTransactionAccountClose', {}, [
    r(address),
    r(proposal.address),
    transaction,
    last,
    collector,
    r(SYSTEM_PROGRAM),
  ]);
}
