/** Methods that tell what became of transactions. */
import { memosOf } from '../../chain/memo.js';
import { decodeTransaction, SIGNATURE_BYTES } from '../../chain/transaction/wire.js';
import type { Address } from '../../values/address.js';
import { base58Decode } from '../../values/base58.js';
import { type Call, inContext, levelOf, type Methods, type Options, readCount, type View } from '../call.js';
import type { Landed } from '../cluster.js';
import { errorJson, invalidParams } from '../rpc-error.js';
import { transactionJson } from './transaction-json.js';

/** Signatures at once (agave, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
const MAX_STATUSES = 256;
/** Signatures of an address at once (agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`). */
const MAX_SIGNATURES = 1_000;
/** Slots for which a node remembers signatures without looking through its history. */
const RECENT_SLOTS = 300;
const MS_PER_SECOND = 1_000;
/** Base58 characters of 64 bytes at most. */
const MAX_SIGNATURE_LENGTH = 88;

/** @throws RpcError */
export function requireSignature(text: string): string {
  if (text.length <= MAX_SIGNATURE_LENGTH && base58Decode(text)?.length === SIGNATURE_BYTES) return text;
  throw invalidParams('Invalid param: Invalid');
}

function statusJson(view: View, signature: string, history: boolean): unknown {
  const landed = view.find(signature);
  if (landed === null || landed.slot < view.cluster.firstSlot) return null;
  if (!history && landed.slot <= view.slot - RECENT_SLOTS) return null;
  const confirmationStatus = view.levelOf(landed.slot);
  const err = errorJson(landed.error);
  return {
    slot: landed.slot,
    confirmations: confirmationStatus === 'finalized' ? null : view.slot - landed.slot,
    status: err === null ? { Ok: null } : { Err: err },
    err,
    confirmationStatus,
  };
}

function getSignatureStatuses(call: Call): unknown {
  const signatures = call.texts(0, MAX_STATUSES).map(requireSignature);
  const { searchTransactionHistory } = call.options(1);
  const view = call.viewAt('processed');
  const history = searchTransactionHistory === true;
  return inContext(
    view,
    signatures.map((signature) => statusJson(view, signature, history)),
  );
}

/** A block that is only processed is not part of history. @throws RpcError */
function historyView(call: Call, options: Options): View {
  if (levelOf(options) === 'processed')
    throw invalidParams('Method does not support commitment below `confirmed`');
  return call.view(options);
}

function getTransaction(call: Call): unknown {
  const signature = requireSignature(call.text(0, 'a signature'));
  const raw = call.raw(1);
  const options: Options = typeof raw === 'string' ? { encoding: raw } : call.options(1);
  const view = historyView(call, options);
  const landed = view.find(signature);
  if (landed === null || landed.slot < view.cluster.firstSlot) return null;
  return transactionJson(landed, options, view);
}

/** Transactions that name an address, newest first. */
function* naming(view: View, address: Address, before: number | null): Generator<Landed> {
  const { cluster } = view;
  for (const landed of cluster.past(address, before)) {
    if (landed.slot < cluster.firstSlot) return;
    const isNamed = (): boolean =>
      cluster.named(landed.wire, view).some((named) => named.address === address);
    if (landed.slot <= view.slot && isNamed()) yield landed;
  }
}

function pastJson(view: View, { signature, slot, error, blockTimeMs, wire }: Landed): object {
  return {
    signature,
    slot,
    err: errorJson(error),
    memo: memosOf(decodeTransaction(wire).message),
    blockTime: Math.floor(blockTimeMs / MS_PER_SECOND),
    confirmationStatus: view.levelOf(slot),
  };
}

function getSignaturesForAddress(call: Call): unknown {
  const address = call.address(0);
  const options = call.options(1);
  const { before, until } = options;
  const limit = readCount(options['limit'] ?? MAX_SIGNATURES, 'a limit');
  if (limit === 0 || limit > MAX_SIGNATURES) throw invalidParams(`Invalid limit; max ${MAX_SIGNATURES}`);
  const view = historyView(call, options);
  const newest = typeof before === 'string' ? view.find(requireSignature(before)) : undefined;
  if (newest === null) return [];
  const found: object[] = [];
  for (const landed of naming(view, address, newest?.place ?? null)) {
    if (landed.signature === until) break;
    found.push(pastJson(view, landed));
    if (found.length === limit) break;
  }
  return found;
}

/** What the methods of history answer. */
export const HISTORY_METHODS: Methods = {
  getSignatureStatuses,
  getSignaturesForAddress,
  getTransaction,
};
