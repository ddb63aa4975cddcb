/** The whole service on clusters that lose, delay, double, hang up and refuse; forks and old answers have tests of their own. */
import type { FaultRule } from '../../src/rpc-node/faults/fault-rules.js';
import { serviceContract } from '../contract/service/service.js';
import { openOnCluster } from '../support/service.js';

const SEED = Number(process.env['CLUSTER_SEED'] ?? 1);

const WORLDS: readonly [string, readonly FaultRule[]][] = [
  [
    'loses and delays what it is sent',
    [
      { fault: 'drop', rate: 0.2, times: 6 },
      { fault: 'late', rate: 0.5, slots: 5 },
    ],
  ],
  [
    'doubles and shuffles, and tells of no landing',
    [
      { fault: 'duplicate', rate: 0.5 },
      { fault: 'reorder', rate: 0.5 },
      { fault: 'mute', rate: 1 },
    ],
  ],
  [
    'hangs up and is busy',
    [
      { fault: 'hangup', rate: 0.2, times: 20 },
      { fault: 'unavailable', rate: 0.2, times: 20 },
      { fault: 'busy', rate: 0.1, times: 3, seconds: 0 },
    ],
  ],
];

for (const [what, faults] of WORLDS)
  serviceContract(`on a cluster that ${what} (seed ${SEED})`, () => openOnCluster(faults, SEED));
