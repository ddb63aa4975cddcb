/** Methods about the chain itself: slots, blocks, genesis hash, versions, rent. */
import { rentExemptLamports } from '../../chain/account.js';
import { FIRST_SLOT, heightOf } from '../../chain/local/ledger/clock.js';
import { API_VERSION, inContext, type Methods, type RpcCall } from '../call.js';
import { blockCleanedUp, blockNotAvailable, invalidParams } from '../rpc-error.js';

const SLOTS_PER_EPOCH = 432_000;
const MS_PER_SECOND = 1_000;
/** Largest account (agave, `MAX_PERMITTED_DATA_LENGTH`). */
const MAX_ACCOUNT_BYTES = 10 * 1_024 * 1_024;
const FEATURE_SET = 3_294_202_862;

/** A slot with a confirmed block, and its time in seconds. @throws RpcError */
function blockOf(call: RpcCall): { readonly slot: number; readonly time: number } {
  const { cluster } = call;
  const slot = call.count(0, 'a slot');
  if (slot < FIRST_SLOT) throw blockCleanedUp(slot, FIRST_SLOT);
  if (slot > cluster.slotOf('confirmed')) throw blockNotAvailable(slot);
  return { slot, time: Math.floor(cluster.timeMs(slot) / MS_PER_SECOND) };
}

export const CHAIN_METHODS: Methods = {
  getBlockHeight: (call) => call.view(call.options(0)).height,
  /** Blocks without their transactions. */
  getBlock(call) {
    if (call.options(1)['transactionDetails'] !== 'none')
      throw invalidParams('Invalid params: of blocks, this node tells only `"transactionDetails": "none"`.');
    const { cluster } = call;
    const { slot, time } = blockOf(call);
    return {
      blockHeight: heightOf(slot),
      blockTime: time,
      blockhash: cluster.blockhashOf(slot),
      parentSlot: slot - 1,
      previousBlockhash: cluster.blockhashOf(slot - 1),
    };
  },
  getBlockTime: (call) => blockOf(call).time,
  getEpochInfo(call) {
    const { slot, height } = call.view(call.options(0));
    return {
      absoluteSlot: slot,
      blockHeight: height,
      epoch: Math.floor(slot / SLOTS_PER_EPOCH),
      slotIndex: slot % SLOTS_PER_EPOCH,
      slotsInEpoch: SLOTS_PER_EPOCH,
      transactionCount: call.cluster.transactionCount(),
    };
  },
  getFirstAvailableBlock: () => FIRST_SLOT,
  getGenesisHash: ({ cluster }) => cluster.parts.ledger.genesis,
  getHealth: () => 'ok',
  getLatestBlockhash(call) {
    const view = call.view(call.options(0));
    return inContext(view, view.latestBlockhash);
  },
  getMinimumBalanceForRentExemption(call) {
    const size = call.count(0, 'a size');
    if (size > MAX_ACCOUNT_BYTES) throw invalidParams('Invalid params: no account is that large.');
    return rentExemptLamports(size);
  },
  getSlot: (call) => call.view(call.options(0)).slot,
  getVersion: () => ({ 'solana-core': API_VERSION, 'feature-set': FEATURE_SET }),
  isBlockhashValid(call) {
    const view = call.view(call.options(1));
    return inContext(view, view.isGoodBlockhash(call.text(0, 'a blockhash')));
  },
};
