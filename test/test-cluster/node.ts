/** Starts a node of a test cluster in this process, on its own ledger or on that of a test engine. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLedger } from '../../src/chain/local/ledger/ledger.js';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { Runtime } from '../../src/chain/local/runtime/runtime.js';
import { transfer } from '../../src/chain/small-programs.js';
import { openClusterParts } from '../../src/compose/rpc-node.js';
import { Cluster, type ClusterParts } from '../../src/rpc-node/cluster.js';
import { startRpcNode } from '../../src/rpc-node/rpc-node.js';
import { type Clock, systemClock } from '../../src/values/time.js';
import { chainOptions, HandClock, signedWith, treasury } from '../support/chain.js';
import { emptyDirectory, REAL_SQUADS } from '../support/spawn.js';
import { type FaultRule, Faults } from './faults.js';
import { faultyAnswers } from './faulty-answers.js';
import { type SlotTerms, TestCluster } from './test-cluster.js';

type ListeningNode = Awaited<ReturnType<typeof startRpcNode>>;

export interface TestNodeOptions extends SlotTerms {
  /** Directory of an existing ledger or test engine. @default a new ledger on which `treasury` owns everything */
  readonly directory?: string;
  /** A data directory with keys, rather than a bare ledger? @default false */
  readonly isDataDirectory?: boolean;
  readonly faults?: readonly FaultRule[];
  readonly seed?: number;
  readonly clock?: Clock;
  /** @default a free port */
  readonly port?: number;
}

export type PlainNode = Awaited<ReturnType<typeof startPlainNode>>;
export type TestNode = Awaited<ReturnType<typeof startTestNode>>;

const nodes = new Set<ListeningNode>();

export async function closeTestNodes(): Promise<void> {
  const all = [...nodes];
  nodes.clear();
  await Promise.all(all.map((node) => node.close(100)));
}

async function newLedger(clock: Clock): Promise<string> {
  const directory = emptyDirectory();
  await (await openLocalChain(chainOptions(directory, clock))).close();
  return directory;
}

export async function startTestNode({
  isDataDirectory = false,
  clock = systemClock,
  port = 0,
  directory: given,
  faults: rules = [],
  seed = 1,
  pace = 'on-demand',
  slotMs = 400,
  ...terms
}: TestNodeOptions = {}) {
  const directory = given ?? (await newLedger(clock));
  /** Internal errors of the node; empty unless the node is broken. */
  const failures: unknown[] = [];
  const faults = new Faults(rules, seed);
  const demand = pace === 'clock' ? null : new HandClock(systemClock.nowMs());
  const onFailure = (error: unknown): void => void failures.push(error);
  const slots = { clock: demand ?? clock, slotMs };
  const parts = await (isDataDirectory ? openClusterParts(directory, slots) : partsOf(directory, slots));
  const on = new TestCluster(parts, terms, { faults, seed, clock: demand });
  on.follow(onFailure);
  const answers = faultyAnswers(on, faults, onFailure);
  const node = await startRpcNode(on, onFailure, { host: '127.0.0.1', port }, answers);
  nodes.add(node);
  return Object.assign(node, {
    ...{ cluster: on, faults, directory, failures },
    advance: (slots?: number) => on.advance(slots),
    settle: () => on.settle(),
  });
}

/** The node of `flywheel local rpc`, with slots that may be shorter. */
export async function startPlainNode({
  directory: given,
  slotMs = 400,
  clock = systemClock,
}: Pick<TestNodeOptions, 'directory' | 'slotMs' | 'clock'> = {}) {
  const directory = given ?? (await newLedger(clock));
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const cluster = new Cluster(await partsOf(directory, { clock, slotMs }));
  const node = await startRpcNode(cluster, onFailure, { host: '127.0.0.1', port: 0 });
  nodes.add(node);
  return Object.assign(node, { cluster, directory, failures });
}

/** A node on a data directory that commands use at the same time and by the same clock; transactions land and are final at once. */
export const startNodeBeside = (directory: string): Promise<TestNode> =>
  startTestNode({
    ...{ directory, isDataDirectory: true, pace: 'clock', confirmedAfter: 0, finalizedAfter: 0 },
  });

async function partsOf(
  directory: string,
  slots: { readonly clock: Clock; readonly slotMs: number },
): Promise<ClusterParts> {
  const squads = REAL_SQUADS === undefined ? {} : { squadsProgram: readFileSync(REAL_SQUADS) };
  const path = join(directory, 'ledger.db');
  const ledger = await openLedger({ path, ...slots, create: false, genesis: { accounts: [] } });
  return {
    ledger,
    runtime: new Runtime(squads),
    airdrop: (to, lamports, blockhash) =>
      signedWith(blockhash, [treasury], [transfer({ from: treasury.address, to, lamports })]).bytes,
    close: () => ledger.close(),
  };
}
