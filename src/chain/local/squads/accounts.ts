/** How the program reads, makes, writes back and closes its accounts (docs/squads-v4.md, section 4). */
import type { Address } from '../../../values/address.js';
import { copyBytes, type ReadonlyBytes, sameBytes } from '../../../values/bytes.js';
import { EMPTY_ACCOUNT, rentExemptLamports } from '../../account.js';
import { tryDecode, tryEncodeInto } from '../../codec.js';
import { SQUADS_PROGRAM } from '../../programs.js';
import { type AccountLayout, hasTypeMark, TYPE_MARK_BYTES } from '../../squads/accounts.js';
import { derive, type Seeds } from '../../squads/addresses.js';
import { allocate, assign, createAccount, transfer } from '../../system.js';
import type { Invocation } from '../runtime/native-program.js';
import { InstructionFailure } from '../runtime/native-program.js';
import { fail } from './errors.js';
import { ensure, type Loaded } from './rules.js';

/** The value that an account's data says. */
export function decodeState<Value>(layout: AccountLayout<Value>, data: ReadonlyBytes, name?: string): Value {
  if (data.length < TYPE_MARK_BYTES) fail('AccountDiscriminatorNotFound', name);
  if (!hasTypeMark(layout, data)) fail('AccountDiscriminatorMismatch', name);
  return tryDecode(layout.fields, data, TYPE_MARK_BYTES) ?? fail('AccountDidNotDeserialize', name);
}

/** Makes the account at these seeds, which must be its address. @returns the bump */
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

/** Pays what an account of this size lacks to the minimum. */
export function topUp(
  invocation: Invocation,
  { from, account, sizeBytes }: { from: Address; account: Address; sizeBytes: number },
): void {
  const missing = rentExemptLamports(sizeBytes) - invocation.get(account).lamports;
  if (missing > 0n) invocation.invoke([transfer({ from, to: account, lamports: missing })], []);
}

/** Writes the value from byte 0; bytes behind it stay as they were. */
export function writeBack(invocation: Invocation, { address, name, rule: { layout }, value }: Loaded): void {
  if (layout === null) return;
  const state = invocation.get(address);
  const data = copyBytes(state.data);
  data.set(layout.typeMark);
  if (!tryEncodeInto(layout.fields, value, data, TYPE_MARK_BYTES)) fail('AccountDidNotSerialize', name);
  // The same state is no change.
  if (!sameBytes(data, state.data)) invocation.set(address, { ...state, data });
}

/** Moves all lamports of an account to the collector and leaves it empty. */
export function closeAccount(invocation: Invocation, { address }: Loaded, collector: Loaded): void {
  // Lamports moved onto themselves would be lost, which the cluster does not let pass.
  if (address === collector.address) throw new InstructionFailure({ error: 'UnbalancedInstruction' });
  const state = invocation.get(address);
  const receiver = invocation.get(collector.address);
  invocation.set(collector.address, { ...receiver, lamports: receiver.lamports + state.lamports });
  invocation.set(address, EMPTY_ACCOUNT);
}
