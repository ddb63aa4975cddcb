/**
 * Audits the databases of a data directory without the program: no tokens or lamports are lost or created. No process may have it
 * open.
 */
import { join } from 'node:path';
import bs58 from 'bs58';
import { expect } from 'vitest';
import { FILES, JournalTables, LedgerTables, StoreTables } from '../simulation/audit/tables.js';

/** Offsets in a token account, and its size in bytes. */
const OWNER_AT = 32;
const AMOUNT_AT = 64;
const TOKEN_ACCOUNT_BYTES = 165;
/** `BurnChecked` has ten bytes of data: its number, the amount as u64, the decimals. */
const burnData = (amount: bigint): Buffer => {
  const data = Buffer.from('0a0f000000000000000006', 'hex');
  data.writeBigUInt64LE(amount, 2);
  return data;
};

/** Checks that no file is damaged and no outcome is unknown. */
export function balancedBooks(dataDir: string) {
  const store = new StoreTables(join(dataDir, FILES.store));
  const ledger = new LedgerTables(join(dataDir, FILES.ledger));
  const journal = new JournalTables(join(dataDir, FILES.journal));
  try {
    expect([store.integrity(), ledger.integrity(), journal.integrity()]).toEqual(['ok', 'ok', 'ok']);
    expect([store.pending(), journal.openOperations()]).toEqual([[], []]);
    const wires = ledger
      .transactionsAfter(0)
      .filter(({ hasFailed }) => !hasFailed)
      .map(({ wire }) => wire.toString('latin1'));
    const accounts = ledger.accountsFrom(TOKEN_ACCOUNT_BYTES);
    const lamports = new Map(
      ledger.accountsFrom(0).map(({ address, lamports: held }) => [bs58.encode(address), held]),
    );
    return {
      lamports: ledger.lamports(),
      costs: store.costs(),
      /** How many direct burns of each amount landed. */
      burns: (amounts: readonly bigint[]): readonly number[] =>
        amounts.map((amount) => {
          const data = burnData(amount).toString('latin1');
          return wires.reduce((count, wire) => count + wire.split(data).length - 1, 0);
        }),
      lamportsOf: (address: string) => lamports.get(address) ?? 0n,
      tokensOf: (wallet: string) => {
        const owner = Buffer.from(bs58.decode(wallet));
        return accounts
          .filter(({ data }) => data.subarray(OWNER_AT, AMOUNT_AT).equals(owner))
          .reduce((sum, { data }) => sum + data.readBigUInt64LE(AMOUNT_AT), 0n);
      },
    };
  } finally {
    store.close();
    ledger.close();
    journal.close();
  }
}
