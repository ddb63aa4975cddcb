/** The form in which each instruction is written down: accounts, constraints, checks and effect, in the order in which they run. */
import type { Address } from '../../../values/address.js';
import type { AccountLayout } from '../../squads/layouts/accounts.js';
import type { Seeds } from '../../squads/layouts/addresses.js';
import type { ArgumentsByName, InstructionName } from '../../squads/layouts/instructions.js';
import type { AccountMeta } from '../../transaction/instruction.js';
import type { Invocation } from '../runtime/invocation.js';
import type { SquadsError } from './errors.js';

/** An account after loading; `value` is what its data says, and may be replaced by the effect. */
export interface Loaded<Value> extends AccountMeta {
  value: Value;
}

/** An account whose data the instruction does not read. */
export type Plain = Loaded<undefined>;

/** Everything an instruction works on. */
export interface Scope<Accounts, Arguments> {
  readonly accounts: Accounts;
  readonly args: Arguments;
  /** Accounts behind the listed ones; only the execute instructions look at them. */
  readonly remaining: readonly AccountMeta[];
  readonly invocation: Invocation;
}

/** One rule and the error it raises when it does not hold. */
export interface Rule<Subject> {
  readonly error: SquadsError;
  readonly holds: (subject: Subject) => boolean;
}

/** Where an account has to lie: seeds, and the bump stored in it, or `canonical` for the highest that works. */
export interface Derivation<Subject> {
  readonly seeds: (subject: Subject) => Seeds;
  readonly bump: ((subject: Subject) => number) | 'canonical';
}

/** How a new account is made (squads-v4.md, section 4, step 4). */
export interface Creation<Subject> {
  readonly seeds: (subject: Subject) => Seeds;
  /** Bytes; a malformed message fails here. */
  readonly size: (subject: Subject) => number;
  readonly payer: (subject: Subject) => Address;
}

/** The kinds of section 4, step 3. */
export type AccountKind = 'state' | 'signer' | 'systemProgram' | 'new' | 'raw';

/** One account of an instruction. */
export interface AccountRule<Value, Subject> {
  readonly kind: AccountKind;
  /** Of `state` and `new`: what the data holds. */
  readonly layout?: AccountLayout<Value & object>;
  readonly creation?: Creation<Subject>;
  /** In their order; see section 4, step 5. */
  readonly constraints: readonly Rule<Subject>[];
  /** The layout in which the value is written back at the end; left out where it is not. */
  readonly writtenBack?: AccountLayout<Value & object>;
}

/** An instruction of section 7. */
export interface Definition<Name extends InstructionName, Accounts> {
  readonly name: Name;
  /** In the order of the instruction's accounts. */
  readonly accounts: {
    readonly [Key in keyof Accounts]: Accounts[Key] extends Loaded<infer Value>
      ? AccountRule<Value, Scope<Accounts, ArgumentsByName[Name]>>
      : never;
  };
  /** Run in order, after all constraints. */
  readonly checks: readonly Rule<Scope<Accounts, ArgumentsByName[Name]>>[];
  readonly effect: (scope: Scope<Accounts, ArgumentsByName[Name]>) => void;
}

/** A definition whose types are only known to itself. */
export interface AnyDefinition {
  readonly name: InstructionName;
  readonly accounts: readonly (readonly [string, AccountRule<unknown, AnyScope>])[];
  readonly checks: readonly Rule<AnyScope>[];
  readonly effect: (scope: AnyScope) => void;
}

/** A scope as the machinery handles it. */
export type AnyScope = Scope<Record<string, Loaded<unknown>>, unknown>;

/** States an instruction; its own types end here, as the machinery fills its scope by the rules it states. */
export const instruction = <Name extends InstructionName, Accounts extends object>(
  definition: Definition<Name, Accounts>,
): AnyDefinition =>
  ({ ...definition, accounts: Object.entries(definition.accounts) }) as unknown as AnyDefinition;
