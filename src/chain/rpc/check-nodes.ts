/** Looks at each node apart: does it answer, as what, of which cluster, how far it is, and whether the multisig program is there. */
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { decodeClock } from '../clock-account.js';
import { clusterName } from '../node-address.js';
import type { NodeReport, NodeState } from '../node-report.js';
import { CLOCK_SYSVAR, SQUADS_PROGRAM } from '../programs.js';
import { loadWeb3, type Question } from './ask.js';
import type { RpcNode } from './exchange.js';
import { NodePool, type NodePoolOptions } from './node-pool.js';
import {
  accountsQuestion,
  GENESIS_QUESTION,
  HEALTH_QUESTION,
  SLOT_QUESTION,
  VERSION_QUESTION,
} from './questions.js';

/** Longest time for one question here. */
const CHECK_TIMEOUT_MS = 10_000;
/** A node this far behind takes blockhashes for good that are not. */
const MAX_SLOTS_BEHIND = 150;
const MAX_VERSION_LENGTH = 40;

/** Asks one node, once a question. */
class Examiner {
  readonly #pool: NodePool;

  constructor(options: NodePoolOptions, node: RpcNode) {
    const timeoutMs = Math.min(CHECK_TIMEOUT_MS, options.timeoutMs);
    this.#pool = new NodePool({ ...options, nodes: [node], maxWaitMs: 0, timeoutMs });
  }

  async ask<Value>(question: Question<Value>): Promise<Value> {
    const [voice] = await this.#pool.ask(question);
    return (voice as { readonly value: Value }).value;
  }

  /** @throws when the node says that it is behind; not every node knows the question. */
  async requireHealthy(): Promise<void> {
    const [result] = await this.#pool.askAll(HEALTH_QUESTION);
    if (result !== undefined && 'kind' in result && result.kind === 'behind') throw result.error;
  }

  async requireSquads(host: string): Promise<void> {
    const { value } = await this.ask(accountsQuestion([SQUADS_PROGRAM]));
    if (value[0]?.executable === true) return;
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `The cluster of the RPC node ${host} has no Squads program ${SQUADS_PROGRAM}.`,
      { hint: "Use a node of the project's cluster: --rpc-url." },
    );
  }
}

const MS_PER_SECOND = 1_000;

/** How far the clock of this machine is ahead of that of the chain; a node that does not tell its time is no worse for that. */
async function clockAhead(examiner: Examiner, { clock }: NodePoolOptions): Promise<number | null> {
  try {
    const { value } = await examiner.ask(accountsQuestion([CLOCK_SYSVAR]));
    const told = decodeClock(value[0]);
    return told === undefined ? null : clock.nowMs() - Number(told.unixTimestamp) * MS_PER_SECOND;
  } catch (error) {
    if (!isFlywheelError(error) || error.code === 'ERR_INTERRUPTED') throw error;
    return null;
  }
}

async function examine(options: NodePoolOptions, node: RpcNode): Promise<NodeReport> {
  const examiner = new Examiner(options, node);
  const { address } = node;
  let state: NodeState | null = null;
  try {
    const startedMs = options.clock.nowMs();
    const genesisHash = await examiner.ask(GENESIS_QUESTION);
    const latencyMs = options.clock.nowMs() - startedMs;
    const version = address.hide(await examiner.ask(VERSION_QUESTION)).slice(0, MAX_VERSION_LENGTH);
    const slot = await examiner.ask(SLOT_QUESTION);
    const known = { genesisHash, cluster: clusterName(genesisHash), slot, slotsBehind: 0, version };
    state = { ...known, latencyMs, clockAheadMs: null };
    await examiner.requireHealthy();
    await examiner.requireSquads(address.host);
    state = { ...state, clockAheadMs: await clockAhead(examiner, options) };
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
          { hint: 'Wait until it catches up, or use another node: --rpc-url.' },
        );
  return { address, state: { ...state, slotsBehind }, problem: problem ?? strange ?? late };
}

/** Every node, asked at the same time, in the order given; nothing is tried twice. @throws `ERR_INTERRUPTED` */
export async function checkNodes(options: NodePoolOptions): Promise<readonly NodeReport[]> {
  await loadWeb3();
  const reports = await Promise.all(options.nodes.map((node) => examine(options, node)));
  return reports.map((report) => besideOthers(report, reports));
}
