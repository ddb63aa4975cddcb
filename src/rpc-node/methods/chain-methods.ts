/** Methods that tell of the chain itself: where it is, what it is, what it costs. */
import { createHash } from 'node:crypto';
import { rentExemptLamports } from '../../chain/account.js';
import { base58Encode } from '../../values/base58.js';
import { API_VERSION, type Call, inContext, type Methods } from '../call.js';
import { blockCleanedUp, blockNotAvailable, invalidParams, slotSkipped } from '../rpc-error.js';
import { blockhashOf } from '../timeline.js';

const SLOTS_PER_EPOCH = 432_000;
const MS_PER_SECOND = 1_000;
/** What an account can hold (agave, `MAX_PERMITTED_DATA_LENGTH`). */
const MAX_ACCOUNT_BYTES = 10 * 1_024 * 1_024;
const FEATURE_SET = 3_294_202_862;

/** Blocks listed at once (agave, `MAX_GET_CONFIRMED_BLOCKS_RANGE`). */
const MAX_BLOCKS = 500_000;

function requireBlock(call: Call, slot: number, newest: number): void {
  const { timeline } = call.node.cluster;
  const first = call.firstSlot();
  if (slot < first) throw blockCleanedUp(slot, first);
  if (slot > newest) throw blockNotAvailable(slot);
  if (!timeline.isProduced(slot)) throw slotSkipped(slot);
}

function getBlockTime(call: Call): unknown {
  const slot = call.params.count(0, 'a slot');
  requireBlock(call, slot, call.viewAt('confirmed').slot);
  return Math.floor(call.node.cluster.timeline.startMs(slot) / MS_PER_SECOND);
}

/** The head of a block; what is in it is only told transaction by transaction. */
function getBlock(call: Call): unknown {
  const slot = call.params.count(0, 'a slot');
  if (call.params.options(1)['transactionDetails'] !== 'none')
    throw invalidParams('Invalid params: of blocks, this node tells only `"transactionDetails": "none"`.');
  requireBlock(call, slot, call.viewAt('confirmed').slot);
  const { timeline, ledger } = call.node.cluster;
  const parentSlot = timeline.atOrBefore(slot - 1);
  return {
    blockHeight: timeline.heightOf(slot),
    blockTime: Math.floor(timeline.startMs(slot) / MS_PER_SECOND),
    blockhash: blockhashOf(ledger.genesisHash, slot, 0),
    parentSlot,
    previousBlockhash: blockhashOf(ledger.genesisHash, parentSlot, 0),
  };
}

function getBlocks(call: Call): unknown {
  const from = call.params.count(0, 'a slot');
  const hasEnd = typeof call.params.raw(1) === 'number';
  const view = call.view(call.params.options(hasEnd ? 2 : 1));
  const until = hasEnd ? Math.min(call.params.count(1, 'a slot'), view.slot) : view.slot;
  if (until - from > MAX_BLOCKS) throw invalidParams(`Slot range too large; max ${MAX_BLOCKS}`);
  const { timeline } = call.node.cluster;
  const blocks: number[] = [];
  for (let slot = Math.max(from, call.firstSlot()); slot <= until; slot += 1)
    if (timeline.isProduced(slot)) blocks.push(slot);
  return blocks;
}

function getEpochInfo(call: Call): unknown {
  const view = call.view(call.params.options(0));
  return {
    absoluteSlot: view.slot,
    blockHeight: view.height,
    epoch: Math.floor(view.slot / SLOTS_PER_EPOCH),
    slotIndex: view.slot % SLOTS_PER_EPOCH,
    slotsInEpoch: SLOTS_PER_EPOCH,
    transactionCount: view.cluster.ledger.transactionCount,
  };
}

/** A node of no key of its own: its name follows from its ledger. */
const identityOf = (genesisHash: string): string =>
  base58Encode(createHash('sha256').update(`${genesisHash} identity`).digest());

/** What the methods of the chain answer. */
export const CHAIN_METHODS: Methods = {
  getBlockHeight: (call) => call.view(call.params.options(0)).height,
  getBlock,
  getBlockTime,
  getBlocks,
  getEpochInfo,
  getEpochSchedule: () => ({
    slotsPerEpoch: SLOTS_PER_EPOCH,
    leaderScheduleSlotOffset: SLOTS_PER_EPOCH,
    warmup: false,
    firstNormalEpoch: 0,
    firstNormalSlot: 0,
  }),
  getFirstAvailableBlock: (call) => call.firstSlot(),
  getGenesisHash: ({ node }) => node.cluster.ledger.genesisHash,
  getHealth(call) {
    call.requireHealthy();
    return 'ok';
  },
  getIdentity: ({ node }) => ({ identity: identityOf(node.cluster.ledger.genesisHash) }),
  getLatestBlockhash(call) {
    const view = call.view(call.params.options(0));
    return inContext(view, {
      blockhash: view.blockhash,
      lastValidBlockHeight: view.lastValidHeight,
    });
  },
  getMinimumBalanceForRentExemption(call) {
    const size = call.params.count(0, 'a size');
    if (size > MAX_ACCOUNT_BYTES) throw invalidParams('Invalid params: no account is that large.');
    return rentExemptLamports(size);
  },
  getSlot: (call) => call.view(call.params.options(0)).slot,
  getSlotLeader: ({ node }) => identityOf(node.cluster.ledger.genesisHash),
  getTransactionCount: ({ node }) => node.cluster.ledger.transactionCount,
  getVersion: () => ({ 'solana-core': API_VERSION, 'feature-set': FEATURE_SET }),
  isBlockhashValid(call) {
    const view = call.view(call.params.options(1));
    return inContext(view, view.isGoodBlockhash(call.params.text(0, 'a blockhash')));
  },
  minimumLedgerSlot: (call) => call.firstSlot(),
};
