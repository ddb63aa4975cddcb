/** Audits a world: supply, items, caps by landing day, SOL, batches on chain, and the store's record of all of them. */
import type { Goods, Item } from '../goods.js';
import { batchAddress, burnPattern, type Landed, LedgerBooks } from './ledger-books.js';
import { type StoredBatch, StoreTables, type Usage } from './tables.js';

/** A violated promise; the simulation stops. */
export class Broken extends Error {
  constructor(promise: string, detail: string) {
    super(`${promise}: ${detail}`);
  }
}

export interface BookedBatch extends Omit<StoredBatch, 'pipelines'> {
  readonly items: readonly Item[];
}

export interface Opening {
  readonly multisig: string;
  readonly mint: string;
  readonly burnCap: bigint;
  readonly airdropCap: bigint;
}

/** An item that landed, and the process that sent it. */
interface Landing {
  readonly by: string;
  readonly item: Item;
}

const LAST_DAY = '9999-12-31';

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n);

export class Auditor {
  readonly #ledger: LedgerBooks;
  readonly #store: StoreTables;
  readonly #goods: Goods;
  readonly #caps: Readonly<Record<Usage['kind'], bigint>>;
  readonly #counts = new Map<Item, number>();
  readonly #used = new Map<string, bigint>();
  readonly #counted = new Map<string, bigint>();
  /** Transactions with items, and how many each has. */
  readonly #runs: { readonly wire: Buffer; readonly items: number }[] = [];
  /** Cached, by batch index. */
  readonly #addresses = new Map<bigint, Buffer>();
  readonly #multisig: string;
  readonly #landings: Landing[] = [];
  readonly #first: { readonly supply: bigint; readonly given: bigint };
  readonly #lamports: bigint;
  readonly #squadsAccounts: number;
  #lastId: number;

  constructor(ledger: string, store: string, goods: Goods, opening: Opening) {
    const { multisig, mint, burnCap, airdropCap } = opening;
    this.#multisig = multisig;
    this.#ledger = new LedgerBooks(ledger, mint);
    this.#store = new StoreTables(store);
    this.#goods = goods;
    this.#caps = { burn: burnCap, airdrop: airdropCap };
    this.#lastId = this.#ledger.lastId();
    this.#first = { supply: this.#ledger.supply(), given: this.#ledger.given() };
    this.#lamports = this.#ledger.lamports();
    this.#squadsAccounts = this.#ledger.squadsAccounts();
  }

  get landings(): readonly Landing[] {
    return this.#landings;
  }

  count(item: Item): number {
    return this.#counts.get(item) ?? 0;
  }

  batches(): readonly BookedBatch[] {
    return this.#store.batches().map(({ pipelines, ...batch }) => ({
      ...batch,
      items: this.#goods.items.filter(({ hash }) => pipelines.includes(hash)),
    }));
  }

  close(): void {
    this.#ledger.close();
    this.#store.close();
  }

  /** Audits transactions that landed since the last call, in one consistent read. @throws Broken */
  look(by: string): void {
    this.#ledger.atOnce(() => this.#look(by));
  }

  #look(by: string): void {
    const fresh = this.#ledger.after(this.#lastId);
    if (fresh.length === 0) return;
    for (const landed of fresh) {
      this.#lastId = landed.id;
      if (landed.hasFailed) continue;
      const items = this.#count(landed, by).length;
      if (items > 0) this.#runs.push({ wire: landed.wire, items });
    }
    this.#checkMoney();
    for (const { address, index, executed } of this.#ledger.batches()) {
      const ran = this.#ran(address);
      if (executed !== ran)
        throw new Broken('batch on chain', `batch ${index} says ${executed}, and ${ran} of it have landed`);
    }
  }

  #addressOf(index: bigint): Buffer {
    const address = this.#addresses.get(index) ?? batchAddress(this.#multisig, index);
    this.#addresses.set(index, address);
    return address;
  }

  /** Pipelines that landed of a batch. */
  #ran(address: Buffer): number {
    return this.#runs.filter(({ wire }) => wire.includes(address)).reduce((sum, { items }) => sum + items, 0);
  }

  /** Of a burn by its signature, else of the batch that the transaction executes. */
  #dayAccepted(wire: Buffer): string {
    const days = this.#store
      .batches()
      .map(({ index, heldFrom }) => (wire.includes(this.#addressOf(index)) ? heldFrom : ''));
    return this.#store.dayOfBurn(wire) ?? days.sort().at(-1) ?? '';
  }

  #count({ wire, logs, day }: Landed, by: string): readonly Item[] {
    const found = this.#goods.items.filter((item) =>
      item.kind === 'burn' ? wire.includes(burnPattern(item.burns)) : logs.includes(item.hash),
    );
    for (const item of found) {
      this.#landings.push({ by, item });
      const count = this.count(item) + 1;
      this.#counts.set(item, count);
      if (count > item.allowed)
        throw new Broken('once', `${item.name} has landed ${count} times, brought by ${by}`);
      const capDay = [day, this.#dayAccepted(wire)].sort().at(-1) ?? day;
      this.#use('burn', { day, capDay }, item.burns);
      this.#use('airdrop', { day, capDay }, item.gives);
    }
    return found;
  }

  #checkMoney(): void {
    const [supply, given] = [this.#ledger.supply(), this.#ledger.given()];
    let [burns, gives] = [0n, 0n];
    for (const [item, count] of this.#counts) {
      burns += item.burns * BigInt(count);
      gives += item.gives * BigInt(count);
    }
    const [burned, gave] = [this.#first.supply - supply, given - this.#first.given];
    if (burned !== burns) throw new Broken('supply', `${burned} burned, and ${burns} by items that landed`);
    if (gave !== gives) throw new Broken('airdrops', `${gave} given, and ${gives} by items that landed`);
    const lamports = this.#ledger.lamports();
    if (lamports !== this.#lamports)
      throw new Broken('SOL', `${this.#lamports} lamports have become ${lamports}, fees included`);
  }

  /** @param days - that of its block, and the day on which it counts: it was accepted for a later one if the clock was set back since */
  #use(kind: Usage['kind'], days: { readonly day: string; readonly capDay: string }, amount: bigint): void {
    const add = (to: Map<string, bigint>, day: string): bigint => {
      const total = (to.get(`${kind} ${day}`) ?? 0n) + amount;
      to.set(`${kind} ${day}`, total);
      return total;
    };
    add(this.#used, days.day);
    const total = add(this.#counted, days.capDay);
    if (total > this.#caps[kind])
      throw new Broken(
        'cap',
        `${total} of ${kind} count on ${days.capDay}, over the cap of ${this.#caps[kind]}`,
      );
  }

  /** The batches that ran or can run contain no item more often than it may land. @throws Broken */
  checkBatches(): void {
    const batches = this.batches().filter(
      ({ isCancelled, isOver, isExecuted }) => !isCancelled && (!isOver || isExecuted),
    );
    for (const item of this.#goods.items) {
      const holders = batches.filter(({ items }) => items.includes(item));
      if (holders.length > item.allowed) {
        const ids = holders.map(({ id }) => id).join(', ');
        throw new Broken('one batch', `${item.name} stands in batches that all can run or have run: ${ids}`);
      }
    }
  }

  /** At rest nothing is left over, and the store agrees with the chain. @throws Broken */
  checkClean(): void {
    const left = this.#ledger.squadsAccounts() - this.#squadsAccounts;
    if (left !== 0) throw new Broken('rent', `${left} accounts of batches are left on chain`);
    const pending = this.#store.pending();
    if (pending.length > 0) throw new Broken('settled', `pending: ${pending.join('; ')}`);
    this.#checkUsage();
    this.#checkVerdicts();
  }

  /** Each landing counts on the day of its block or on a later one (contract, section 1.4). */
  #checkUsage(): void {
    const usage = this.#store.usage();
    for (const kind of ['burn', 'airdrop'] as const) {
      for (const day of [...usage.map((one) => one.day), LAST_DAY]) {
        const landed = sumOf(
          [...this.#used].flatMap(([at, amount]) =>
            at.startsWith(kind) && at <= `${kind} ${day}` ? amount : [],
          ),
        );
        const counted = sumOf(
          usage.flatMap((one) => (one.kind === kind && one.day <= day ? one.amount : [])),
        );
        if (counted > landed || (day === LAST_DAY && counted !== landed))
          throw new Broken('usage', `${counted} of ${kind} count as used until ${day}, and ${landed} landed`);
      }
    }
    const over = usage.find(({ kind, amount }) => amount > this.#caps[kind]);
    if (over !== undefined) throw new Broken('cap', `${over.amount} of ${over.kind} count on ${over.day}`);
  }

  #checkVerdicts(): void {
    const batches = this.batches();
    for (const index of new Set(batches.map((batch) => batch.index))) {
      const own = batches.filter((batch) => batch.index === index);
      const said = own.reduce((sum, { successful }) => sum + successful, 0);
      const ran = this.#ran(this.#addressOf(index));
      if (said !== ran)
        throw new Broken('verdict', `of batch ${own[0]?.id} ${ran} landed, and its verdict says ${said}`);
    }
  }
}
