/**
 * Bundles through a block engine that speaks as Jito's does: who is paid, how much, and how a bundle is handed over. What the
 * engine says of a bundle later is not asked for: it proves nothing, and every signature is looked up all the same.
 */
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Clock } from '../../values/time.js';
import type { Tip, Tips } from '../fees.js';
import type { ExchangeTerms, NodeAnswer, NodeSilence, RpcNode } from './exchange.js';
import { NodePool, type NodePoolOptions } from './node-pool.js';
import type { BundleSender } from './outgoing.js';
import { question } from './questions.js';
import { addressText, list, Malformed, object } from './read-json.js';

/** A block engine, and where the tips of others are told of. */
export interface BlockEngineAddress {
  readonly node: RpcNode;
  /** Gets what tips have landed of late. */
  floor(terms: ExchangeTerms): Promise<NodeAnswer | NodeSilence>;
  /** Lamports that a bundle pays at most. */
  readonly maxTipLamports: bigint;
}

/** The least that block engines take. */
export const MIN_TIP_LAMPORTS = 1_000n;
const LAMPORTS_PER_SOL = 1_000_000_000;
const MAX_FLOOR_BYTES = 64 * 1_024;
const FLOOR_TIMEOUT_MS = 5_000;
/** How long what is paid, and to whom, is good for. */
const TIP_FOR_MS = 10_000;
const ACCOUNTS_FOR_MS = 10 * 60_000;

const TIP_ACCOUNTS_QUESTION = question({
  method: 'getTipAccounts',
  ask: ({ request }) => request([]),
  read: (result) => {
    const accounts = list(result, 'tip accounts').map((account) => addressText(account, 'a tip account'));
    if (accounts.length === 0) throw new Malformed('no tip account');
    return accounts;
  },
});

const bundleQuestion = (wires: readonly Uint8Array[]) =>
  question({
    method: 'sendBundle',
    ask: ({ request }) =>
      request([wires.map((wire) => Buffer.from(wire).toString('base64')), { encoding: 'base64' }]),
    // A name for the bundle; it is known without.
    read: () => null,
  });

/** Half of the tips that landed of late were no higher. */
function medianOf(text: string): bigint | null {
  let first: JsonValue | undefined;
  try {
    [first] = list(parseStrictJson(text, { maxValues: 1_000 }).value, 'tips');
    const sol = object(first, 'tips')['landed_tips_50th_percentile'];
    const lamports = Math.ceil(Number(sol) * LAMPORTS_PER_SOL);
    return Number.isSafeInteger(lamports) && lamports >= 0 ? BigInt(lamports) : null;
  } catch {
    return null;
  }
}

interface Known<Value> {
  readonly value: Value;
  readonly askedMs: number;
}

/** Hands bundles over, and says what each should pay. */
export class BlockEngine implements Tips, BundleSender {
  readonly maxLamports: bigint;
  readonly #address: BlockEngineAddress;
  readonly #pool: NodePool;
  readonly #clock: Clock;
  readonly #random: () => number;
  #accounts: Known<readonly Address[]> | null = null;
  #floor: Known<bigint> | null = null;

  constructor(address: BlockEngineAddress, options: NodePoolOptions) {
    const { genesis: _, ...own } = options;
    this.maxLamports = address.maxTipLamports;
    this.#address = address;
    this.#pool = new NodePool({ ...own, nodes: [address.node] });
    this.#clock = options.clock;
    this.#random = options.random;
  }

  async send(wires: readonly Uint8Array[]): Promise<void> {
    await this.#pool.ask(bundleQuestion(wires));
  }

  /** Any of the accounts, so that bundles of the same time do not stand in each other's way. */
  async next(): Promise<Tip> {
    const [accounts, floor] = await Promise.all([this.#tipAccounts(), this.#tipFloor()]);
    const account = accounts[Math.floor(this.#random() * accounts.length)] ?? accounts[0];
    const lamports = floor < MIN_TIP_LAMPORTS ? MIN_TIP_LAMPORTS : floor;
    const most = this.maxLamports;
    return { account: account as Address, lamports: lamports < most ? lamports : most };
  }

  #isFresh(known: Known<unknown> | null, forMs: number): boolean {
    return known !== null && this.#clock.nowMs() - known.askedMs < forMs;
  }

  async #tipAccounts(): Promise<readonly Address[]> {
    const known = this.#accounts;
    if (known !== null && this.#isFresh(known, ACCOUNTS_FOR_MS)) return known.value;
    try {
      const [voice] = await this.#pool.ask(TIP_ACCOUNTS_QUESTION);
      const value = voice?.value ?? [];
      this.#accounts = { value, askedMs: this.#clock.nowMs() };
      return value;
    } catch (error) {
      if (known === null || !isFlywheelError(error) || error.code === 'ERR_INTERRUPTED') throw error;
      return known.value;
    }
  }

  /** Where nobody says, what was paid last, else the least. */
  async #tipFloor(): Promise<bigint> {
    const known = this.#floor;
    if (known !== null && this.#isFresh(known, TIP_FOR_MS)) return known.value;
    const outcome = await this.#address.floor({ timeoutMs: FLOOR_TIMEOUT_MS, maxBytes: MAX_FLOOR_BYTES });
    const median = outcome.kind === 'answer' && outcome.status === 200 ? medianOf(outcome.text) : null;
    const value = median ?? known?.value ?? MIN_TIP_LAMPORTS;
    this.#floor = { value, askedMs: this.#clock.nowMs() };
    return value;
  }
}
