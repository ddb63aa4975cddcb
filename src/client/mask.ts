/** Removes the API key from everything that a service could send back. Every text that leaves the client goes through here. */
import { FlywheelError, type FlywheelErrorOptions } from '../errors/flywheel-error.js';
import { HIDDEN_CHARACTERS, withoutHidden } from '../values/text.js';

export type Mask = (text: string) => string;

/** A shorter key would match unrelated words. */
const MIN_KEY_LENGTH = 4;
const MASKED = '***';

const noMask: Mask = (text) => text;

const asCodePoint = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;

/** Also matches a text with invisible characters in between. */
const looseSource = (text: string): string => Array.from(text, asCodePoint).join(`[${HIDDEN_CHARACTERS}]*`);

/** Mask before truncating, or a part of the key may remain. */
export function createMask(key: string | undefined): Mask {
  if (key === undefined || key.length < MIN_KEY_LENGTH) return noMask;
  const forms = [...new Set([key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)])];
  // Longest first, because one form may contain another.
  forms.sort((a, b) => b.length - a.length);
  return (text) => {
    const visible = withoutHidden(text);
    if (!forms.some((form) => visible.includes(form))) return text;
    return text.replace(new RegExp(forms.map(looseSource).join('|'), 'gu'), MASKED);
  };
}

export function maskValue<Value>(value: Value, mask: Mask): Value {
  const masked = (one: unknown): unknown => {
    if (typeof one === 'string') return mask(one);
    if (Array.isArray(one)) return one.map(masked);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, inner]) => [mask(name), masked(inner)]));
  };
  return mask === noMask ? value : (masked(value) as Value);
}

/** FLYWHEEL_DEBUG prints causes, so they are masked too. */
function maskCause(cause: unknown, mask: Mask): unknown {
  if (!(cause instanceof Error)) return cause;
  const text = `${cause.message} ${cause.stack ?? ''}`;
  if (mask(text) === text && cause.cause === undefined) return cause;
  const masked = new FlywheelError('ERR_INTERNAL', mask(cause.message), {
    ...(cause.cause === undefined ? {} : { cause: maskCause(cause.cause, mask) }),
  });
  masked.stack = mask(cause.stack ?? '');
  return masked;
}

export function maskError(error: FlywheelError, mask: Mask): FlywheelError {
  if (mask === noMask) return error;
  const { hint, requestId, foreignCode, cause } = error.options;
  const options: FlywheelErrorOptions = {
    ...error.options,
    ...(hint === undefined ? {} : { hint: mask(hint) }),
    ...(requestId === undefined ? {} : { requestId: mask(requestId) }),
    ...(foreignCode === undefined ? {} : { foreignCode: mask(foreignCode) }),
    ...(cause === undefined ? {} : { cause: maskCause(cause, mask) }),
  };
  const masked = new FlywheelError(error.code, mask(error.message), options);
  if (error.stack !== undefined) masked.stack = mask(error.stack);
  return masked;
}
