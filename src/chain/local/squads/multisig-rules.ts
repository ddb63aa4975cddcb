/** Who may do what, and when a multisig is sound (squads-v4.md, section 5). */
import type { Address } from '../../../values/address.js';
import { addressBytes } from '../../../values/address.js';
import { compareBytes } from '../../../values/bytes.js';
import { ALL_PERMISSIONS, type Multisig, PERMISSION, type Proposal } from '../../squads/layouts/accounts.js';
import type { Rule } from './definition.js';

/** 90 days in seconds. */
const MAX_TIME_LOCK_SECONDS = 7_776_000;

/** Order of raw key bytes. */
export const compareKeys = (left: Address, right: Address): number =>
  compareBytes(addressBytes(left), addressBytes(right));

/** Is the key in the multisig's list now? */
export const isMember = ({ members }: Multisig, key: Address): boolean =>
  members.some((member) => member.key === key);

/** Does the member's mask have any of these bits? */
export const has = ({ members }: Multisig, key: Address, bits: number): boolean =>
  members.some((member) => member.key === key && (member.permissions & bits) !== 0);

const countWith = ({ members }: Multisig, bit: number): number =>
  members.filter(({ permissions }) => (permissions & bit) !== 0).length;

/** Members who can vote. */
export const voters = (multisig: Multisig): number => countWith(multisig, PERMISSION.vote);

/** Only configuration changes make an index stale. */
export const isStale = ({ staleTransactionIndex }: Multisig, index: bigint): boolean =>
  index <= staleTransactionIndex;

export const isActive = ({ status }: Proposal): boolean => status.kind === 'Active';
export const isDraft = ({ status }: Proposal): boolean => status.kind === 'Draft';
export const isApproved = ({ status }: Proposal): boolean => status.kind === 'Approved';

/** Equal keys stand side by side, as members are sorted; a multisig whose list is not is judged the same way. */
const noNeighboursEqual = ({ members }: Multisig): boolean =>
  members.every(({ key }, at) => at === 0 || members[at - 1]?.key !== key);

/** The multisig rules, in order; checked when one is made, and whenever an index is used. */
export const MULTISIG_RULES: readonly Rule<Multisig>[] = [
  { error: 'DuplicateMember', holds: noNeighboursEqual },
  {
    error: 'UnknownPermission',
    holds: ({ members }) => members.every(({ permissions }) => permissions <= ALL_PERMISSIONS),
  },
  { error: 'NoProposers', holds: (multisig) => countWith(multisig, PERMISSION.initiate) > 0 },
  { error: 'NoExecutors', holds: (multisig) => countWith(multisig, PERMISSION.execute) > 0 },
  { error: 'NoVoters', holds: (multisig) => voters(multisig) > 0 },
  { error: 'InvalidThreshold', holds: ({ threshold }) => threshold > 0 },
  { error: 'InvalidThreshold', holds: (multisig) => multisig.threshold <= voters(multisig) },
  {
    error: 'InvalidStaleTransactionIndex',
    holds: ({ staleTransactionIndex, transactionIndex }) => staleTransactionIndex <= transactionIndex,
  },
  {
    error: 'TimeLockExceedsMaxAllowed',
    holds: ({ timeLockSeconds }) => timeLockSeconds <= MAX_TIME_LOCK_SECONDS,
  },
];
