/** JSON-RPC 2.0 over text: a call or a batch in, the answers out. Independent of the transport. */
import type { JsonValue } from '../values/canonical-json.js';
import { InexactNumber, jsonText } from '../values/exact-number.js';
import { parseStrictJson } from '../values/strict-json.js';
import { type Methods, type Options, RpcCall } from './call.js';
import type { Cluster } from './cluster.js';
import { ACCOUNT_METHODS } from './methods/account-methods.js';
import { CHAIN_METHODS } from './methods/chain-methods.js';
import { HISTORY_METHODS } from './methods/history-methods.js';
import { SEND_METHODS } from './methods/send-methods.js';
import { internalError, invalidRequest, methodNotFound, parseError, RpcError } from './rpc-error.js';

const METHODS: Methods = { ...ACCOUNT_METHODS, ...CHAIN_METHODS, ...HISTORY_METHODS, ...SEND_METHODS };

const MAX_BATCH = 500;
const BATCH_SIZE = `Invalid request: a batch has 1 to ${MAX_BATCH} calls`;
const MAX_VALUES = 50_000;

interface Request {
  readonly id: JsonValue;
  readonly method: string;
  readonly params: readonly JsonValue[] | Options;
  readonly isNotification: boolean;
}

interface Asked {
  readonly requests: readonly (Request | RpcError)[];
  readonly isBatch: boolean;
}

function readRequest(value: JsonValue): Request | RpcError {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return invalidRequest();
  const { jsonrpc, id, method, params = [] } = value as Options;
  const isObject = typeof params === 'object' && params !== null;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isObject) return invalidRequest();
  return { id: id ?? null, method, params: params as Request['params'], isNotification: id === undefined };
}

/** Never throws; invalid requests become RpcErrors in the list. */
export function readAsked(text: string): Asked {
  let value: JsonValue;
  try {
    value = parseStrictJson(text, { maxValues: MAX_VALUES }).value;
  } catch {
    return { requests: [parseError()], isBatch: false };
  }
  if (!Array.isArray(value)) return { requests: [readRequest(value)], isBatch: false };
  const batch = value as readonly JsonValue[];
  const isBatch = batch.length > 0 && batch.length <= MAX_BATCH;
  return { requests: isBatch ? batch.map(readRequest) : [invalidRequest(BATCH_SIZE)], isBatch };
}

/** Bigints are written as exact numbers, as a cluster writes its 64-bit numbers. */
const exact = (_key: string, value: unknown): unknown => {
  if (typeof value !== 'bigint') return value;
  const isSafe = value <= BigInt(Number.MAX_SAFE_INTEGER);
  return isSafe ? Number(value) : new InexactNumber(value.toString()).toJSON();
};

export const toJson = (value: object): string => jsonText({ jsonrpc: '2.0', ...value }, exact);

/**
 * The text of an answer; `null` for a notification.
 * @param work - its errors become the answer.
 * @param onFailure - called for errors that are not RpcErrors.
 */
export function answerText(
  request: Request | RpcError,
  work: (request: Request) => unknown,
  onFailure: (error: unknown) => void,
): string | null {
  const answer = (): object => {
    try {
      if (request instanceof RpcError) throw request;
      return { result: work(request) ?? null };
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) onFailure(thrown);
      const { code, message, data } = thrown instanceof RpcError ? thrown : internalError();
      return { error: { code, message, ...(data === undefined ? {} : { data }) } };
    }
  };
  const body = answer();
  if (request instanceof RpcError) return toJson({ ...body, id: null });
  return request.isNotification ? null : toJson({ ...body, id: request.id });
}

/** Runs all calls of a text. @returns the answers; empty for notifications only. */
export async function answersOf(
  cluster: Cluster,
  { requests, isBatch }: Asked,
  onFailure: (error: unknown) => void,
): Promise<string> {
  const answers: string[] = [];
  for (const request of requests) {
    const answer = answerText(
      request,
      ({ method, params }) => {
        const known = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
        if (known === undefined) throw methodNotFound();
        if (!Array.isArray(params)) throw invalidRequest('Params are a list');
        return known(new RpcCall(params as readonly JsonValue[], cluster));
      },
      onFailure,
    );
    if (answer !== null) answers.push(answer);
    // Yields between calls: a batch may simulate hundreds of transactions.
    if (requests.length > 1) await new Promise((resolve) => void setImmediate(resolve));
  }
  return isBatch && answers.length > 0 ? `[${answers.join(',')}]` : answers.join('');
}
