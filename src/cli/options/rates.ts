/** Options that set how often an operation may be called. */
import { OPERATION_LIST, type Operation, type OperationId, type Rate } from '../../contract/operations.js';
import { FlywheelError } from '../../errors/flywheel-error.js';

/** Operations by the words that the command line has for them. */
const BY_WORD: ReadonlyMap<string, Operation> = new Map(
  OPERATION_LIST.map((operation) => [operation.word, operation]),
);

const SECONDS: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3_600 };

/** `burn=100/s`, `init=10/min`, `burn-batch=1/10s`; of one key `burn=100/s@ID`. */
const RATE = /^([a-z-]+)=([1-9][0-9]{0,5})\/([1-9][0-9]{0,4})?(s|min|h)(?:@([0-9a-f-]{36}))?$/;

/** The rate of an operation, of one key only where it has an id. */
interface ParsedRate {
  readonly operation: OperationId;
  readonly keyId: string | undefined;
  readonly rate: Rate;
}

/** What is set, for all keys and for some. */
interface RateOptions {
  readonly rates: Rates;
  /** By the id of the key. */
  readonly keyRates: Readonly<Record<string, Rates>>;
}

type Rates = Partial<Record<OperationId, Rate>>;

const invalid = (text: string): FlywheelError =>
  new FlywheelError(
    'ERR_INPUT_INVALID',
    `--rate: expected an operation and a rate such as burn=100/s or init=10/min, got ${JSON.stringify(text.slice(0, 60))}.`,
    {
      hint: `Operations: ${[...BY_WORD.keys()].join(', ')}; units: s, min, h, or a multiple such as 10s. Add @KEY_ID for one key.`,
    },
  );

function parseRate(text: string): ParsedRate {
  const [, name = '', points, count = '1', unit = '', keyId] = RATE.exec(text) ?? [];
  const operation = BY_WORD.get(name)?.id;
  const seconds = SECONDS[unit];
  if (operation === undefined || seconds === undefined) throw invalid(text);
  return { operation, keyId, rate: { points: Number(points), windowSeconds: Number(count) * seconds } };
}

/** @throws `ERR_INPUT_INVALID` for an operation that is given twice. */
function ratesOf(parsed: readonly ParsedRate[]): Rates {
  const set: Rates = Object.fromEntries(parsed.map(({ operation, rate }) => [operation, rate]));
  if (Object.keys(set).length === parsed.length) return set;
  throw new FlywheelError('ERR_INPUT_INVALID', '--rate names an operation twice.');
}

/**
 * The rates of a repeating option.
 * @throws `ERR_INPUT_INVALID`, also for an operation that is given twice.
 */
export function rateOptions(given: readonly string[] = []): RateOptions {
  const parsed = given.map(parseRate);
  const ids = new Set(parsed.flatMap(({ keyId }) => keyId ?? []));
  const of = (id: string | undefined): Rates => ratesOf(parsed.filter(({ keyId }) => keyId === id));
  return { rates: of(undefined), keyRates: Object.fromEntries([...ids].map((id) => [id, of(id)])) };
}

const UNITS: readonly (readonly [number, string])[] = [
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

function rateText({ points, windowSeconds }: Rate): string {
  const [seconds, unit] = UNITS.find(([size]) => windowSeconds % size === 0) ?? [1, 's'];
  const count = windowSeconds / seconds;
  return `${points}/${count === 1 ? '' : count}${unit}`;
}

/** What holds when nothing is set: `burn=10/s, …`. */
export const DEFAULT_RATES = OPERATION_LIST.map(
  ({ word, rateLimit }) => `${word}=${rateText(rateLimit)}`,
).join(', ');
