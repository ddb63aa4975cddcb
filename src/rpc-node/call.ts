/** One JSON-RPC call: its unchecked parameters, their readers, and the chain state that the call sees. */
import type { AccountState } from '../chain/account.js';
import { BLOCKHASH_LIFETIME_BLOCKS } from '../chain/chain.js';
import { heightOf } from '../chain/local/ledger/clock.js';
import type { KeptTransaction } from '../chain/local/ledger/tables.js';
import type { AccountSource } from '../chain/local/vm.js';
import { type Address, isAddress } from '../values/address.js';
import { base58Decode } from '../values/bytes.js';
import type { JsonValue } from '../values/canonical-json.js';
import { type Cluster, LEVELS, type Level } from './cluster.js';
import { contextSlotNotReached, invalidParams } from './rpc-error.js';

export type Options = Readonly<Record<string, JsonValue | undefined>>;

/** Base58 decoding takes quadratic time, so longer text is refused. */
const MAX_BASE58_LENGTH = 2_048;

export class View implements AccountSource {
  readonly slot: number;

  constructor(
    readonly cluster: Cluster,
    commitment: Level,
  ) {
    this.slot = cluster.slotOf(commitment);
  }

  get height(): number {
    return heightOf(this.slot);
  }

  get latestBlockhash() {
    const lastValidBlockHeight = this.height + Number(BLOCKHASH_LIFETIME_BLOCKS);
    return { blockhash: this.cluster.blockhashOf(this.slot), lastValidBlockHeight };
  }

  get(address: Address): AccountState | null {
    return this.cluster.accountAt(address, this.slot);
  }

  find(signature: string): KeptTransaction | null {
    return this.cluster.find(signature, this.slot);
  }

  isGoodBlockhash(blockhash: string): boolean {
    return this.cluster.isGoodBlockhash(blockhash, this.slot);
  }

  levelOf(slot: bigint): Level {
    return LEVELS.findLast((level) => slot <= this.cluster.slotOf(level)) ?? 'processed';
  }
}

/** A running call. Invalid parameters throw an RpcError. */
export class RpcCall {
  constructor(
    private readonly values: readonly JsonValue[],
    readonly cluster: Cluster,
  ) {}

  raw(at: number): JsonValue | undefined {
    return this.values[at];
  }

  address(at: number): Address {
    return readAddress(this.raw(at));
  }

  text(at: number, what: string): string {
    const value = this.raw(at);
    if (typeof value !== 'string') throw invalidParams(`Invalid params: expected ${what}.`);
    return value;
  }

  count(at: number, what: string): number {
    return readCount(this.raw(at), what);
  }

  texts(at: number, most: number): readonly string[] {
    const value = this.raw(at);
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
      throw invalidParams('Invalid params: expected a list of texts.');
    if (value.length > most) throw invalidParams(`Too many inputs provided; max ${most}`);
    return value as readonly string[];
  }

  /** The object at this position; an empty one if it is missing. */
  options(at: number): Options {
    const value = this.raw(at) ?? {};
    if (typeof value !== 'object' || Array.isArray(value))
      throw invalidParams('Invalid params: expected an object.');
    return value as Options;
  }

  /** The state at a commitment. @throws RpcError -32016 when the state is older than `minContextSlot`. */
  view(options: Options, otherwise?: Level): View {
    const view = this.viewAt(levelOf(options, otherwise));
    const { minContextSlot } = options;
    if (minContextSlot !== undefined && minContextSlot !== null)
      if (view.slot < readCount(minContextSlot, 'a slot')) throw contextSlotNotReached(view.slot);
    return view;
  }

  viewAt(commitment: Level): View {
    return new View(this.cluster, commitment);
  }
}

/** Method implementations; results may contain bigints. */
export type Methods = Readonly<Record<string, (call: RpcCall) => unknown>>;

/** Version of agave whose behaviour the methods copy. */
export const API_VERSION = '2.2.0';

export const inContext = ({ slot }: View, value: unknown): unknown => ({
  context: { apiVersion: API_VERSION, slot },
  value,
});

/** @throws RpcError */
export function readAddress(value: JsonValue | undefined): Address {
  if (typeof value === 'string' && isAddress(value)) return value;
  throw invalidParams('Invalid param: Invalid');
}

export function readCount(value: JsonValue | undefined, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalidParams(`Invalid params: expected ${what}.`);
}

/** @throws RpcError */
export function levelOf({ commitment }: Options, otherwise: Level = 'finalized'): Level {
  if (commitment === undefined || commitment === null) return otherwise;
  const found = LEVELS.find((name) => name === commitment);
  if (found === undefined) throw invalidParams('Invalid params: unknown commitment.');
  return found;
}

/** @throws RpcError */
export function readBytes(text: string, encoding: 'base58' | 'base64'): Uint8Array {
  if (encoding === 'base64') {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')) return bytes;
    throw invalidParams('invalid base64 encoding');
  }
  const bytes = text.length > MAX_BASE58_LENGTH ? undefined : base58Decode(text);
  if (bytes === undefined) throw invalidParams('invalid base58 encoding');
  return bytes;
}
