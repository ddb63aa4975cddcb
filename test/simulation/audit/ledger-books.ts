/** Reads the ledger with the decoders of the programs' own libraries. */
import { AccountLayout, burnCheckedInstructionData, MintLayout, TokenInstruction } from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import { getTransactionPda, PROGRAM_ID as SQUADS, accounts as squads } from '@sqds/multisig';
import { DECIMALS, RECIPIENT } from '../goods.js';
import { type LedgerAccount, LedgerTables, type LedgerTransaction } from './tables.js';

export interface Landed extends Omit<LedgerTransaction, 'timeMs'> {
  /** UTC day of its block. */
  readonly day: string;
}

interface BatchAccount {
  readonly address: Buffer;
  readonly index: bigint;
  readonly executed: number;
}

const BATCH_MARK = Buffer.from(squads.batchDiscriminator);

export const burnPattern = (amount: bigint): Buffer => {
  const pattern = Buffer.alloc(burnCheckedInstructionData.span);
  const burn = { instruction: TokenInstruction.BurnChecked as const, amount, decimals: DECIMALS };
  burnCheckedInstructionData.encode(burn, pattern);
  return pattern;
};

export const batchAddress = (multisig: string, index: bigint): Buffer =>
  getTransactionPda({ multisigPda: new PublicKey(multisig), index })[0].toBuffer();

export const amountIn = ({ data }: LedgerAccount): bigint => AccountLayout.decode(data).amount;

/** Token accounts of a wallet for the mint. */
export const tokenAccountsOf = (ledger: LedgerTables, owner: string): readonly LedgerAccount[] =>
  ledger
    .accountsFrom(AccountLayout.span)
    .filter(({ data }) => AccountLayout.decode(data).owner.toBase58() === owner);

export class LedgerBooks extends LedgerTables {
  readonly #mint: string;

  constructor(path: string, mint: string) {
    super(path);
    this.#mint = mint;
  }

  after(id: number): readonly Landed[] {
    return this.transactionsAfter(id).map(({ timeMs, ...landed }) => ({
      ...landed,
      day: new Date(timeMs).toISOString().slice(0, 10),
    }));
  }

  batches(): readonly BatchAccount[] {
    return this.accountsOf(SQUADS.toBytes())
      .filter(({ data }) => data.subarray(0, BATCH_MARK.length).equals(BATCH_MARK))
      .map(({ address, data }) => {
        const [{ index, executedTransactionIndex: executed }] = squads.Batch.deserialize(data);
        return { address, index: BigInt(String(index)), executed };
      });
  }

  /** Accounts of the multisig program; a finished batch has closed its accounts. */
  squadsAccounts(): number {
    return this.accountsOf(SQUADS.toBytes()).length;
  }

  supply(): bigint {
    const mint = this.account(new PublicKey(this.#mint).toBytes());
    return mint === undefined ? 0n : MintLayout.decode(mint.data).supply;
  }

  /** Balance of the recipient of all airdrops. */
  given(): bigint {
    return tokenAccountsOf(this, RECIPIENT).reduce((sum, account) => sum + amountIn(account), 0n);
  }
}
