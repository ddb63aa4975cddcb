/** One call of a method: its parameters, and the state of the chain that it sees. */
import type { AccountState } from '../chain/account.js';
import { BLOCKHASH_LIFETIME_BLOCKS } from '../chain/chain.js';
import type { Address } from '../values/address.js';
import type { Cluster, Commitment, Landed } from './cluster.js';
import type { AccountSource } from './node-ledger.js';
import { commitmentOf, type Options, type Params, readCount } from './params.js';
import { contextSlotNotReached } from './rpc-error.js';

/** Signs a transfer of what `requestAirdrop` gives. */
export type Airdrop = (to: Address, lamports: bigint, blockhash: string) => Uint8Array;

/** The chain at the end of a slot. */
export class View implements AccountSource {
  readonly cluster: Cluster;
  readonly slot: number;

  constructor(cluster: Cluster, commitment: Commitment) {
    this.cluster = cluster;
    this.slot = cluster.slotOf(commitment);
  }

  get height(): number {
    return this.cluster.ledger.heightOf(this.slot);
  }

  get blockhash(): string {
    return this.cluster.blockhashOf(this.slot);
  }

  get lastValidHeight(): number {
    return this.height + Number(BLOCKHASH_LIFETIME_BLOCKS);
  }

  get(address: Address): AccountState | null {
    return this.cluster.accountAt(address, this.slot);
  }

  find(signature: string): Landed | null {
    return this.cluster.find(signature, this.slot);
  }

  isGoodBlockhash(blockhash: string): boolean {
    return this.cluster.isGoodBlockhash(blockhash, this.slot);
  }

  /** How sure a block is. */
  commitmentOf(slot: number): Commitment {
    if (slot <= this.cluster.slotOf('finalized')) return 'finalized';
    return slot <= this.cluster.slotOf('confirmed') ? 'confirmed' : 'processed';
  }
}

/** A call that is being answered. */
export class Call {
  readonly params: Params;
  readonly cluster: Cluster;
  readonly airdrop: Airdrop;

  constructor(params: Params, cluster: Cluster, airdrop: Airdrop) {
    this.params = params;
    this.cluster = cluster;
    this.airdrop = airdrop;
  }

  /** The state at a level. @throws RpcError -32016 when it is older than the options ask for. */
  view(options: Options, otherwise: Commitment = 'finalized'): View {
    const view = this.viewAt(commitmentOf(options, otherwise));
    const { minContextSlot } = options;
    if (minContextSlot !== undefined && minContextSlot !== null)
      if (view.slot < readCount(minContextSlot, 'a slot')) throw contextSlotNotReached(view.slot);
    return view;
  }

  viewAt(commitment: Commitment): View {
    return new View(this.cluster, commitment);
  }
}

/** Answers a call; a value may hold bigints. */
export type Method = (call: Call) => unknown;
export type Methods = Readonly<Record<string, Method>>;

/** Whose behaviour the methods have. */
export const API_VERSION = '2.2.0';

/** A value with the slot of the state that it is from. */
export const inContext = ({ slot }: View, value: unknown): unknown => ({
  context: { apiVersion: API_VERSION, slot },
  value,
});
