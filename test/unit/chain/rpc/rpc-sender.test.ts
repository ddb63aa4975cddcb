import { afterEach, describe, expect, it } from 'vitest';
import { memo } from '../../../../src/chain/memo.js';
import { compileV0Message, signTransaction } from '../../../../src/chain/transaction/compile.js';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/signer.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain, type TestRpcOptions } from '../../../support/rpc-chain.js';
import {
  closeStubs,
  hangUp,
  status as httpStatus,
  inContext,
  type StubNode,
  stated,
  stubNode,
} from '../../../support/rpc-stub.js';

afterEach(closeStubs);

const signer = createKeypairSigner(generateKeypair());
const blockhash = namedAddress('blockhash');
const { bytes: wire, signature } = signTransaction(
  compileV0Message({ payer: signer.address, instructions: [memo('vote', [signer.address])], blockhash }),
  [signer],
);
const LAST_HEIGHT = 350;

/** A cluster that one or more nodes tell of: time goes on by a slot with every look at it. */
class Cluster {
  slot = 100;
  /** Slot in which the transaction lands, once it was sent. */
  landsAt = Number.POSITIVE_INFINITY;
  error: unknown = null;
  sent: number[] = [];
  /** From which slot on the blockhash is known, and until which it is good. */
  known = 0;
  goodUntil = Number.POSITIVE_INFINITY;
  slotsPerLook = 1;

  readonly methods = {
    sendTransaction: (encoded: string, options: object) => {
      expect(Buffer.from(encoded, 'base64').equals(Buffer.from(wire))).toBe(true);
      expect(options).toEqual({ encoding: 'base64', preflightCommitment: 'confirmed', maxRetries: 0 });
      this.sent.push(this.slot);
      return signature;
    },
    getSignatureStatuses: ([asked]: readonly string[], options: object) => {
      expect(asked).toBe(signature);
      expect(options).toEqual({ searchTransactionHistory: true });
      this.slot += this.slotsPerLook;
      const hasLanded = this.sent.length > 0 && this.slot >= this.landsAt;
      const status = {
        slot: this.landsAt,
        err: this.error,
        confirmations: 1,
        confirmationStatus: 'confirmed',
      };
      return inContext([hasLanded ? status : null], this.slot);
    },
    isBlockhashValid: (asked: string, options: object) => {
      expect(asked).toBe(blockhash);
      expect(options).toMatchObject({ commitment: 'finalized' });
      return inContext(this.slot >= this.known && this.slot <= this.goodUntil, this.slot);
    },
    getBlockHeight: () => this.slot,
    getTransaction: () => null,
  };

  readonly node = (): Promise<StubNode> => stubNode(this.methods);
}

const send = (
  nodes: readonly StubNode[],
  seconds = 60,
  height: number | null = LAST_HEIGHT,
  more: TestRpcOptions = {},
) => {
  const chain = rpcChain(
    nodes.map(({ url }) => url),
    { ...more, timeoutMs: 1_000 },
  );
  const outcome = chain.sender.submitAndConfirm(wire, {
    deadlineMs: chain.nowMs() + seconds * 1_000,
    ...(height === null ? {} : { lastValidBlockHeight: BigInt(height) }),
  });
  return { chain, outcome };
};

describe('a transaction that is sent', () => {
  it('is sent again every two seconds, as the same bytes, until it has landed', async () => {
    const cluster = new Cluster();
    cluster.landsAt = 105;
    const { chain, outcome } = send([await cluster.node()]);
    expect(await outcome).toMatchObject({ kind: 'landed', record: { signature, slot: 105n, error: null } });
    expect(cluster.sent).toHaveLength(5);
    expect(chain.waits).toEqual([2_000, 2_000, 2_000, 2_000]);
  });

  it('may land and fail', async () => {
    const cluster = new Cluster();
    cluster.landsAt = 101;
    cluster.error = { InstructionError: [0, { Custom: 6_008 }] };
    const { outcome } = send([await cluster.node()]);
    expect(await outcome).toMatchObject({
      kind: 'failed',
      record: { error: { kind: 'instruction', index: 0, custom: 6_008 } },
    });
  });

  it('has expired when its blockhash is no longer good and a look-up after that finds nothing', async () => {
    const cluster = new Cluster();
    Object.assign(cluster, { slotsPerLook: 60, goodUntil: LAST_HEIGHT });
    const node = await cluster.node();
    const { outcome } = send([node]);
    expect(await outcome).toEqual({ kind: 'expired', rejection: null });
    expect(node.calls.at(-1)?.method).toBe('getSignatureStatuses');
    expect(node.calls.findLastIndex(({ method }) => method === 'getBlockHeight')).toBe(node.calls.length - 2);
  });

  it('has landed when it did so in the last block that took its blockhash', async () => {
    const cluster = new Cluster();
    Object.assign(cluster, { slotsPerLook: 60, goodUntil: LAST_HEIGHT, landsAt: 401 });
    const { outcome } = send([await cluster.node()]);
    expect(await outcome).toMatchObject({ kind: 'landed', record: { slot: 401n } });
  });

  it('has not expired for a node that does not know its blockhash yet', async () => {
    const cluster = new Cluster();
    Object.assign(cluster, { known: 104, landsAt: 107 });
    for (const height of [LAST_HEIGHT, null]) {
      cluster.slot = 100;
      const { outcome } = send([await cluster.node()], 60, height);
      expect(await outcome).toMatchObject({ kind: 'landed' });
    }
  });

  it('has not expired for a look-up that is older than the end of its blockhash', async () => {
    const cluster = new Cluster();
    cluster.goodUntil = 90;
    const node = await cluster.node();
    node.methods = {
      ...cluster.methods,
      getBlockHeight: () => 351,
      isBlockhashValid: () => inContext(false, 900),
    };
    const { outcome } = send([node], 5);
    expect(await outcome).toMatchObject({ kind: 'unknown', problem: { code: 'ERR_UNAVAILABLE' } });
  });

  it.each([1, 2])(
    'has not expired while one of %i nodes has run it, even if it is not confirmed',
    async (quorum) => {
      const run = { slot: 340, err: null, confirmations: 0, confirmationStatus: 'processed' };
      const cluster = new Cluster();
      Object.assign(cluster, { slot: 400, goodUntil: LAST_HEIGHT });
      const nodes = [await cluster.node(), await cluster.node()].slice(0, quorum);
      const last = nodes.at(-1) as StubNode;
      last.methods = { ...cluster.methods, getSignatureStatuses: () => inContext([run], 10_000) };
      const { outcome } = send(nodes, 5, LAST_HEIGHT, { quorum });
      expect(await outcome).toMatchObject({ kind: 'unknown' });
    },
  );

  it('is of unknown fate when the time is over, or its blockhash was never seen to be good', async () => {
    const cluster = new Cluster();
    expect(await send([await cluster.node()], 9).outcome).toMatchObject({ kind: 'unknown' });
    cluster.goodUntil = 0;
    expect(await send([await cluster.node()], 9, null).outcome).toMatchObject({ kind: 'unknown' });
  });

  it('is sent on while nodes are out of reach', async () => {
    const cluster = new Cluster();
    cluster.landsAt = 101;
    const node = await cluster.node();
    node.faults.push(hangUp, httpStatus(429), httpStatus(503), hangUp);
    const { outcome } = send([node]);
    expect(await outcome).toMatchObject({ kind: 'landed' });
    for (const fault of [stated(-32_005), stated(429), stated(-32_603)]) {
      const busy = await cluster.node();
      busy.always = fault;
      expect(await send([busy], 5).outcome).toMatchObject({
        kind: 'unknown',
        problem: { code: 'ERR_UNAVAILABLE' },
      });
    }
    const gone = await cluster.node();
    gone.always = hangUp;
    expect(await send([gone], 5).outcome).toMatchObject({
      kind: 'unknown',
      problem: { code: 'ERR_UNAVAILABLE' },
    });
  });

  it('is not over because a node refuses it: who signed may have sent it elsewhere', async () => {
    const cluster = new Cluster();
    cluster.landsAt = 103;
    cluster.sent.push(0);
    const node = await cluster.node();
    const refusal = stated(-32_002, 'Transaction simulation failed', {
      err: { InstructionError: [0, { Custom: 1 }] },
      logs: ['Program log: no', 7],
    });
    node.methods = { ...cluster.methods, sendTransaction: () => undefined };
    node.faults.push(refusal);
    expect(await send([node]).outcome).toMatchObject({ kind: 'landed' });
  });

  it('says why it was refused when it has expired', async () => {
    const cluster = new Cluster();
    Object.assign(cluster, { slotsPerLook: 300, goodUntil: LAST_HEIGHT });
    const node = await cluster.node();
    node.faults.push(
      stated(-32_002, 'failed', { err: 'InsufficientFundsForFee', logs: ['Program log: no', 7] }),
    );
    expect(await send([node]).outcome).toEqual({
      kind: 'expired',
      rejection: {
        index: 0,
        error: { kind: 'transaction', error: 'InsufficientFundsForFee' },
        logs: ['Program log: no'],
      },
    });
  });

  it('goes to every node, and its fate is what two say that have to agree', async () => {
    const cluster = new Cluster();
    cluster.landsAt = 104;
    const nodes = [await cluster.node(), await cluster.node()];
    const { outcome } = send(nodes, 60, LAST_HEIGHT, { quorum: 2 });
    expect(await outcome).toMatchObject({ kind: 'landed' });
    for (const { calls } of nodes)
      expect(calls.some(({ method }) => method === 'sendTransaction')).toBe(true);
    const liar = await cluster.node();
    liar.methods = {
      ...cluster.methods,
      getSignatureStatuses: () =>
        inContext([{ slot: 1, err: null, confirmations: null, confirmationStatus: 'finalized' }], 10_000),
    };
    cluster.landsAt = Number.POSITIVE_INFINITY;
    const honest = await cluster.node();
    honest.methods = { ...cluster.methods, getSignatureStatuses: () => inContext([null], 10_000) };
    expect(await send([liar, honest], 5, LAST_HEIGHT, { quorum: 2 }).outcome).toMatchObject({
      kind: 'unknown',
      problem: { code: 'ERR_CHAIN_MISMATCH' },
    });
  });

  it('is not sent when a signature is missing or wrong, and no longer once the user interrupts', async () => {
    const cluster = new Cluster();
    const node = await cluster.node();
    const unsigned = Buffer.from(wire).fill(0, 1, 65);
    const { sender, nowMs } = rpcChain([node.url]);
    await expect(sender.submitAndConfirm(unsigned, { deadlineMs: nowMs() })).rejects.toThrow(
      'A signature of the transaction is missing or wrong.',
    );
    expect(node.calls).toEqual([]);
    const controller = new AbortController();
    const { outcome } = send([node], 60, LAST_HEIGHT, {
      signal: controller.signal,
      sleep: async () => controller.abort(),
    });
    const error = await outcome.catch((thrown: unknown) => thrown);
    expect(isFlywheelError(error, 'ERR_INTERRUPTED')).toBe(true);
  });
});
