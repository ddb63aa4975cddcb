/** States of accounts, and what they decode to, are shared: their types leave nothing to change them with. */
import { expectTypeOf, it } from 'vitest';
import type { AccountState } from '../../../src/chain/account.js';
import type {
  Batch,
  Multisig,
  ProgramConfig,
  Proposal,
  VaultBatchTransaction,
  VaultTransaction,
} from '../../../src/chain/squads/accounts.js';
import type { Mint, TokenAccount } from '../../../src/chain/tokens/accounts.js';
import type { WireTransaction } from '../../../src/chain/transaction/wire.js';
import type { ReadonlyBytes } from '../../../src/values/bytes.js';

type Leaf = string | number | bigint | boolean | null | undefined | ReadonlyBytes;

/** The same type with everything in it, at any depth, readonly. */
type Frozen<Value> = Value extends Leaf
  ? Value
  : Value extends readonly (infer Element)[]
    ? readonly Frozen<Element>[]
    : { readonly [Name in keyof Value]: Frozen<Value[Name]> };

/** Where a type holds bytes that could be written to; `never` if nowhere. */
type Writable<Value> = Value extends Uint8Array
  ? Value
  : Value extends Leaf
    ? never
    : Value extends readonly (infer Element)[]
      ? Writable<Element>
      : { [Name in keyof Value]: Writable<Value[Name]> }[keyof Value];

it('are readonly all the way down', () => {
  expectTypeOf<AccountState>().toEqualTypeOf<Frozen<AccountState>>();
  expectTypeOf<Multisig>().toEqualTypeOf<Frozen<Multisig>>();
  expectTypeOf<Proposal>().toEqualTypeOf<Frozen<Proposal>>();
  expectTypeOf<Batch>().toEqualTypeOf<Frozen<Batch>>();
  expectTypeOf<VaultBatchTransaction>().toEqualTypeOf<Frozen<VaultBatchTransaction>>();
  expectTypeOf<VaultTransaction>().toEqualTypeOf<Frozen<VaultTransaction>>();
  expectTypeOf<ProgramConfig>().toEqualTypeOf<Frozen<ProgramConfig>>();
  expectTypeOf<Mint>().toEqualTypeOf<Frozen<Mint>>();
  expectTypeOf<TokenAccount>().toEqualTypeOf<Frozen<TokenAccount>>();
  expectTypeOf<WireTransaction>().toEqualTypeOf<Frozen<WireTransaction>>();
});

it('hold no bytes that can be written to', () => {
  expectTypeOf<Writable<AccountState>>().toBeNever();
  expectTypeOf<Writable<Multisig>>().toBeNever();
  expectTypeOf<Writable<VaultBatchTransaction>>().toBeNever();
  expectTypeOf<Writable<VaultTransaction>>().toBeNever();
  expectTypeOf<Writable<ProgramConfig>>().toBeNever();
  expectTypeOf<Writable<Mint>>().toBeNever();
  expectTypeOf<Writable<TokenAccount>>().toBeNever();
  expectTypeOf<Writable<WireTransaction>>().toBeNever();
});
