/** Options that several commands have, and the parsers of option values: amounts, times, ids, scopes, keys. */
import { type Argument, Option } from '@commander-js/extra-typings';
import { isIdempotencyKey } from '../contract/headers.js';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../contract/limits.js';
import { FlywheelError, isFlywheelError, usageError } from '../errors/flywheel-error.js';
import { type Address, isAddress } from '../values/address.js';
import { isUuid, type Uuid } from '../values/ids.js';
import { MAX_PROOF_TYPE_LENGTH, SCOPES, type Scope } from '../values/key-terms.js';
import { isoTime, parseTime, utcDay } from '../values/time.js';
import { parseTokenAmount, SOL_DECIMALS } from '../values/token-amount.js';
import { inputError } from './input/read-input.js';
import type { KeyOrigin } from './journal/journal.js';
import { shellLine } from './shell-line.js';

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];

const unexpected = (flag: string, expected: string, text: string): FlywheelError =>
  inputError(flag, `expected ${expected}, got ${JSON.stringify(text.slice(0, 60))}`);

export function addressOption(flag: string, text: string): Address {
  if (isAddress(text)) return text;
  throw unexpected(flag, 'a base58 address of 32 bytes', text);
}

/** `--max-wait <seconds>` → `--max-wait`, `-p, --profile <name>` → `--profile`. */
export const longFlag = (flags: string): string => /--[a-z-]+/.exec(flags)?.[0] ?? flags;

/** @param read - throws an error that names the flag; never returns `null`, which commander turns into an empty text */
const readOption = <const Usage extends string, Value>(
  flags: Usage,
  help: string,
  read: (flag: string, text: string) => Value,
) => new Option(flags, help).argParser<Value>((text) => read(longFlag(flags), text));

const DECIMAL = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

function readDecimal(flag: string, text: string): string {
  if (DECIMAL.test(text) && text.length <= 60) return text;
  throw unexpected(flag, 'a decimal number such as 12.5', text);
}

/** Zero is allowed. */
export const decimal = <const Usage extends string>(flags: Usage, help: string) =>
  readOption(flags, help, readDecimal);

export const decimalOrNone = <const Usage extends string>(flags: Usage, help: string) =>
  readOption(flags, help, (flag, text) => (text === 'none' ? text : readDecimal(flag, text)));

/** SOL → lamports; zero is allowed. */
export const lamports = <const Usage extends string>(flags: Usage, help: string) =>
  readOption(flags, help, (flag, text) => {
    if (Number(readDecimal(flag, text)) === 0) return 0n;
    try {
      return parseTokenAmount(text, SOL_DECIMALS);
    } catch (cause) {
      if (!isFlywheelError(cause)) throw cause;
      throw inputError(flag, cause.message.replace(/\.$/, ''), cause);
    }
  });

/** @throws `ERR_INPUT_INVALID` */
export function readInteger(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^[0-9]{1,9}$/.test(text) && value >= least && value <= most) return value;
  throw unexpected(flag, `a whole number from ${least} to ${most}`, text);
}

export const integer = <const Usage extends string>(
  flags: Usage,
  help: string,
  least: number,
  most: number,
) => readOption(flags, help, (flag, text) => readInteger(flag, text, least, most));

/** Repeatable; without duplicates. */
export const proofTypes = <const Usage extends string>(flags: Usage, help: string) =>
  new Option(flags, help).argParser((text, before: readonly string[] = []) => {
    if (text !== '' && text.length <= MAX_PROOF_TYPE_LENGTH) return [...new Set([...before, text])];
    throw inputError(longFlag(flags), `expected 1 to ${MAX_PROOF_TYPE_LENGTH} characters`);
  });

const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000, d: DAY_MS };
const DURATION = /^([0-9]{1,6})(s|min|h|d)$/;
const MAX_MS = 3_650 * DAY_MS;

/** `90s`, `30min`, `24h` or `7d` → milliseconds; `0` → 0. */
export const duration = <const Usage extends string>(flags: Usage, help: string) =>
  readOption(flags, help, (flag, text) => {
    const [, count, unit] = DURATION.exec(text) ?? [];
    const ms = text === '0' ? 0 : Number(count) * (UNITS_MS[unit ?? ''] ?? Number.NaN);
    if (ms <= MAX_MS) return ms;
    throw unexpected(flag, 'a duration such as 30min, 24h or 7d, at most ten years', text);
  });

const NAMED_DAYS: Readonly<Record<string, number>> = { today: 0, yesterday: 1 };

/** A time ago (`24h`), or midnight UTC of a named day; `undefined` for other text. */
function relativeTime(text: string, nowMs: number): number | undefined {
  const days = NAMED_DAYS[text];
  if (days !== undefined) return Date.parse(utcDay(nowMs - days * DAY_MS));
  const [, count = '', unit = ''] = /^([1-9]\d{0,5})(min|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? undefined : nowMs - Number(count) * unitMs;
}

/**
 * @returns ISO text in UTC; a date without a time is midnight UTC
 * @throws `ERR_INPUT_INVALID`
 */
export function timeOption(flag: string, text: string | undefined, nowMs: number): string | undefined {
  if (text === undefined) return undefined;
  const timeMs = relativeTime(text, nowMs) ?? parseTime(text);
  if (timeMs !== undefined) return isoTime(timeMs);
  throw unexpected(flag, '24h, yesterday, 2026-01-31 or 2026-01-31T18:00:00Z', text);
}

export const SCOPE_OPTION = new Option(
  '--scope <scope>',
  'what the key may do (repeatable; default: burn and airdrop)',
)
  .choices(SCOPES)
  .argParser((scope, before: readonly Scope[] = []) => [...before, scope as Scope]);

/** Without duplicates; all scopes if none is given. */
export const scopesOrAll = (given: readonly Scope[] = []): readonly Scope[] =>
  given.length === 0 ? SCOPES : SCOPES.filter((scope) => given.includes(scope));

/** @throws `ERR_INPUT_INVALID` unless the id is a UUID */
export function parseBatchId(id: string): Uuid {
  if (!isUuid(id))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `Expected a batch id (UUID), got ${JSON.stringify(id.slice(0, 64))}.`,
      id.endsWith('.json')
        ? { hint: `An approval file has the id: jq -r '.batchId // .batch.id' ${shellLine([id])}` }
        : {},
    );
  return id.toLowerCase() as Uuid;
}

export const KEYPAIR_OPTION = new Option(
  '--keypair <file>',
  "owner's keypair file, or - (default: FLYWHEEL_KEYPAIR, then the profile's)",
);

export const WALLET_OPTION = new Option(
  '--wallet',
  'sign and send with the Solana wallet of your browser, which pays the fee',
).conflicts(['keypair', 'out']);

export const EXPECT_OPTION = new Option(
  '--expect <file>',
  'refuse unless the batch equals this pipelines file or digest (sha256:…)',
);

/** Takes choices in any case. @param name - for the refusal */
export function readChoices(taken: Option | Argument, name: string, hint: string): void {
  const { argChoices, parseArg } = taken as Option;
  if (argChoices === undefined) return;
  taken.argParser((text: string, before: unknown) => {
    const choice = argChoices.find((each) => each.toLowerCase() === text.toLowerCase());
    if (choice !== undefined) return parseArg?.(choice, before);
    const expected = `${argChoices.slice(0, -1).join(', ')} or ${argChoices.at(-1)}`;
    const got = JSON.stringify(text.slice(0, 60));
    throw new FlywheelError('ERR_USAGE', `${name}: expected ${expected}, got ${got}.`, { hint });
  });
}

export type InputFormat = 'json' | 'ndjson' | 'csv';

const FORMAT = [
  '--format <format>',
  'format of the file (default: csv for .csv and .tsv, else json)',
] as const;

/** For burns files. */
export const FORMAT_OPTION = new Option(...FORMAT).choices(['json', 'ndjson', 'csv'] as const);

/** For pipelines files. */
export const TABLE_FORMAT_OPTION = new Option(...FORMAT).choices(['json', 'csv'] as const);

export const COLUMN_OPTION = new Option(
  '--column <field=name>',
  'CSV column of a field, such as amount=Tokens (repeatable)',
).argParser(addColumn);

export type Columns = ReadonlyMap<string, string>;

function addColumn(text: string, before: Columns | undefined): Columns {
  const at = text.indexOf('=');
  const field = text.slice(0, at);
  const name = text.slice(at + 1);
  if (at < 1 || name === '')
    throw usageError(
      `--column: expected field=name, got ${JSON.stringify(text)}.`,
      'Example: --column amount=Tokens. `flywheel help files` lists the fields.',
    );
  if (before?.has(field) === true) throw usageError(`--column names ${JSON.stringify(field)} twice.`);
  return new Map([...(before ?? []), [field, name]]);
}

/** @param fallback - source of the default key. @param value - `uuid` if the key has to be a UUID */
export const idempotencyKeyOption = (fallback: string, value: 'key' | 'uuid' = 'key') =>
  new Option(
    `--idempotency-key <${value}>`,
    `run the request at most once under this key (default: ${fallback})`,
  );

/** @throws `ERR_USAGE` for a malformed key */
export function parseIdempotencyKey(
  key: string | undefined,
  rule: 'uuid' | 'text' = 'text',
): string | undefined {
  if (key === undefined) return undefined;
  if (rule === 'uuid' && !isUuid(key))
    throw usageError(`--idempotency-key must be a UUID, got ${JSON.stringify(key.slice(0, 64))}.`);
  if (!isIdempotencyKey(key)) {
    throw usageError(`--idempotency-key takes 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters.`);
  }
  // UUIDs that differ only in case are the same key.
  return isUuid(key) ? key.toLowerCase() : key;
}

export const AGAIN_OPTION = new Option(
  '--again',
  'send the whole file again, also what has landed',
).conflicts(['rest', 'idempotencyKey']);

export const REST_OPTION = new Option(
  '--rest',
  'send only what has not landed; the file may have new entries',
);

export const ALLOW_CHANGED_OPTION = new Option(
  '--allow-changed',
  'also send changed entries in full, on top of what landed',
);

/** How a file is run: under which key, once or again, completely or only the rest. */
export interface HowOften {
  readonly origin: KeyOrigin;
  readonly again: boolean;
  readonly rest: boolean;
  readonly allowChanged: boolean;
}

interface OnceOptions {
  readonly idempotencyKey?: string;
  readonly again?: true;
  readonly rest?: true;
  readonly allowChanged?: true;
}

/** @throws `ERR_USAGE` for a malformed key */
export function howOften(options: OnceOptions, rule: 'uuid' | 'text' = 'text'): HowOften {
  const key = parseIdempotencyKey(options.idempotencyKey, rule);
  const { again = false, rest = false, allowChanged = false } = options;
  return {
    origin: key === undefined ? { from: 'content' } : { from: 'user', key },
    again,
    rest,
    allowChanged,
  };
}
