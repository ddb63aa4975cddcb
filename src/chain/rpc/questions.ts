/**
 * The methods of a node that are used, and what is believed of their answers; all at the commitment `confirmed`.
 *
 * `Connection` of web3.js asks and reads, but for two: `getTransaction`, of which it reads only JSON, not the bytes that were
 * signed (`"transaction": ["AQ…", "base64"]` is refused), and `getHealth`, which it does not have.
 */
import type { AccountInfo, ConfirmedSignatureInfo, SignatureStatus } from '@solana/web3.js';
import { type Address, address } from '../../values/address.js';
import { base58Decode, base58Encode } from '../../values/base58.js';
import type { JsonObject, JsonValue } from '../../values/canonical-json.js';
import { type AccountState, RENT_EPOCH_EXEMPT } from '../account.js';
import type {
  Commitment,
  PastTransaction,
  ProgramCall,
  Signature,
  TokenChange,
  TransactionError,
} from '../chain.js';
import { isSigned } from '../transaction/sign.js';
import { decodeTransaction } from '../transaction/wire.js';
import type { Question } from './ask.js';
import { addressText, base64Bytes, count, list, Malformed, object, text, u64 } from './read-json.js';
import { readTransactionError } from './transaction-error.js';
import { innerCallsOf, tableAddressesOf, tokenChangesOf } from './transaction-meta.js';

export const COMMITMENT = 'confirmed';
const NEWEST_VERSION = 0;
const MS_PER_SECOND = 1_000;
const HASH_BYTES = 32;

/** A value, and the slot of the state that it is from. */
export interface InSlot<Value> {
  readonly slot: number;
  readonly value: Value;
}

const slotOf = ({ slot }: InSlot<unknown>): number => slot;

export const from = (minContextSlot: number | undefined) =>
  minContextSlot === undefined ? {} : { minContextSlot };

/** What is read has the type of what was asked, and nobody else needs to know it. */
export const question = <Value, Read>(asked: Question<Value, Read>): Question<Value> => asked;

/** The list in the `{ context, value }` in which most results come. */
const listIn = (result: JsonValue, name: string, length: number): readonly JsonValue[] =>
  list(object(result, 'a result')['value'], name, length);

/** @throws Malformed */
const inSlot = <Value>(
  { context }: { readonly context: { readonly slot: number } },
  value: Value,
): InSlot<Value> => ({
  slot: count(context.slot, 'a slot'),
  value,
});

/** Rent epochs are of 64 bits, and some nodes write them as doubles; one this large can only mean exempt. */
const EXEMPT_FROM = 2n ** 63n;

function rentEpoch(value: JsonValue | undefined): bigint {
  if (typeof value === 'number' && value >= Number(EXEMPT_FROM)) return RENT_EPOCH_EXEMPT;
  const epoch = u64(value, 'a rent epoch');
  return epoch < EXEMPT_FROM ? epoch : RENT_EPOCH_EXEMPT;
}

/**
 * What `Connection` would pass over or take for too long: it reads base64 that is none, and an owner of 100,000 letters takes
 * it 12 s. It also rounds a balance of 18446744073709551615, so that balances are read from what is looked at here.
 */
function checkAccount(value: JsonValue): void {
  if (value === null) return;
  const { data, owner, lamports, executable } = object(value, 'an account');
  base64Bytes(data, 'account data');
  addressText(owner, 'an owner');
  u64(lamports, 'a balance');
  if (typeof executable !== 'boolean')
    throw new Malformed('a mark of a program that is neither true nor false');
}

function account(
  { data, owner, executable }: AccountInfo<Buffer>,
  value: JsonValue | undefined,
): AccountState {
  const { lamports, rentEpoch: epoch, space } = object(value, 'an account');
  if (space !== undefined && space !== data.length)
    throw new Malformed(`an account whose stated size is not that of its data, ${data.length} bytes`);
  return {
    lamports: u64(lamports, 'a balance'),
    owner: address(owner.toBase58()),
    data,
    executable,
    rentEpoch: rentEpoch(epoch),
  };
}

/** `getMultipleAccounts`, of at most a hundred. */
export const accountsQuestion = (addresses: readonly Address[], commitment: Commitment = COMMITMENT) =>
  question({
    method: 'getMultipleAccounts',
    ask: ({ connection, key }, slot) =>
      connection.getMultipleAccountsInfoAndContext(addresses.map(key), { commitment, ...from(slot) }),
    check: (result) => {
      listIn(result, 'accounts', addresses.length).forEach(checkAccount);
      object(object(result, 'a result')['context'], 'a context');
    },
    read: (answer, result) => {
      const values = listIn(result, 'accounts', addresses.length);
      return inSlot(
        answer,
        answer.value.map((info, at) => info && account(info, values[at])),
      );
    },
    slotOf,
  });

function hash(value: string, name: string): string {
  if (value.length > 2 * HASH_BYTES || base58Decode(value)?.length !== HASH_BYTES)
    throw new Malformed(`${name} that is no hash`);
  return value;
}

/** `getLatestBlockhash`. */
export const BLOCKHASH_QUESTION = question({
  method: 'getLatestBlockhash',
  ask: ({ connection }, slot) =>
    connection.getLatestBlockhashAndContext({ commitment: COMMITMENT, ...from(slot) }),
  read: ({ value: { blockhash, lastValidBlockHeight } }) => ({
    blockhash: hash(blockhash, 'a blockhash'),
    lastValidBlockHeight: BigInt(count(lastValidBlockHeight, 'a block height')),
  }),
});

/** `getGenesisHash`: which cluster it is. */
export const GENESIS_QUESTION = question({
  method: 'getGenesisHash',
  ask: ({ connection }) => connection.getGenesisHash(),
  read: (genesis) => hash(genesis, 'a genesis hash'),
});

/** `getMinimumBalanceForRentExemption`, of an account of so many bytes. */
export const rentQuestion = (sizeBytes: number) =>
  question({
    method: 'getMinimumBalanceForRentExemption',
    ask: ({ connection }) => connection.getMinimumBalanceForRentExemption(sizeBytes),
    read: (lamports) => BigInt(count(lamports, 'a balance')),
  });

/** `isBlockhashValid`. */
export const validityQuestion = (blockhash: string) =>
  question({
    method: 'isBlockhashValid',
    ask: ({ connection }, slot) =>
      connection.isBlockhashValid(blockhash, { commitment: COMMITMENT, ...from(slot) }),
    read: (answer) => inSlot(answer, answer.value),
    slotOf,
  });

/** Where a signature has landed, and whether it failed there. */
export interface LandedStatus {
  readonly slot: number;
  readonly error: TransactionError | null;
  /** Can no fork take it back? */
  readonly isFinal: boolean;
}

/**
 * A processed transaction may still be dropped with its fork, so it has not landed; nor is it certain that it will not. On that
 * fork it has failed, or not.
 */
export type SeenStatus = LandedStatus | 'processed' | 'processed with an error' | null;

function seenStatus(status: SignatureStatus | null): SeenStatus {
  if (status === null) return null;
  const { slot, err, confirmationStatus } = status;
  if (confirmationStatus !== 'confirmed' && confirmationStatus !== 'finalized')
    return err === null ? 'processed' : 'processed with an error';
  const isFinal = confirmationStatus === 'finalized';
  return { slot: count(slot, 'a slot'), error: readTransactionError(err), isFinal };
}

/** `getSignatureStatuses`, of at most 256, through all that the node remembers. The method itself takes no slot. */
export const statusesQuestion = (signatures: readonly Signature[]) =>
  question({
    method: 'getSignatureStatuses',
    ask: ({ connection }) =>
      connection.getSignatureStatuses([...signatures], { searchTransactionHistory: true }),
    check: (result) => void listIn(result, 'statuses', signatures.length),
    read: (answer) => inSlot(answer, answer.value.map(seenStatus)),
    slotOf,
  });

/** A landed transaction: its bytes, and what the node says of it. */
export interface FoundTransaction {
  readonly wire: Uint8Array;
  readonly blockTimeMs: number;
  readonly logs: readonly string[];
  readonly feeLamports: bigint;
  readonly computeUnits: bigint;
  readonly tokenChanges: readonly TokenChange[] | undefined;
  readonly tableAddresses: readonly Address[] | undefined;
  readonly innerCalls: readonly ProgramCall[] | undefined;
}

/** The bytes are held to the signature that was asked for, and all signers to theirs: nobody else can have signed them. */
function signedBytes(value: JsonValue | undefined, signature: Signature): Uint8Array {
  const wire = base64Bytes(value, 'a transaction');
  try {
    const transaction = decodeTransaction(wire);
    const [own] = transaction.signatures;
    if (own !== undefined && base58Encode(own) === signature && isSigned(transaction)) return wire;
  } catch {
    throw new Malformed('bytes that are no transaction');
  }
  throw new Malformed('a transaction that does not have the signature');
}

/** The last second of the year 9999. */
const MAX_SECONDS = 253_402_300_799;

/** Seconds as milliseconds; `null` where the node does not say. */
export function seconds(value: JsonValue | undefined): number | null {
  if (value === undefined || value === null) return null;
  const time = count(value, 'a time');
  if (time > MAX_SECONDS) throw new Malformed('a time after the year 9999');
  return time * MS_PER_SECOND;
}

const amount = (value: JsonValue | undefined, name: string): bigint =>
  value === undefined || value === null ? 0n : u64(value, name);

/** `getTransaction`, by hand. */
export const transactionQuestion = (signature: Signature) =>
  question({
    method: 'getTransaction',
    ask: ({ request }) =>
      request([
        signature,
        { encoding: 'base64', commitment: COMMITMENT, maxSupportedTransactionVersion: NEWEST_VERSION },
      ]),
    read: (result): FoundTransaction | null => {
      if (result === null) return null;
      const fields = object(result, 'a transaction');
      const meta: JsonObject = fields['meta'] == null ? {} : object(fields['meta'], 'a meta');
      const logs = meta['logMessages'] ?? [];
      const wire = signedBytes(fields['transaction'], signature);
      return {
        wire,
        blockTimeMs: seconds(fields['blockTime']) ?? 0,
        logs: list(logs, 'log lines').map((line) => text(line, 'a log line')),
        feeLamports: amount(meta['fee'], 'a fee'),
        computeUnits: amount(meta['computeUnitsConsumed'], 'a number of compute units'),
        tokenChanges: tokenChangesOf(meta, wire),
        tableAddresses: tableAddressesOf(meta, wire),
        innerCalls: innerCallsOf(meta, wire),
      };
    },
  });

/** Signatures that a node returns at once (agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`). */
export const SIGNATURES_PER_PAGE = 1_000;

const pastEntry = ({ signature, slot, memo, blockTime, err }: ConfirmedSignatureInfo): PastTransaction => ({
  signature,
  slot,
  memo,
  blockTimeMs: seconds(blockTime),
  failed: readTransactionError(err) !== null,
});

/** `getSignaturesForAddress`: one page, newest first, of at most so many as are wanted. */
export const pastQuestion = (of: Address, before: Signature | undefined, wanted: number) => {
  const limit = Math.min(wanted, SIGNATURES_PER_PAGE);
  return question({
    method: 'getSignaturesForAddress',
    ask: ({ connection, key }, slot) =>
      connection.getSignaturesForAddress(
        key(of),
        { limit, ...(before === undefined ? {} : { before }), ...from(slot) },
        COMMITMENT,
      ),
    check: (result) => {
      if (list(result, 'past transactions').length > limit)
        throw new Malformed('more past transactions than were asked for');
    },
    read: (entries) => entries.map(pastEntry),
  });
};

/** `getHealth`, by hand. */
export const HEALTH_QUESTION = question({
  method: 'getHealth',
  ask: ({ request }) => request([]),
  read: (health) => text(health, 'a state of health'),
});

/** `getSlot`. */
export const SLOT_QUESTION = question({
  method: 'getSlot',
  ask: ({ connection }) => connection.getSlot(),
  read: (slot) => count(slot, 'a slot'),
});

/** `getVersion`. */
export const VERSION_QUESTION = question({
  method: 'getVersion',
  ask: ({ connection }) => connection.getVersion(),
  check: (version) => void object(version, 'a version'),
  read: (version) => version['solana-core'],
});
