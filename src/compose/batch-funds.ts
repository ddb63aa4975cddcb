/** The two settings of how much SOL batches may take: read from `local.json`, checked, and handed to the engine as its limits. */
import type { BatchFunds } from '../contract/admin.js';
import type { EngineLimits } from '../engine/deps.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { MAX_BASE_UNITS } from '../values/token-amount.js';

const NAMES = ['minOperatorSol', 'maxBatchRent'] as const;

const isLamports = (amount: bigint): boolean => amount >= 0n && amount <= MAX_BASE_UNITS;

/** What is set, and nothing else. @throws `ERR_CONFIG_INVALID` for an amount that no account can hold. */
export function chosenFunds(funds: BatchFunds): BatchFunds {
  const chosen: { -readonly [Name in keyof BatchFunds]: BatchFunds[Name] } = {};
  for (const name of NAMES) {
    const amount = funds[name];
    if (amount === undefined) continue;
    if (!isLamports(amount)) {
      throw new FlywheelError(
        'ERR_CONFIG_INVALID',
        `Expected ${name} to be between 0 and ${MAX_BASE_UNITS} lamports, got ${amount}.`,
      );
    }
    chosen[name] = amount;
  }
  return chosen;
}

/** As JSON holds it: lamports as decimal text. */
export function fundsToJson(funds: BatchFunds): Record<string, string> {
  return Object.fromEntries(Object.entries(chosenFunds(funds)).map(([name, amount]) => [name, `${amount}`]));
}

/** The reverse of {@link fundsToJson}; `undefined` when a setting is there and is no amount. */
export function fundsFromJson(json: Readonly<Record<string, unknown>>): BatchFunds | undefined {
  const funds: { -readonly [Name in keyof BatchFunds]: BatchFunds[Name] } = {};
  for (const name of NAMES) {
    const text = json[name];
    if (text === undefined) continue;
    if (typeof text !== 'string' || !/^\d{1,20}$/.test(text) || !isLamports(BigInt(text))) return undefined;
    funds[name] = BigInt(text);
  }
  return funds;
}

/** The same settings as the engine names them. */
export function fundsLimits({ minOperatorSol, maxBatchRent }: BatchFunds): Partial<EngineLimits> {
  return {
    ...(minOperatorSol === undefined ? {} : { minOperatorLamports: minOperatorSol }),
    ...(maxBatchRent === undefined ? {} : { maxOpenRentLamports: maxBatchRent }),
  };
}
