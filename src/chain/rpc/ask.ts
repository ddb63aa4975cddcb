/**
 * One question to one node, once: `Connection` of web3.js forms the request and sees whether the answer is one; what travels in
 * between is bounded and read here, and what went wrong is named.
 *
 * `Connection` sees no address of a node and opens no connection, for all that it sends goes through `fetch`, its one option.
 * It gets nothing but results: an error, or an answer that is none, ends the question before that.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection, PublicKey } from '@solana/web3.js';
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

/** Through what a question is put; each carries one. */
export interface Line {
  readonly connection: Connection;
  key(of: Address): PublicKey;
  /** Puts the question by hand, for what `connection` cannot ask or read. */
  request(params: readonly unknown[]): Promise<JsonValue>;
}

/** A method of a node's JSON-RPC, how it is asked, and how its answer is read. */
export interface Question<Value> {
  readonly method: string;
  /** The answer can be done without, so that nothing waits for it. */
  readonly isOptional?: true;
  /** @param minContextSlot - the answer must not be from a state before it. */
  ask(line: Line, minContextSlot: number | undefined): Promise<unknown>;
  /**
   * Reads a result as it came, before `Connection` does: that takes base64 that is none, rounds numbers of 64 bits, and is busy with
   * an owner of 100,000 letters for 12 s.
   * @throws Malformed
   */
  read(result: JsonValue): Value;
  /** The slot of the state that the value is from, where the answer says. */
  slotOf?(value: NoInfer<Value>): number;
  /** What two nodes say differently, as in "they disagree about …"; `undefined` where they agree. */
  differ?(left: NoInfer<Value>, right: NoInfer<Value>): string | undefined;
}

/** Largest answer that is read, in bytes: a hundred accounts of a quarter of a megabyte each. */
const MAX_ANSWER_BYTES = 32 * 1_024 * 1_024;
/** Values in the JSON of an answer; a thousand signatures take seven thousand. */
const MAX_ANSWER_VALUES = 200_000;
/** An exchange carries one question, and its answer must repeat this. */
const REQUEST_ID = 1;
/** `Connection` wants an address; it is never dialled, and holds no key. */
const NOWHERE = 'http://node.invalid';

/** There is no result. `Connection` passes errors of its `fetch` on as they are. */
class NoResult extends Error {
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    super(trouble.error.message);
    this.name = 'NoResult';
    this.trouble = trouble;
  }
}

/** An answer as JSON, or `undefined`: nothing, no JSON, or more of it than a node has reason to send. */
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
  terms: Omit<ExchangeTerms, 'maxBytes'>,
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

/** What `Connection` reads of a response; a whole `Response` costs 15 ms for the first one. */
const responseOf = (text: string): Response =>
  ({ ok: true, status: 200, text: async () => text }) as Response;

/** Loads what asks; it takes 150 ms, which are those of no node. */
export const loadWeb3 = () => import('@solana/web3.js');

/** One question on its way: how it is carried to its node, for the `fetch` of the connection that forms it. */
type Carry = (params: unknown) => Promise<JsonValue>;
const carries = new AsyncLocalStorage<Carry>();
let line: Omit<Line, 'request'> | undefined;

/** `Connection` knows no node: whatever it sends goes with the question that it is asked for. */
async function openLine(): Promise<Omit<Line, 'request'>> {
  const web3 = await loadWeb3();
  const connection = new web3.Connection(NOWHERE, {
    fetch: async (_url, init) => {
      const { id, params } = JSON.parse(String(init?.body));
      const result = await (carries.getStore() as Carry)(params);
      return responseOf(jsonText({ jsonrpc: '2.0', id, result }));
    },
    httpAgent: false,
    disableRetryOnRateLimit: true,
  });
  line ??= { connection, key: (of) => new web3.PublicKey(of) };
  return line;
}

/**
 * Asks once.
 * @param more - the newest state that is known, and the time of asking.
 * @throws `ERR_INTERRUPTED`
 */
export async function askOnce<Value>(
  node: RpcNode,
  question: Question<Value>,
  terms: Omit<ExchangeTerms, 'maxBytes'>,
  { minContextSlot, nowMs }: { readonly minContextSlot?: number | undefined; readonly nowMs: number },
): Promise<{ readonly value: Value } | Trouble> {
  const asked = { node, method: question.method };
  const found: Value[] = [];
  const request: Carry = async (params) => {
    const result = await exchange(asked, params, terms, nowMs);
    found.push(question.read(result));
    return result;
  };
  try {
    const opened = line ?? (await openLine());
    await carries.run(request, () => question.ask({ ...opened, request }, minContextSlot));
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

/** Something answered. */
export interface NodeAnswer {
  readonly kind: 'answer';
  readonly status: number;
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Why the body was not read, as in "answered with …"; the text is empty then. */
  readonly unread?: string;
}

/** No answer came, or none to its end. */
export interface NodeSilence {
  readonly kind: 'failure';
  /** Begins with a small letter or a host, and has no full stop. */
  readonly reason: string;
  readonly hint?: string;
  readonly retryable: boolean;
  readonly cause: unknown;
}

/** What one exchange may take. */
interface ExchangeTerms {
  /** From dialling to the last byte. */
  readonly timeoutMs: number;
  /** Of the body of the answer; what goes on beyond it is not kept. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** One node, and how it is reached. */
export interface RpcNode {
  readonly address: NodeAddress;
  /** Posts a JSON body. @throws `ERR_INTERRUPTED` as soon as the signal is aborted. */
  post(body: string, terms: ExchangeTerms): Promise<NodeAnswer | NodeSilence>;
}
