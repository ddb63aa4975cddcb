import { afterEach, describe, expect, it } from 'vitest';
import { SQUADS_PROGRAM } from '../../../../src/chain/programs.js';
import { checkNodes } from '../../../../src/chain/rpc/check-nodes.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import {
  closeStubs,
  DEVNET,
  inContext,
  MAINNET,
  type StubNode,
  says,
  stated,
  status,
  stubNode,
  wireAccount,
} from '../../../support/rpc-stub.js';

afterEach(closeStubs);

const program = wireAccount(Uint8Array.of(1), namedAddress('loader'), 1, { executable: true });
const accounts =
  (slot: number, clock: unknown = null, squads: unknown = program) =>
  (asked: readonly string[]) =>
    inContext(
      asked.map((one) => (one === SQUADS_PROGRAM ? squads : clock)),
      slot,
    );
const healthy = {
  getVersion: () => ({ 'solana-core': '2.3.1', 'feature-set': 1 }),
  getHealth: () => 'ok',
  getMultipleAccounts: accounts(1_000),
};

const check = async (...nodes: readonly StubNode[]) => {
  const reports = await checkNodes(rpcChain(nodes.map(({ url }) => url)).options);
  return reports.map(({ state, problem }) => ({
    state,
    problem: problem?.message.replace(/127\.0\.0\.1:\d+/g, 'HOST') ?? null,
  }));
};

describe('a node that is looked at', () => {
  it('says what it is', async () => {
    expect(await check(await stubNode(healthy))).toEqual([
      {
        state: {
          genesisHash: MAINNET,
          cluster: 'mainnet-beta',
          slot: 1_000,
          slotsBehind: 0,
          version: '2.3.1',
          latencyMs: 0,
          clockAheadMs: null,
        },
        problem: null,
      },
    ]);
  });

  it('says how far this clock is ahead of the time of its chain', async () => {
    const { nowMs } = rpcChain(['http://127.0.0.1:1']).options.clock;
    const data = new Uint8Array(40);
    new DataView(data.buffer).setBigInt64(32, BigInt(Math.floor(nowMs() / 1_000)) - 75n, true);
    const clock = wireAccount(data, namedAddress('sysvar'), 1);
    const node = await stubNode({ ...healthy, getMultipleAccounts: accounts(1_000, clock) });
    const [found] = await check(node);
    expect(Math.floor((found?.state?.clockAheadMs ?? 0) / 1_000)).toBe(75);
  });

  it('is judged by itself: one without the program, one behind, one of another cluster, one that answers nothing', async () => {
    const bare = await stubNode({ ...healthy, getMultipleAccounts: accounts(1_000, null, null) });
    const late = await stubNode({ ...healthy, getMultipleAccounts: accounts(600) });
    const other = await stubNode({ ...healthy, getGenesisHash: () => DEVNET });
    const broken = await stubNode();
    broken.always = says('<html>');
    const own = await stubNode(healthy);
    expect(await check(own, bare, late, other, broken)).toMatchObject([
      { problem: null },
      { problem: `The cluster of the RPC node HOST has no Squads program ${SQUADS_PROGRAM}.` },
      { problem: 'The RPC node HOST is behind the others by 400 slots.', state: { slotsBehind: 400 } },
      { problem: 'The RPC nodes HOST and HOST belong to different clusters.', state: { cluster: 'devnet' } },
      {
        problem: 'HOST is not a Solana RPC node: it answered getGenesisHash with an HTML page.',
        state: null,
      },
    ]);
  });

  it('is behind when it says so itself, and need not know the question', async () => {
    const late = await stubNode({ ...healthy, getHealth: () => undefined });
    late.faults.push(undefined, undefined, undefined, stated(-32_005, '', { numSlotsBehind: 70 }));
    const silent = await stubNode({ ...healthy, getHealth: () => undefined });
    silent.faults.push(undefined, undefined, undefined, stated(-32_601));
    expect(await check(late)).toMatchObject([
      { problem: 'The RPC node HOST is behind the cluster by 70 slots.' },
    ]);
    expect(await check(silent)).toMatchObject([{ problem: null }]);
  });

  it('is asked once, and not waited for', async () => {
    const node = await stubNode(healthy);
    node.always = status(429, { 'retry-after': '1' });
    expect(await check(node)).toMatchObject([
      { problem: 'The RPC node HOST limits the request rate (429).' },
    ]);
    expect(node.calls).toHaveLength(1);
  });
});
