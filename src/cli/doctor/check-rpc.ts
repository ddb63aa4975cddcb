/** Checks of `flywheel doctor` on the user's RPC nodes: each node by itself, without the service. */

import type { NodeReport, NodeState } from '../../chain/node-address.js';
import { requireQuorum } from '../../chain/node-address.js';
import type { Settings } from '../../compose/settings.js';
import { EXIT } from '../../errors/exit-codes.js';
import { configError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { check, type Finding, failed } from './check-files.js';

const NAME = 'rpc';
/** The time of a chain is an agreement of its validators, and may be wrong by this much. */
const MAX_CLOCK_SKEW_MS = 60_000;

function describe({ address, state }: NodeReport, source: string): string {
  if (state === null) return address.shown;
  const { cluster, genesisHash, slot, slotsBehind, version, latencyMs } = state;
  const behind = slotsBehind === 0 ? '' : `, ${slotsBehind} behind`;
  return [
    `${address.shown} (${source})`,
    cluster ?? `a cluster of its own, genesis ${genesisHash}`,
    `slot ${slot}${behind}`,
    `version ${version}`,
    'Squads program found',
    `${latencyMs} ms`,
  ].join(', ');
}

function findingOf(report: NodeReport, { rpcUrl: { source } }: Settings): Finding {
  const { address, state, problem } = report;
  const known = state === null ? {} : { rpc: { url: address, source, ...state } };
  if (problem !== null) return { ...failed(NAME, problem), ...known };
  return { name: NAME, ok: true, detail: describe(report, source), exit: EXIT.done, ...known };
}

function clockText({ cluster, clockAheadMs }: NodeState & { readonly clockAheadMs: number }): string {
  const seconds = Math.round(clockAheadMs / 1_000);
  if (Math.abs(clockAheadMs) <= MAX_CLOCK_SKEW_MS) return `agrees with the chain (${seconds} s ahead)`;
  // A private cluster may produce blocks only when there are transactions.
  if (cluster === null && seconds > 0)
    return `${seconds} s ahead of the last block: the cluster produces no blocks`;
  const apart = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'}`;
  throw configError(
    `The clock of this machine is ${apart} the time of the chain.`,
    'Synchronize the clock: `timedatectl set-ntp true`. If the clock is right, the cluster produces no blocks.',
  );
}

/** Compares this clock with the newest time that a node reports. @returns nothing if no node reports a time */
async function checkClock(reports: readonly NodeReport[]): Promise<readonly Finding[]> {
  const told = reports
    .flatMap(({ state }) =>
      state?.clockAheadMs == null ? [] : [{ ...state, clockAheadMs: state.clockAheadMs }],
    )
    .sort((left, right) => left.clockAheadMs - right.clockAheadMs);
  const [furthest] = told;
  return furthest === undefined ? [] : [await check('chain clock', () => clockText(furthest))];
}

/** Does a remote API, a database, or a data directory on a cluster use these nodes? The embedded ledger uses none. */
async function areUsed({ context }: Session, settings: Settings): Promise<boolean> {
  const { apiUrl, rpcUrl, database } = settings;
  if (apiUrl.value !== null || database.value !== null) return true;
  if (rpcUrl.source !== 'environment') return rpcUrl.source === 'flag' || rpcUrl.source === 'data directory';
  return (await context.dataChain(settings))?.kind === 'cluster';
}

/** One finding per node, one for the clock, and one for a quorum above 1; none if no chain is read through the nodes. */
export async function checkRpc(session: Session): Promise<readonly Finding[]> {
  const { context } = session;
  const settings = await context.effectiveSettings(session.settings);
  const { rpcUrl, rpcQuorum } = settings;
  if (rpcUrl.value.length === 0 && rpcQuorum.value === 1) return [];
  if (!(await areUsed(session, settings))) return [];
  const quorum =
    rpcQuorum.value === 1
      ? []
      : [
          await check('rpc quorum', () => {
            requireQuorum(rpcUrl.value, rpcQuorum);
            return `${rpcQuorum.value} of ${rpcUrl.value.length} must agree`;
          }),
        ];
  const reports = await context.checkRpc(settings);
  return [...reports.map((report) => findingOf(report, settings)), ...quorum, ...(await checkClock(reports))];
}
