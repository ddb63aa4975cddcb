/** Runs any instruction (squads-v4.md, section 4); what is special to one stands in its definition. */
import { copyBytes, sameBytes } from '../../../values/bytes.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import { type AccountLayout, hasTypeMark, TYPE_MARK_BYTES } from '../../squads/layouts/accounts.js';
import { derive } from '../../squads/layouts/addresses.js';
import { tryDecode, tryEncodeInto } from '../../squads/layouts/codec.js';
import type { AccountMeta } from '../../transaction/instruction.js';
import type { Invocation } from '../runtime/invocation.js';
import { makeAccount } from './create-account.js';
import type { AccountRule, AnyDefinition, AnyScope, Creation, Loaded, Rule } from './definition.js';
import { fail } from './errors.js';

type AnyRule = AccountRule<unknown, AnyScope>;

/** Step 3, kind *state*. */
function loadState(invocation: Invocation, name: string, rule: AnyRule, meta: AccountMeta): unknown {
  const { owner, lamports, data } = invocation.get(meta.address);
  if (owner === SYSTEM_PROGRAM && lamports === 0n) fail(invocation, 'AccountNotInitialized', name);
  if (owner !== SQUADS_PROGRAM) fail(invocation, 'AccountOwnedByWrongProgram', name);
  if (data.length < TYPE_MARK_BYTES) fail(invocation, 'AccountDiscriminatorNotFound', name);
  const { layout } = rule;
  if (layout === undefined || !hasTypeMark(layout, data)) {
    fail(invocation, 'AccountDiscriminatorMismatch', name);
  }
  const value = tryDecode(layout.fields, data, TYPE_MARK_BYTES);
  if (value === undefined) fail(invocation, 'AccountDidNotDeserialize', name);
  return value;
}

/** Step 3 for one account. */
function load(
  invocation: Invocation,
  name: string,
  rule: AnyRule,
  meta: AccountMeta | undefined,
): Loaded<unknown> {
  if (meta === undefined) fail(invocation, 'AccountNotEnoughKeys', name);
  if (rule.kind === 'signer' && !meta.signer) fail(invocation, 'AccountNotSigner', name);
  if (rule.kind === 'systemProgram' && meta.address !== SYSTEM_PROGRAM)
    fail(invocation, 'InvalidProgramId', name);
  const { address, signer, writable } = meta;
  return {
    address,
    signer,
    writable,
    value: rule.kind === 'state' ? loadState(invocation, name, rule, meta) : undefined,
  };
}

function requireAll<Subject>(
  invocation: Invocation,
  rules: readonly Rule<Subject>[],
  subject: Subject,
  account?: string,
): void {
  const broken = rules.find(({ holds }) => !holds(subject));
  if (broken !== undefined) fail(invocation, broken.error, account);
}

/** Holds rules against a value, in order. @throws InstructionFailure with the first that is broken. */
export const requireRules = <Subject>(
  invocation: Invocation,
  rules: readonly Rule<Subject>[],
  subject: Subject,
): void => requireAll(invocation, rules, subject);

/** Step 4 for the new account: address, size, creation. */
function create(scope: AnyScope, name: string, account: Loaded<unknown>, creation: Creation<AnyScope>): void {
  const { address } = derive(creation.seeds(scope));
  if (account.address !== address) fail(scope.invocation, 'ConstraintSeeds', name);
  const sizeBytes = creation.size(scope);
  makeAccount(scope.invocation, { address, sizeBytes, payer: creation.payer(scope) });
}

/** Step 7 for one account: the value from byte 0, whatever lies behind it stays. */
function writeBack(
  invocation: Invocation,
  name: string,
  layout: AccountLayout<object>,
  { address, value }: Loaded<unknown>,
): void {
  const state = invocation.get(address);
  const data = copyBytes(state.data);
  data.set(layout.typeMark);
  const fits = tryEncodeInto(layout.fields, value as object, data, TYPE_MARK_BYTES);
  if (!fits) fail(invocation, 'AccountDidNotSerialize', name);
  // An account that stays as it is, is none that has changed.
  if (!sameBytes(data, state.data)) invocation.set(address, { ...state, data });
}

/** An account of the instruction being run, with its rule. */
interface Entry {
  readonly name: string;
  readonly rule: AnyRule;
  readonly account: Loaded<unknown>;
}

/** Runs one instruction whose arguments have been decoded: steps 3 to 7. */
export function runInstruction(definition: AnyDefinition, args: unknown, invocation: Invocation): void {
  const accounts: Record<string, Loaded<unknown>> = {};
  const entries: Entry[] = [];
  for (const [name, rule] of definition.accounts) {
    const account = load(invocation, name, rule, invocation.accounts[entries.length]);
    accounts[name] = account;
    entries.push({ name, rule, account });
  }
  const scope: AnyScope = {
    accounts,
    args,
    invocation,
    remaining: invocation.accounts.slice(entries.length),
  };
  for (const { name, rule, account } of entries) {
    if (rule.creation !== undefined) create(scope, name, account, rule.creation);
  }
  for (const { name, rule } of entries) requireAll(invocation, rule.constraints, scope, name);
  requireAll(invocation, definition.checks, scope);
  definition.effect(scope);
  for (const { name, rule, account } of entries) {
    if (rule.writtenBack !== undefined) writeBack(invocation, name, rule.writtenBack, account);
  }
}
