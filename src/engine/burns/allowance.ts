/** What the burn wallet and the daily cap still allow, counted down element by element. */
import type { Chain } from '../../chain/chain.js';
import { decodeTokenAccount } from '../../chain/tokens/accounts.js';
import type { TokenRecord } from '../../store/records.js';
import type { UtcDay } from '../../values/time.js';
import { solText, tokenText } from '../amount-text.js';
import { capExceededMessage, dailyCap } from '../daily-cap.js';
import { maxFeeLamports } from '../signing-terms.js';
import type { BurnContext } from './burn-transaction.js';
import type { Refusal } from './prepare-burns.js';

export interface BurnWalletBalance {
  /** Base units. */
  readonly tokens: bigint;
  readonly lamports: bigint;
  /** What of them has to stay: the wallet is the fee payer and must stay rent-exempt. */
  readonly keptLamports: bigint;
}

export async function readBurnWallet(
  chain: Pick<Chain, 'getAccounts' | 'rent'>,
  token: TokenRecord,
): Promise<BurnWalletBalance> {
  const [[wallet, account], rent] = await Promise.all([
    chain.getAccounts([token.burnWallet, token.burnTokenAccount]),
    chain.rent(),
  ]);
  return {
    keptLamports: rent(0),
    tokens: decodeTokenAccount(account ?? null)?.amount ?? 0n,
    lamports: wallet?.lamports ?? 0n,
  };
}

/** Counts down balance and cap; an element that does not fit is refused and takes nothing. */
export class BurnAllowance {
  readonly #token: TokenRecord;
  readonly #day: UtcDay;
  readonly #cap: bigint | null;
  /** What a burn costs at most. */
  readonly #feeLamports: bigint;
  #tokens: bigint;
  #lamports: bigint;
  #used: bigint;

  constructor(
    { deps, token, principal }: BurnContext,
    balance: BurnWalletBalance,
    { day, used }: { readonly day: UtcDay; readonly used: bigint },
  ) {
    this.#token = token;
    this.#tokens = balance.tokens;
    this.#lamports = balance.lamports - balance.keptLamports;
    this.#day = day;
    this.#cap = dailyCap(principal.flywheel, 'burn');
    this.#feeLamports = maxFeeLamports(deps.chain);
    this.#used = used;
  }

  /** Takes the amount and one fee, or says why not. */
  take(amount: bigint): Refusal | undefined {
    const { symbol, burnWallet } = this.#token;
    if (amount > this.#tokens) {
      return {
        code: 'ERR_BURN_TOKENOMICS_FAILED',
        message: `Insufficient funds: the burn wallet ${burnWallet} has ${tokenText(this.#tokens, this.#token)} and needs ${tokenText(amount, this.#token)}. Send it ${symbol}.`,
      };
    }
    if (this.#lamports < this.#feeLamports) {
      const spendable = this.#lamports > 0n ? this.#lamports : 0n;
      return {
        code: 'ERR_BURN_TOKENOMICS_FAILED',
        message: `Insufficient funds: the burn wallet ${burnWallet} has ${solText(spendable)} for fees and needs ${solText(this.#feeLamports)}. Send it SOL.`,
      };
    }
    if (this.#cap !== null && this.#used + amount > this.#cap) {
      const at = { kind: 'burn', cap: this.#cap, used: this.#used, asked: amount, day: this.#day } as const;
      return { code: 'ERR_DAILY_LIMIT_EXCEEDED', message: capExceededMessage(this.#token, at) };
    }
    this.#tokens -= amount;
    this.#lamports -= this.#feeLamports;
    this.#used += amount;
    return undefined;
  }
}
