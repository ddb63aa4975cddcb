/** Which multisig that somebody else has made may serve a flywheel: two who agree, nobody who could do without them. */
import { ALL_PERMISSIONS, type Multisig, NO_AUTHORITY, PERMISSION } from '../../chain/squads/accounts.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';

/** Both have to approve. */
export const THRESHOLD = 2;

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
    ...strangers.map(({ key }) => `${key} is a member, beside owner and operator`),
    ...(multisig.threshold === THRESHOLD ? [] : [`its threshold is ${multisig.threshold}, and not 2`]),
    ...(missing.length === 0 && rightsOf(operator) !== ALL_PERMISSIONS
      ? ['the operator may not initiate, vote and execute']
      : []),
    ...(missing.length === 0 && (rightsOf(owner) & PERMISSION.vote) === 0 ? ['the owner may not vote'] : []),
    ...(multisig.configAuthority === NO_AUTHORITY
      ? []
      : [`${multisig.configAuthority} may change its members and rules alone`]),
  ];
}

/** What its owner should know of a multisig that can be used. */
export function multisigWarnings(
  { rentCollector, timeLockSeconds }: Multisig,
  { operator }: Members,
): readonly string[] {
  const lock = `The multisig has a time lock: a batch is executed ${timeLockSeconds} s after both have approved it.`;
  const rent =
    rentCollector === null
      ? 'The multisig has no rent collector: what the operator pays for the accounts of a batch never comes back.'
      : `The rent collector of the multisig is ${rentCollector}: what the operator pays for the accounts of a batch goes there, not back.`;
  return [...(timeLockSeconds === 0 ? [] : [lock]), ...(rentCollector === operator ? [] : [rent])];
}

/** @throws `ERR_NOT_VERIFIED` naming everything that is wrong. */
export function requireUsableMultisig(address: Address, multisig: Multisig, members: Members): void {
  const problems = multisigProblems(multisig, members);
  if (problems.length === 0) return;
  throw new FlywheelError(
    'ERR_NOT_VERIFIED',
    `The multisig ${address} cannot serve this flywheel: ${problems.join('; ')}.`,
    {
      hint: 'Change it with the tools of Squads, or leave --multisig out: a new one is then made. Nothing was sent.',
    },
  );
}
