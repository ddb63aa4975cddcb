/** What others do with the same chain, in no time and past every process of the world: they fill blocks, and the owner moves tokens. */
import bs58 from 'bs58';
import { BlockTable, nextBlock } from '../../src/chain/local/ledger/block-table.js';
import { openSqliteFile, type SqliteFile } from '../../src/files/sqlite-file.js';
import type { Random } from '../fuzz/random.js';
import { DECIMALS } from './goods.js';
import type { Scheduler } from './scheduler.js';

/** More than a blockhash lives, in both measures. */
const BLOCKS = 152;
const PASSING_MS = 61_000;
const AMOUNT_AT = 64;
const OWNER_AT = 32;
/** Whole tokens that the vault may be left with: too little for anything, enough for a part of a batch, enough for all. */
const HOLDINGS = [20, 70, 110, 3_000] as const;
const UNITS = 10n ** BigInt(DECIMALS);

/** Whose token accounts those are between which tokens are moved. */
export interface Wallets {
  readonly vault: string;
  readonly burnWallet: string;
}

interface TokenAccount {
  readonly address: Buffer;
  readonly data: Buffer;
}

export class Others {
  readonly #path: string;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #wallets: Wallets;
  #file: SqliteFile | undefined;

  constructor(path: string, scheduler: Scheduler, random: Random, wallets: Wallets) {
    this.#path = path;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#wallets = wallets;
  }

  async open(): Promise<void> {
    const terms = { noun: 'ledger', create: false };
    this.#file = await openSqliteFile({ path: this.#path, ...terms });
  }

  /** So many blocks pass that every blockhash there was is good no more; that takes a minute. */
  passBlocks(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#scheduler.jump(PASSING_MS);
    file.write(() => {
      const blocks = new BlockTable(file);
      const timeMs = Math.max(blocks.tip.timeMs + PASSING_MS, this.#scheduler.nowMs);
      for (let count = 0; count < BLOCKS; count += 1)
        blocks.append(nextBlock(blocks.tip, [], count === 0 ? blocks.tip.timeMs : timeMs));
      blocks.flush();
    });
  }

  /** The owner takes tokens out of the vault, or brings them back; they lie with the burn wallet meanwhile. */
  moveTokens(): void {
    const file = this.#file;
    if (file === undefined) return;
    const left = BigInt(this.#random.pick(HOLDINGS)) * UNITS;
    file.write(() => {
      const [vault, wallet] = [this.#tokens(this.#wallets.vault), this.#tokens(this.#wallets.burnWallet)];
      if (vault === undefined || wallet === undefined) return;
      const all = vault.data.readBigUInt64LE(AMOUNT_AT) + wallet.data.readBigUInt64LE(AMOUNT_AT);
      if (all < left) return;
      this.#hold(vault, left);
      this.#hold(wallet, all - left);
    });
  }

  #tokens(owner: string): TokenAccount | undefined {
    const rows =
      this.#file?.prepare('SELECT address, data FROM accounts WHERE length(data) >= 165').all([]) ?? [];
    return rows
      .map(([address, data]) => ({
        address: Buffer.from(address as Uint8Array),
        data: Buffer.from(data as Uint8Array),
      }))
      .find(({ data }) => data.subarray(OWNER_AT, OWNER_AT + 32).equals(Buffer.from(bs58.decode(owner))));
  }

  #hold({ address, data }: TokenAccount, amount: bigint): void {
    data.writeBigUInt64LE(amount, AMOUNT_AT);
    this.#file?.prepare('UPDATE accounts SET data = ? WHERE address = ?').run([data, address]);
  }

  close(): void {
    this.#file?.close();
  }
}
