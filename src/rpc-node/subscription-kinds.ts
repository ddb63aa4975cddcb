/** What there is to subscribe to, and what each subscriber is told when the chain goes on. */
import type { AccountState } from '../chain/account.js';
import { SYSTEM_PROGRAM } from '../chain/programs.js';
import type { Address } from '../values/address.js';
import type { JsonValue } from '../values/canonical-json.js';
import type { Cluster } from './cluster.js';
import type { Advance, Commitment, Landed } from './landed.js';
import { accountJson, dataTerms } from './methods/account-json.js';
import { filtersOf } from './methods/account-methods.js';
import { requireSignature } from './methods/history-methods.js';
import { commitmentOf, type Options, type Params, readAddress } from './params.js';
import { errorJson, invalidParams } from './rpc-error.js';
import { View } from './view.js';

/** What a subscriber wants. */
export interface Subscribed {
  readonly commitment: Commitment;
  /** The results of the notifications that an advance of that level brings. */
  hear(advance: Advance): readonly unknown[];
  /** Does it end with the first notification? */
  readonly isOnce?: boolean;
  /** What it is told as soon as the node has taken a transaction. */
  received?(signature: string): readonly unknown[];
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

function program(params: Params, cluster: Cluster): Subscribed {
  const owner = params.address(0);
  const options = params.options(1);
  const terms = dataTerms(options);
  const filters = filtersOf(options);
  const commitment = commitmentOf(options);
  return {
    commitment,
    hear: ({ changed, slot }) => {
      const view = new View(cluster, commitment, 0);
      return [...changed].flatMap((pubkey) => {
        const state = view.get(pubkey);
        if (state?.owner !== owner || !filters.every((passes) => passes(state))) return [];
        return [inSlot(slot, { pubkey, account: accountJson(state, terms, view) })];
      });
    },
  };
}

/** The address that logs have to mention; `null` for all logs. */
function mentionedIn(value: JsonValue | undefined): Address | null {
  if (value === 'all' || value === 'allWithVotes') return null;
  const { mentions } = (typeof value === 'object' && value !== null ? value : {}) as Options;
  if (Array.isArray(mentions) && mentions.length === 1) return readAddress(mentions[0] as JsonValue);
  throw invalidParams('Invalid Request: Only 1 address supported');
}

function logs(params: Params, cluster: Cluster): Subscribed {
  const mentioned = mentionedIn(params.raw(0));
  const commitment = commitmentOf(params.options(1));
  const fits = ({ wire }: Landed): boolean =>
    mentioned === null ||
    cluster.ledger.named(wire, new View(cluster, commitment, 0)).some(({ address }) => address === mentioned);
  return {
    commitment,
    hear: ({ transactions }) =>
      transactions.filter(fits).map((landed) =>
        inSlot(landed.slot, {
          signature: landed.signature,
          err: errorJson(landed.error),
          logs: landed.logs,
        }),
      ),
  };
}

function signature(params: Params, cluster: Cluster): Subscribed {
  const wanted = requireSignature(params.text(0, 'a signature'));
  const options = params.options(1);
  const commitment = commitmentOf(options);
  const found = (slot: number): readonly unknown[] => {
    const landed = cluster.find(wanted, slot);
    return landed === null ? [] : [inSlot(slot, { err: errorJson(landed.error) })];
  };
  const wantsReceived = options['enableReceivedNotification'] === true;
  return {
    commitment,
    isOnce: true,
    hear: ({ transactions, slot }) =>
      transactions.some((landed) => landed.signature === wanted) ? found(slot) : [],
    received: (received) =>
      wantsReceived && received === wanted ? [inSlot(cluster.slotOf('processed'), 'receivedSignature')] : [],
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

const root = (_params: Params, cluster: Cluster): Subscribed => ({
  commitment: 'finalized',
  hear: (advance) => slotsBetween(cluster, advance),
});

/** By the word before `Subscribe`, `Unsubscribe` and `Notification`. */
export const SUBSCRIPTION_KINDS: Readonly<Record<string, (params: Params, cluster: Cluster) => Subscribed>> =
  { account, program, logs, signature, slot, root };
