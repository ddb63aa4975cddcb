/** Amounts as people read them: in whole tokens, with what they are counted in. */
import { formatTokenAmount } from '../../values/token-amount.js';

/** What an amount is counted in. */
export interface Unit {
  readonly decimals: number;
  /** One that may stand behind an amount; `null`: the token has none. */
  readonly symbol: string | null;
}

/** Lamports. */
export const SOL: Unit = { decimals: 9, symbol: 'SOL' };

/** An amount with its unit. */
export const amountText = (amount: bigint, { decimals, symbol }: Unit): string =>
  `${formatTokenAmount(amount, decimals)}${symbol === null ? '' : ` ${symbol}`}`;
