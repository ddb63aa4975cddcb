/** Simulates a batch and compares the changes with its content. A simulation can only refuse; it replaces no other check. */

import { actionChanges } from '../actions/registry.js';
import type { AccountState } from '../chain/account.js';
import type { ChainReader, Flywheel, Simulator } from '../chain/chain.js';
import { tryDecode, u64 } from '../chain/codec.js';
import { CLOCK_SYSVAR } from '../chain/programs.js';
import { decodeMint, decodeTokenAccount, extensionOf } from '../chain/tokens/accounts.js';
import type { Address } from '../values/address.js';
import type { BatchContent } from './batch-content.js';
import { ensure, refuse } from './pins.js';
import type { BatchDescription } from './read-batch.js';

/** Base units or lamports. */
export interface Change {
  readonly before: bigint;
  readonly after: bigint;
}

export interface SimulatedChanges {
  readonly supply: Change;
  readonly vaultTokens: Change;
  readonly vaultLamports: Change;
  /** Base units that the token's transfer fee withholds from recipients. */
  readonly withheld: bigint;
}

/** The withheld fee of a token account, a u64 (spl-token-2022, `TransferFeeAmount`). */
function withheldIn(account: AccountState | null): bigint {
  const token = decodeTokenAccount(account);
  const withheld = token && extensionOf(token, 'transferFeeAmount');
  return (withheld && tryDecode(u64, withheld)) ?? 0n;
}

const tokensIn = (account: AccountState | null): bigint =>
  (decodeTokenAccount(account)?.amount ?? 0n) + withheldIn(account);

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
 * Reads every account of the batch and runs it.
 * @param description - must have passed `checkBatchContent`.
 * @throws `ERR_APPROVAL_REFUSED` when the batch fails or changes something else; `ERR_UNAVAILABLE` from the reader.
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
  const supply = changeOf(mint, (account) => decodeMint(account)?.supply ?? 0n);
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
