/** Classifies failed requests and words their errors. */
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError, type FlywheelErrorOptions } from '../../errors/flywheel-error.js';
import { sentenceOf } from '../../transport/connection-failure.js';
import { type HttpAnswer, type HttpFailure, retryAfterMs } from '../../transport/transport.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import type { RpcNode } from './ask.js';

export interface Trouble {
  /** Kinds other than `other` change how the pool goes on. */
  readonly kind: 'limited' | 'behind' | 'refused' | 'other';
  readonly error: FlywheelError;
  readonly retryable: boolean;
  readonly waitMs?: number | undefined;
}

interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data: JsonValue | undefined;
}

const MAX_SHOWN_LENGTH = 200;

/** Codes of agave's `RpcCustomError`, and HTTP-like codes of providers. */
const CODE = {
  methodNotFound: -32_601,
  internal: -32_603,
  nodeUnhealthy: -32_005,
  slotNotReached: -32_016,
} as const;
const LIMIT_CODES: ReadonlySet<number> = new Set([429, -32_429]);
const NOT_ALLOWED_CODES: ReadonlySet<number> = new Set([401, 403, -32_401, -32_403, -32_052]);
const NOT_ALLOWED_STATUSES: ReadonlySet<number> = new Set([401, 402, 403]);
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 500, 502, 503, 504]);
const RATE_LIMIT_STATUS = 429;

export interface Asked {
  readonly node: RpcNode;
  readonly method: string;
}

const named = ({ node }: Asked): string => `The RPC node ${node.address.host}`;

const LATER = 'Run the command again later, or use another node: --rpc-url.';

/** @param sentence - without a full stop. */
const trouble = (
  sentence: string,
  options: FlywheelErrorOptions,
  { kind = 'other', retryable = false, ...more }: Partial<Trouble> = {},
): Trouble => ({
  ...{ kind, retryable, error: new FlywheelError('ERR_UNAVAILABLE', `${sentence}.`, options) },
  ...more,
});

const limited = (asked: Asked, code: number, waitMs: number | undefined): Trouble =>
  trouble(
    `${named(asked)} limits the request rate (${code})`,
    { hint: 'Run the command again later, set a longer --max-wait, or add nodes with --rpc-url.' },
    { kind: 'limited', retryable: true, waitMs },
  );

const notAllowed = (asked: Asked, code: number): Trouble =>
  trouble(`${named(asked)} does not allow ${asked.method} (${code})`, {
    exit: EXIT.auth,
    hint: 'Check the API key in the address of the RPC node and its permissions.',
  });

export const behind = (asked: Asked, slots: number | undefined): Trouble =>
  trouble(
    `${named(asked)} is behind the cluster${slots === undefined ? '' : ` by ${slots} slots`}`,
    { hint: 'Set a longer --max-wait, or use another node: --rpc-url.' },
    { kind: 'behind', retryable: true },
  );

const failing = (asked: Asked, how: string, waitMs: number | undefined): Trouble =>
  trouble(`${named(asked)} ${how}`, { hint: LATER }, { retryable: true, waitMs });

/** @param how - completes "it answered …". */
const notSolana = (asked: Asked, how: string): Trouble =>
  trouble(`${asked.node.address.host} is not a Solana RPC node: it answered ${asked.method} ${how}`, {
    hint: 'Check the address of the RPC node and its path: `flywheel doctor`',
  });

/** @param what - completes "answered … with". */
export const unbelievable = (asked: Asked, what: string): Trouble => ({
  kind: 'other',
  error: new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `${named(asked)} answered ${asked.method} with ${shown(asked, what)}.`,
    { hint: 'Use another node: --rpc-url.' },
  ),
  retryable: false,
});

const shown = ({ node }: Asked, text: string): string => node.address.hide(text).slice(0, MAX_SHOWN_LENGTH);

export function unreachable(asked: Asked, { reason, hint = LATER, retryable, cause }: HttpFailure): Trouble {
  const { host } = asked.node.address;
  const isHost = reason.startsWith(host);
  return trouble(
    isHost ? `The RPC node ${reason}` : sentenceOf(reason, host),
    { cause, hint },
    { retryable },
  );
}

function describeText(text: string, contentType = ''): string {
  if (text.trim() === '') return 'with nothing';
  if (/html/i.test(contentType) || /^\s*<(?:!doctype|html)/i.test(text)) return 'with an HTML page';
  return 'with something that is not JSON';
}

export function statedError(json: JsonValue | undefined): RpcErrorBody | undefined {
  const error = isJsonObject(json) ? json['error'] : undefined;
  if (!isJsonObject(error)) return undefined;
  const { code, message, data } = error;
  if (typeof code !== 'number') return undefined;
  return { code, message: typeof message === 'string' ? message : '', data };
}

const slotsBehind = ({ data }: RpcErrorBody): number | undefined => {
  const slots = isJsonObject(data) ? data['numSlotsBehind'] : undefined;
  return typeof slots === 'number' && Number.isSafeInteger(slots) && slots > 0 ? slots : undefined;
};

function troubleOf(asked: Asked, stated: RpcErrorBody, waitMs: number | undefined): Trouble {
  const { code, message } = stated;
  if (LIMIT_CODES.has(code)) return limited(asked, code, waitMs);
  if (NOT_ALLOWED_CODES.has(code)) return notAllowed(asked, code);
  if (code === CODE.nodeUnhealthy || code === CODE.slotNotReached) return behind(asked, slotsBehind(stated));
  if (code === CODE.methodNotFound) return notSolana(asked, `that it does not know this method (${code})`);
  const said = message === '' ? '' : `: ${shown(asked, message).replace(/\.$/, '')}`;
  if (code === CODE.internal) return failing(asked, `failed at ${asked.method} (${code})${said}`, waitMs);
  return trouble(`${named(asked)} refuses ${asked.method} (${code})${said}`, {}, { kind: 'refused' });
}

/**
 * Classifies an answer without a result. HTTP status 429 and the authorization statuses come first, because a proxy in front of
 * the node answers in its own format.
 */
export function withoutResult(
  asked: Asked,
  answer: HttpAnswer,
  json: JsonValue | undefined,
  nowMs: number,
): Trouble {
  const { status, text, headers } = answer;
  const waitMs = retryAfterMs(headers, nowMs);
  const stated = statedError(json);
  if (status === RATE_LIMIT_STATUS) return limited(asked, status, waitMs);
  if (NOT_ALLOWED_STATUSES.has(status)) return notAllowed(asked, status);
  if (stated !== undefined) return troubleOf(asked, stated, waitMs);
  if (TRANSIENT_STATUSES.has(status)) return failing(asked, `answered with the status ${status}`, waitMs);
  if (status >= 300 && status < 400)
    return notSolana(asked, `with a redirect (${status}), which is not followed`);
  if (status !== 200) return notSolana(asked, `with the status ${status}`);
  return notSolana(
    asked,
    json === undefined ? describeText(text, headers['content-type']) : 'with JSON with another structure',
  );
}
