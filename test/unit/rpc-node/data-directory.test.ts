/** A node on the data directory of an engine that works at the same time. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../support/engine.js';
import { closeTestNodes, startTestNode } from '../../support/local-rpc.js';
import { rpcAnswer, rpcResult, statusOf } from '../../support/rpc-call.js';

describe('a node beside an engine', () => {
  let test: TestEngine;

  beforeEach(async () => {
    test = await openTestEngine();
  });
  afterEach(async () => {
    await closeTestNodes();
    await test.destroy();
  });
  const burn = async (amount: number): Promise<string> => {
    const call = test.project.call({ idempotencyKey: randomUUID() });
    return (await test.engine.burn(aBurnRequest(amount), call)).value.txHash;
  };

  it('knows of every burn at once, with the supply that is left', async () => {
    const node = await startTestNode({ directory: test.dataDir, isDataDirectory: true });
    const mint = test.project.registration.mintAddress;
    const supply = async (): Promise<string> =>
      (await rpcResult<{ value: { uiAmountString: string } }>(node.url, 'getTokenSupply', mint)).value
        .uiAmountString;
    expect(await supply()).toBe('1000000000');
    const signatures = [await burn(5), await burn(7)];
    for (const signature of signatures)
      expect(await statusOf(node.url, signature)).toMatchObject({ err: null });
    expect(await supply()).toBe('999999988');
    expect(node.failures).toEqual([]);
  });

  it('gives airdrops from the treasury, the same one twice as well, and the engine goes on', async () => {
    const node = await startTestNode({ directory: test.dataDir, isDataDirectory: true });
    const { burnWallet } = test.project.registration;
    const before = await rpcResult<{ value: number }>(node.url, 'getBalance', burnWallet);
    for (const _ of [1, 2])
      expect((await rpcAnswer(node.url, 'requestAirdrop', burnWallet, 1_000)).error).toBeUndefined();
    expect((await rpcResult<{ value: number }>(node.url, 'getBalance', burnWallet)).value).toBe(
      before.value + 2_000,
    );
    expect(await statusOf(node.url, await burn(1))).toMatchObject({ err: null });
  });

  it('lets all that is late and taken back come to its end', async () => {
    const faults = [{ fault: 'late', slots: 9 } as const, { fault: 'rollback', slots: 6 } as const];
    const node = await startTestNode({
      directory: test.dataDir,
      isDataDirectory: true,
      confirmedAfter: 2,
      finalizedAfter: 31,
      faults,
    });
    const to = test.project.owner.address;
    const signature = await rpcResult<string>(node.url, 'requestAirdrop', to, 2_000_000);
    expect(await statusOf(node.url, signature)).toBeNull();
    node.settle();
    expect(await statusOf(node.url, signature)).toMatchObject({ confirmationStatus: 'finalized' });
  });
});
