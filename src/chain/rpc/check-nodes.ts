/** Checks each node on its own: reachability, version, cluster, slot, and the Squads program. */
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { decodeClock } from '../account.js';
import { clusterName, type NodeReport, type NodeState } from '../node-address.js';
import { CLOCK_SYSVAR, SQUADS_PROGRAM } from '../programs.js';
import { loadWeb3, type RpcNode } from './ask.js';
import { NodePool, type NodePoolOptions } from './node-pool.js';
import {
  accountsQuestion,
  GENESIS_QUESTION,
  HEALTH_QUESTION,
  SLOT_QUESTION,
  VERSION_QUESTION,
} from './questions.js';
import { toNull } from './recent-fees.js';

const CHECK_TIMEOUT_MS = 10_000;
/** A node this far behind accepts expired blockhashes. */
const MAX_SLOTS_BEHIND = 150;
const MAX_VERSION_LENGTH = 40;

const MS_PER_SECOND = 1_000;

const withoutSquads = (host: string): FlywheelError =>
  new FlywheelError(
    'ERR_CONFIG_INVALID',
    `The cluster of the RPC node ${host} has no Squads program ${SQUADS_PROGRAM}.`,
    { hint: "Use a node of the project's cluster: --rpc-url." },
  );

async function examine(options: NodePoolOptions, node: RpcNode): Promise<NodeReport> {
  const { clock } = options;
  const timeoutMs = Math.min(CHECK_TIMEOUT_MS, options.timeoutMs);
  const pool = new NodePool({ ...options, nodes: [node], quorum: 1, maxWaitMs: 0, timeoutMs });
  const { address } = node;
  let state: NodeState | null = null;
  try {
    const startedMs = clock.nowMs();
    const genesisHash = await pool.one(GENESIS_QUESTION);
    const latencyMs = clock.nowMs() - startedMs;
    const version = address.hide(await pool.one(VERSION_QUESTION)).slice(0, MAX_VERSION_LENGTH);
    const slot = await pool.one(SLOT_QUESTION);
    const cluster = clusterName(genesisHash);
    state = { genesisHash, cluster, slot, slotsBehind: 0, version, latencyMs, clockAheadMs: null };
    // Not every node supports getHealth.
    const [health] = await pool.askAll(HEALTH_QUESTION);
    if (health !== undefined && 'kind' in health && health.kind === 'behind') throw health.error;
    const { value } = await pool.one(accountsQuestion([SQUADS_PROGRAM]));
    if (value[0]?.executable !== true) throw withoutSquads(address.host);
    // A missing clock is not a problem.
    const time = await pool.one(accountsQuestion([CLOCK_SYSVAR])).catch(toNull);
    const told = decodeClock(time?.value[0]);
    if (told !== undefined)
      state = { ...state, clockAheadMs: clock.nowMs() - Number(told.unixTimestamp) * MS_PER_SECOND };
    return { address, state, problem: null };
  } catch (error) {
    if (!isFlywheelError(error) || error.code === 'ERR_INTERRUPTED') throw error;
    return { address, state, problem: error };
  }
}

function besideOthers(report: NodeReport, reports: readonly NodeReport[]): NodeReport {
  const { address, state, problem } = report;
  if (state === null) return report;
  const states = reports.flatMap((other) => (other.state === null ? [] : [other]));
  const first = states[0] as NodeReport & { readonly state: NodeState };
  const furthest = Math.max(...states.map((other) => (other.state as NodeState).slot));
  const slotsBehind = furthest - state.slot;
  const strange =
    state.genesisHash === first.state.genesisHash
      ? null
      : new FlywheelError(
          'ERR_CONFIG_INVALID',
          `The RPC nodes ${address.host} and ${first.address.host} belong to different clusters.`,
          { hint: 'Use nodes of one cluster: --rpc-url.' },
        );
  const late =
    slotsBehind <= MAX_SLOTS_BEHIND
      ? null
      : new FlywheelError(
          'ERR_UNAVAILABLE',
          `The RPC node ${address.host} is behind ${states.length === 2 ? 'the other one' : 'the others'} by ${slotsBehind} slots.`,
          { hint: 'Wait until the node catches up, or use another node: --rpc-url.' },
        );
  return { address, state: { ...state, slotsBehind }, problem: problem ?? strange ?? late };
}

/** Checks all nodes in parallel, without retries. @returns reports in the order of the nodes. @throws `ERR_INTERRUPTED` */
export async function checkNodes(options: NodePoolOptions): Promise<readonly NodeReport[]> {
  await loadWeb3();
  const reports = await Promise.all(options.nodes.map((node) => examine(options, node)));
  return reports.map((report) => besideOthers(report, reports));
}
