/** Reads the ledger with independent decoders, written from the programs' documentation. */
import { createHash } from 'node:crypto';
import bs58 from 'bs58';
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

const SQUADS = 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf';
const BATCH_MARK = Buffer.from('9cc2462c1658892c', 'hex');
const BATCH_INDEX_AT = 72;
const EXECUTED_AT = 87;
/** `BurnChecked` of the token programs: its number, the amount as u64, the decimals. */
const BURN_CHECKED = 15;
const SUPPLY_AT = 36;
export const AMOUNT_AT = 64;
const OWNER_AT = 32;
const TOKEN_ACCOUNT_BYTES = 165;

const base58Bytes = (text: string): Buffer => Buffer.from(bs58.decode(text));

export const burnPattern = (amount: bigint): Buffer => {
  const pattern = Buffer.alloc(10);
  pattern[0] = BURN_CHECKED;
  pattern.writeBigUInt64LE(amount, 1);
  pattern[9] = DECIMALS;
  return pattern;
};

/** Candidate addresses of a batch. Only one is off the curve; the others appear in no transaction. */
export function batchAddresses(multisig: string, index: bigint): readonly Buffer[] {
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(index);
  const seeds = [Buffer.from('multisig'), base58Bytes(multisig), Buffer.from('transaction'), number];
  const program = [base58Bytes(SQUADS), Buffer.from('ProgramDerivedAddress')];
  return Array.from({ length: 256 }, (_, bump) =>
    createHash('sha256')
      .update(Buffer.concat([...seeds, Buffer.of(bump), ...program]))
      .digest(),
  );
}

/** Token accounts of a wallet for the mint. */
export const tokenAccountsOf = (ledger: LedgerTables, owner: string): readonly LedgerAccount[] =>
  ledger
    .accountsFrom(TOKEN_ACCOUNT_BYTES)
    .filter(({ data }) => data.subarray(OWNER_AT, OWNER_AT + 32).equals(base58Bytes(owner)));

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
    return this.accountsOf(base58Bytes(SQUADS))
      .filter(({ data }) => data.subarray(0, BATCH_MARK.length).equals(BATCH_MARK))
      .map(({ address, data }) => ({
        address,
        index: data.readBigUInt64LE(BATCH_INDEX_AT),
        executed: data.readUInt32LE(EXECUTED_AT),
      }));
  }

  /** Accounts of the multisig program; a finished batch has closed its accounts. */
  squadsAccounts(): number {
    return this.accountsOf(base58Bytes(SQUADS)).length;
  }

  supply(): bigint {
    return this.account(base58Bytes(this.#mint))?.data.readBigUInt64LE(SUPPLY_AT) ?? 0n;
  }

  /** Balance of the recipient of all airdrops. */
  given(): bigint {
    return tokenAccountsOf(this, RECIPIENT).reduce(
      (sum, { data }) => sum + data.readBigUInt64LE(AMOUNT_AT),
      0n,
    );
  }
}
