/** How transactions are sent to a cluster: flag > environment > the data directory on a cluster > profile > default. */
import { MAX_PRIORITY_FEE_LAMPORTS } from '../../approval/check-vote.js';
import { type Commitment, DEFAULT_MAX_PRIORITY_FEE_LAMPORTS } from '../../chain/chain.js';
import type { StoredSending } from '../../chain/stored-sending.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Ambient } from '../context.js';
import type { GlobalFlags } from './resolve.js';
import type { Setting, Settings, Source } from './settings.js';

/** The settings of it. */
export type Sending = Pick<Settings, 'maxPriorityFee' | 'commitment'>;

/** One of them: where it is looked for, and what is taken for it. */
interface Rule<Value> {
  readonly flag: string;
  readonly variable: string;
  readonly field: keyof StoredSending;
  /** What it takes, as in "takes …". */
  readonly takes: string;
  readonly fallback: Value;
  read(text: string): Value | undefined;
}

/** A vote may pay no more than this, so neither does anything else. */
const MOST_LAMPORTS = Number(MAX_PRIORITY_FEE_LAMPORTS);

const MAX_PRIORITY_FEE: Rule<number> = {
  flag: '--max-priority-fee',
  variable: 'FLYWHEEL_MAX_PRIORITY_FEE',
  field: 'maxPriorityFee',
  takes: `lamports a transaction from 0 to ${MOST_LAMPORTS}`,
  fallback: Number(DEFAULT_MAX_PRIORITY_FEE_LAMPORTS),
  read: (text) => (/^\d{1,8}$/.test(text) && Number(text) <= MOST_LAMPORTS ? Number(text) : undefined),
};

const COMMITMENT: Rule<Commitment> = {
  flag: '--commitment',
  variable: 'FLYWHEEL_COMMITMENT',
  field: 'commitment',
  takes: '"confirmed" or "finalized"',
  fallback: 'confirmed',
  read: (text) => (text === 'confirmed' || text === 'finalized' ? text : undefined),
};

/** Where a value stands, strongest first. */
interface Place {
  readonly source: Source;
  readonly name: string;
  readonly text: string | undefined;
}

function find<Value>(rule: Rule<Value>, places: readonly Place[]): Setting<Value> {
  const place = places.find(({ text }) => text !== undefined && text !== '');
  if (place?.text === undefined) return { value: rule.fallback, source: 'default' };
  const value = rule.read(place.text);
  if (value !== undefined) return { value, source: place.source };
  throw new FlywheelError(
    place.source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${place.name} takes ${rule.takes}, got ${JSON.stringify(place.text)}.`,
  );
}

const storedText = (stored: StoredSending, field: keyof StoredSending): string | undefined =>
  stored[field] === undefined ? undefined : String(stored[field]);

/** @throws `ERR_USAGE` or `ERR_CONFIG_INVALID` naming the value and where it came from. */
export function resolveSending(
  { env }: Pick<Ambient, 'env'>,
  flags: GlobalFlags,
  profile: StoredSending,
): Sending {
  const places = (rule: Rule<unknown>, typed: string | undefined): readonly Place[] => [
    { source: 'flag', name: rule.flag, text: typed },
    { source: 'environment', name: rule.variable, text: env[rule.variable] },
    { source: 'profile', name: `${rule.field} of the profile`, text: storedText(profile, rule.field) },
  ];
  return {
    maxPriorityFee: find(MAX_PRIORITY_FEE, places(MAX_PRIORITY_FEE, flags.maxPriorityFee)),
    commitment: find(COMMITMENT, places(COMMITMENT, flags.commitment)),
  };
}

/** The settings as a data directory on a cluster has them, unless they were given for this run. @throws `ERR_CONFIG_INVALID` */
export function withStoredSending(settings: Sending, stored: StoredSending, where: string): Sending {
  const own = <Value>(rule: Rule<Value>, setting: Setting<Value>): Setting<Value> => {
    const text = storedText(stored, rule.field);
    if (text === undefined || setting.source === 'flag' || setting.source === 'environment') return setting;
    return find(rule, [{ source: 'data directory', name: `${where}: ${rule.field}`, text }]);
  };
  return {
    maxPriorityFee: own(MAX_PRIORITY_FEE, settings.maxPriorityFee),
    commitment: own(COMMITMENT, settings.commitment),
  };
}

const typed = <Value>({ value, source }: Setting<Value>): Value | undefined =>
  source === 'flag' ? value : undefined;

/** Those that were typed, as they are stored. */
export function typedSending(settings: Sending): StoredSending {
  const stored = {
    maxPriorityFee: typed(settings.maxPriorityFee),
    commitment: typed(settings.commitment),
  };
  return Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== undefined));
}
