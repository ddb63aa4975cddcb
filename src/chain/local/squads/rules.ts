/**
 * Shared by all instructions: errors, rules (addresses, permissions, valid multisigs), and reading, creating, writing and
 * closing accounts (docs/squads-v4.md, sections 4 to 6).
 */

import { type Address, addressBytes } from '../../../values/address.js';
import { compareBytes, copyBytes, type ReadonlyBytes, sameBytes } from '../../../values/bytes.js';
import { EMPTY_ACCOUNT, rentExemptLamports } from '../../account.js';
import { tryDecode } from '../../codec.js';
import { SQUADS_PROGRAM } from '../../programs.js';
import { allocate, assign, createAccount, transfer } from '../../small-programs.js';
import {
  type AccountLayout,
  ALL_PERMISSIONS,
  type Batch,
  encodeAccount,
  hasTypeMark,
  isStale,
  type Multisig,
  PERMISSION,
  type Proposal,
  type ProposalStatusKind,
  TYPE_MARK_BYTES,
  votersOf,
} from '../../squads/accounts.js';
import { derive, deriveWithBump, SEEDS } from '../../squads/addresses.js';
import {
  type AccountRule,
  type AccountValues,
  type ArgumentsOf,
  type InstructionName,
  snakeCase,
} from '../../squads/instructions.js';
import type { AccountMeta } from '../../transaction/message.js';
import { SQUADS_ERRORS, type SquadsError } from '../../transaction/program-errors.js';
import { InstructionFailure, type Invocation } from '../runtime/execution.js';

/**
 * Ends the instruction with an error of the table.
 * @param account - the account at fault, by its name in the instruction.
 */
export function fail(error: SquadsError, account?: string): never {
  const cause = account === undefined ? 'occurred' : `caused by account: ${snakeCase(account)}`;
  const custom = SQUADS_ERRORS[error];
  const line = `AnchorError ${cause}. Error Code: ${error}. Error Number: ${custom}.`;
  throw new InstructionFailure({ custom }, undefined, line);
}

/** Ends the instruction where the real program panics, or where the virtual machine stops it. */
export function panic(why = 'SBF program panicked'): never {
  throw new InstructionFailure({ error: 'ProgramFailedToComplete' }, why);
}

export interface Loaded<Value = unknown> extends AccountMeta {
  readonly name: string;
  readonly rule: AccountRule<Value>;
  value: Value;
}

export interface SquadsCall<Name extends InstructionName> {
  readonly accounts: { readonly [Key in keyof AccountValues<Name>]: Loaded<AccountValues<Name>[Key]> };
  readonly args: ArgumentsOf<Name>;
  /** Accounts after the listed ones; only the execute instructions read them. */
  readonly remaining: readonly AccountMeta[];
  readonly invocation: Invocation;
}

/** @throws InstructionFailure with `error` unless `holds`. */
export function ensure(holds: boolean, error: SquadsError, account?: Loaded): asserts holds {
  if (!holds) fail(error, account?.name);
}

export const checkWritable = (account: Loaded): void => ensure(account.writable, 'ConstraintMut', account);

/**
 * Checks the address against the seeds, with the given or the canonical bump, and the write permission if the rule asks for it.
 */
export function checkPlace(account: Loaded, seeds: Seeds, bump: number | 'canonical'): void {
  const place = bump === 'canonical' ? derive(seeds).address : deriveWithBump(seeds, bump);
  ensure(account.address === place, 'ConstraintSeeds', account);
  if (account.rule.writable) checkWritable(account);
}

export const checkMultisig = (multisig: Loaded<Multisig>): void =>
  checkPlace(multisig, SEEDS.multisig(multisig.value.createKey), multisig.value.bump);

export const checkProposal = (
  proposal: Loaded<Proposal>,
  multisig: Loaded<Multisig>,
  index: bigint = proposal.value.transactionIndex,
): void => checkPlace(proposal, SEEDS.proposal(multisig.address, index), proposal.value.bump);

export const checkBatch = (batch: Loaded<Batch>, multisig: Loaded<Multisig>): void =>
  checkPlace(batch, SEEDS.transaction(multisig.address, batch.value.index), batch.value.bump);

export const compareKeys = (left: Address, right: Address): number =>
  compareBytes(addressBytes(left), addressBytes(right));

/**
 * Rust's `binary_search`: the program finds no key that a list has out of order.
 * @returns the place of the key, else -1 minus the place where it belongs.
 */
export function searchKey(keys: readonly Address[], key: Address): number {
  let [left, right] = [0, keys.length];
  while (left < right) {
    const middle = Math.floor((left + right) / 2);
    const order = compareKeys(keys[middle] as Address, key);
    if (order === 0) return middle;
    if (order < 0) left = middle + 1;
    else right = middle;
  }
  return -1 - left;
}

const memberOf = ({ members }: Multisig, address: Address) => {
  const keys = members.map(({ key }) => key);
  return members[searchKey(keys, address)];
};

export const isMember = (multisig: Multisig, key: Address): boolean => memberOf(multisig, key) !== undefined;

export function checkMember({ value }: Loaded<Multisig>, { address }: Loaded, permissions: number): void {
  const { permissions: own } = memberOf(value, address) ?? fail('NotAMember');
  ensure((own & permissions) !== 0, 'Unauthorized');
}

const countWith = ({ members }: Multisig, bit: number): number =>
  members.filter(({ permissions }) => (permissions & bit) !== 0).length;

export const checkNotStale = ({ value }: Loaded<Multisig>, index: bigint): void =>
  ensure(!isStale(value, index), 'StaleProposal');

export const checkStatus = ({ value }: Loaded<Proposal>, status: ProposalStatusKind): void =>
  ensure(value.status.kind === status, 'InvalidProposalStatus');

export const inStatus = (
  proposal: Proposal,
  kind: ProposalStatusKind,
  { unixTimestamp }: Invocation,
): Proposal => ({
  ...proposal,
  status: { kind, timestamp: unixTimestamp },
});

export function checkMayExecute(
  { multisig, member, proposal }: { multisig: Loaded<Multisig>; member: Loaded; proposal: Loaded<Proposal> },
  { unixTimestamp }: Invocation,
): void {
  checkMember(multisig, member, PERMISSION.execute);
  checkStatus(proposal, 'Approved');
  const waited = unixTimestamp - proposal.value.status.timestamp;
  ensure(waited >= BigInt(multisig.value.timeLockSeconds), 'TimeLockNotReleased');
}

const MAX_TIME_LOCK_SECONDS = 7_776_000;

/** Section 5; checked when a multisig is created, and whenever an index is used. */
export function checkSound(multisig: Multisig): void {
  const { members, threshold } = multisig;
  // Compares neighbours only, as the real program does: members are sorted, and an unsorted list gets the same check.
  ensure(
    members.every(({ key }, at) => at === 0 || members[at - 1]?.key !== key),
    'DuplicateMember',
  );
  ensure(
    members.every(({ permissions }) => permissions <= ALL_PERMISSIONS),
    'UnknownPermission',
  );
  ensure(countWith(multisig, PERMISSION.initiate) > 0, 'NoProposers');
  ensure(countWith(multisig, PERMISSION.execute) > 0, 'NoExecutors');
  const voters = votersOf(multisig).length;
  ensure(voters > 0, 'NoVoters');
  ensure(threshold > 0 && threshold <= voters, 'InvalidThreshold');
  ensure(multisig.staleTransactionIndex <= multisig.transactionIndex, 'InvalidStaleTransactionIndex');
  ensure(multisig.timeLockSeconds <= MAX_TIME_LOCK_SECONDS, 'TimeLockExceedsMaxAllowed');
}

export function decodeState<Value>(layout: AccountLayout<Value>, data: ReadonlyBytes, name?: string): Value {
  if (data.length < TYPE_MARK_BYTES) fail('AccountDiscriminatorNotFound', name);
  if (!hasTypeMark(layout, data)) fail('AccountDiscriminatorMismatch', name);
  return tryDecode(layout.fields, data, TYPE_MARK_BYTES) ?? fail('AccountDidNotDeserialize', name);
}

type Seeds = Parameters<typeof derive>[0];

/** Creates the account at these seeds, which must match its address. @returns the bump */
export function makeAccount(
  invocation: Invocation,
  account: Loaded,
  { seeds, payer, size }: { readonly seeds: Seeds; readonly payer: Loaded; readonly size: () => number },
): number {
  const { address, bump } = derive(seeds);
  ensure(account.address === address, 'ConstraintSeeds', account);
  const sizeBytes = size();
  const { lamports: held } = invocation.get(address);
  const needed = rentExemptLamports(sizeBytes);
  const owner = SQUADS_PROGRAM;
  if (held === 0n) {
    const from = payer.address;
    invocation.invoke(
      [createAccount({ from, account: address, lamports: needed, sizeBytes, owner })],
      [address],
    );
    return bump;
  }
  topUp(invocation, { from: payer.address, account: address, sizeBytes });
  invocation.invoke([allocate(address, sizeBytes), assign(address, owner)], [address]);
  return bump;
}

export function topUp(
  invocation: Invocation,
  { from, account, sizeBytes }: { from: Address; account: Address; sizeBytes: number },
): void {
  const missing = rentExemptLamports(sizeBytes) - invocation.get(account).lamports;
  if (missing > 0n) invocation.invoke([transfer({ from, to: account, lamports: missing })], []);
}

/** Writes the value from byte 0; later bytes stay. */
export function writeBack(invocation: Invocation, { address, name, rule: { layout }, value }: Loaded): void {
  if (layout === null) return;
  const state = invocation.get(address);
  const data = copyBytes(state.data);
  const written = encodeAccount(layout, value);
  if (written.length > data.length) fail('AccountDidNotSerialize', name);
  data.set(written);
  // An equal state must not count as a change.
  if (!sameBytes(data, state.data)) invocation.set(address, { ...state, data });
}

export function closeAccount(invocation: Invocation, { address }: Loaded, collector: Loaded): void {
  // Closing into itself would lose the lamports; a cluster fails the instruction.
  if (address === collector.address) throw new InstructionFailure({ error: 'UnbalancedInstruction' });
  const state = invocation.get(address);
  const receiver = invocation.get(collector.address);
  invocation.set(collector.address, { ...receiver, lamports: receiver.lamports + state.lamports });
  invocation.set(address, EMPTY_ACCOUNT);
}
