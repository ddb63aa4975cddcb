/** What the ledger holds, read with plain SQL and decoders of its own, which come from the programs' own documentation. */
import { createHash } from 'node:crypto';
import bs58 from 'bs58';
import Database from 'libsql';
import { DECIMALS, RECIPIENT } from '../goods.js';

/** A transaction in the ledger. */
export interface Landed {
  readonly id: number;
  readonly wire: Buffer;
  readonly logs: string;
  readonly hasFailed: boolean;
  readonly fee: bigint;
  /** UTC day of its block. */
  readonly day: string;
}

/** The account of a batch. */
export interface BatchAccount {
  readonly address: Buffer;
  readonly index: bigint;
  /** Transactions of it that have been executed, as it says. */
  readonly executed: number;
}

const SQUADS = 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf';
const BATCH_MARK = Buffer.from('9cc2462c1658892c', 'hex');
const BATCH_INDEX_AT = 72;
const EXECUTED_AT = 87;
/** `BurnChecked` of the token programs: its number, the amount as u64, the decimals. */
const BURN_CHECKED = 15;
const SUPPLY_AT = 36;
const AMOUNT_AT = 64;
const OWNER_AT = 32;

const base58Bytes = (text: string): Buffer => Buffer.from(bs58.decode(text));

/** The instruction that burns an amount. */
export const burnPattern = (amount: bigint): Buffer => {
  const pattern = Buffer.alloc(10);
  pattern[0] = BURN_CHECKED;
  pattern.writeBigUInt64LE(amount, 1);
  pattern[9] = DECIMALS;
  return pattern;
};

/** Addresses of which one is that of the batch. Which one the curve says; of the others none is in any transaction. */
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

export class LedgerBooks {
  readonly #path: string;
  readonly #mint: string;
  #ledger: Database.Database | undefined;

  constructor(path: string, mint: string) {
    this.#path = path;
    this.#mint = mint;
  }

  /** Reads all of it as it is at one time, whoever writes meanwhile. */
  atOnce(read: () => void): void {
    const ledger = this.#open();
    ledger.exec('BEGIN');
    try {
      read();
    } finally {
      ledger.exec('COMMIT');
    }
  }

  lastId(): number {
    return Number(this.#rows('SELECT coalesce(max(id), 0) FROM transactions')[0]?.[0]);
  }

  height(): number {
    return Number(this.#rows('SELECT max(height) FROM blocks')[0]?.[0]);
  }

  after(id: number): readonly Landed[] {
    const rows = this.#rows(
      'SELECT t.id, t.wire, t.logs, t.error, t.fee_lamports, b.time_ms FROM transactions t JOIN blocks b ON b.height = t.slot WHERE t.id > ? ORDER BY t.id',
      id,
    );
    return rows.map(([own, wire, logs, error, fee, timeMs]) => ({
      id: Number(own),
      wire: Buffer.from(wire as ArrayBuffer),
      logs: String(logs),
      hasFailed: error !== null,
      fee: BigInt(String(fee)),
      day: new Date(Number(timeMs)).toISOString().slice(0, 10),
    }));
  }

  batches(): readonly BatchAccount[] {
    return this.#rows('SELECT address, data FROM accounts WHERE owner = ?', base58Bytes(SQUADS))
      .map(([address, data]) => ({
        address: Buffer.from(address as ArrayBuffer),
        data: Buffer.from(data as ArrayBuffer),
      }))
      .filter(({ data }) => data.subarray(0, BATCH_MARK.length).equals(BATCH_MARK))
      .map(({ address, data }) => ({
        address,
        index: data.readBigUInt64LE(BATCH_INDEX_AT),
        executed: data.readUInt32LE(EXECUTED_AT),
      }));
  }

  /** Accounts of the multisig program; those of batches are gone when the batches are over. */
  squadsAccounts(): number {
    const [row] = this.#rows('SELECT count(*) FROM accounts WHERE owner = ?', base58Bytes(SQUADS));
    return Number(row?.[0]);
  }

  supply(): bigint {
    const [row] = this.#rows('SELECT data FROM accounts WHERE address = ?', base58Bytes(this.#mint));
    return row === undefined ? 0n : Buffer.from(row[0] as ArrayBuffer).readBigUInt64LE(SUPPLY_AT);
  }

  /** What the recipient of all airdrops has. */
  given(): bigint {
    const recipient = base58Bytes(RECIPIENT);
    return this.#rows('SELECT data FROM accounts WHERE length(data) >= 165')
      .map(([data]) => Buffer.from(data as ArrayBuffer))
      .filter((data) => data.subarray(OWNER_AT, OWNER_AT + 32).equals(recipient))
      .reduce((sum, data) => sum + data.readBigUInt64LE(AMOUNT_AT), 0n);
  }

  lamports(): bigint {
    return this.#rows('SELECT lamports FROM accounts').reduce(
      (sum, [lamports]) => sum + BigInt(String(lamports)),
      0n,
    );
  }

  /** Lets go of the file; the next look opens it again. */
  close(): void {
    this.#ledger?.close();
    this.#ledger = undefined;
  }

  #open(): Database.Database {
    this.#ledger ??= new Database(this.#path, { readonly: true });
    return this.#ledger;
  }

  #rows(sql: string, ...parameters: readonly unknown[]): readonly (readonly unknown[])[] {
    return this.#open().prepare(sql).raw().all(parameters) as (readonly unknown[])[];
  }
}
