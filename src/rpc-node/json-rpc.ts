/** JSON-RPC 2.0 over text: one call or a batch in, the answers out; how text travels is decided elsewhere. */
import type { JsonValue } from '../values/canonical-json.js';
import { parseStrictJson } from '../values/strict-json.js';
import { Call, type Methods, type NodeParts } from './call.js';
import type { CallFault } from './faults/faults.js';
import { toJson } from './json.js';
import { ACCOUNT_METHODS } from './methods/account-methods.js';
import { CHAIN_METHODS } from './methods/chain-methods.js';
import { HISTORY_METHODS } from './methods/history-methods.js';
import { SEND_METHODS } from './methods/send-methods.js';
import { type Options, Params } from './params.js';
import { internalError, invalidRequest, methodNotFound, parseError, RpcError } from './rpc-error.js';

const METHODS: Methods = { ...ACCOUNT_METHODS, ...CHAIN_METHODS, ...HISTORY_METHODS, ...SEND_METHODS };

/** Calls in one batch at most. */
export const MAX_BATCH = 500;
const MAX_VALUES = 50_000;

/** One call as it was read; `error` where it is none. */
export interface Request {
  readonly id: JsonValue;
  readonly method: string;
  readonly params: readonly JsonValue[] | Options;
  /** A call without an id wants no answer. */
  readonly isNotification: boolean;
}

/** What was asked in one text. */
export interface Asked {
  readonly requests: readonly (Request | RpcError)[];
  readonly isBatch: boolean;
}

function readRequest(value: JsonValue): Request | RpcError {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return invalidRequest();
  const { jsonrpc, id, method, params = [] } = value as Options;
  if (jsonrpc !== '2.0' || typeof method !== 'string') return invalidRequest();
  if (typeof params !== 'object' || params === null) return invalidRequest();
  return { id: id ?? null, method, params: params as Request['params'], isNotification: id === undefined };
}

/** Reads a text; never throws. */
export function readAsked(text: string): Asked {
  let value: JsonValue;
  try {
    value = parseStrictJson(text, { maxValues: MAX_VALUES }).value;
  } catch {
    return { requests: [parseError()], isBatch: false };
  }
  if (!Array.isArray(value)) return { requests: [readRequest(value)], isBatch: false };
  const batch = value as readonly JsonValue[];
  if (batch.length === 0) return { requests: [invalidRequest()], isBatch: false };
  if (batch.length > MAX_BATCH)
    return { requests: [invalidRequest(`Batch of more than ${MAX_BATCH} calls`)], isBatch: false };
  return { requests: batch.map(readRequest), isBatch: true };
}

const errorText = (id: JsonValue, { code, message, data }: RpcError): string =>
  toJson({ jsonrpc: '2.0', error: { code, message, ...(data === undefined ? {} : { data }) }, id });

/** The answer with a result. */
export const resultText = (id: JsonValue, result: unknown): string =>
  toJson({ jsonrpc: '2.0', result: result ?? null, id });

/** Runs `work` for its result; whatever it throws becomes the answer. */
export async function answerText(
  id: JsonValue,
  work: () => unknown,
  onFailure: (error: unknown) => void,
): Promise<string> {
  try {
    return resultText(id, await work());
  } catch (error) {
    if (error instanceof RpcError) return errorText(id, error);
    onFailure(error);
    return errorText(id, internalError());
  }
}

/** Answers calls with the methods of a node. */
export class JsonRpc {
  readonly #node: NodeParts;
  readonly #onFailure: (error: unknown) => void;

  /** @param onFailure - hears of what was no fault of the caller. */
  constructor(node: NodeParts, onFailure: (error: unknown) => void) {
    this.#node = node;
    this.#onFailure = onFailure;
  }

  /** What goes wrong with each call of a text. */
  faultsFor({ requests }: Asked): readonly CallFault[] {
    return requests.map((request) =>
      this.#node.faults.forCall(request instanceof RpcError ? '' : request.method),
    );
  }

  /** The text of the answers; empty where none was asked for. @param faults - one a call. */
  async answer({ requests, isBatch }: Asked, faults: readonly CallFault[]): Promise<string> {
    const answers: string[] = [];
    for (const [at, request] of requests.entries()) {
      const answer = await this.#answerOne(request, faults[at]?.lagSlots ?? 0);
      if (answer !== null) answers.push(answer);
      // Between calls others have their turn: a batch may try out hundreds of transactions.
      if (requests.length > 1) await new Promise((resolve) => void setImmediate(resolve));
    }
    return isBatch && answers.length > 0 ? `[${answers.join(',')}]` : answers.join('');
  }

  async #answerOne(request: Request | RpcError, lagSlots: number): Promise<string | null> {
    if (request instanceof RpcError) return errorText(null, request);
    const { id, method, params, isNotification } = request;
    const text = await answerText(id, () => this.#call(method, params, lagSlots), this.#onFailure);
    return isNotification ? null : text;
  }

  #call(method: string, params: Request['params'], lagSlots: number): unknown {
    const known = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
    if (known === undefined) throw methodNotFound();
    if (!Array.isArray(params)) throw invalidRequest('Params are a list');
    this.#node.cluster.refresh();
    return known(new Call(new Params(params as readonly JsonValue[]), this.#node, lagSlots));
  }
}
