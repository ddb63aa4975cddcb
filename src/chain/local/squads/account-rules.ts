/** The pieces from which accounts of an instruction are put together: kinds and constraints (squads-v4.md, section 4). */
import type { AccountLayout } from '../../squads/layouts/accounts.js';
import { derive, deriveWithBump } from '../../squads/layouts/addresses.js';
import type { AccountRule, Creation, Derivation, Loaded, Plain, Rule, Scope } from './definition.js';

/** The address derives from the seeds and bump stated: 2006. */
export const addressIs = <Subject>(
  account: (subject: Subject) => Loaded<unknown>,
  { seeds, bump }: Derivation<Subject>,
): Rule<Subject> => ({
  error: 'ConstraintSeeds',
  holds: (subject) => {
    const parts = seeds(subject);
    const expected = bump === 'canonical' ? derive(parts).address : deriveWithBump(parts, bump(subject));
    return account(subject).address === expected;
  },
});

/** The account is writable: 2000. */
export const isWritable = <Subject>(account: (subject: Subject) => Loaded<unknown>): Rule<Subject> => ({
  error: 'ConstraintMut',
  holds: (subject) => account(subject).writable,
});

/** An account that goes is not the one that gets its lamports: 2011. */
export const closesInto = <Subject>(
  account: (subject: Subject) => Loaded<unknown>,
  collector: (subject: Subject) => Loaded<unknown>,
): Rule<Subject> => ({
  error: 'ConstraintClose',
  holds: (subject) => account(subject).address !== collector(subject).address,
});

/** An account of the program that is only read. */
export const readState = <Value extends object, Subject>(
  layout: AccountLayout<Value>,
  constraints: readonly Rule<Subject>[],
): AccountRule<Value, Subject> => ({ kind: 'state', layout, constraints });

/** An account of the program that is written back; that it is writable stands among its constraints. */
export const writtenState = <Value extends object, Subject>(
  layout: AccountLayout<Value>,
  constraints: readonly Rule<Subject>[],
): AccountRule<Value, Subject> => ({ kind: 'state', layout, constraints, writtenBack: layout });

/** An account that this instruction makes. */
export const newState = <Value extends object, Subject>(
  layout: AccountLayout<Value>,
  creation: Creation<Subject>,
): AccountRule<Value, Subject> => ({ kind: 'new', layout, creation, constraints: [], writtenBack: layout });

/** An account that has to sign. */
export const signer = <Subject>(
  constraints: readonly Rule<Subject>[] = [],
): AccountRule<undefined, Subject> => ({
  kind: 'signer',
  constraints,
});

/** An account of which only the address and the rights count. */
export const raw = <Subject>(
  constraints: readonly Rule<Subject>[] = [],
): AccountRule<undefined, Subject> => ({
  kind: 'raw',
  constraints,
});

/** The system program, by its address. */
export const systemProgram: AccountRule<undefined, unknown> = {
  kind: 'systemProgram',
  constraints: [],
};

/** The rent payer of section 7: signs and is writable. */
export const rentPayer = <Accounts extends { readonly rentPayer: Plain }, Arguments>(): AccountRule<
  undefined,
  Scope<Accounts, Arguments>
> => signer([isWritable(({ accounts }) => accounts.rentPayer)]);
