/** Classifies failed requests and words their errors. */
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError, type FlywheelErrorOptions } from '../../errors/flywheel-error.js';
import { sentenceOf } from '../../transport/connection-failure.js';
import { type HttpAnswer, type HttpFailure, retryAfterMs } from '../../transport/transport.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import type { RpcNode } from './ask.js';

/** Why a node gave no answer. */
export class Trouble extends Error {
  constructor(
    readonly error: FlywheelError,
    /** Kinds other than `other` change how the pool goes on. */
    readonly kind: 'limited' | 'behind' | 'refused' | 'other' = 'other',
    readonly retryable = false,
    readonly waitMs?: number,
  ) {
    super(error.message);
  }
}

const MAX_SHOWN_LENGTH = 200;

/** HTTP statuses, codes of agave's `RpcCustomError`, and HTTP-like codes of providers. */
const LIMITED: ReadonlySet<number> = new Set([429, -32_429]);
const NOT_ALLOWED: ReadonlySet<number> = new Set([401, 402, 403, -32_401, -32_403, -32_052]);
/** The node is unhealthy, or has not reached the slot. */
const BEHIND: ReadonlySet<number> = new Set([-32_005, -32_016]);
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 500, 502, 503, 504]);
const INTERNAL = -32_603;
const METHOD_NOT_FOUND = -32_601;

export interface Asked {
  readonly node: RpcNode;
  readonly method: string;
}

const named = ({ node }: Asked): string => `The RPC node ${node.address.host}`;

const shown = ({ node }: Asked, text: string): string => node.address.hide(text).slice(0, MAX_SHOWN_LENGTH);

const LATER = 'Run the command again later, or use another node: --rpc-url.';

/** @param sentence - without a full stop. */
const trouble = (
  sentence: string,
  options: FlywheelErrorOptions,
  { kind, retryable, waitMs }: Partial<Trouble> = {},
): Trouble =>
  new Trouble(new FlywheelError('ERR_UNAVAILABLE', `${sentence}.`, options), kind, retryable, waitMs);

export const behind = (asked: Asked, slots: number | undefined): Trouble =>
  trouble(
    `${named(asked)} is behind the cluster${slots === undefined ? '' : ` by ${slots} slots`}`,
    { hint: 'Set a longer --max-wait, or use another node: --rpc-url.' },
    { kind: 'behind', retryable: true },
  );

/** @param how - completes "it answered …". */
const notSolana = (asked: Asked, how: string): Trouble =>
  trouble(`${asked.node.address.host} is not a Solana RPC node: it answered ${asked.method} ${how}`, {
    hint: 'Check the address of the RPC node and its path: `flywheel doctor`',
  });

/** @param what - completes "answered … with". */
export const unbelievable = (asked: Asked, what: string): Trouble =>
  new Trouble(
    new FlywheelError(
      'ERR_RESPONSE_INVALID',
      `${named(asked)} answered ${asked.method} with ${shown(asked, what)}.`,
      { hint: 'Use another node: --rpc-url.' },
    ),
  );

export function unreachable(asked: Asked, { reason, hint = LATER, retryable, cause }: HttpFailure): Trouble {
  const { host } = asked.node.address;
  const sentence = reason.startsWith(host) ? `The RPC node ${reason}` : sentenceOf(reason, host);
  return trouble(sentence, { cause, hint }, { retryable });
}

export function statedError(json: JsonValue | undefined) {
  const error = isJsonObject(json) ? json['error'] : undefined;
  if (!isJsonObject(error)) return undefined;
  const { code, message, data } = error;
  if (typeof code !== 'number') return undefined;
  const slots = isJsonObject(data) ? data['numSlotsBehind'] : undefined;
  const isCount = typeof slots === 'number' && Number.isSafeInteger(slots) && slots > 0;
  return {
    code,
    message: typeof message === 'string' ? message : '',
    slotsBehind: isCount ? slots : undefined,
  };
}

/** Classifies an answer without a result: by the error that the node states, else by the HTTP status. */
export function withoutResult(
  asked: Asked,
  answer: HttpAnswer,
  json: JsonValue | undefined,
  nowMs: number,
): Trouble {
  const { status } = answer;
  const { method } = asked;
  const waitMs = retryAfterMs(answer.headers, nowMs);
  const stated = statedError(json);
  // A proxy in front of the node refuses in its own format, so its status comes first.
  const isRefused = LIMITED.has(status) || NOT_ALLOWED.has(status);
  const code = isRefused ? status : (stated?.code ?? status);
  if (LIMITED.has(code))
    return trouble(
      `${named(asked)} limits the request rate (${code})`,
      { hint: 'Run the command again later, set a longer --max-wait, or add nodes with --rpc-url.' },
      { kind: 'limited', retryable: true, waitMs },
    );
  if (NOT_ALLOWED.has(code))
    return trouble(`${named(asked)} does not allow ${method} (${code})`, {
      exit: EXIT.auth,
      hint: 'Check the API key in the address of the RPC node and its permissions.',
    });
  if (BEHIND.has(code)) return behind(asked, stated?.slotsBehind);
  if (code === METHOD_NOT_FOUND) return notSolana(asked, `that it does not know this method (${code})`);
  const said = stated?.message ? `: ${shown(asked, stated.message).replace(/\.$/, '')}` : '';
  if (code === INTERNAL || (stated === undefined && TRANSIENT_STATUSES.has(status))) {
    const how = stated === undefined ? `answered with the status ${status}` : `failed at ${method} (${code})`;
    return trouble(`${named(asked)} ${how}${said}`, { hint: LATER }, { retryable: true, waitMs });
  }
  if (stated !== undefined)
    return trouble(`${named(asked)} refuses ${method} (${code})${said}`, {}, { kind: 'refused' });
  return notSolana(asked, describeAnswer(answer, json));
}

function describeAnswer({ status, text, headers }: HttpAnswer, json: JsonValue | undefined): string {
  if (status >= 300 && status < 400) return `with a redirect (${status}), which is not followed`;
  if (status !== 200) return `with the status ${status}`;
  if (json !== undefined) return 'with JSON with another structure';
  if (text.trim() === '') return 'with nothing';
  const isHtml = /html/i.test(headers['content-type'] ?? '') || /^\s*<(?:!doctype|html)/i.test(text);
  return isHtml ? 'with an HTML page' : 'with something that is not JSON';
}
