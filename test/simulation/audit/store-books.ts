/** What the store says about batches and caps, read with plain SQL. */
import Database from 'libsql';
import type { Goods, Item } from '../goods.js';

/** A batch as the store has it. */
export interface BookedBatch {
  readonly id: string;
  /** Of the batch on chain; one that never came to be may share it with the one that did. */
  readonly index: bigint;
  readonly items: readonly Item[];
  /** Its accounts are closed, or never were. */
  readonly isOver: boolean;
  readonly isCancelled: boolean;
  readonly isExecuted: boolean;
  /** Pipelines that landed, as its verdict says; 0 while it has none. */
  readonly successful: number;
}

/** What counts as used of a cap on a day. */
export interface Usage {
  readonly day: string;
  readonly kind: 'burn' | 'airdrop';
  readonly amount: bigint;
}

export class StoreBooks {
  readonly #path: string;
  readonly #goods: Goods;
  #store: Database.Database | undefined;

  constructor(path: string, goods: Goods) {
    this.#path = path;
    this.#goods = goods;
  }

  batches(): readonly BookedBatch[] {
    const rows = this.#rows(
      'SELECT id, batch_index, p.pipelines, date_closed, date_cancelled, status, execute_result FROM batches JOIN batch_plans p ON p.batch_id = id ORDER BY ordinal',
    );
    return rows.map(([id, index, pipelines, closed, cancelled, status, result]) => ({
      id: String(id),
      index: BigInt(String(index)),
      items: this.#goods.items.filter(({ hash }) => String(pipelines).includes(hash)),
      isOver: closed !== null,
      isCancelled: cancelled !== null,
      isExecuted: status === 'EXECUTED',
      successful: result === null ? 0 : Number(JSON.parse(String(result)).totalSuccessful),
    }));
  }

  usage(): readonly Usage[] {
    return this.#rows('SELECT day, kind, landed FROM daily_usage').map(([day, kind, landed]) => ({
      day: String(day),
      kind: kind === 'burn' ? 'burn' : 'airdrop',
      amount: BigInt(String(landed)),
    }));
  }

  /** Burns whose end it does not know yet. */
  pendingBurns(): number {
    return Number(this.#rows("SELECT count(*) FROM burns WHERE status = 'PENDING'")[0]?.[0]);
  }

  /** What nobody knows the outcome of. */
  pending(): readonly string[] {
    return this.#rows(
      "SELECT 'burn', proof_type, sequence FROM burns WHERE status = 'PENDING' UNION ALL SELECT 'bundle ' || phase || ' of ' || b.id || ' ' || b.status, sequence, coalesce(b.date_closed, 'not closed') || ', cancelled ' || coalesce(b.date_cancelled, 'never') FROM bundles JOIN batches b ON b.id = batch_id WHERE bundles.status = 'PENDING' AND b.date_closed IS NULL",
    ).map(String);
  }

  /** The newest block that it knows. */
  knownHeight(): number {
    return Number(this.#rows('SELECT ledger_height FROM progress')[0]?.[0]);
  }

  /** Lets go of the file; the next look opens it again. */
  close(): void {
    this.#store?.close();
    this.#store = undefined;
  }

  #rows(sql: string): readonly (readonly unknown[])[] {
    this.#store ??= new Database(this.#path, { readonly: true });
    return this.#store.prepare(sql).raw().all([]) as (readonly unknown[])[];
  }
}
