/** How transactions are sent to a cluster: option > environment > profile > default. */
import { MAX_PRIORITY_FEE_LAMPORTS } from '../../approval/check-vote.js';
import { type Commitment, DEFAULT_MAX_PRIORITY_FEE_LAMPORTS } from '../../chain/chain.js';
import type { StoredSending } from '../../chain/stored-sending.js';
import type { Setting, Settings } from '../../compose/settings.js';
import { type Places, type Reading, setting } from './find-setting.js';

/** The settings of it. */
export type Sending = Pick<Settings, 'maxPriorityFee' | 'commitment'>;

/** A vote may pay no more than this, so neither does anything else. */
const MOST_LAMPORTS = Number(MAX_PRIORITY_FEE_LAMPORTS);

const MAX_PRIORITY_FEE: Reading<number> = {
  takes: `lamports a transaction from 0 to ${MOST_LAMPORTS}`,
  fallback: Number(DEFAULT_MAX_PRIORITY_FEE_LAMPORTS),
  read: (text) => (/^\d{1,8}$/.test(text) && Number(text) <= MOST_LAMPORTS ? Number(text) : undefined),
};

const COMMITMENT: Reading<Commitment> = {
  takes: '"confirmed" or "finalized"',
  fallback: 'confirmed',
  read: (text) => (text === 'confirmed' || text === 'finalized' ? text : undefined),
};

/** @throws `ERR_USAGE` or `ERR_CONFIG_INVALID` naming the value and where it came from. */
export const resolveSending = (places: Places): Sending => ({
  maxPriorityFee: setting('maxPriorityFee', places, MAX_PRIORITY_FEE),
  commitment: setting('commitment', places, COMMITMENT),
});

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
