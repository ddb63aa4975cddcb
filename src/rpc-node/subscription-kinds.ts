/** What there is to subscribe to, and what each subscriber is told when the chain goes on. */
import type { AccountState } from '../chain/account.js';
import { SYSTEM_PROGRAM } from '../chain/programs.js';
import type { Cluster } from './cluster.js';
import type { Advance, Commitment } from './landed.js';
import { accountJson, dataTerms } from './methods/account-json.js';
import { requireSignature } from './methods/history-methods.js';
import { commitmentOf, type Params } from './params.js';
import { errorJson } from './rpc-error.js';
import { View } from './view.js';

/** What a subscriber wants. */
export interface Subscribed {
  readonly commitment: Commitment;
  /** The results of the notifications that an advance of that level brings. */
  hear(advance: Advance): readonly unknown[];
  /** Does it end with the first notification? */
  readonly isOnce?: boolean;
  /** What has come to pass already. */
  already?(): readonly unknown[];
}

/** Slots told of one by one at most when many have gone by. */
const MAX_SLOTS = 64;

const inSlot = (slot: number, value: unknown): unknown => ({ context: { slot }, value });

const GONE: AccountState = {
  lamports: 0n,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(0),
  executable: false,
  rentEpoch: 0n,
};

function account(params: Params, cluster: Cluster): Subscribed {
  const address = params.address(0);
  const options = params.options(1);
  const terms = dataTerms(options);
  const commitment = commitmentOf(options);
  return {
    commitment,
    hear: ({ changed, slot }) => {
      if (!changed.has(address)) return [];
      const view = new View(cluster, commitment, 0);
      return [inSlot(slot, accountJson(view.get(address) ?? GONE, terms, view))];
    },
  };
}

function signature(params: Params, cluster: Cluster): Subscribed {
  const wanted = requireSignature(params.text(0, 'a signature'));
  const commitment = commitmentOf(params.options(1));
  const found = (slot: number): readonly unknown[] => {
    const landed = cluster.find(wanted, slot);
    return landed === null ? [] : [inSlot(slot, { err: errorJson(landed.error) })];
  };
  return {
    commitment,
    isOnce: true,
    hear: ({ transactions, slot }) =>
      transactions.some((landed) => landed.signature === wanted) ? found(slot) : [],
    already: () => found(cluster.slotOf(commitment)),
  };
}

function slotsBetween({ timeline }: Cluster, { from, slot }: Advance): readonly number[] {
  const slots: number[] = [];
  for (let next = timeline.next(Math.max(from, slot - MAX_SLOTS)); next <= slot; next = timeline.next(next))
    slots.push(next);
  return slots;
}

const slot = (_params: Params, cluster: Cluster): Subscribed => ({
  commitment: 'processed',
  hear: (advance) =>
    slotsBetween(cluster, advance).map((next) => ({
      parent: cluster.timeline.atOrBefore(next - 1),
      root: cluster.slotOf('finalized'),
      slot: next,
    })),
});

/** By the word before `Subscribe`, `Unsubscribe` and `Notification`. */
export const SUBSCRIPTION_KINDS: Readonly<Record<string, (params: Params, cluster: Cluster) => Subscribed>> =
  { account, signature, slot };
