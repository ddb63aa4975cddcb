/** Other users of the chain, outside the simulated processes: the owner moves tokens. */
import { AccountLayout } from '@solana/spl-token';
import type { Random } from '../fuzz/random.js';
import { amountIn, tokenAccountsOf } from './audit/ledger-books.js';
import { type LedgerAccount, LedgerTables } from './audit/tables.js';
import { DECIMALS } from './goods.js';

/** Whole tokens left in the vault: too few for anything, enough for part of a batch, enough for everything. */
const HOLDINGS = [20, 70, 110, 3_000] as const;
const UNITS = 10n ** BigInt(DECIMALS);

export interface Wallets {
  readonly vault: string;
  readonly burnWallet: string;
}

export class Others {
  readonly #ledger: LedgerTables;

  constructor(
    path: string,
    private readonly random: Random,
    private readonly wallets: Wallets,
  ) {
    this.#ledger = new LedgerTables(path, false);
  }

  /** Moves tokens between the vault and the burn wallet's account. */
  moveTokens(): void {
    const left = BigInt(this.random.pick(HOLDINGS)) * UNITS;
    const ledger = this.#ledger;
    ledger.write(() => {
      const [vault] = tokenAccountsOf(ledger, this.wallets.vault);
      const [wallet] = tokenAccountsOf(ledger, this.wallets.burnWallet);
      if (vault === undefined || wallet === undefined) return;
      const all = amountIn(vault) + amountIn(wallet);
      if (all < left) return;
      this.#hold(vault, left);
      this.#hold(wallet, all - left);
    });
  }

  #hold({ address, data }: LedgerAccount, amount: bigint): void {
    AccountLayout.encode({ ...AccountLayout.decode(data), amount }, data);
    this.#ledger.setData(address, data);
  }

  close(): void {
    this.#ledger.close();
  }
}
