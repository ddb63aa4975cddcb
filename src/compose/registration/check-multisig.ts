/** Which multisig that somebody else has made may serve a flywheel: two who agree, nobody who could do without them. */
import { ALL_PERMISSIONS, type Multisig, NO_AUTHORITY, PERMISSION } from '../../chain/squads/accounts.js';
import { THRESHOLD } from '../../engine/admin/project-records.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';

/** The two members. */
export interface Members {
  readonly owner: Address;
  readonly operator: Address;
}

/** What is wrong with a multisig, each in words; empty for one that can be used. */
export function multisigProblems(multisig: Multisig, { owner, operator }: Members): readonly string[] {
  const rightsOf = (key: Address): number =>
    multisig.members.find((member) => member.key === key)?.permissions ?? 0;
  const strangers = multisig.members.filter(({ key }) => key !== owner && key !== operator);
  const missing = [owner, operator].filter((key) => !multisig.members.some((member) => member.key === key));
  return [
    ...missing.map((key) => `${key} is not a member`),
    ...strangers.map(({ key }) => `${key} is a member besides owner and operator`),
    ...(multisig.threshold === THRESHOLD ? [] : [`its threshold is ${multisig.threshold} instead of 2`]),
    ...(missing.length === 0 && rightsOf(operator) !== ALL_PERMISSIONS
      ? ['the operator lacks the right to initiate, vote or execute']
      : []),
    ...(missing.length === 0 && (rightsOf(owner) & PERMISSION.vote) === 0
      ? ['the owner lacks the right to vote']
      : []),
    ...(multisig.configAuthority === NO_AUTHORITY
      ? []
      : [`${multisig.configAuthority} alone can change its members and rules`]),
  ];
}

/** What its owner should know of a multisig that can be used. */
export function multisigWarnings(
  { rentCollector, timeLockSeconds }: Multisig,
  { operator }: Members,
): readonly string[] {
  const lock = `The multisig has a time lock: a batch can be executed ${timeLockSeconds} s after both approvals.`;
  const rent =
    rentCollector === null
      ? 'The multisig has no rent collector: the rent of a batch does not come back to the operator.'
      : `The rent collector of the multisig is ${rentCollector}: the rent of a batch goes there, not back to the operator.`;
  return [...(timeLockSeconds === 0 ? [] : [lock]), ...(rentCollector === operator ? [] : [rent])];
}

/** @throws `ERR_NOT_VERIFIED` naming everything that is wrong. */
export function requireUsableMultisig(address: Address, multisig: Multisig, members: Members): void {
  const problems = multisigProblems(multisig, members);
  if (problems.length === 0) return;
  throw new FlywheelError(
    'ERR_NOT_VERIFIED',
    `The multisig ${address} does not fit this project: ${problems.join('; ')}.`,
    {
      hint: 'Nothing was sent. Change the multisig with the tools of Squads, or leave out --multisig to create a new one.',
    },
  );
}
