/** Amounts against the decimals of the mint, where these are known before anything is sent. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { tokenAmountFromNumber } from '../../values/token-amount.js';

/** What is wrong with an amount for a mint of so many decimals, without a full stop; `undefined` when nothing is. */
export function checkDecimals(amount: number, decimals: number): string | undefined {
  try {
    tokenAmountFromNumber(amount, decimals);
    return undefined;
  } catch (error) {
    if (error instanceof FlywheelError) return error.message.replace(/\.$/, '');
    throw error;
  }
}
