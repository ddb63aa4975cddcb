/**
 * One request to one node, without retries. `Connection` of web3.js builds the request and validates the answer; this module
 * bounds and reads the bytes and classifies errors.
 *
 * `Connection` gets no address and opens no socket: all its traffic goes through the `fetch` option. It sees valid results
 * only; errors and malformed answers end the request before.
 */
import type { Connection, PublicKey } from '@solana/web3.js';
import type { HttpAnswer, HttpFailure, Terms } from '../../transport/transport.js';
import type { Address } from '../../values/address.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { jsonText } from '../../values/exact-number.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { NodeAddress } from '../node-address.js';
import { Malformed } from './read-json.js';
import {
  type Asked,
  behind,
  statedError,
  type Trouble,
  unbelievable,
  unreachable,
  withoutResult,
} from './rpc-errors.js';

export interface Line {
  readonly connection: Connection;
  key(of: Address): PublicKey;
  /** Sends the request directly, for methods that `Connection` lacks or whose results it cannot read. */
  request(params: readonly unknown[]): Promise<JsonValue>;
}

/** A JSON-RPC method, its request, and the reader of its result. */
export interface Question<Value> {
  readonly method: string;
  readonly isOptional?: true;
  /** @param minContextSlot - the answer must not come from an older state. */
  ask(line: Line, minContextSlot: number | undefined): Promise<unknown>;
  /**
   * Reads the raw result before `Connection` does: `Connection` accepts invalid base64, rounds 64-bit numbers, and takes 12 s
   * for an owner of 100,000 letters.
   * @throws Malformed
   */
  read(result: JsonValue): Value;
  /** Slot of the state that the value comes from, if the answer states it. */
  slotOf?(value: NoInfer<Value>): number;
  /** Difference of two answers, to follow "they disagree about …"; `undefined` where they agree. */
  differ?(left: NoInfer<Value>, right: NoInfer<Value>): string | undefined;
}

/** Limit of an answer: a hundred accounts of a quarter of a megabyte each fit. */
const MAX_ANSWER_BYTES = 32 * 1_024 * 1_024;
/** Limit of JSON values in an answer; a thousand signatures take seven thousand. */
const MAX_ANSWER_VALUES = 200_000;
/** One request per exchange; the answer must repeat this id. */
const REQUEST_ID = 1;
/** `Connection` requires an address. This one is never dialled and contains no key. */
const NOWHERE = 'http://node.invalid';

/** Carries a `Trouble` through `Connection`, which rethrows errors of its `fetch` unchanged. */
class NoResult extends Error {
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    super(trouble.error.message);
    this.name = 'NoResult';
    this.trouble = trouble;
  }
}

function readJson(text: string): JsonValue | undefined {
  try {
    return parseStrictJson(text, { maxValues: MAX_ANSWER_VALUES }).value;
  } catch {
    return undefined;
  }
}

const isResult = (json: JsonValue | undefined): json is JsonObject =>
  isJsonObject(json) && json['id'] === REQUEST_ID && json['jsonrpc'] === '2.0' && 'result' in json;

/** @throws NoResult, and `ERR_INTERRUPTED` */
async function exchange(
  asked: Asked,
  params: unknown,
  terms: Omit<Terms, 'maxBytes'>,
  nowMs: number,
): Promise<JsonValue> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, method: asked.method, params });
  const outcome = await asked.node.post(body, { ...terms, maxBytes: MAX_ANSWER_BYTES });
  if (outcome.kind === 'failure') throw new NoResult(unreachable(asked, outcome));
  if (outcome.unread !== undefined && outcome.status === 200)
    throw new NoResult(unbelievable(asked, outcome.unread));
  const json = readJson(outcome.text);
  if (outcome.status !== 200 || !isResult(json) || statedError(json) !== undefined)
    throw new NoResult(withoutResult(asked, outcome, json, nowMs));
  return json['result'] ?? null;
}

/** The fields of a response that `Connection` reads; a real `Response` costs 15 ms for the first one. */
const responseOf = (text: string): Response =>
  ({ ok: true, status: 200, text: async () => text }) as Response;

/** Loading takes 150 ms, which must not count as latency of a node. */
export const loadWeb3 = () => import('@solana/web3.js');

/** A `Connection` whose requests go through `request`. */
async function openLine(request: Line['request']): Promise<Line> {
  const web3 = await loadWeb3();
  const connection = new web3.Connection(NOWHERE, {
    fetch: async (_url, init) => {
      const { id, params } = JSON.parse(String(init?.body));
      return responseOf(jsonText({ jsonrpc: '2.0', id, result: await request(params) }));
    },
    httpAgent: false,
    disableRetryOnRateLimit: true,
  });
  return { connection, key: (of) => new web3.PublicKey(of), request };
}

/**
 * Sends one request.
 * @param more - the newest known slot, and the current time.
 * @throws `ERR_INTERRUPTED`
 */
export async function askOnce<Value>(
  node: RpcNode,
  question: Question<Value>,
  terms: Omit<Terms, 'maxBytes'>,
  { minContextSlot, nowMs }: { readonly minContextSlot?: number | undefined; readonly nowMs: number },
): Promise<{ readonly value: Value } | Trouble> {
  const asked = { node, method: question.method };
  const found: Value[] = [];
  const line = await openLine(async (params) => {
    const result = await exchange(asked, params, terms, nowMs);
    found.push(question.read(result));
    return result;
  });
  try {
    await question.ask(line, minContextSlot);
  } catch (error) {
    if (error instanceof NoResult) return error.trouble;
    if (error instanceof Malformed) return unbelievable(asked, error.message);
    if (found.length > 0) return unbelievable(asked, 'JSON with another structure');
    throw error;
  }
  const [value] = found as [Value];
  const slot = question.slotOf?.(value);
  const isBehind = slot !== undefined && minContextSlot !== undefined && slot < minContextSlot;
  return isBehind ? behind(asked, minContextSlot - slot) : { value };
}

export interface RpcNode {
  readonly address: NodeAddress;
  /** Posts a JSON body. @throws `ERR_INTERRUPTED` as soon as the signal is aborted. */
  post(body: string, terms: Terms): Promise<HttpAnswer | HttpFailure>;
}
