/** Holds what a transaction moved for a proof against what a file or an option says, base unit by base unit. */
import type { SourceAction } from '../../actions/registry.js';
import { actionContent, type Operation, type PipelineAction } from '../../actions/registry.js';
import type { TokenChange } from '../../chain/chain.js';
import { associatedTokenAddress } from '../../chain/squads/addresses.js';
import type { Address } from '../../values/address.js';

/** What one mint lost, and who got it; base units. */
export interface Moved {
  readonly mint: Address;
  readonly tokenProgram: Address;
  readonly decimals: number;
  readonly burned: bigint;
  /** By token account. */
  readonly received: ReadonlyMap<Address, bigint>;
}

/** Adds operations up, by mint. */
export function movedBy(operations: readonly Operation[]): readonly Moved[] {
  const found = new Map<Address, Moved & { readonly received: Map<Address, bigint> }>();
  for (const operation of operations) {
    if (operation.kind !== 'burn' && operation.kind !== 'transfer') continue;
    const { mint, tokenProgram, decimals, amount } = operation;
    const before = found.get(mint) ?? { mint, tokenProgram, decimals, burned: 0n, received: new Map() };
    if (operation.kind === 'transfer')
      before.received.set(operation.to, (before.received.get(operation.to) ?? 0n) + amount);
    found.set(mint, { ...before, burned: before.burned + (operation.kind === 'burn' ? amount : 0n) });
  }
  return [...found.values()];
}

/** What actions are to move of a mint. */
export function expectedOf(
  actions: readonly SourceAction[],
  { mint, tokenProgram, decimals }: Pick<Moved, 'mint' | 'tokenProgram' | 'decimals'>,
): Moved {
  const received = new Map<Address, bigint>();
  let burned = 0n;
  for (const action of actions.map((one): PipelineAction => actionContent(one, decimals))) {
    if (action.action === 'BURN') burned += action.amount;
    if (action.action !== 'AIRDROP') continue;
    const account = associatedTokenAddress(action.toAddress, mint, tokenProgram);
    received.set(account, (received.get(account) ?? 0n) + action.amount);
  }
  return { mint, tokenProgram, decimals, burned, received };
}

/** How what was moved differs from what was to be. */
export function movedDifferences(actual: Moved, expected: Moved): readonly string[] {
  const accounts = new Set([...actual.received.keys(), ...expected.received.keys()]);
  return [
    ...difference('burned', actual.burned, expected.burned),
    ...[...accounts].flatMap((account) =>
      difference(
        `sent to the token account ${account}`,
        actual.received.get(account) ?? 0n,
        expected.received.get(account) ?? 0n,
      ),
    ),
  ];
}

const difference = (what: string, actual: bigint, expected: bigint): readonly string[] =>
  actual === expected ? [] : [`${what} were ${actual} base units, expected ${expected}`];

/**
 * How the balances before and after a transaction differ from all that it says it did; a fee may be withheld from what is sent.
 */
export function balanceDifferences(
  changes: readonly TokenChange[],
  operations: readonly Operation[],
  mint: Address,
  feeCharged: boolean,
): readonly string[] {
  const due = new Map<Address, bigint>();
  const add = (account: Address, amount: bigint): void =>
    void due.set(account, (due.get(account) ?? 0n) + amount);
  const received = new Set<Address>();
  for (const operation of operations) {
    if (!('mint' in operation) || operation.mint !== mint) continue;
    if (operation.kind === 'burn') add(operation.account, -operation.amount);
    if (operation.kind !== 'transfer') continue;
    add(operation.from, -operation.amount);
    add(operation.to, operation.amount);
    received.add(operation.to);
  }
  for (const { account, mint: of, before, after } of changes)
    if (of === mint) add(account, (before ?? 0n) - after);
  return [...due].flatMap(([account, missing]) =>
    missing === 0n || (feeCharged && received.has(account) && missing > 0n)
      ? []
      : [`the token account ${account} changed by ${-missing} base units more than its instructions say`],
  );
}
