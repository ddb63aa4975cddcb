/** A node of a test cluster in this process, on a ledger of its own or on that of a test engine. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLedgerBank } from '../../src/chain/local/ledger-bank.js';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { transfer } from '../../src/chain/system.js';
import { startLocalRpc } from '../../src/compose/rpc-node.js';
import type { FaultRule } from '../../src/rpc-node/faults/fault-rules.js';
import { type RpcNode, startRpcNode } from '../../src/rpc-node/rpc-node.js';
import { type Clock, systemClock } from '../../src/values/time.js';
import { chainOptions, signedWith, temporaryDirectory, treasury } from './chain.js';

export interface TestNodeOptions {
  /** Directory of a ledger that is there already, or of a test engine. @default a new ledger, on which `treasury` has everything */
  readonly directory?: string;
  /** A data directory with keys, rather than a bare ledger? @default false */
  readonly isDataDirectory?: boolean;
  /** With the clock, or one slot for each transaction and each {@link RpcNode.advance}. @default on demand */
  readonly pace?: 'clock' | 'on-demand';
  readonly slotMs?: number;
  readonly confirmedAfter?: number;
  readonly finalizedAfter?: number;
  readonly faults?: readonly FaultRule[];
  readonly seed?: number;
  readonly clock?: Clock;
  /** @default a free one */
  readonly port?: number;
}

export interface TestNode extends RpcNode {
  readonly directory: string;
  /** What was no caller's fault; empty unless the node has an error of its own. */
  readonly failures: readonly unknown[];
}

const nodes = new Set<RpcNode>();

/** Ends every node that a test has started and not closed. */
export async function closeTestNodes(): Promise<void> {
  const all = [...nodes];
  nodes.clear();
  await Promise.all(all.map((node) => node.close(100)));
}

async function newLedger(clock: Clock): Promise<string> {
  const directory = temporaryDirectory();
  await (await openLocalChain(chainOptions(directory, clock))).close();
  return directory;
}

/** Starts a node on a free port of loopback. */
export async function startTestNode({
  isDataDirectory = false,
  pace = 'on-demand',
  clock = systemClock,
  port = 0,
  directory: given,
  ...options
}: TestNodeOptions = {}): Promise<TestNode> {
  const directory = given ?? (await newLedger(clock));
  const failures: unknown[] = [];
  const terms = {
    ...options,
    clock,
    onDemand: pace === 'on-demand',
    onFailure: (error: unknown) => void failures.push(error),
  };
  const address = { host: '127.0.0.1', port };
  const node = isDataDirectory
    ? await startLocalRpc(directory, terms, address)
    : await startRpcNode({ ...terms, ...(await ledgerOf(directory)) }, address);
  nodes.add(node);
  return Object.assign(node, { directory, failures });
}

/** The file of the real Squads program, where tests are told to run on it. */
export const REAL_SQUADS = process.env['SQUADS_PROGRAM'];

async function ledgerOf(directory: string) {
  const squads = REAL_SQUADS === undefined ? {} : { squadsProgram: readFileSync(REAL_SQUADS) };
  const ledger = await openLedgerBank({ path: join(directory, 'ledger.db'), ...squads });
  return {
    ledger,
    airdrop: (to: Parameters<typeof transfer>[0]['to'], lamports: bigint, blockhash: string) =>
      signedWith(blockhash, [treasury], [transfer({ from: treasury.address, to, lamports })]).bytes,
  };
}
