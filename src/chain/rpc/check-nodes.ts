/** Checks each node on its own: reachability, version, cluster, slot, and the Squads program. */
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { decodeClock } from '../account.js';
import { clusterName, type NodeReport, type NodeState } from '../node-address.js';
import { CLOCK_SYSVAR, SQUADS_PROGRAM } from '../programs.js';
import { loadWeb3, type RpcNode } from './ask.js';
import { NodePool, type NodePoolOptions } from './node-pool.js';
import * as questions from './questions.js';

const CHECK_TIMEOUT_MS = 10_000;
/** A node this far behind accepts expired blockhashes. */
const MAX_SLOTS_BEHIND = 150;
const MAX_VERSION_LENGTH = 40;

const MS_PER_SECOND = 1_000;

async function examine(options: NodePoolOptions, node: RpcNode): Promise<NodeReport> {
  const { clock } = options;
  const timeoutMs = Math.min(CHECK_TIMEOUT_MS, options.timeoutMs);
  const pool = new NodePool({ ...options, nodes: [node], quorum: 1, maxWaitMs: 0, timeoutMs });
  const { address } = node;
  let state: NodeState | null = null;
  try {
    const startedMs = clock.nowMs();
    const genesisHash = await pool.one(questions.genesis);
    const latencyMs = clock.nowMs() - startedMs;
    const version = address.hide(await pool.one(questions.version)).slice(0, MAX_VERSION_LENGTH);
    const { slot = 0, value } = await pool.agreed(questions.accounts([SQUADS_PROGRAM, CLOCK_SYSVAR]));
    const [program, sysvar] = value;
    // A missing clock is not a problem.
    const time = decodeClock(sysvar);
    const clockAheadMs = time ? clock.nowMs() - Number(time.unixTimestamp) * MS_PER_SECOND : null;
    const cluster = clusterName(genesisHash);
    state = { genesisHash, cluster, slot, slotsBehind: 0, version, latencyMs, clockAheadMs };
    // Not every node supports getHealth.
    const [health] = await pool.askAll(questions.health);
    if (health !== undefined && 'kind' in health && health.kind === 'behind') throw health.error;
    if (program?.executable !== true)
      throw new FlywheelError(
        'ERR_CONFIG_INVALID',
        `The cluster of the RPC node ${address.host} has no Squads program ${SQUADS_PROGRAM}.`,
        { hint: "Use a node of the project's cluster: --rpc-url." },
      );
    return { address, state, problem: null };
  } catch (error) {
    if (!isFlywheelError(error) || error.code === 'ERR_INTERRUPTED') throw error;
    return { address, state, problem: error };
  }
}

function besideOthers(report: NodeReport, reports: readonly NodeReport[]): NodeReport {
  const { address, state, problem } = report;
  if (state === null) return report;
  const others = reports.flatMap((other) => (other.state === null ? [] : { ...other, ...other.state }));
  const [first] = others as [(typeof others)[number]];
  const slotsBehind = Math.max(...others.map(({ slot }) => slot)) - state.slot;
  const beside = { address, state: { ...state, slotsBehind } };
  if (problem !== null) return { ...beside, problem };
  if (state.genesisHash !== first.genesisHash) {
    const message = `The RPC nodes ${address.host} and ${first.address.host} belong to different clusters.`;
    const hint = 'Use nodes of one cluster: --rpc-url.';
    return { ...beside, problem: new FlywheelError('ERR_CONFIG_INVALID', message, { hint }) };
  }
  if (slotsBehind <= MAX_SLOTS_BEHIND) return { ...beside, problem: null };
  const message = `The RPC node ${address.host} is behind ${others.length === 2 ? 'the other one' : 'the others'} by ${slotsBehind} slots.`;
  const hint = 'Wait until the node catches up, or use another node: --rpc-url.';
  return { ...beside, problem: new FlywheelError('ERR_UNAVAILABLE', message, { hint }) };
}

/** Checks all nodes in parallel, without retries. @returns reports in the order of the nodes. @throws `ERR_INTERRUPTED` */
export async function checkNodes(options: NodePoolOptions): Promise<readonly NodeReport[]> {
  await loadWeb3();
  const reports = await Promise.all(options.nodes.map((node) => examine(options, node)));
  return reports.map((report) => besideOthers(report, reports));
}
