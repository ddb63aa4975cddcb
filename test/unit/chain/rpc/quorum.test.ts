import { afterEach, describe, expect, it } from 'vitest';
import { decodeClock, encodeClock } from '../../../../src/chain/account.js';
import { CLOCK_SYSVAR, SYSTEM_PROGRAM, TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import { EXIT } from '../../../../src/errors/exit-codes.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import {
  closeStubs,
  inContext,
  type StubNode,
  stated,
  status,
  wireAccount,
  youngNode,
} from '../../../support/rpc-stub.js';
import { failureOf } from '../../../support/service.js';

afterEach(closeStubs);

const address = namedAddress('account');
const bytes = Uint8Array.of(1, 2, 3);
const account = wireAccount(bytes, SYSTEM_PROGRAM, 7);

const holding = (value: unknown, slot = 9) => ({ getMultipleAccounts: () => inContext([value], slot) });
const asked = ({ calls }: StubNode) =>
  calls.filter(({ method }) => method === 'getMultipleAccounts').map(({ params }) => params[1]);

const read = (nodes: readonly StubNode[], maxWaitMs = 0, quorum = 2) =>
  rpcChain(
    nodes.map(({ url }) => url),
    { quorum, maxWaitMs },
  );

describe('two nodes that have to agree', () => {
  it('are both asked, the second for a state that is no older than the first one', async () => {
    const nodes = [await youngNode(holding(account, 100)), await youngNode(holding(account, 103))] as const;
    const { chain } = read(nodes);
    const [state] = await chain.getAccounts([address]);
    expect(state?.lamports).toBe(7n);
    expect(asked(nodes[0])).toEqual([{ encoding: 'base64', commitment: 'confirmed', minContextSlot: 0 }]);
    expect(asked(nodes[1])).toEqual([{ encoding: 'base64', commitment: 'confirmed', minContextSlot: 100 }]);
    const { message } = await failureOf(chain.getAccounts([address]));
    expect(message).toContain('is behind the cluster by 3 slots');
  });

  it.each([
    ['owner', wireAccount(bytes, TOKEN_PROGRAM, 7)],
    ['balance', wireAccount(bytes, SYSTEM_PROGRAM, 8)],
    ['one byte of data', wireAccount(Uint8Array.of(1, 2, 4), SYSTEM_PROGRAM, 7)],
    ['length', wireAccount(Uint8Array.of(1, 2), SYSTEM_PROGRAM, 7)],
    ['mark of a program', { ...account, executable: true }],
    ['existence', null],
  ])('and differ in the %s are both not believed', async (_name, other) => {
    const nodes = [await youngNode(holding(account)), await youngNode(holding(other))] as const;
    const error = await failureOf(read(nodes).chain.getAccounts([address]));
    expect(error.code).toBe('ERR_CHAIN_MISMATCH');
    expect(error.exitCode).toBe(EXIT.unsafe);
    const [left, right] = nodes.map(({ url }) => new URL(url).host);
    expect(error.message).toBe(`The RPC nodes ${left} and ${right} disagree about the account ${address}.`);
    expect(asked(nodes[0])).toHaveLength(5);
  });

  it('are asked once more for the newer state where the account changed in between', async () => {
    const changed = wireAccount(bytes, SYSTEM_PROGRAM, 8);
    const states = [inContext([account], 100), inContext([changed], 105)];
    const first = await youngNode({ getMultipleAccounts: () => states.shift() });
    const second = await youngNode(holding(changed, 104));
    second.methods = { getMultipleAccounts: () => inContext([changed], states.length === 1 ? 104 : 106) };
    const chain = read([first, second]);
    expect((await chain.chain.getAccounts([address]))[0]?.lamports).toBe(8n);
    expect(asked(first)[1]).toMatchObject({ minContextSlot: 104 });
    expect(chain.waits).toEqual([400]);
  });

  it('tell the earlier time where one of them is late, and make it neither later nor earlier by far', async () => {
    const clock = (seconds: number, slot = 100, epoch = 1) => {
      const data = encodeClock({ slot: BigInt(slot), epoch: BigInt(epoch), unixTimestamp: BigInt(seconds) });
      return wireAccount(data, SYSTEM_PROGRAM, 1);
    };
    const [late, node] = [await youngNode(holding(clock(150, 90), 100)), await youngNode()];
    node.methods = { ...node.methods, ...holding(clock(154, 100), 110) };
    const told = (nodes: readonly StubNode[]) => read(nodes).chain.getAccounts([CLOCK_SYSVAR]);
    expect(decodeClock((await told([late, node]))[0])?.unixTimestamp).toBe(150n);
    for (const lie of [clock(155, 90), clock(154, 101), clock(80, 90), clock(150, 90, 0), null]) {
      const liar = await youngNode(holding(lie, 110));
      expect((await failureOf(told([liar, node]))).message).toContain(`about the account ${CLOCK_SYSVAR}.`);
    }
  });

  it('wait for the one that is behind, and ask a third where one is gone', async () => {
    const first = await youngNode(holding(account, 100));
    const second = await youngNode(holding(account, 100));
    second.faults.push(undefined, stated(-32_016), stated(-32_016));
    const chain = read([first, second], 20_000);
    expect(await chain.chain.getAccounts([address])).toHaveLength(1);
    expect(asked(first)).toHaveLength(1);
    expect(chain.waits).toHaveLength(2);
    const third = await youngNode(holding(account, 100));
    first.always = status(401);
    expect(await read([first, second, third]).chain.getAccounts([address])).toHaveLength(1);
    expect(asked(third)).toHaveLength(1);
  });

  it('are not one under two addresses', async () => {
    const [first, second] = [await youngNode(holding(account)), await youngNode(holding(account))];
    const again = { ...first, url: `${first.url}-two` };
    expect(await read([first, again, second]).chain.getAccounts([address])).toHaveLength(1);
    expect([asked(first).length, asked(second).length]).toEqual([1, 1]);
    expect((await failureOf(read([first, again]).chain.getAccounts([address]))).code).toBe('ERR_UNAVAILABLE');
  });

  it('are not made up for by one', async () => {
    const [first, second] = [await youngNode(holding(account)), await youngNode()];
    second.always = status(503);
    const error = await failureOf(read([first, second], 5_000).chain.getAccounts([address]));
    expect(error.code).toBe('ERR_UNAVAILABLE');
    expect(error.message).toBe(`The RPC node ${new URL(second.url).host} answered with the status 503.`);
  });

  it('have to agree on what became of a transaction and on blockhashes too', async () => {
    const landed = (slot: number | null) => ({
      getSignatureStatuses: () =>
        inContext([slot && { slot, err: null, confirmations: null, confirmationStatus: 'finalized' }]),
      getTransaction: () => null,
      isBlockhashValid: () => inContext(slot !== null),
    });
    const nodes = [await youngNode(landed(5)), await youngNode(landed(null))] as const;
    const { chain: reader } = read(nodes);
    expect((await failureOf(reader.lookUp(['abc']))).message).toContain('what became of the transaction abc');
    expect((await failureOf(reader.isBlockhashValid(address))).code).toBe('ERR_CHAIN_MISMATCH');
    nodes[1].methods = landed(5);
    expect(await reader.lookUp(['abc'])).toMatchObject([{ slot: 5n, error: null }]);
  });

  it('say together how long a blockhash lives', async () => {
    const hash = namedAddress('blockhash');
    const newest = (height: number, slot: number) => () =>
      inContext({ blockhash: hash, lastValidBlockHeight: height }, slot);
    const knows = (isKnown: boolean, height: number, slot = 20) => ({
      isBlockhashValid: () => inContext(isKnown, slot),
      getLatestBlockhash: newest(height, slot),
    });
    // The first one tells a height that is over.
    const nodes = [await youngNode(knows(true, 40)), await youngNode(knows(true, 190))] as const;
    const { chain } = read(nodes);
    expect(await chain.latestBlockhash()).toEqual({ blockhash: hash, lastValidBlockHeight: 190n });
    expect(nodes[1].calls.at(-1)?.params[0]).toMatchObject({ minContextSlot: 20 });
    nodes[0].methods = knows(true, 39);
    expect((await failureOf(chain.latestBlockhash())).message).toBe(
      'The RPC nodes disagree about the block height.',
    );
    for (const node of nodes) node.methods = knows(false, 190);
    expect(await failureOf(chain.latestBlockhash())).toMatchObject({ code: 'ERR_CHAIN_MISMATCH' });
    expect(await read([nodes[0]], 0, 1).chain.latestBlockhash()).toMatchObject({
      lastValidBlockHeight: 190n,
    });
  });

  it('have to agree on the cluster each time they are asked', async () => {
    const [honest, liar] = [await youngNode(), await youngNode()];
    for (const nodes of [[honest, liar] as const, [liar, honest] as const]) {
      liar.methods = {};
      const { chain } = read(nodes);
      await chain.genesisHash();
      liar.methods = { getGenesisHash: () => namedAddress('another cluster') };
      expect((await failureOf(chain.genesisHash())).code).toBe('ERR_CHAIN_MISMATCH');
    }
  });

  it('have to agree on the rent', async () => {
    const rents = [890_880, Number.MAX_SAFE_INTEGER].map((rent) =>
      youngNode({ getMinimumBalanceForRentExemption: () => rent }),
    );
    expect(await failureOf(read(await Promise.all(rents)).chain.rent())).toMatchObject({
      message: 'The RPC nodes disagree about the rent.',
    });
  });

  it('have to agree on when a listed transaction landed, and whether it failed', async () => {
    const lists = (slot: number, err: object | null = null) => ({
      getSignaturesForAddress: () => [{ signature: 'abc', slot, err, memo: null, blockTime: null }],
    });
    for (const [other, isSame] of [
      [lists(5), true],
      [lists(900), false],
      [lists(5, { InstructionError: [0, 'Custom'] }), false],
    ] as const) {
      const nodes = [await youngNode(lists(5)), await youngNode(other)] as const;
      const told = read(nodes).chain.history(address, { limit: 20 });
      if (isSame) expect([...(await told)]).toMatchObject([{ signature: 'abc', isAgreed: true }]);
      else expect((await failureOf(told)).message).toBe('The RPC nodes disagree about the transaction abc.');
    }
  });

  it('hide no memo of a list from who asks for memos, and name one memo', async () => {
    const list = (memo: string | null) => ({
      getSignaturesForAddress: () => [{ signature: 'abc', slot: 5, err: null, memo, blockTime: null }],
    });
    const [having, other] = [await youngNode(list('m')), await youngNode(list('n'))];
    const both = [await youngNode(list(null)), having];
    const past = { limit: 20, withMemos: true } as const;
    for (const nodes of [both, both.toReversed()])
      expect([...(await read(nodes).chain.history(address, past))]).toMatchObject([{ memo: 'm' }]);
    const error = await failureOf(read([having, other]).chain.history(address, past));
    expect(error.message).toBe('The RPC nodes disagree about the transaction abc.');
  });

  it('hide nothing of a list, and one alone does not say where it ends', async () => {
    const entry = (signature: string, slot: number) => ({
      ...{ signature, slot, err: null, memo: null, blockTime: null },
    });
    const honest = Array.from({ length: 40 }, (_, at) => entry(`own ${at}`, 100 - at));
    const page = (all: readonly ReturnType<typeof entry>[]) => ({
      getSignaturesForAddress: (_account: string, { limit, before }: { limit: number; before?: string }) => {
        const from = 1 + all.findIndex(({ signature }) => signature === before);
        return before !== undefined && from === 0 ? [] : all.slice(from, from + limit);
      },
    });
    const lie = entry('invented', 1);
    const invents = page([...honest.slice(0, 5), ...honest.slice(6, 19), lie, lie]);
    const nodes = [await youngNode(invents), await youngNode(page(honest))] as const;
    const { chain } = read(nodes);
    const told = await chain.history(address, { limit: 20 });
    expect(told.filter(({ isAgreed }) => !isAgreed).map(({ signature }) => signature)).toEqual([
      ...['own 5', 'own 19', 'invented'],
    ]);
    const all = await chain.history(address, { limit: 1_000 });
    expect(all.map(({ signature }) => signature)).toEqual([
      ...honest.map(({ signature }) => signature),
      'invented',
    ]);
    const hosts = nodes.map(({ url }) => new URL(url).host);
    expect(all.nodes).toBe(hosts.sort().join(' '));
  });

  it('give a block time only where both know the same', async () => {
    const landed = (time: number | null) => ({
      getSignatureStatuses: () =>
        inContext([{ slot: 5, err: null, confirmations: null, confirmationStatus: 'finalized' }]),
      getTransaction: () => null,
      getBlockTime: () => time,
    });
    const timeOf = async (...times: readonly (number | null)[]) => {
      const nodes = await Promise.all(times.map((time) => youngNode(landed(time))));
      const [trace] = await read(nodes).chain.trace([{ signature: 'abc', lastValidBlockHeight: 9n }]);
      return trace?.kind === 'landed' && trace.record.blockTimeMs;
    };
    expect(await timeOf(1_000, 1_000)).toBe(1_000_000);
    expect(await timeOf(1_000, 87_400)).toBe(0);
  });
});
