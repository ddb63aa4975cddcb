import { describe } from 'vitest';
import { costs } from '../../specification/costs.js';
import { openService } from '../../specification/in-process-service.js';
import { ON_CHAIN, ON_STORE, specification } from '../../specification/suites.js';
import { isLong, SEED, sampleOf } from '../../support/long.js';
import type { FaultRule } from '../../test-cluster/faults.js';

/** Clusters that lose, delay, duplicate, disconnect and refuse; other tests cover forks and old answers. */
const FAULTS: readonly { readonly what: string; readonly faults: readonly FaultRule[] }[] = [
  {
    what: 'loses and delays what it is sent',
    faults: [
      { fault: 'drop', rate: 0.2, times: 6 },
      { fault: 'late', rate: 0.5, slots: 5 },
    ],
  },
  {
    what: 'doubles and shuffles, and tells of no landing',
    faults: [
      { fault: 'duplicate', rate: 0.5 },
      { fault: 'reorder', rate: 0.5 },
    ],
  },
  {
    what: 'hangs up and is busy',
    faults: [
      { fault: 'hangup', rate: 0.2, times: 20 },
      { fault: 'unavailable', rate: 0.2, times: 20 },
      { fault: 'busy', rate: 0.1, times: 3, seconds: 0 },
    ],
  },
];

if (isLong) {
  describe('a service on a cluster', () =>
    specification({ ...ON_CHAIN, costs }, () => openService({ chain: 'cluster' })));
  describe('a service on PostgreSQL and a cluster', () =>
    specification(ON_STORE, () => openService({ store: 'postgres', chain: 'cluster' })));
}
describe.each(sampleOf(FAULTS, 1))(`a service on a cluster that $what (seed ${SEED})`, ({ faults }) =>
  specification(ON_CHAIN, () => openService({ chain: 'cluster', faults, seed: SEED })),
);
