/** What `flywheel doctor` says of the user's own RPC nodes, each for itself and apart from the service. */

import type { NodeReport } from '../../chain/node-report.js';
import { EXIT } from '../../errors/exit-codes.js';
import type { Session } from '../command.js';
import { requireQuorum } from '../config/resolve-rpc.js';
import type { Settings } from '../config/settings.js';
import { check, type Finding, failed } from './finding.js';

const NAME = 'rpc';

function describe({ address, state }: NodeReport, source: string): string {
  if (state === null) return address.shown;
  const { cluster, genesisHash, slot, slotsBehind, version, latencyMs } = state;
  const behind = slotsBehind === 0 ? '' : `, ${slotsBehind} behind`;
  return [
    `${address.shown} (${source})`,
    cluster ?? `a cluster of its own, genesis ${genesisHash}`,
    `slot ${slot}${behind}`,
    `version ${version}`,
    'the Squads program is there',
    `${latencyMs} ms`,
  ].join(', ');
}

function findingOf(report: NodeReport, { rpcUrl: { source } }: Settings): Finding {
  const { address, state, problem } = report;
  const known = state === null ? {} : { rpc: { url: address, source, ...state } };
  if (problem !== null) return { ...failed(NAME, problem), ...known };
  return { name: NAME, ok: true, detail: describe(report, source), exit: EXIT.done, ...known };
}

/** One finding a node, and one for a quorum that they cannot make; none where no chain is read through them. */
export async function checkRpc(session: Session): Promise<readonly Finding[]> {
  const { context } = session;
  const settings = await context.effectiveSettings(session.settings);
  const { rpcUrl, rpcQuorum, apiUrl } = settings;
  const isUsed = apiUrl.value !== null || rpcUrl.source === 'flag' || rpcUrl.source === 'data directory';
  if (!isUsed || (rpcUrl.value.length === 0 && rpcQuorum.value === 1)) return [];
  const quorum =
    rpcQuorum.value === 1
      ? []
      : [
          await check('rpc quorum', () => {
            requireQuorum(rpcUrl.value, rpcQuorum);
            return `${rpcQuorum.value} of ${rpcUrl.value.length} have to agree`;
          }),
        ];
  const reports = await context.checkRpc(settings);
  return [...reports.map((report) => findingOf(report, settings)), ...quorum];
}
