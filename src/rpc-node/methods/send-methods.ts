/** Methods that simulate, price and accept transactions. */
import { type ExecutionResult, refused } from '../../chain/local/runtime/execution.js';
import { feeOf } from '../../chain/small-programs.js';
import { TRANSACTION_SIZE_LIMIT_BYTES } from '../../chain/transaction/message.js';
import { isSigned } from '../../chain/transaction/sign.js';
import { decodeMessage, decodeTransaction, type WireTransaction } from '../../chain/transaction/wire.js';
import { base58Encode } from '../../values/bytes.js';
import {
  inContext,
  levelOf,
  type Methods,
  type Options,
  type RpcCall,
  readAddress,
  readBytes,
  type View,
} from '../call.js';
import { errorJson, invalidParams, preflightFailed, signatureFailed } from '../rpc-error.js';
import { accountJson, encodingOf } from './account-methods.js';

/** Limit of one `requestAirdrop`: test money, but a typing error should be visible. */
const MAX_AIRDROP_LAMPORTS = 100_000_000_000;
const MAX_SHOWN_ACCOUNTS = 64;

interface Sent {
  readonly bytes: Uint8Array;
  readonly wire: WireTransaction;
  readonly signature: string;
}

/** @throws RpcError */
function readSent(text: string, given: unknown): Sent {
  const encoding = given ?? 'base58';
  if (encoding !== 'base58' && encoding !== 'base64')
    throw invalidParams(
      `unsupported encoding: ${JSON.stringify(encoding)}. Supported encodings: base58, base64`,
    );
  const bytes = readBytes(text, encoding);
  if (bytes.length > TRANSACTION_SIZE_LIMIT_BYTES)
    throw invalidParams(
      `decoded solana_transaction::versioned::VersionedTransaction too large: ${bytes.length} bytes (max: ${TRANSACTION_SIZE_LIMIT_BYTES} bytes)`,
    );
  const wire = reading('solana_transaction::versioned::VersionedTransaction', () => decodeTransaction(bytes));
  const [first] = wire.signatures;
  if (first === undefined || wire.signatures.length !== wire.message.signers)
    throw invalidParams('invalid transaction: Transaction failed to sanitize accounts offsets correctly');
  return { bytes, wire, signature: base58Encode(first) };
}

function reading<Value>(what: string, decode: () => Value): Value {
  try {
    return decode();
  } catch {
    throw invalidParams(`failed to deserialize ${what}`);
  }
}

function tryOut(view: View, { bytes, wire, signature }: Sent, checksBlockhash = true): ExecutionResult {
  if (checksBlockhash) {
    if (view.find(signature) !== null) return refused('AlreadyProcessed');
    if (!view.isGoodBlockhash(base58Encode(wire.message.blockhash))) return refused('BlockhashNotFound');
  }
  return view.cluster.run(bytes, view);
}

function preflight(call: RpcCall, sent: Sent, options: Options): void {
  const view = call.view({ ...options, commitment: options['preflightCommitment'] });
  if (!isSigned(sent.wire)) throw signatureFailed();
  const run = tryOut(view, sent);
  if (run.error !== null) throw preflightFailed(run.error, run);
}

function sendTransaction(call: RpcCall): unknown {
  const options = call.options(1);
  const sent = readSent(call.text(0, 'a transaction'), options['encoding']);
  if (options['skipPreflight'] === true) call.view(options, 'processed');
  else preflight(call, sent, options);
  call.cluster.submit(sent.bytes, options['maxRetries'] !== 0);
  return sent.signature;
}

function shownAccounts({ changes }: ExecutionResult, options: Options, view: View): unknown {
  const { accounts } = options;
  if (accounts === undefined || accounts === null) return null;
  const asked = accounts as Options;
  const { addresses } = asked;
  if (!Array.isArray(addresses)) throw invalidParams('Invalid params: expected addresses.');
  if (addresses.length > MAX_SHOWN_ACCOUNTS)
    throw invalidParams(`Too many accounts provided; max ${MAX_SHOWN_ACCOUNTS}`);
  const encoding = encodingOf(asked);
  return addresses.map(readAddress).map((address) => {
    const changed = changes.get(address);
    const state = changed === undefined ? view.get(address) : changed;
    return state && accountJson(state, encoding, view);
  });
}

function simulateTransaction(call: RpcCall): unknown {
  const options = call.options(1);
  const sent = readSent(call.text(0, 'a transaction'), options['encoding']);
  const view = call.view(options);
  const replaces = options['replaceRecentBlockhash'] === true;
  const verifies = options['sigVerify'] === true;
  if (replaces && verifies) throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
  if (verifies && !isSigned(sent.wire)) throw signatureFailed();
  const run = tryOut(view, sent, !replaces);
  return inContext(view, {
    err: errorJson(run.error),
    logs: run.logs,
    accounts: shownAccounts(run, options, view),
    unitsConsumed: run.computeUnits,
    fee: run.feeLamports,
    returnData: null,
    innerInstructions: null,
    replacementBlockhash: replaces ? view.latestBlockhash : null,
  });
}

function getFeeForMessage(call: RpcCall): unknown {
  const bytes = readBytes(call.text(0, 'a message'), 'base64');
  const view = call.view(call.options(1));
  const message = reading('solana_message::versions::VersionedMessage', () => decodeMessage(bytes));
  const isGood = view.isGoodBlockhash(base58Encode(message.blockhash));
  return inContext(view, isGood ? feeOf(message) : null);
}

/** No transaction competes for blocks here, so the price is 0. */
function getRecentPrioritizationFees({ cluster }: RpcCall): unknown {
  return [{ slot: cluster.slotOf('processed'), prioritizationFee: 0 }];
}

function requestAirdrop(call: RpcCall): unknown {
  const to = call.address(0);
  const lamports = call.count(1, 'a number of lamports');
  levelOf(call.options(2));
  if (lamports === 0 || lamports > MAX_AIRDROP_LAMPORTS)
    throw invalidParams(`Invalid request: an airdrop must be 1 to ${MAX_AIRDROP_LAMPORTS} lamports`);
  const { blockhash } = call.viewAt('processed').latestBlockhash;
  const bytes = call.cluster.parts.airdrop(to, BigInt(lamports), blockhash);
  call.cluster.submit(bytes, true);
  return decodeTransaction(bytes).signatures.map(base58Encode)[0];
}

export const SEND_METHODS: Methods = {
  getFeeForMessage,
  getRecentPrioritizationFees,
  requestAirdrop,
  sendTransaction,
  simulateTransaction,
};
