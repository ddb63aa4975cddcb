/** Prices of compute units, as nodes report them. */
import { afterEach, describe, expect, it } from 'vitest';
import { memo } from '../../../../src/chain/small-programs.js';
import { compileLegacyMessage } from '../../../../src/chain/transaction/wire.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import { closeStubs, inContext, says, stated, stubNode } from '../../../support/rpc-stub.js';

afterEach(closeStubs);

const written = [namedAddress('one'), namedAddress('two')];
const fees = (...prices: number[]) => ({
  getRecentPrioritizationFees: () => prices.map((prioritizationFee, slot) => ({ slot, prioritizationFee })),
});

async function open(methods: object, maxPriorityFeeLamports?: bigint) {
  const node = await stubNode(methods as Parameters<typeof stubNode>[0]);
  const more = maxPriorityFeeLamports === undefined ? {} : { maxPriorityFeeLamports };
  const opened = rpcChain([node.url], more);
  return { ...opened, node, priorityFees: opened.chain.fees };
}

describe('the price of a compute unit', () => {
  it.each([
    [[], 10_000n],
    [[0, 0, 0], 0n],
    [[40, 10, 30, 20], 30n],
    [[0, 0, 0, 0, 0, 0, 900], 0n],
  ])('of blocks that cost %j is %s', async (prices, price) => {
    const { priorityFees } = await open(fees(...prices));
    expect(await priorityFees.priceOf(written)).toBe(price);
  });

  it('is asked for once in ten seconds for the same accounts', async () => {
    const { priorityFees, node, options } = await open(fees(5));
    await priorityFees.priceOf(written);
    await priorityFees.priceOf([...written].reverse());
    expect(node.calls.map(({ params }) => params)).toEqual([[[...written].sort()]]);
    await priorityFees.priceOf([namedAddress('three')]);
    await options.sleep(10_000);
    await priorityFees.priceOf(written);
    expect(node.calls).toHaveLength(3);
  });

  it('is not asked for where nothing may be paid', async () => {
    const { priorityFees, node } = await open(fees(5), 0n);
    expect(await priorityFees.priceOf(written)).toBe(0n);
    expect(node.calls).toEqual([]);
  });

  it('is the last one where a node does not say, and a low one where there was none', async () => {
    const { priorityFees, node, options } = await open(fees(5));
    node.always = stated(-32_601, 'Method not found');
    expect(await priorityFees.priceOf(written)).toBe(10_000n);
    await options.sleep(10_000);
    node.always = undefined;
    expect(await priorityFees.priceOf(written)).toBe(5n);
    await options.sleep(10_000);
    node.always = says('<html>');
    expect(await priorityFees.priceOf(written)).toBe(5n);
    expect(await priorityFees.priceOf([namedAddress('three')])).toBe(5n);
    expect(node.calls).toHaveLength(3);
  });
});

describe('the compute units of a message', () => {
  const payer = namedAddress('payer');
  const message = compileLegacyMessage({
    ...{ payer, instructions: [memo('text', [])], blockhash: namedAddress('blockhash') },
  });
  const trial = (value: object) => ({ simulateTransaction: () => inContext({ logs: [], ...value }) });

  it('are those of a trial', async () => {
    const { priorityFees } = await open(trial({ err: null, unitsConsumed: 4_321 }));
    expect(await priorityFees.computeUnitsOf(message)).toBe(4_321);
  });

  it('are not known where two nodes of a quorum differ', async () => {
    const said = [4_321, 1].map((unitsConsumed) => stubNode(trial({ err: null, unitsConsumed })));
    const urls = (await Promise.all(said)).map(({ url }) => url);
    const unitsBy = (quorum: number) => rpcChain(urls, { quorum }).chain.fees?.computeUnitsOf(message);
    expect([await unitsBy(1), await unitsBy(2)]).toEqual([4_321, null]);
  });

  it.each([
    ['fails', trial({ err: 'AccountNotFound', unitsConsumed: 0 })],
    ['does not say', trial({ err: null })],
    ['is not made', {}],
  ])('are not known where the trial %s', async (_how, methods) => {
    const { priorityFees } = await open(methods);
    expect(await priorityFees.computeUnitsOf(message)).toBe(null);
  });
});
