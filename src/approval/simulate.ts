/**
 * Runs a batch on the accounts as they stand, in a machine of the approver's own, and holds what changes against what the batch
 * says. A run that passes replaces no rule: it can only refuse.
 */

import { actionChanges } from '../actions/registry.js';
import type { AccountState } from '../chain/account.js';
import type { ChainReader, Simulator } from '../chain/chain.js';
import type { Flywheel } from '../chain/flywheel.js';
import { CLOCK_SYSVAR } from '../chain/programs.js';
import { decodeMint, decodeTokenAccount } from '../chain/tokens/accounts.js';
import type { Address } from '../values/address.js';
import { viewOf } from '../values/bytes.js';
import type { BatchContent } from './batch-content.js';
import type { BatchDescription } from './read-batch.js';
import { ensure, refuse } from './refuse.js';

/** An amount before and after; base units or lamports. */
export interface Change {
  readonly before: bigint;
  readonly after: bigint;
}

/** What a batch would change if it ran now. */
export interface SimulatedChanges {
  readonly supply: Change;
  readonly vaultTokens: Change;
  readonly vaultLamports: Change;
  /** Base units that the token's transfer fee withholds from what recipients are sent. */
  readonly withheld: bigint;
}

/** Withheld as a fee inside a token account: u64 (spl-token-2022, `TransferFeeAmount`). */
const WITHHELD = 2;

function withheldIn(account: AccountState | null): bigint {
  const withheld = decodeTokenAccount(account)?.extensions.find(({ type }) => type === WITHHELD);
  return withheld === undefined ? 0n : viewOf(withheld.data).getBigUint64(0, true);
}

/** What a token account holds, with what is withheld in it. */
const tokensIn = (account: AccountState | null): bigint =>
  (decodeTokenAccount(account)?.amount ?? 0n) + withheldIn(account);

const supplyOf = (account: AccountState | null): bigint => decodeMint(account)?.supply ?? 0n;

/** By token account, what the pipelines say it gains or loses. */
export function expectedChanges(
  { pipelines }: Pick<BatchContent, 'pipelines'>,
  flywheel: Flywheel,
): { accounts: ReadonlyMap<Address, bigint>; burned: bigint } {
  const accounts = new Map<Address, bigint>();
  let burned = 0n;
  const actions = (pipelines ?? []).flatMap((pipeline) => pipeline.actions);
  for (const { account, amount } of actions.flatMap((action) => actionChanges(action, flywheel))) {
    accounts.set(account, (accounts.get(account) ?? 0n) + amount);
    burned -= amount;
  }
  return { accounts, burned };
}

/**
 * Reads every account that the batch names and runs it.
 * @param description - a batch whose content has been checked.
 * @throws `ERR_APPROVAL_REFUSED` when it fails or changes something else than it says; `ERR_UNAVAILABLE` from the reader.
 */
export async function simulateBatch(
  reader: ChainReader,
  simulator: Simulator,
  description: BatchDescription,
  flywheel: Flywheel,
): Promise<SimulatedChanges> {
  const { mint, vault, vaultTokenAccount } = flywheel;
  const steps = description.transactions.map(({ instructions }) => instructions);
  const keys = description.transactions.flatMap(({ message }) => message.staticKeys);
  const addresses = [...new Set([mint, vault, vaultTokenAccount, CLOCK_SYSVAR, ...keys])];
  const states = await reader.getAccounts(addresses);
  const before = new Map(addresses.map((address, at) => [address, states[at] ?? null]));
  const run = simulator.run(before, steps);
  const { failure } = run;
  if (failure !== null)
    return refuse(`Transaction ${failure.step + 1} of the batch would fail: ${failure.reason}`);
  const changeOf = (address: Address, amount: (account: AccountState | null) => bigint): Change => ({
    before: amount(before.get(address) ?? null),
    after: amount(run.account(address)),
  });
  const expected = expectedChanges(description, flywheel);
  const supply = changeOf(mint, supplyOf);
  requireChange('supply', supply, -expected.burned);
  let withheld = 0n;
  for (const [account, amount] of expected.accounts) {
    requireChange(`token account ${account}`, changeOf(account, tokensIn), amount);
    const fees = changeOf(account, withheldIn);
    withheld += fees.after - fees.before;
  }
  return {
    supply,
    vaultTokens: changeOf(vaultTokenAccount, tokensIn),
    vaultLamports: changeOf(vault, (account) => account?.lamports ?? 0n),
    withheld,
  };
}

function requireChange(what: string, { before, after }: Change, expected: bigint): void {
  ensure(
    after - before === expected,
    () => `The ${what} would change by ${after - before} base units, but the pipelines say ${expected}`,
  );
}
