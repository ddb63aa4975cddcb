/** A landed transaction as a node shows it. */
import type { AccountState } from '../../chain/account.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import { decodeTransaction, type WireMessage, type WireTransaction } from '../../chain/transaction/wire.js';
import { base58Encode } from '../../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import type { Landed } from '../landed.js';
import type { AccountSource, NamedAccount, TouchedAccount } from '../node-ledger.js';
import { errorJson, versionNotSupported } from '../rpc-error.js';
import { amountJson } from './account-json.js';

/** How a transaction is written; a version above the highest that is asked for is refused. */
export interface TransactionTerms {
  readonly encoding: 'json' | 'jsonParsed' | 'base58' | 'base64';
  /** `null`: only legacy ones. */
  readonly maxVersion: number | null;
}

const MS_PER_SECOND = 1_000;

function tokenBalances(
  accounts: readonly TouchedAccount[],
  when: 'before' | 'after',
  source: AccountSource,
): unknown {
  return accounts.flatMap((touched, accountIndex) => {
    const token = decodeTokenAccount(touched[when]);
    if (token === undefined) return [];
    const mint = accounts.find(({ address }) => address === token.mint);
    const decimals = decodeMint(mint?.[when] ?? mint?.after ?? source.get(token.mint))?.decimals ?? 0;
    const { mint: mintAddress, owner, tokenProgram } = token;
    const uiTokenAmount = amountJson(token.amount, decimals);
    return [{ accountIndex, mint: mintAddress, owner, programId: tokenProgram, uiTokenAmount }];
  });
}

const lamportsOf = (state: AccountState | null): bigint => state?.lamports ?? 0n;

/** What lookup tables added, by their rights. */
function loadedJson({ staticKeys }: WireMessage, accounts: readonly NamedAccount[]): object {
  const loaded = accounts.slice(staticKeys.length);
  const those = (writable: boolean) =>
    loaded.filter((each) => each.writable === writable).map(({ address }) => address);
  return { writable: those(true), readonly: those(false) };
}

function metaJson(
  landed: Landed,
  message: WireMessage,
  names: readonly NamedAccount[],
  source: AccountSource,
) {
  const { error, run } = landed;
  const err = errorJson(error);
  return {
    err,
    status: error === null ? { Ok: null } : { Err: err },
    fee: landed.feeLamports,
    innerInstructions: [],
    logMessages: landed.logs,
    computeUnitsConsumed: landed.computeUnits,
    rewards: [],
    // A node that has not run it itself has not kept them.
    preBalances: run === null ? [] : run.accounts.map(({ before }) => lamportsOf(before)),
    postBalances: run === null ? [] : run.accounts.map(({ after }) => lamportsOf(after)),
    preTokenBalances: run === null ? null : tokenBalances(run.accounts, 'before', source),
    postTokenBalances: run === null ? null : tokenBalances(run.accounts, 'after', source),
    loadedAddresses: loadedJson(message, names),
  };
}

const indexes = (bytes: ReadonlyBytes): readonly number[] => [...bytes];

function messageJson({ signatures, message }: WireTransaction): object {
  const { requiredSignatures, readonlySigned, readonlyUnsigned, staticKeys, blockhash, lookups } = message;
  return {
    signatures: signatures.map(base58Encode),
    message: {
      header: {
        numRequiredSignatures: requiredSignatures,
        numReadonlySignedAccounts: readonlySigned,
        numReadonlyUnsignedAccounts: readonlyUnsigned,
      },
      accountKeys: staticKeys,
      recentBlockhash: base58Encode(blockhash),
      instructions: message.instructions.map(({ programIndex, accountIndexes, data }) => ({
        programIdIndex: programIndex,
        accounts: indexes(accountIndexes),
        data: base58Encode(data),
        stackHeight: null,
      })),
      ...(message.version === 'legacy'
        ? {}
        : {
            addressTableLookups: lookups.map(({ table, writableIndexes, readonlyIndexes }) => ({
              accountKey: table,
              writableIndexes: indexes(writableIndexes),
              readonlyIndexes: indexes(readonlyIndexes),
            })),
          }),
    },
  };
}

/** Keys with their rights, and instructions with keys in the place of indexes; no program's data is read. */
function parsedJson(wire: WireTransaction, names: readonly NamedAccount[]): object {
  const { signatures, message } = wire;
  const keyAt = (index: number) => names[index]?.address ?? null;
  return {
    signatures: signatures.map(base58Encode),
    message: {
      accountKeys: names.map(({ address, signer, writable }, at) => ({
        pubkey: address,
        signer,
        writable,
        source: at < message.staticKeys.length ? 'transaction' : 'lookupTable',
      })),
      recentBlockhash: base58Encode(message.blockhash),
      instructions: message.instructions.map(({ programIndex, accountIndexes, data }) => ({
        programId: keyAt(programIndex),
        accounts: indexes(accountIndexes).map(keyAt),
        data: base58Encode(data),
        stackHeight: null,
      })),
    },
  };
}

function encodedJson(
  landed: Landed,
  wire: WireTransaction,
  names: readonly NamedAccount[],
  terms: TransactionTerms,
) {
  switch (terms.encoding) {
    case 'base64':
      return [readBuffer(landed.wire).toString('base64'), 'base64'];
    case 'base58':
      return [base58Encode(landed.wire), 'base58'];
    case 'jsonParsed':
      return parsedJson(wire, names);
    case 'json':
      return messageJson(wire);
  }
}

/** @throws RpcError -32015 for a version that was not asked for. */
export function transactionJson(
  landed: Landed,
  terms: TransactionTerms,
  named: (wire: Uint8Array) => readonly NamedAccount[],
  source: AccountSource,
): object {
  const wire = decodeTransaction(landed.wire);
  const { version } = wire.message;
  if (terms.maxVersion === null && version !== 'legacy') throw versionNotSupported(version);
  const names = landed.run?.accounts ?? named(landed.wire);
  return {
    slot: landed.slot,
    blockTime: Math.floor(landed.timeMs / MS_PER_SECOND),
    meta: metaJson(landed, wire.message, names, source),
    transaction: encodedJson(landed, wire, names, terms),
    ...(terms.maxVersion === null ? {} : { version }),
  };
}
