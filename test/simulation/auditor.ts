/**
 * Audits the books of a world with plain SQL and decoders of its own: supply, items, caps by landing day, SOL, batches. What it
 * knows of the formats is from the programs' own documentation and not from the product.
 */
import bs58 from 'bs58';
import Database from 'libsql';
import type { Goods, Item } from './goods.js';
import { DECIMALS, RECIPIENT } from './goods.js';

/** A promise that was broken. */
export class Broken extends Error {
  readonly promise: string;

  constructor(promise: string, detail: string) {
    super(`${promise}: ${detail}`);
    this.promise = promise;
  }
}

/** What is known of the world when it begins. */
export interface Opening {
  readonly mint: string;
  readonly burnCap: bigint;
  readonly airdropCap: bigint;
}

type Row = readonly unknown[];

const SQUADS = 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf';
/** `BurnChecked` of the token programs: its number, the amount as u64, the decimals. */
const BURN_CHECKED = 15;
const SUPPLY_AT = 36;
const AMOUNT_AT = 64;
const OWNER_AT = 32;

const base58Bytes = (text: string): Buffer => Buffer.from(bs58.decode(text));

const burnPattern = (amount: bigint): Buffer => {
  const pattern = Buffer.alloc(10);
  pattern[0] = BURN_CHECKED;
  pattern.writeBigUInt64LE(amount, 1);
  pattern[9] = DECIMALS;
  return pattern;
};

/** Where a program was run from one transaction: who brought it, and what of the goods landed by it. */
export interface Landing {
  readonly by: string;
  readonly item: Item;
}

export class Auditor {
  readonly #paths: { readonly ledger: string; readonly store: string };
  #open: { readonly ledger: Database.Database; readonly store: Database.Database } | undefined;
  readonly #goods: Goods;
  readonly #opening: Opening;
  readonly #counts = new Map<Item, number>();
  readonly #burnedOn = new Map<string, bigint>();
  readonly #givenOn = new Map<string, bigint>();
  readonly #firstSupply: bigint;
  readonly #firstGiven: bigint;
  readonly #lamports: bigint;
  readonly #squadsAccounts: number;
  readonly #landings: Landing[] = [];
  #lastId: number;
  #fees = 0n;

  constructor(ledger: string, store: string, goods: Goods, opening: Opening) {
    this.#paths = { ledger, store };
    this.#goods = goods;
    this.#opening = opening;
    this.#lastId = Number(this.#rows('SELECT coalesce(max(id), 0) FROM transactions')[0]?.[0]);
    this.#firstSupply = this.#readSupply();
    this.#firstGiven = this.#readGiven();
    this.#lamports = this.#readLamports();
    this.#squadsAccounts = this.squadsAccounts();
  }

  /** All that has landed, in order. */
  get landings(): readonly Landing[] {
    return this.#landings;
  }

  count(item: Item): number {
    return this.#counts.get(item) ?? 0;
  }

  /** Lets go of the files; the next look opens them again. */
  close(): void {
    this.#open?.ledger.close();
    this.#open?.store.close();
    this.#open = undefined;
  }

  /** Looks at what has landed since the last look, all at one moment of the ledger. @throws Broken */
  look(by: string): void {
    const { ledger } = this.#books();
    ledger.exec('BEGIN');
    try {
      this.#look(by);
    } finally {
      ledger.exec('COMMIT');
    }
  }

  #books(): { readonly ledger: Database.Database; readonly store: Database.Database } {
    const open = (path: string): Database.Database => new Database(path, { readonly: true });
    this.#open ??= { ledger: open(this.#paths.ledger), store: open(this.#paths.store) };
    return this.#open;
  }

  #look(by: string): void {
    const fresh = this.#rows(
      'SELECT t.id, t.wire, t.logs, t.error, t.fee_lamports, b.time_ms FROM transactions t JOIN blocks b ON b.height = t.slot WHERE t.id > ? ORDER BY t.id',
      this.#lastId,
    );
    if (fresh.length === 0) return;
    for (const row of fresh) this.#take(row, by);
    this.#checkMoney();
  }

  #take([id, wire, logs, error, fee, timeMs]: Row, by: string): void {
    this.#lastId = Number(id);
    this.#fees += BigInt(String(fee));
    if (error !== null) return;
    const bytes = Buffer.from(wire as ArrayBuffer);
    const text = String(logs);
    const day = new Date(Number(timeMs)).toISOString().slice(0, 10);
    for (const item of this.#goods.items) {
      const isIn = item.kind === 'burn' ? bytes.includes(burnPattern(item.burns)) : text.includes(item.hash);
      if (!isIn) continue;
      this.#landings.push({ by, item });
      const count = this.count(item) + 1;
      this.#counts.set(item, count);
      if (count > item.allowed)
        throw new Broken('once', `${item.name} has landed ${count} times, brought by ${by}`);
      this.#add(this.#burnedOn, day, item.burns, this.#opening.burnCap, 'burn');
      this.#add(this.#givenOn, day, item.gives, this.#opening.airdropCap, 'airdrop');
    }
  }

  #checkMoney(): void {
    const [supply, given] = [this.#readSupply(), this.#readGiven()];
    let [burns, gives] = [0n, 0n];
    for (const [item, count] of this.#counts) {
      burns += item.burns * BigInt(count);
      gives += item.gives * BigInt(count);
    }
    if (this.#firstSupply - supply !== burns)
      throw new Broken('supply', `${this.#firstSupply - supply} burned, and ${burns} by items that landed`);
    if (given - this.#firstGiven !== gives)
      throw new Broken('airdrops', `${given - this.#firstGiven} given, and ${gives} by items that landed`);
    const lamports = this.#readLamports() + this.#fees;
    if (lamports !== this.#lamports)
      throw new Broken('SOL', `${this.#lamports} lamports have become ${lamports}, fees included`);
  }

  #add(days: Map<string, bigint>, day: string, amount: bigint, cap: bigint, kind: string): void {
    const total = (days.get(day) ?? 0n) + amount;
    days.set(day, total);
    if (total > cap) throw new Broken('cap', `${total} of ${kind} landed on ${day}, over the cap of ${cap}`);
  }

  /** Batches as the store has them. */
  batches(): readonly { readonly id: string; readonly isOver: boolean }[] {
    return this.#storeRows('SELECT id, date_closed FROM batches ORDER BY ordinal').map(([id, closed]) => ({
      id: String(id),
      isOver: closed !== null,
    }));
  }

  /** Burns whose end the store does not know yet. */
  pendingBurns(): number {
    return Number(this.#storeRows("SELECT count(*) FROM burns WHERE status = 'PENDING'")[0]?.[0]);
  }

  /** Accounts of the multisig program; those of batches are gone when the batches are over. */
  squadsAccounts(): number {
    const [row] = this.#rows('SELECT count(*) FROM accounts WHERE owner = ?', base58Bytes(SQUADS));
    return Number(row?.[0]);
  }

  /** Nothing is left behind when all is over. @throws Broken */
  checkClean(): void {
    const left = this.squadsAccounts() - this.#squadsAccounts;
    if (left !== 0) throw new Broken('rent', `${left} accounts of batches are left on chain`);
    const pending = this.#storeRows(
      "SELECT 'burn', proof_type, sequence FROM burns WHERE status = 'PENDING' UNION ALL SELECT 'bundle ' || phase || ' of ' || b.id || ' ' || b.status, sequence, coalesce(b.date_closed, 'not closed') || ', cancelled ' || coalesce(b.date_cancelled, 'never') FROM bundles JOIN batches b ON b.id = batch_id WHERE bundles.status = 'PENDING' AND b.date_closed IS NULL",
    );
    if (pending.length > 0) throw new Broken('settled', `pending: ${pending.map(String).join('; ')}`);
  }

  #readSupply(): bigint {
    return this.#account(this.#opening.mint)?.readBigUInt64LE(SUPPLY_AT) ?? 0n;
  }

  #readGiven(): bigint {
    const recipient = base58Bytes(RECIPIENT);
    return this.#rows('SELECT data FROM accounts WHERE length(data) >= 165')
      .map(([data]) => Buffer.from(data as ArrayBuffer))
      .filter((data) => data.subarray(OWNER_AT, OWNER_AT + 32).equals(recipient))
      .reduce((sum, data) => sum + data.readBigUInt64LE(AMOUNT_AT), 0n);
  }

  #readLamports(): bigint {
    return this.#rows('SELECT lamports FROM accounts').reduce(
      (sum, [lamports]) => sum + BigInt(String(lamports)),
      0n,
    );
  }

  #account(address: string): Buffer | undefined {
    const [row] = this.#rows('SELECT data FROM accounts WHERE address = ?', base58Bytes(address));
    return row === undefined ? undefined : Buffer.from(row[0] as ArrayBuffer);
  }

  #rows(sql: string, ...parameters: readonly unknown[]): readonly Row[] {
    return this.#books().ledger.prepare(sql).raw().all(parameters) as Row[];
  }

  #storeRows(sql: string, ...parameters: readonly unknown[]): readonly Row[] {
    return this.#books().store.prepare(sql).raw().all(parameters) as Row[];
  }
}
