/** Brings a signed transaction onto a cluster through the nodes of a pool. */
import type { JsonValue } from '../../values/canonical-json.js';
import { isJsonObject } from '../../values/canonical-json.js';
import type { Clock } from '../../values/time.js';
import type { ChainSender, Rejection } from '../chain.js';
import { type SendSteps, sendUntilKnown } from '../send.js';
import type { NodePool } from './node-pool.js';
import { heightQuestion, validityQuestion } from './questions.js';
import { isLanded, lowest, type RpcReader } from './rpc-reader.js';
import { sendQuestion } from './sending-questions.js';
import { readTransactionError } from './transaction-error.js';
import type { RpcErrorBody, Trouble } from './troubles.js';

/** Codes with which a node refuses a transaction (agave, `RpcCustomError`): it failed when tried out; a signature is wrong. */
const PREFLIGHT_FAILED = -32_002;
const SIGNATURE_WRONG = -32_003;
const MAX_LOG_LINES = 100;
/** Longest time for one sending; the next one follows soon anyway. */
const SEND_TIMEOUT_MS = 5_000;

/** What a node says of a transaction that it did not pass on; `undefined` where it says nothing about the transaction. */
function rejectionOf({ code, data }: RpcErrorBody): Rejection | null | undefined {
  if (code === SIGNATURE_WRONG)
    return { index: 0, error: { kind: 'transaction', error: 'SignatureFailure' }, logs: [] };
  if (code !== PREFLIGHT_FAILED || !isJsonObject(data)) return undefined;
  const error = readTransactionError(data['err']);
  // What has landed already is found by its signature.
  if (error === null || ('error' in error && error.error === 'AlreadyProcessed')) return null;
  return { index: 0, error, logs: logLines(data['logs']) };
}

const logLines = (value: JsonValue | undefined): readonly string[] =>
  Array.isArray(value)
    ? value.filter((line): line is string => typeof line === 'string').slice(0, MAX_LOG_LINES)
    : [];

/**
 * Sends to every node, so that one that keeps a transaction to itself is no harm.
 * @throws what went wrong where no node said anything about the transaction.
 */
async function sendToAll(pool: NodePool, wire: Uint8Array, timeoutMs: number): Promise<Rejection | null> {
  const results = await pool.askAll(sendQuestion(wire), timeoutMs);
  const said = results.map((result) =>
    'value' in result ? null : result.stated === undefined ? undefined : rejectionOf(result.stated),
  );
  if (said.includes(null)) return null;
  const rejection = said.find((each) => each !== undefined);
  if (rejection !== undefined) return rejection;
  throw (results[0] as Trouble).error;
}

/** What a sender needs beside the nodes. */
export interface RpcSenderDeps {
  readonly clock: Clock;
  /** Nodes that have to agree on what became of a transaction. */
  readonly quorum: number;
}

/** A sender over the nodes from which the reader reads. */
export function createRpcSender(
  pool: NodePool,
  reader: RpcReader,
  { clock, quorum }: RpcSenderDeps,
): ChainSender {
  const steps: SendSteps = {
    clock,
    sleep: (ms) => pool.sleep(ms),
    send: (wire, deadlineMs) =>
      sendToAll(pool, wire, Math.max(1, Math.min(SEND_TIMEOUT_MS, deadlineMs - clock.nowMs()))),
    lookUp: async (signature, minContextSlot, deadlineMs) => {
      const [status = null] = await reader.statuses([signature], { minContextSlot, deadlineMs });
      if (isLanded(status)) return reader.record(signature, status);
      return status === null ? null : 'processed';
    },
    // A finalized state is never taken back, so what did not land by then never will. Of nodes that differ the most cautious counts.
    validity: async (blockhash, deadlineMs) => {
      const terms = { voices: quorum, deadlineMs };
      const validities = await pool.ask(validityQuestion(blockhash, 'finalized'), terms);
      const slot = Math.max(...validities.map(({ value }) => value.slot));
      const heights = await pool.ask(heightQuestion('finalized'), { ...terms, minContextSlot: slot });
      return { isValid: validities.some(({ value }) => value.value), slot, blockHeight: lowest(heights) };
    },
  };
  return { submitAndConfirm: (wire, terms) => sendUntilKnown(steps, wire, terms) };
}
