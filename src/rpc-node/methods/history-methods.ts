/** Methods about past transactions, and the JSON of a landed transaction. */

import type { Balance } from '../../chain/chain.js';
import type { KeptTransaction } from '../../chain/local/ledger/tables.js';
import { memosOf } from '../../chain/small-programs.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import { type Lookup, lookedUp } from '../../chain/transaction/message.js';
import {
  decodeTransaction,
  SIGNATURE_BYTES,
  type WireMessage,
  type WireTransaction,
} from '../../chain/transaction/wire.js';
import type { Address } from '../../values/address.js';
import { base58Decode, base58Encode, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import {
  inContext,
  levelOf,
  type Methods,
  type Options,
  type RpcCall,
  readCount,
  type View,
} from '../call.js';
import { errorJson, invalidParams, versionNotSupported } from '../rpc-error.js';
import { amountJson } from './account-methods.js';

/** Limit per call (agave, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
const MAX_STATUSES = 256;
/** Limit per call (agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`). */
const MAX_SIGNATURES = 1_000;
const MS_PER_SECOND = 1_000;
/** Maximum length of 64 bytes in base58. */
const MAX_SIGNATURE_LENGTH = 88;

/** @throws RpcError */
export function requireSignature(text: string): string {
  if (text.length <= MAX_SIGNATURE_LENGTH && base58Decode(text)?.length === SIGNATURE_BYTES) return text;
  throw invalidParams('Invalid param: Invalid');
}

function statusJson(view: View, signature: string): unknown {
  const landed = view.find(signature);
  if (landed === null) return null;
  const confirmationStatus = view.levelOf(landed.slot);
  const err = errorJson(landed.error);
  return {
    slot: landed.slot,
    confirmations: confirmationStatus === 'finalized' ? null : view.slot - Number(landed.slot),
    status: err === null ? { Ok: null } : { Err: err },
    err,
    confirmationStatus,
  };
}

function getSignatureStatuses(call: RpcCall): unknown {
  const signatures = call.texts(0, MAX_STATUSES).map(requireSignature);
  const view = call.viewAt('processed');
  return inContext(
    view,
    signatures.map((signature) => statusJson(view, signature)),
  );
}

/** History requires at least `confirmed`. @throws RpcError */
function historyView(call: RpcCall, options: Options): View {
  if (levelOf(options) === 'processed')
    throw invalidParams('Method does not support commitment below `confirmed`');
  return call.view(options);
}

function getTransaction(call: RpcCall): unknown {
  const signature = requireSignature(call.text(0, 'a signature'));
  const raw = call.raw(1);
  const options: Options = typeof raw === 'string' ? { encoding: raw } : call.options(1);
  const view = historyView(call, options);
  const landed = view.find(signature);
  if (landed === null) return null;
  return transactionJson(landed, options, view);
}

function pastJson(view: View, { signature, slot, error, blockTimeMs, wire }: KeptTransaction): object {
  return {
    signature,
    slot,
    err: errorJson(error),
    memo: memosOf(decodeTransaction(wire).message),
    blockTime: Math.floor(blockTimeMs / MS_PER_SECOND),
    confirmationStatus: view.levelOf(slot),
  };
}

function getSignaturesForAddress(call: RpcCall): unknown {
  const address = call.address(0);
  const options = call.options(1);
  const { before, until } = options;
  const limit = readCount(options['limit'] ?? MAX_SIGNATURES, 'a limit');
  if (limit === 0 || limit > MAX_SIGNATURES) throw invalidParams(`Invalid limit; max ${MAX_SIGNATURES}`);
  const view = historyView(call, options);
  const newest = typeof before === 'string' ? view.find(requireSignature(before)) : undefined;
  if (newest === null) return [];
  const found: object[] = [];
  for (const landed of view.cluster.past(address, newest?.place ?? null)) {
    if (landed.signature === until || found.length === limit) break;
    if (landed.slot <= view.slot) found.push(pastJson(view, landed));
  }
  return found;
}

export const HISTORY_METHODS: Methods = {
  getSignatureStatuses,
  getSignaturesForAddress,
  getTransaction,
};

function tokenBalances(
  { tokenChanges }: KeptTransaction,
  names: readonly Address[],
  when: 'before' | 'after',
  view: View,
): unknown {
  return names.flatMap((address, accountIndex) => {
    const { mint, [when]: amount = null } = tokenChanges?.find(({ account }) => account === address) ?? {};
    if (mint === undefined || amount === null) return [];
    const { decimals, tokenProgram } = decodeMint(view.get(mint)) ?? { decimals: 0 };
    const uiTokenAmount = amountJson(amount, decimals);
    const owner = decodeTokenAccount(view.get(address))?.owner;
    return [{ accountIndex, mint, owner, programId: tokenProgram, uiTokenAmount }];
  });
}

/** Programs of the VM are not in the ledger. */
const lamports = (
  { balances = [] }: KeptTransaction,
  names: readonly Address[],
  when: keyof Balance,
  view: View,
) => names.map((address, at) => balances[at]?.[when] || (view.cluster.builtIn(address)?.lamports ?? 0n));

function loadedJson(message: WireMessage, { tableAddresses }: KeptTransaction): object {
  const writable = lookedUp(message, 'writableIndexes');
  return { writable: tableAddresses.slice(0, writable), readonly: tableAddresses.slice(writable) };
}

const callJson = (programIdIndex: number, accounts: readonly number[], data: ReadonlyBytes): object => ({
  ...{ programIdIndex, accounts, data: base58Encode(data), stackHeight: null },
});

/** The ledger stores only inner calls of the Squads and token programs. */
function innerJson({ innerCalls }: KeptTransaction, names: readonly Address[]): readonly object[] {
  const indexOf = (named: Address): number => names.indexOf(named);
  const instructionsIn = (index: number): readonly object[] =>
    innerCalls
      .filter(({ within }) => within === index)
      .map(({ program, accounts, data }) => callJson(indexOf(program), accounts.map(indexOf), data));
  const callers = new Set(innerCalls.map(({ within }) => within));
  return [...callers].map((index) => ({ index, instructions: instructionsIn(index) }));
}

function metaJson(landed: KeptTransaction, message: WireMessage, view: View) {
  const { error, tableAddresses } = landed;
  const names = [...message.staticKeys, ...tableAddresses];
  const err = errorJson(error);
  return {
    err,
    status: error === null ? { Ok: null } : { Err: err },
    fee: landed.feeLamports,
    innerInstructions: innerJson(landed, names),
    logMessages: landed.logs,
    computeUnitsConsumed: landed.computeUnits,
    rewards: [],
    preBalances: lamports(landed, names, 'before', view),
    postBalances: lamports(landed, names, 'after', view),
    preTokenBalances: tokenBalances(landed, names, 'before', view),
    postTokenBalances: tokenBalances(landed, names, 'after', view),
    loadedAddresses: loadedJson(message, landed),
  };
}

const lookupJson = ({ table, writableIndexes, readonlyIndexes }: Lookup): object => ({
  accountKey: table,
  writableIndexes: [...writableIndexes],
  readonlyIndexes: [...readonlyIndexes],
});

function messageJson({ signatures, message }: WireTransaction): object {
  const { signers, writableSigners, writableNonSigners, staticKeys, blockhash, lookups } = message;
  return {
    signatures: signatures.map(base58Encode),
    message: {
      header: {
        numRequiredSignatures: signers,
        numReadonlySignedAccounts: signers - writableSigners,
        numReadonlyUnsignedAccounts: staticKeys.length - signers - writableNonSigners,
      },
      accountKeys: staticKeys,
      recentBlockhash: base58Encode(blockhash),
      instructions: message.instructions.map(({ programIndex, accountIndexes, data }) =>
        callJson(programIndex, [...accountIndexes], data),
      ),
      ...(message.version !== 'legacy' && { addressTableLookups: lookups.map(lookupJson) }),
    },
  };
}

/** @throws RpcError -32015 for a version above the requested one. */
function transactionJson(landed: KeptTransaction, options: Options, view: View): object {
  const encoding = options['encoding'] ?? 'json';
  if (encoding !== 'json' && encoding !== 'base64')
    throw invalidParams('Invalid params: this node has no such encoding.');
  const takesVersions = (options['maxSupportedTransactionVersion'] ?? null) !== null;
  const wire = decodeTransaction(landed.wire);
  const { version } = wire.message;
  if (!takesVersions && version !== 'legacy') throw versionNotSupported(version);
  return {
    slot: landed.slot,
    blockTime: Math.floor(landed.blockTimeMs / MS_PER_SECOND),
    meta: metaJson(landed, wire.message, view),
    transaction:
      encoding === 'json' ? messageJson(wire) : [readBuffer(landed.wire).toString('base64'), 'base64'],
    ...(takesVersions ? { version } : {}),
  };
}
