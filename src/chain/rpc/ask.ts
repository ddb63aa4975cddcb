/**
 * One request to one node, without retries. A `Connection` of web3.js builds the request and validates the answer; this module
 * bounds and reads the bytes and classifies errors.
 *
 * `Connection` gets no address and opens no socket: all its traffic goes through the `fetch` option. It sees valid results
 * only; errors and malformed answers end the request before.
 */
import type { Connection, PublicKey } from '@solana/web3.js';
import * as z from 'zod';
import type { HttpAnswer, HttpFailure, Terms } from '../../transport/transport.js';
import type { Address } from '../../values/address.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import { jsonText } from '../../values/exact-number.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { NodeAddress } from '../node-address.js';
import {
  type Asked,
  behind,
  statedError,
  Trouble,
  unbelievable,
  unreachable,
  withoutResult,
} from './rpc-errors.js';
import { count } from './schemas.js';

export interface RpcNode {
  readonly address: NodeAddress;
  /** Posts a JSON body. @throws `ERR_INTERRUPTED` as soon as the signal is aborted. */
  post(body: string, terms: Terms): Promise<HttpAnswer | HttpFailure>;
}

interface Line {
  readonly connection: Connection;
  key(of: Address): PublicKey;
  /** Sends the request directly, for methods that `Connection` lacks or whose results it cannot read. */
  request(params: readonly unknown[]): Promise<JsonValue>;
}

/** A JSON-RPC method, its request, and the reader of its result. */
export interface Question<Value> {
  readonly method: string;
  /** @param minContextSlot - the answer must not come from an older state. */
  ask(line: Line, minContextSlot: number | undefined): Promise<unknown>;
  /** The result is `{ context: { slot }, value }`; only its value is read. */
  readonly hasContext?: true;
  /**
   * Reads the raw result before `Connection` does: `Connection` accepts invalid base64, rounds 64-bit numbers, and takes 12 s
   * for an owner of 100,000 letters.
   */
  readonly result: z.ZodType<Value>;
  /**
   * Difference of two answers, to follow "they disagree about …"; `undefined` where they agree. The right one is of a state that
   * is no older, and the left one is used.
   */
  differ?(left: NoInfer<Value>, right: NoInfer<Value>): string | undefined;
}

interface Found<Value> {
  readonly value: Value;
  /** Of the state that the value comes from, if the answer states it. */
  readonly slot: number | undefined;
}

export type Answer<Value> = Found<Value> | Trouble;

interface TryTerms extends Omit<Terms, 'maxBytes'> {
  readonly minContextSlot?: number | undefined;
}

/** Limit of an answer: a hundred accounts of a quarter of a megabyte each fit. */
const MAX_ANSWER_BYTES = 32 * 1_024 * 1_024;
/** Limit of JSON values in an answer; a thousand signatures take seven thousand. */
const MAX_ANSWER_VALUES = 200_000;
/** One request per exchange; the answer must repeat this id. */
const REQUEST_ID = 1;
/** `Connection` requires an address. This one is never dialled and contains no key. */
const NOWHERE = 'http://node.invalid';

function readJson(text: string): JsonValue | undefined {
  try {
    return parseStrictJson(text, { maxValues: MAX_ANSWER_VALUES }).value;
  } catch {
    return undefined;
  }
}

/** @throws Trouble, and `ERR_INTERRUPTED` */
async function exchange(
  asked: Asked,
  params: readonly unknown[],
  { timeoutMs, signal }: TryTerms,
  nowMs: number,
): Promise<JsonValue> {
  const { node, method } = asked;
  const body = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, method, params });
  const outcome = await node.post(body, { timeoutMs, signal, maxBytes: MAX_ANSWER_BYTES });
  if (outcome.kind === 'failure') throw unreachable(asked, outcome);
  if (outcome.unread !== undefined && outcome.status === 200) throw unbelievable(asked, outcome.unread);
  const json = readJson(outcome.text);
  const { id, jsonrpc, result } = isJsonObject(json) ? json : {};
  const isResult = id === REQUEST_ID && jsonrpc === '2.0' && result !== undefined;
  if (outcome.status !== 200 || !isResult || statedError(json) !== undefined)
    throw withoutResult(asked, outcome, json, nowMs);
  return result;
}

const inContext = z.object({ context: z.object({ slot: count }), value: z.unknown() });

/** @throws Trouble */
function read<Value>(asked: Asked, schema: z.ZodType<Value>, result: unknown): Value {
  const { data, error } = schema.safeParse(result);
  if (error === undefined) return data;
  const [{ path, message }] = error.issues as [z.core.$ZodIssue];
  const where = path.length === 0 ? '' : `${path.join('.')}: `;
  const what = message.replace(/^Invalid input: /, '');
  throw unbelievable(asked, `a malformed result (${where}${what})`);
}

function readResult<Value>(asked: Asked, question: Question<Value>, result: JsonValue): Found<Value> {
  if (!question.hasContext) return { value: read(asked, question.result, result), slot: undefined };
  const { context, value } = read(asked, inContext, result);
  return { value: read(asked, question.result, value), slot: context.slot };
}

/** The fields of a response that `Connection` reads; a real `Response` costs 15 ms for the first one. */
const responseOf = (text: string): Response =>
  ({ ok: true, status: 200, text: async () => text }) as Response;

/** Loading takes 150 ms, which must not count as latency of a node. */
export const loadWeb3 = () => import('@solana/web3.js');

async function lineOf(request: Line['request']): Promise<Line> {
  const { Connection, PublicKey } = await loadWeb3();
  const connection = new Connection(NOWHERE, {
    fetch: async (_url, init) => {
      const { id, params } = JSON.parse(String(init?.body));
      return responseOf(jsonText({ jsonrpc: '2.0', id, result: await request(params) }));
    },
    httpAgent: false,
    disableRetryOnRateLimit: true,
  });
  return { connection, key: (of) => new PublicKey(of), request };
}

/** Sends one request. @throws `ERR_INTERRUPTED` */
export async function ask<Value>(
  node: RpcNode,
  question: Question<Value>,
  terms: TryTerms,
  nowMs: number,
): Promise<Answer<Value>> {
  const asked = { node, method: question.method };
  const found: Found<Value>[] = [];
  const line = await lineOf(async (params) => {
    const result = await exchange(asked, params, terms, nowMs);
    found.push(readResult(asked, question, result));
    return result;
  });
  try {
    await question.ask(line, terms.minContextSlot);
  } catch (error) {
    // `Connection` rethrows errors of its `fetch` unchanged.
    if (error instanceof Trouble) return error;
    if (found.length > 0) return unbelievable(asked, 'JSON with another structure');
    throw error;
  }
  const [answer] = found as [Found<Value>];
  const { minContextSlot = 0 } = terms;
  const { slot = minContextSlot } = answer;
  return slot < minContextSlot ? behind(asked, minContextSlot - slot) : answer;
}
