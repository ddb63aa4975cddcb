/** The engine on a faulty cluster: every burn and batch happens once, however often it is requested. */
import { randomUUID } from 'node:crypto';
import { accounts } from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import { nodeAddress } from '../../../src/chain/node-address.js';
import type { RpcNode } from '../../../src/chain/rpc/ask.js';
import type { Reply } from '../../../src/contract/call.js';
import { isFlywheelError } from '../../../src/errors/flywheel-error.js';
import { aBurnRequest, aPipeline, burnAction, signVote, supplyOf, tokensOf } from '../../support/engine.js';
import { itLong, sampleOf } from '../../support/long.js';
import { rpcResult } from '../../support/rpc-call.js';
import { failureOf } from '../../support/service.js';
import type { FaultRule } from '../../test-cluster/faults.js';
import { openOnCluster } from './on-cluster.js';

const SEED = Number(process.env['CLUSTER_SEED'] ?? 1);
const UNIT = 1_000_000n;
/** The most calls with one key; each stores its progress. */
const MAX_CALLS = 60;
/** Errors with an unknown outcome. */
const OPEN = [
  'ERR_UNAVAILABLE',
  'ERR_RESPONSE_INVALID',
  'ERR_DUPLICATE_IDEMPOTENCY_KEY',
  'ERR_BATCH_IN_PROGRESS',
];

/** Shortens timeouts, so that no test waits for a missing answer. */
const impatient = ({ address, post }: RpcNode): RpcNode => ({
  address,
  post: (body, terms) => post(body, { ...terms, timeoutMs: Math.min(terms.timeoutMs, 1_000) }),
});

async function untilKnown<Value>(ask: () => Promise<Reply<Value>>): Promise<Value> {
  let last: unknown;
  for (let call = 0; call < MAX_CALLS; call += 1) {
    try {
      return (await ask()).value;
    } catch (error) {
      if (!isFlywheelError(error) || !OPEN.includes(error.code)) throw error;
      last = error;
    }
  }
  throw new TypeError('The outcome never became known.', { cause: last });
}

const SENDING = { methods: ['sendTransaction'] };
/** What `core.test.ts` does not do to the whole specification; every check runs the first. */
const worlds: readonly [string, readonly FaultRule[]][] = [
  ['lets some expire', [{ fault: 'expire', rate: 0.2, times: 2 }]],
  ['loses what was on forks', [{ fault: 'rollback', rate: 0.15, slots: 1, lost: true }]],
  ['leaves forks before they are confirmed', [{ fault: 'rollback', rate: 0.2, slots: 1 }]],
  ['answers from the past', [{ fault: 'behind', rate: 0.4, slots: 20 }]],
  ['does what it never answers', [{ fault: 'unanswered', rate: 0.4, times: 2, ...SENDING }]],
  [
    'talks nonsense',
    [
      { fault: 'wrong', rate: 0.1, as: 'html' },
      { fault: 'wrong', rate: 0.1, as: 'id' },
    ],
  ],
];

describe(`burns land once each, a batch runs once, and the books balance (seed ${SEED})`, () => {
  it.each(sampleOf(worlds, 1))(
    'on a cluster that %s',
    async (_what, faults) => {
      const under = await openOnCluster({ faults, seed: SEED, wrap: impatient });
      const { service, test, node } = under;
      const { project } = test;
      const before = await supplyOf(under, project);

      const key = randomUUID();
      const burns = Array.from({ length: 6 }, (_, index) => aBurnRequest(index + 1, { proof: { index } }));
      const burned = await untilKnown(() => service.burnBatch(burns, project.call({ idempotencyKey: key })));
      expect(burned.errors).toEqual([]);
      expect(new Set(burned.success.map(({ txHash }) => txHash)).size).toBe(6);
      expect(before - (await supplyOf(under, project))).toBe(21n * UNIT);

      const pipelines = [3, 4, 5].map((amount) => aPipeline([burnAction(amount)]));
      const init = project.call({ idempotencyKey: randomUUID() });
      const started = await untilKnown(() => service.initBatch({ pipelines }, init));
      const batchId = started.batch.id;
      let signedTx = signVote(project.owner, started.proposalApproveTx);
      const execute = () => service.executeBatch({ batchId, signedTx }, project.call());
      const { result } = await untilKnown(async () => {
        try {
          return await execute();
        } catch (error) {
          // A blockhash of this cluster is valid for seconds.
          if (!isFlywheelError(error, 'ERR_APPROVAL_EXPIRED')) throw error;
          const { value } = await service.issueApproval({ batchId }, project.call());
          signedTx = signVote(project.owner, value.proposalApproveTx);
          return execute();
        }
      });
      expect(result).toMatchObject({ total: 3, totalSuccessful: 3, totalFailed: 0 });

      expect(before - (await supplyOf(under, project))).toBe(33n * UNIT);
      expect(await tokensOf(under.test.chain, project, project.registration.vaultAddress)).toBe(
        999_988n * UNIT,
      );
      const records = await test.chain.lookUp(burned.success.map(({ txHash }) => txHash));
      expect(records.map((record) => record?.error)).toEqual(new Array(6).fill(null));
      expect(node.failures).toEqual([]);
    },
    120_000,
  );
});

describe('where only what is final counts', () => {
  it('a pipeline that has landed and is not final yet is its own all the same, when it is asked for again', async () => {
    let isOut = async (): Promise<boolean> => false;
    const down = { reason: 'the line is down', retryable: false, maybeSent: false, cause: undefined };
    const out = { kind: 'failure', ...down } as const;
    const under = await openOnCluster({
      wrap: ({ address, post }) => ({
        address,
        post: async (...asked) => ((await isOut()) ? out : post(...asked)),
      }),
      finalizedAfter: 40,
      more: async () => ({ commitment: 'finalized' }),
    });
    const { service, test, node } = under;
    const { project } = test;
    const pipelines = [3, 4].map((amount) => aPipeline([burnAction(amount)]));
    const call = project.call({ idempotencyKey: randomUUID() });
    const { batch, proposalApproveTx } = (await service.initBatch({ pipelines }, call)).value;
    const signedTx = signVote(project.owner, proposalApproveTx);
    const execute = () => service.executeBatch({ batchId: batch.id, signedTx }, project.call());

    const shown = [project.registration.mintAddress, { commitment: 'confirmed' }];
    const supply = async () =>
      (await rpcResult<{ value: { amount: string } }>(node.url, 'getTokenSupply', ...shown)).value.amount;
    const before = await supply();
    // The connection fails after a pipeline landed and before it is final.
    isOut = async () => (await supply()) !== before;
    expect(await failureOf(execute())).toMatchObject({ code: 'ERR_UNAVAILABLE' });
    isOut = async () => false;

    const { result } = (await execute()).value;
    expect(result).toMatchObject({ total: 2, totalSuccessful: 2, totalFailed: 0 });
    expect(result.successfulExecutions.flatMap(({ txHashes }) => txHashes)).toHaveLength(2);
  }, 60_000);
});

type Lie = (method: string, result: never) => unknown;

/** @param isLying - asked with each answer */
const liarOf = ({ address, post }: RpcNode, lie: Lie, isLying: () => boolean): RpcNode => ({
  address,
  post: async (body, terms) => {
    const outcome = await post(body, terms);
    if (outcome.kind === 'failure' || !isLying()) return outcome;
    const { result, ...rest } = JSON.parse(outcome.text) as { readonly result: never };
    const { method } = JSON.parse(body) as { readonly method: string };
    return { ...outcome, text: JSON.stringify({ ...rest, result: lie(method, result) }) };
  },
});

it('a batch whose index was told too high is set up under the next, once that is told', async () => {
  let isLying = true;
  const TRANSACTION_INDEX_AT = 78;
  const lie: Lie = (method, result: { readonly value: readonly ({ data: string[] } | null)[] }) => {
    for (const account of method === 'getMultipleAccounts' ? result.value : []) {
      const data = Buffer.from(account?.data[0] ?? '', 'base64');
      if (account === null || !data.subarray(0, 8).equals(Buffer.from(accounts.multisigDiscriminator)))
        continue;
      data.writeBigUInt64LE(2n ** 40n, TRANSACTION_INDEX_AT);
      account.data[0] = data.toString('base64');
    }
    return result;
  };
  const { service, test } = await openOnCluster({
    pace: 'clock',
    wrap: (node) => liarOf(node, lie, () => isLying),
  });
  const call = test.project.call({ idempotencyKey: randomUUID() });
  const init = () => service.initBatch({ pipelines: [aPipeline([burnAction(3)])] }, call);
  expect(await failureOf(init())).toMatchObject({ code: 'ERR_BATCH_INIT_FAILED' });
  isLying = false;
  expect((await init()).value.batch).toMatchObject({ status: 'FINALIZED', batchIndex: '1' });
}, 60_000);

itLong(
  'a set-up of which nothing lands ends open, and its repeat sets it up once',
  async () => {
    const { service, test, node } = await openOnCluster();
    node.faults.set([{ fault: 'drop' }]);
    const call = test.project.call({ idempotencyKey: randomUUID() });
    const init = () => service.initBatch({ pipelines: [aPipeline([burnAction(3)])] }, call);
    expect(await failureOf(init())).toMatchObject({ code: 'ERR_UNAVAILABLE', options: { unsent: false } });
    node.faults.set([]);
    expect((await init()).value.batch).toMatchObject({ status: 'FINALIZED', batchIndex: '1' });
  },
  60_000,
);

describe('of a burn that has landed, and whose status no node tells, nothing is signed again', () => {
  const without = ({ context, value }: { readonly context: object; readonly value: readonly unknown[] }) => ({
    ...{ context, value: value.map(() => null) },
  });
  const isStatus = (method: string): boolean => method === 'getSignatureStatuses';

  /** A burn under lies that begin after the project has been compared with the chain. */
  async function burning(lie: Lie, quorum = 1) {
    let isLying = false;
    const nodes: RpcNode[] = [];
    const wrap = (node: RpcNode): RpcNode => {
      const liar = liarOf(node, lie, () => isLying);
      nodes.push(liar, { address: nodeAddress('http://honest.example', 'the test'), post: node.post });
      return liar;
    };
    const under = await openOnCluster({
      wrap,
      more: async () => ({ quorum, nodes: nodes.slice(0, quorum) }),
    });
    const { project } = under.test;
    await under.service.burn(aBurnRequest(2), project.call({ idempotencyKey: randomUUID() }));
    const before = await supplyOf(under, project);
    const call = project.call({ idempotencyKey: randomUUID() });
    return {
      tell: (are: boolean) => {
        isLying = are;
      },
      burn: () => under.service.burn(aBurnRequest(1), call),
      burned: async () => before - (await supplyOf(under, project)),
    };
  }

  it('where several nodes stand behind one address, and one of them has no history', async () => {
    const { tell, burn, burned } = await burning((method, result) =>
      isStatus(method) ? without(result) : result,
    );
    tell(true);
    expect(await failureOf(burn())).toMatchObject({ code: 'ERR_UNAVAILABLE' });
    tell(false);
    expect((await untilKnown(burn)).result).toBe('SUCCESS');
    expect(await burned()).toBe(UNIT);
  }, 60_000);

  it('where one of two nodes that have to agree does not know it, and its outcome is unknown', async () => {
    const { tell, burn } = await burning(
      (method, result) => (isStatus(method) ? without(result) : result),
      2,
    );
    tell(true);
    expect(await failureOf(burn())).toMatchObject({ code: 'ERR_CHAIN_MISMATCH', options: { unsent: false } });
    tell(false);
    expect((await untilKnown(burn)).result).toBe('SUCCESS');
  }, 60_000);

  it('where a block height is told too high', async () => {
    let left = 40;
    const { tell, burn, burned } = await burning((method, result) => {
      if (method === 'getEpochInfo') return { ...(result as object), blockHeight: 100_000 };
      if (isStatus(method)) left -= 1;
      return isStatus(method) && left > 0 ? without(result) : result;
    });
    tell(true);
    expect((await burn()).value.result).toBe('SUCCESS');
    expect(await burned()).toBe(UNIT);
  }, 60_000);
});
