/** A landed transaction as a node shows it. */
import type { AccountState } from '../../chain/account.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import type { AccountMeta } from '../../chain/transaction/instruction.js';
import { decodeTransaction, type WireMessage, type WireTransaction } from '../../chain/transaction/wire.js';
import { base58Encode } from '../../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Options, readCount, type View } from '../call.js';
import type { Landed } from '../cluster.js';
import { errorJson, invalidParams, versionNotSupported } from '../rpc-error.js';
import { amountJson } from './account-json.js';

/** How a transaction is written; a version above the highest that is asked for is refused. */
interface TransactionTerms {
  readonly encoding: 'json' | 'base64';
  /** `null`: only legacy ones. */
  readonly maxVersion: number | null;
}

const MS_PER_SECOND = 1_000;

const ENCODINGS = ['json', 'base64'] as const;

function termsOf({ encoding, maxSupportedTransactionVersion }: Options): TransactionTerms {
  const known = ENCODINGS.find((name) => name === (encoding ?? 'json'));
  if (known === undefined) throw invalidParams('Invalid params: this node has no such encoding.');
  const max = maxSupportedTransactionVersion;
  return {
    encoding: known,
    maxVersion: max === undefined || max === null ? null : readCount(max, 'a version'),
  };
}

/** Of the token accounts that a transaction changed; of those that it only named as well, where this node has run it. */
function tokenBalances(
  { run, tokenChanges }: Landed,
  names: readonly AccountMeta[],
  when: 'before' | 'after',
  view: View,
): unknown {
  return names.flatMap(({ address }, accountIndex) => {
    const state = run === null ? null : (run.accounts[accountIndex]?.[when] ?? null);
    const change = tokenChanges?.find(({ account }) => account === address);
    const token = decodeTokenAccount(state ?? view.get(address));
    const mint = token?.mint ?? change?.mint;
    const amount = run === null ? change?.[when] : decodeTokenAccount(state)?.amount;
    if (mint === undefined || amount === undefined || amount === null) return [];
    const { decimals, tokenProgram } = decodeMint(view.get(mint)) ?? { decimals: 0 };
    const uiTokenAmount = amountJson(amount, decimals);
    return [{ accountIndex, mint, owner: token?.owner, programId: tokenProgram, uiTokenAmount }];
  });
}

const lamportsOf = (state: AccountState | null): bigint => state?.lamports ?? 0n;

/** What lookup tables added, by their rights. */
function loadedJson({ staticKeys }: WireMessage, accounts: readonly AccountMeta[]): object {
  const loaded = accounts.slice(staticKeys.length);
  const those = (writable: boolean) =>
    loaded.filter((each) => each.writable === writable).map(({ address }) => address);
  return { writable: those(true), readonly: those(false) };
}

function metaJson(landed: Landed, message: WireMessage, names: readonly AccountMeta[], view: View) {
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
    // Lamports are known only of what this node has run itself.
    preBalances: run === null ? [] : run.accounts.map(({ before }) => lamportsOf(before)),
    postBalances: run === null ? [] : run.accounts.map(({ after }) => lamportsOf(after)),
    preTokenBalances: tokenBalances(landed, names, 'before', view),
    postTokenBalances: tokenBalances(landed, names, 'after', view),
    loadedAddresses: loadedJson(message, names),
  };
}

const indexes = (bytes: ReadonlyBytes): readonly number[] => [...bytes];

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

/** @throws RpcError -32015 for a version that was not asked for. */
export function transactionJson(landed: Landed, options: Options, view: View): object {
  const terms = termsOf(options);
  const wire = decodeTransaction(landed.wire);
  const { version } = wire.message;
  if (terms.maxVersion === null && version !== 'legacy') throw versionNotSupported(version);
  const names = landed.run?.accounts ?? view.cluster.named(landed.wire, view);
  return {
    slot: landed.slot,
    blockTime: Math.floor(landed.blockTimeMs / MS_PER_SECOND),
    meta: metaJson(landed, wire.message, names, view),
    transaction:
      terms.encoding === 'json' ? messageJson(wire) : [readBuffer(landed.wire).toString('base64'), 'base64'],
    ...(terms.maxVersion === null ? {} : { version }),
  };
}
