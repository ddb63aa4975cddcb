/** The rules that instructions share: where accounts lie, who may do what, when a multisig is sound (docs/squads-v4.md, sections 4 to 6). */
import { type Address, addressBytes } from '../../../values/address.js';
import { compareBytes } from '../../../values/bytes.js';
import {
  ALL_PERMISSIONS,
  type Batch,
  type Multisig,
  PERMISSION,
  type Proposal,
  type ProposalStatusKind,
} from '../../squads/accounts.js';
import { derive, deriveWithBump, SEEDS, type Seeds } from '../../squads/addresses.js';
import type { AccountRule, AccountValues, ArgumentsOf, InstructionName } from '../../squads/instructions.js';
import type { AccountMeta } from '../../transaction/instruction.js';
import type { Invocation } from '../runtime/native-program.js';
import { fail, type SquadsError } from './errors.js';

/** An account after loading; `value` is what its data says, and may be replaced by the instruction. */
export interface Loaded<Value = unknown> extends AccountMeta {
  readonly name: string;
  readonly rule: AccountRule<Value>;
  value: Value;
}

/** One call of an instruction. */
export interface Call<Name extends InstructionName> {
  readonly accounts: { readonly [Key in keyof AccountValues<Name>]: Loaded<AccountValues<Name>[Key]> };
  readonly args: ArgumentsOf<Name>;
  /** Accounts behind the listed ones; only the execute instructions look at them. */
  readonly remaining: readonly AccountMeta[];
  readonly invocation: Invocation;
}

/** @throws the error where the rule does not hold. */
export function ensure(holds: boolean, error: SquadsError, account?: Loaded): asserts holds {
  if (!holds) fail(error, account?.name);
}

export const checkWritable = (account: Loaded): void => ensure(account.writable, 'ConstraintMut', account);

/** The account lies where the seeds say, with the given bump or the highest that works; writable where it has to be. */
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

/** Order of raw key bytes. */
export const compareKeys = (left: Address, right: Address): number =>
  compareBytes(addressBytes(left), addressBytes(right));

export const isMember = ({ members }: Multisig, key: Address): boolean =>
  members.some((member) => member.key === key);

/** A member with at least one of these permissions. */
export function checkMember({ value }: Loaded<Multisig>, { address }: Loaded, permissions: number): void {
  ensure(isMember(value, address), 'NotAMember');
  const may = value.members.some((one) => one.key === address && (one.permissions & permissions) !== 0);
  ensure(may, 'Unauthorized');
}

const countWith = ({ members }: Multisig, bit: number): number =>
  members.filter(({ permissions }) => (permissions & bit) !== 0).length;

export const voters = (multisig: Multisig): number => countWith(multisig, PERMISSION.vote);

/** Only configuration changes make an index stale. */
export const isStale = ({ staleTransactionIndex }: Multisig, index: bigint): boolean =>
  index <= staleTransactionIndex;

export const checkNotStale = ({ value }: Loaded<Multisig>, index: bigint): void =>
  ensure(!isStale(value, index), 'StaleProposal');

export const checkStatus = ({ value }: Loaded<Proposal>, status: ProposalStatusKind): void =>
  ensure(value.status.kind === status, 'InvalidProposalStatus');

/** The proposal with another status from now on. */
export const inStatus = (
  proposal: Proposal,
  kind: ProposalStatusKind,
  { unixTimestamp }: Invocation,
): Proposal => ({
  ...proposal,
  status: { kind, timestamp: unixTimestamp },
});

/** The checks of both execute instructions. */
export function checkMayExecute(
  { multisig, member, proposal }: { multisig: Loaded<Multisig>; member: Loaded; proposal: Loaded<Proposal> },
  { unixTimestamp }: Invocation,
): void {
  checkMember(multisig, member, PERMISSION.execute);
  checkStatus(proposal, 'Approved');
  const waited = unixTimestamp - proposal.value.status.timestamp;
  ensure(waited >= BigInt(multisig.value.timeLockSeconds), 'TimeLockNotReleased');
}

/** 90 days. */
const MAX_TIME_LOCK_SECONDS = 7_776_000;

/** Section 5; checked when a multisig is made, and whenever an index is used. */
export function checkSound(multisig: Multisig): void {
  const { members, threshold } = multisig;
  // Members are sorted, so equal keys are neighbours; a list that is not sorted is judged the same way.
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
  ensure(voters(multisig) > 0, 'NoVoters');
  ensure(threshold > 0 && threshold <= voters(multisig), 'InvalidThreshold');
  ensure(multisig.staleTransactionIndex <= multisig.transactionIndex, 'InvalidStaleTransactionIndex');
  ensure(multisig.timeLockSeconds <= MAX_TIME_LOCK_SECONDS, 'TimeLockExceedsMaxAllowed');
}
