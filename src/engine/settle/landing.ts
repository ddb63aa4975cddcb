/** What has landed in a block that a fork may still take back, as it is written down to be watched. */
import type { TransactionRecord } from '../../chain/chain.js';
import type { NewLanding } from '../../store/records.js';
import { isoTime } from '../../values/time.js';
import type { Landed } from './fate.js';

type Landing = Pick<NewLanding, 'slot' | 'dateLanded' | 'feeLamports'>;

/** Where, when and for how much transactions landed. */
export const landingOf = (records: readonly TransactionRecord[]): Landing => ({
  slot: records.reduce((newest, { slot }) => (slot > newest ? slot : newest), 0n),
  dateLanded: isoTime(records[0]?.blockTimeMs ?? 0),
  feeLamports: records.reduce((sum, { feeLamports }) => sum + feeLamports, 0n),
});

/** The landing of a unit, or `null` where no fork can take it back. */
export const watchedLanding = ({ isFinal, records }: Landed): Landing | null =>
  isFinal ? null : landingOf(records);
