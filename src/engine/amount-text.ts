/** Amounts for messages, with unit and token. */
import type { TokenRecord } from '../store/records.js';
import { formatTokenAmount, shownSymbol } from '../values/token-amount.js';

export const SOL_DECIMALS = 9;

export const tokenText = (baseUnits: bigint, token: Pick<TokenRecord, 'decimals' | 'symbol'>): string =>
  `${formatTokenAmount(baseUnits, token.decimals)} ${shownSymbol(token.symbol) ?? 'tokens'}`;

export const solText = (lamports: bigint): string => `${formatTokenAmount(lamports, SOL_DECIMALS)} SOL`;
