/** The chain on a cluster: sending, trusting answers, and the proof required before signing again. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Commitment } from '../../../../src/chain/chain.js';
import { memo, setComputeUnitLimit, setComputeUnitPrice } from '../../../../src/chain/small-programs.js';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/sign.js';
import { compileLegacyMessage, decodeTransaction } from '../../../../src/chain/transaction/wire.js';
import { settle } from '../../../../src/engine/settle.js';
import { partiallySign, signTransaction } from '../../../support/chain.js';
import { FREE_LEASE } from '../../../support/doubles.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import { closeStubs, hangUp, inContext, type StubNode, stated, stubNode } from '../../../support/rpc-stub.js';

afterEach(closeStubs);

const signer = createKeypairSigner(generateKeypair());
const LAST_HEIGHT = 350n;

const transaction = (text: string) => {
  const instructions = [
    setComputeUnitLimit(20_000),
    setComputeUnitPrice(1_000n),
    memo(text, [signer.address]),
  ];
  const message = compileLegacyMessage({
    ...{ payer: signer.address, instructions, blockhash: namedAddress('blockhash') },
  });
  return { ...signTransaction(message, [signer]), message, lastValidBlockHeight: LAST_HEIGHT };
};
const OLDER = signTransaction(transaction('older').message, [signer]).signature;
const one = transaction('one');
const two = transaction('two');

type Status = 'processed' | 'confirmed' | 'finalized' | { readonly err: unknown; readonly isFinal?: boolean };

class NodeState {
  slot = 1_000;
  height = 300;
  finalizedSlot = 990;
  isValid = false;
  /** Landed before {@link one} and {@link two} were signed; empty: the node has no history of then. */
  older: { readonly signature: string; readonly slot: number }[] = [{ signature: OLDER, slot: 100 }];
  readonly statuses = new Map<string, Status>();
  trial: unknown = null;
  sent: string[] = [];
  options: object[] = [];
  tried: { wire: string; options: object }[] = [];
  heights = new Map<number, number>();

  readonly methods = {
    getEpochInfo: () => ({
      ...{ absoluteSlot: this.finalizedSlot, blockHeight: this.height, epoch: 2, slotIndex: 1 },
      ...{ slotsInEpoch: 432_000, transactionCount: 5 },
    }),
    getSignatureStatuses: (asked: readonly string[]): unknown =>
      inContext(
        asked.map((signature) => this.#status(signature)),
        this.slot,
      ),
    isBlockhashValid: () => inContext(this.isValid, this.slot),
    getSignaturesForAddress: () =>
      this.older.map((one) => ({ ...one, err: null, memo: null, blockTime: null })),
    getBlock: (slot: number) => ({ blockHeight: this.heights.get(slot) ?? null }),
    getBlockTime: () => 1_700_000_000,
    simulateTransaction: (wire: string, options: object) => {
      this.tried.push({ wire, options });
      return inContext({ err: this.trial, logs: ['a log'] }, this.slot);
    },
    sendTransaction: (wire: string, options: object) => {
      this.options.push(options);
      this.sent.push(wire);
      return decodeSignature(wire);
    },
    getTransaction: () => null,
    getMultipleAccounts: (asked: readonly string[]) =>
      inContext(
        asked.map(() => null),
        this.slot,
      ),
  };

  #status(signature: string): unknown {
    const older = this.older.find((one) => one.signature === signature);
    if (older !== undefined)
      return { slot: older.slot, confirmations: null, err: null, confirmationStatus: 'finalized' };
    const status = this.statuses.get(signature);
    if (status === undefined) return null;
    const err = typeof status === 'object' ? status.err : null;
    const failedAt = typeof status === 'object' && status.isFinal === true ? 'finalized' : 'confirmed';
    const confirmationStatus = typeof status === 'object' ? failedAt : status;
    return { slot: 995, confirmations: 1, err, confirmationStatus };
  }
}

const decodeSignature = (wire: string): string =>
  [one, two].find(({ bytes }) => Buffer.from(bytes).toString('base64') === wire)?.signature ?? '';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

async function cluster(count = 1, quorum = 1, commitment: Commitment = 'confirmed') {
  const states = Array.from({ length: count }, () => new NodeState());
  const nodes: StubNode[] = [];
  for (const { methods } of states) nodes.push(await stubNode(methods));
  // Two nodes of one host count as one, so each gets its own host.
  const urls = nodes.map(({ url }, at) => (at === 0 ? url : url.replace('127.0.0.1', 'localhost')));
  const opened = rpcChain(urls, { quorum, timeoutMs: 1_000, commitment });
  const [state] = states as [NodeState];
  const trace = async (...sought: (typeof one)[]) =>
    (await opened.chain.trace(sought)).map(({ kind, ...more }) => ('isOver' in more ? 'forgotten' : kind));
  return { ...opened, state, states, nodes, trace };
}

describe('what is sent for the first time', () => {
  it('is tried out without its signatures, and then sent as it is', async () => {
    const { chain, state } = await cluster();
    expect(await chain.submit([one.bytes], [true])).toEqual([null]);
    const [tried] = state.tried;
    expect(tried?.wire).toBe(base64(partiallySign(one.message, [])));
    const [signature = []] = decodeTransaction(Buffer.from(tried?.wire ?? '', 'base64')).signatures;
    expect(Array.from(signature)).toEqual(new Array(64).fill(0));
    expect(tried?.options).toMatchObject({ sigVerify: false, replaceRecentBlockhash: true });
    expect(state.sent).toEqual([base64(one.bytes)]);
    expect(state.options).toMatchObject([{ encoding: 'base64', skipPreflight: true, maxRetries: 0 }]);
  });

  it('is refused where it would fail, and then no node has ever had it', async () => {
    const { chain, state } = await cluster();
    state.trial = { InstructionError: [2, { Custom: 1 }] };
    expect(await chain.submit([one.bytes, two.bytes], [true, false])).toEqual([
      { index: 0, error: { kind: 'instruction', index: 2, custom: 1 }, logs: ['a log'] },
      null,
    ]);
    expect(state.sent).toEqual([base64(two.bytes)]);
  });

  it('is refused only by all nodes that have to agree', async () => {
    const { chain, states } = await cluster(2, 2);
    const [liar, honest] = states as [NodeState, NodeState];
    liar.trial = { InstructionError: [2, { Custom: 1 }] };
    expect(await chain.submit([one.bytes], [true])).toEqual([null]);
    honest.trial = liar.trial;
    expect(await chain.submit([one.bytes], [true])).toMatchObject([{ index: 0 }]);
  });
});

describe('of many of one kind', () => {
  /** A transaction that differs in its compute unit limit only, as burns do. */
  const like = (units: number) => {
    const message = compileLegacyMessage({
      ...{ payer: signer.address, blockhash: namedAddress('blockhash') },
      instructions: [setComputeUnitLimit(units), memo('burn', [signer.address])],
    });
    return { wire: signTransaction(message, [signer]).bytes, unsigned: partiallySign(message, []) };
  };
  const many = [1, 2, 3].map((more) => like(20_000 + more));
  const wires = many.map(({ wire }) => wire);
  const unsigned = many.map((each) => each.unsigned);
  const areNew = many.map(() => true);

  it('only the first is tried out, where it is not refused', async () => {
    const { chain, state } = await cluster();
    expect(await chain.submit(wires, areNew)).toEqual([null, null, null]);
    expect(state.tried.map(({ wire }) => wire)).toEqual([base64(unsigned[0] as Uint8Array)]);
    expect(state.sent.sort()).toEqual(wires.map(base64).sort());
  });

  it('each is tried out, where the first is refused', async () => {
    const { chain, state, nodes } = await cluster();
    const [node] = nodes as [StubNode];
    const fits = base64(unsigned[1] as Uint8Array);
    node.methods = {
      ...node.methods,
      simulateTransaction: (wire: string) =>
        inContext({ err: wire === fits ? null : 'InsufficientFundsForFee', logs: [] }),
    };
    const receipt = await chain.submit(wires, areNew);
    expect(receipt.map((refusal) => refusal?.index ?? null)).toEqual([0, null, 2]);
    expect(state.sent).toEqual([base64(wires[1] as Uint8Array)]);
  });

  it('those of another kind are tried out as well', async () => {
    const { chain, state } = await cluster();
    await chain.submit([...wires, one.bytes], [...areNew, true]);
    expect(state.tried).toHaveLength(2);
  });
});

describe('of several nodes', () => {
  it('one is sent to first, and all of them when it has to be sent again', async () => {
    const { chain, states, options, trace } = await cluster(2);
    await chain.submit([one.bytes], [true]);
    expect(states.map(({ sent }) => sent.length)).toEqual([1, 0]);
    await options.sleep(2_000);
    await trace(one);
    expect(states.map(({ sent }) => sent.length)).toEqual([2, 1]);
  });

  it('the next one is sent to where the first does not take it', async () => {
    const { chain, states, nodes } = await cluster(2);
    (nodes[0] as StubNode).always = hangUp;
    expect(await chain.submit([one.bytes])).toEqual([null]);
    expect(states.map(({ sent }) => sent.length)).toEqual([0, 1]);
  });
});

describe('what may have been sent before', () => {
  it('is refused by nobody: it is sent, whatever a trial would say', async () => {
    const { chain, state } = await cluster();
    state.trial = 'AccountNotFound';
    expect(await chain.submit([one.bytes])).toEqual([null]);
    expect(state.tried).toEqual([]);
    expect(state.sent).toEqual([base64(one.bytes)]);
  });

  it('counts as unknown when no node takes it, but not when one does', async () => {
    const { chain, nodes } = await cluster();
    const [node] = nodes as [StubNode];
    node.faults.push(stated(-32_005, 'behind'), undefined);
    expect(await chain.submit([one.bytes, two.bytes])).toEqual([null, null]);
    node.always = hangUp;
    await expect(chain.submit([one.bytes])).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  });

  it('may have been taken by a node whose answer cannot be read: a look-up says', async () => {
    const { chain, state, trace } = await cluster();
    const { methods } = state;
    const sent = methods.sendTransaction;
    methods.sendTransaction = (wire, options) => ({ taken: sent(wire, options) }) as unknown as string;
    expect(await chain.submit([one.bytes])).toEqual([null]);
    state.statuses.set(one.signature, 'confirmed');
    expect(await trace(one)).toEqual(['landed']);
  });

  it('is sent again as the same bytes every two seconds, while it is open', async () => {
    const { chain, state, options, trace } = await cluster();
    await chain.submit([one.bytes], [true]);
    expect(await trace(one)).toEqual(['open']);
    expect(state.sent).toHaveLength(1);
    await options.sleep(2_000);
    expect(await trace(one)).toEqual(['open']);
    expect(await trace(one)).toEqual(['open']);
    expect(state.sent).toEqual([base64(one.bytes), base64(one.bytes)]);
    state.statuses.set(one.signature, 'confirmed');
    await options.sleep(2_000);
    expect(await trace(one)).toEqual(['landed']);
    expect(state.sent).toHaveLength(2);
  });

  it('goes out one by one where order counts', async () => {
    const { chain, state } = await cluster();
    expect(await chain.submitBundles([[one.bytes], [two.bytes]], [true, true])).toEqual([null]);
    expect(state.sent).toEqual([base64(one.bytes)]);
  });
});

describe('what has landed', () => {
  it('is part of every state that is read from then on', async () => {
    const { chain, state, nodes, trace } = await cluster();
    await chain.getAccounts([namedAddress('account')]);
    state.statuses.set(one.signature, 'confirmed');
    expect(await trace(one)).toEqual(['landed']);
    await chain.getAccounts([namedAddress('account')]);
    const asked = nodes[0]?.calls.filter(({ method }) => method === 'getMultipleAccounts');
    expect(asked?.map(({ params }) => params[1])).toMatchObject([
      { minContextSlot: 990 },
      { minContextSlot: 1_000 },
    ]);
    const page = (_account: string, { limit }: { limit: number }) =>
      Array.from({ length: limit }, (__, at) => ({
        signature: `s${limit} ${at}`,
        slot: 5,
        err: null,
        memo: null,
        blockTime: null,
      }));
    for (const node of nodes) node.methods = { ...node.methods, getSignaturesForAddress: page };
    await chain.history(namedAddress('account'), { limit: 1_001 });
    const listed = nodes[0]?.calls.filter(({ method }) => method === 'getSignaturesForAddress');
    expect(listed?.map(({ params }) => params[1])).toMatchObject([
      { minContextSlot: 1_000 },
      { minContextSlot: 1_000, limit: 1 },
    ]);
  });

  it('is told with its fee and the time of its block, without a further question for each', async () => {
    const { chain, state, nodes } = await cluster();
    await chain.submit([one.bytes, two.bytes]);
    for (const { signature } of [one, two]) state.statuses.set(signature, 'confirmed');
    expect(await chain.trace([one, two])).toMatchObject(
      [one, two].map(({ signature }) => ({
        kind: 'landed',
        // 20,000 units at 1,000 micro-lamports, plus one signature.
        record: { signature, slot: 995n, blockTimeMs: 1_700_000_000_000, error: null, feeLamports: 5_020n },
      })),
    );
    expect(nodes[0]?.calls.filter(({ method }) => method === 'getBlockTime')).toHaveLength(1);
  });

  it('has landed at an unknown time, where the node does not have its block, or does not tell the time', async () => {
    const { chain, state } = await cluster();
    await chain.submit([one.bytes]);
    state.statuses.set(one.signature, 'finalized');
    const untold = [-32_001, -32_004, -32_601].map((code) => stated(code, 'Not available'));
    for (const answer of [...untold, null, 'a text', 9_000_000_000_000]) {
      state.methods.getBlockTime = () => answer as never;
      const [trace] = await chain.trace([one]);
      expect(trace).toMatchObject({ kind: 'landed', record: { slot: 995n, blockTimeMs: 0, error: null } });
    }
  });

  it('and failed is told when no fork can take it back, with what the node knows of it', async () => {
    const { chain, state, nodes, trace } = await cluster();
    await chain.submit([one.bytes]);
    const err = { InstructionError: [1, 'InvalidAccountData'] };
    state.statuses.set(one.signature, { err });
    expect(await trace(one)).toEqual(['open']);
    state.statuses.set(one.signature, { err, isFinal: true });
    expect(await chain.trace([one])).toMatchObject([
      { kind: 'landed', record: { error: { kind: 'instruction', index: 1, error: 'InvalidAccountData' } } },
    ]);
    expect(nodes[0]?.calls.some(({ method }) => method === 'getTransaction')).toBe(true);
    // A node whose status contradicts its transaction is not believed.
    const told = { transaction: [base64(one.bytes), 'base64'], blockTime: 1, meta: { err: null } };
    state.methods.getTransaction = () => told as never;
    await expect(chain.trace([one])).rejects.toMatchObject({ code: 'ERR_CHAIN_MISMATCH' });
  });
});

describe('that no fork can take a landing back', () => {
  it('has to be said by all that have to agree', async () => {
    const { chain, states } = await cluster(2, 2);
    const [left, right] = states as [NodeState, NodeState];
    for (const [other, isFinal] of [['confirmed', false] as const, ['finalized', true] as const]) {
      left.statuses.set(one.signature, 'finalized');
      right.statuses.set(one.signature, other);
      expect(await chain.trace([one])).toMatchObject([{ kind: 'landed', isFinal }]);
    }
  });
});

describe('what has to be final', () => {
  it('has not landed before no fork can take it back', async () => {
    const { state, trace } = await cluster(1, 1, 'finalized');
    state.statuses.set(one.signature, 'confirmed');
    expect(await trace(one)).toEqual(['open']);
    state.statuses.set(one.signature, 'finalized');
    expect(await trace(one)).toEqual(['landed']);
  });
});

describe('what is not found', () => {
  it('can never land once the finalized chain is above its last height, and not a block before', async () => {
    const { state, options, trace } = await cluster();
    state.height = 350;
    expect(await trace(one)).toEqual(['open']);
    await options.sleep(5_000);
    state.height = 351;
    expect(await trace(one)).toEqual(['never']);
  });

  it('is open while some node has run it, even if it is not confirmed', async () => {
    const { state, trace } = await cluster();
    state.height = 400;
    state.statuses.set(one.signature, 'processed');
    expect(await trace(one, two)).toEqual(['open', 'never']);
  });

  it('proves nothing at a node that has not seen the finalized state', async () => {
    const { states, trace } = await cluster(2);
    const [ahead, behind] = states as [NodeState, NodeState];
    for (const state of states) state.height = 400;
    ahead.finalizedSlot = 2_000;
    ahead.slot = 1_999;
    behind.slot = 2_100;
    behind.statuses.set(one.signature, 'confirmed');
    expect(await trace(one)).toEqual(['landed']);
    behind.slot = 1_500;
    await expect(trace(one)).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  });

  it('proves nothing where nodes that have to agree do not, and is not asked for without end', async () => {
    const { states, options, trace } = await cluster(2, 2);
    const [left, right] = states as [NodeState, NodeState];
    for (const state of states) state.height = 400;
    left.statuses.set(one.signature, 'confirmed');
    await expect(trace(one)).rejects.toMatchObject({ code: 'ERR_CHAIN_MISMATCH' });
    right.statuses.set(one.signature, { err: 'AccountInUse' });
    await expect(trace(one)).rejects.toMatchObject({ code: 'ERR_CHAIN_MISMATCH' });
    for (const state of states) state.height = 350;
    await options.sleep(5_001);
    expect(await trace(one)).toEqual(['open']);
    right.statuses.set(one.signature, 'confirmed');
    expect(await trace(one)).toEqual(['landed']);
  });

  it.each([
    ['in a low slot', 200, undefined, 'never'],
    ['in a block of before', 90_000, 200, 'never'],
    ['in a block of after', 90_000, 201, 'forgotten'],
    ['in a block of which the node does not say how high it is', 90_000, undefined, 'forgotten'],
  ] as const)('is proven beside an older one %s', async (_what, slot, height, end) => {
    const { state, trace } = await cluster();
    state.height = 400;
    state.older = [{ signature: OLDER, slot }];
    if (height !== undefined) state.heights.set(slot, height);
    expect(await trace(one)).toEqual([end]);
  });

  it('is proven by two nodes only beside one older by two lifetimes: its last height may have been told too high', async () => {
    const { states, trace } = await cluster(2, 2);
    for (const state of states)
      Object.assign(state, { height: 400, older: [{ signature: OLDER, slot: 51 }] });
    expect(await trace(one)).toEqual(['forgotten']);
    for (const state of states) state.older = [{ signature: OLDER, slot: 50 }];
    expect(await trace(one)).toEqual(['never']);
  });

  it('is not proven by several nodes behind one address, of which one has no history', async () => {
    const { state, trace } = await cluster();
    state.height = 400;
    const { getSignatureStatuses } = state.methods;
    const { older } = state;
    state.methods.getSignatureStatuses = (asked) => {
      state.older = [];
      const answer = getSignatureStatuses(asked);
      state.older = older;
      return answer;
    };
    expect(await trace(one)).toEqual(['forgotten']);
  });

  it('is not proven by a node behind, because another question meanwhile has forgotten the finalized slot', async () => {
    const { chain, state, trace } = await cluster();
    state.height = 400;
    const { getSignatureStatuses } = state.methods;
    state.methods.getSignatureStatuses = async (asked) => {
      state.methods.getSignatureStatuses = getSignatureStatuses;
      const answer = getSignatureStatuses(asked);
      // From here on, a machine answers that has not seen the landing yet.
      state.slot = 500;
      await expect(chain.getAccounts([signer.address])).rejects.toThrow('is behind');
      return answer;
    };
    await expect(trace(...new Array(256).fill(two), one)).rejects.toThrow('is behind');
  });

  it('is not proven by statuses of a fork: a list of what is confirmed must lack it too', async () => {
    const { state, nodes, trace } = await cluster();
    state.height = 400;
    const { getSignaturesForAddress } = state.methods;
    const landed = { signature: one.signature, slot: 995, err: null, memo: null, blockTime: null };
    state.methods.getSignaturesForAddress = () => [landed, ...getSignaturesForAddress()];
    expect(await trace(one, two)).toEqual(['forgotten', 'never']);
    const list = nodes[0]?.calls.find(({ method }) => method === 'getSignaturesForAddress');
    expect(list?.params[1]).toMatchObject({ minContextSlot: 990 });
  });

  it('is not proven by the list of another payer who signed with the same blockhash', async () => {
    const { chain, state } = await cluster();
    state.height = 400;
    const payer = namedAddress('payer');
    const { getSignaturesForAddress } = state.methods;
    const landed = { signature: two.signature, slot: 995, err: null, memo: null, blockTime: null };
    state.methods.getSignaturesForAddress = (...[account]: string[]) =>
      account === payer ? [landed, ...getSignaturesForAddress()] : getSignaturesForAddress();
    const theirs = { signature: two.signature, payer, lastValidBlockHeight: LAST_HEIGHT };
    expect(await chain.trace([one, theirs])).toEqual([{ kind: 'never' }, { kind: 'open', isOver: true }]);
  });

  it('is proven to the sender of an approval too', async () => {
    const { sender, state } = await cluster();
    state.height = 400;
    const terms = { lastValidBlockHeight: LAST_HEIGHT, deadlineMs: 0 };
    expect(await sender(one.bytes, terms)).toMatchObject({ kind: 'never' });
  });

  it('is open while its blockhash is valid, whatever height was told, and that height does not stay', async () => {
    const { chain, options, state, trace } = await cluster();
    [state.height, state.isValid] = [400, true];
    expect(await trace(one)).toEqual(['open']);
    expect(await chain.expiredHeight()).toBe(399n);
    state.height = 300;
    await options.sleep(5_001);
    expect(await chain.expiredHeight()).toBe(299n);
  });
});

it('a slot that was told too high fails one question, and is forgotten then', async () => {
  const { chain, state } = await cluster();
  state.slot = 9_000;
  await chain.getAccounts([signer.address]);
  state.slot = 1_000;
  await expect(chain.getAccounts([signer.address])).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  expect(await chain.getAccounts([signer.address])).toEqual([null]);
});

it('a height is told by a node that has finalized the required slot', async () => {
  const { chain, states } = await cluster(2);
  const [, ahead] = states as [NodeState, NodeState];
  [ahead.finalizedSlot, ahead.height] = [2_000, 900];
  expect(await chain.expiredHeight()).toBe(299n);
  expect(await chain.expiredHeight(1_900)).toBe(899n);
});

describe('settling on a cluster', () => {
  const units = [{ transactions: [one], lastValidBlockHeight: LAST_HEIGHT }];

  it('signs nothing again of what no node remembers', async () => {
    const { chain, state } = await cluster();
    state.height = 400;
    state.older = [];
    const renew = () => Promise.reject(new TypeError('It has not been proven.'));
    await expect(settle(chain, { units, areNew: false, lease: FREE_LEASE, renew })).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
      message: expect.stringContaining('enough history'),
    });
    expect(state.sent).toEqual([]);
  });

  it('signs again what has proven never to land, tries that out, and takes its landing', async () => {
    const { chain, state } = await cluster();
    state.height = 400;
    state.statuses.set(two.signature, 'confirmed');
    const again = { transactions: [two], lastValidBlockHeight: 900n };
    const settled = await settle(chain, {
      units,
      areNew: false,
      lease: FREE_LEASE,
      renew: async () => [again],
    });
    expect(settled).toMatchObject([{ kind: 'landed' }]);
    expect(state.tried).toHaveLength(1);
    expect(state.sent).toEqual([base64(two.bytes)]);
  });
});

it('a blockhash whose last height is told far too high, or too low, is not signed with', async () => {
  const { chain, state, nodes } = await cluster();
  const [node] = nodes as [StubNode];
  for (const [ahead, isGood] of [
    [9_000, true] as const,
    [9_001, false] as const,
    [1, true] as const,
    [0, false] as const,
  ]) {
    const newest = { blockhash: namedAddress('blockhash'), lastValidBlockHeight: state.height - 1 + ahead };
    node.methods = { ...node.methods, getLatestBlockhash: () => inContext(newest) };
    const told = chain.latestBlockhash();
    if (isGood) expect(await told).toMatchObject({ blockhash: newest.blockhash });
    else await expect(told).rejects.toMatchObject({ code: 'ERR_CHAIN_MISMATCH' });
  }
});
