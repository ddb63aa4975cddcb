/** Compares a batch with the user's own chain: the approved one before and after its execution, a closed one with the report of its service. */
import { describe, expect, it } from 'vitest';
import { pipelinesDigest } from '../../../src/actions/pipelines.js';
import type { ChainReader } from '../../../src/chain/chain.js';
import { SQUADS_PROGRAM } from '../../../src/chain/programs.js';
import {
  batchAccountsClose,
  batchExecuteTransaction,
  proposalCancelV2,
} from '../../../src/chain/squads/builders.js';
import { compile } from '../../../src/chain/transaction/message.js';
import {
  requireChainAgrees,
  requireRanAsApproved,
  requireWillRun,
} from '../../../src/cli/batch/chain-agrees.js';
import type { Session } from '../../../src/cli/command.js';
import type { Uuid } from '../../../src/values/ids.js';
import { namedAddress } from '../../support/oracle.js';
import {
  accountsOf,
  batchIndex,
  batchState,
  flywheel,
  instructionsOf,
  multisig,
  operator,
  owner,
  pipelines,
  readerOf,
  vaultAt,
} from '../batch-on-chain.js';
import { nodeOf, type Past, pastOf } from './past-batch.js';
import { refuse } from './single-command.js';

const batch = { id: 'b-1' as Uuid, batchIndex: String(batchIndex) };
const digest = pipelinesDigest(pipelines);
const good = instructionsOf();
const other = [...good].reverse();
const trusted = async () => flywheel;
const pins = flywheel;

function listening(): { session: Session; warnings: string[] } {
  const warnings: string[] = [];
  const settings = { maxWaitSeconds: { value: 0 } };
  const session = { settings, output: { warn: (text: string) => warnings.push(text) } } as unknown as Session;
  return { session, warnings };
}
const BLIND = [
  ['no chain is read', { chain: null, pins, trusted }],
  ['nothing is pinned', { chain: readerOf(new Map()), pins: null, trusted: async () => null }],
  ['the mint cannot be read', { chain: readerOf(new Map()), pins, trusted: async () => null }],
] as const;

describe('before a batch is executed', () => {
  const opened = (instructions: typeof good) => ({
    ...{ chain: readerOf(accountsOf(batchState(instructions))), pins, trusted },
  });

  it('goes on when it is the one that was approved, and where nothing is known of that', async () => {
    await requireWillRun(opened(good), batch, digest, false);
    await requireWillRun(opened(other), batch, null, false);
    // Nothing more can run of a closed batch.
    await requireWillRun({ ...opened(good), chain: readerOf(new Map()) }, batch, digest, false);
  });

  it.each([['the node shows another by now', opened(other)], ...BLIND] as const)(
    'stops when %s',
    async (_what, world) => {
      for (const [wasSent, code] of [
        [false, 'ERR_APPROVAL_REFUSED'],
        [true, 'ERR_OUTCOME_UNKNOWN'],
      ] as const)
        await expect(requireWillRun(world, batch, digest, wasSent)).rejects.toMatchObject({ code });
    },
  );
});

describe('after a batch was executed', () => {
  async function ran(past: Past, says: number, { failed = [] as readonly string[], wasSent = true } = {}) {
    const { session, warnings } = listening();
    const opened = { kind: 'remote', chain: nodeOf(past, { failed }), pins, trusted } as const;
    await requireRanAsApproved(session, opened, batch, says, { digest, wasSent });
    return warnings;
  }
  const doubted = { code: 'ERR_OUTCOME_UNKNOWN' };

  it('is content when exactly that ran', async () => {
    expect(await ran(pastOf(good, 3), 3)).toEqual([]);
    expect(await ran(pastOf(good, 2), 2)).toEqual([]);
  });

  it('does not believe the service when another batch, or less of it, ran', async () => {
    await expect(ran(pastOf(other, 3), 3)).rejects.toMatchObject(doubted);
    await expect(ran(pastOf(good, 2), 3)).rejects.toMatchObject(doubted);
    await expect(ran(pastOf(good, 0), 3)).rejects.toMatchObject(doubted);
    // This machine approved nothing, and expected another batch.
    await expect(ran(pastOf(other, 3), 3, { wasSent: false })).rejects.toMatchObject({
      code: 'ERR_APPROVAL_REFUSED',
    });
    await expect(ran(pastOf(good, 2), 3, { wasSent: false })).rejects.toMatchObject(doubted);
  });

  it('counts what ran also where nothing was expected of it', async () => {
    const opened = { kind: 'remote', chain: nodeOf(pastOf(good, 0)), pins, trusted } as const;
    await expect(
      requireRanAsApproved(listening().session, opened, batch, 3, { digest: null, wasSent: true }),
    ).rejects.toMatchObject(doubted);
  });

  it('warns when the node has forgotten some of it, contradicts itself, or does not answer', async () => {
    const forgotten = pastOf(good, 3).set('added2', null);
    expect(await ran(forgotten, 3)).toHaveLength(1);
    expect(await ran(pastOf(good, 3), 3, { failed: ['executed2'] })).toHaveLength(1);
    expect(await ran(new Map(), 3)).toHaveLength(1);
    const { session, warnings } = listening();
    const lookUp = async () => refuse('ERR_UNAVAILABLE', 'The RPC node does not answer.');
    const chain: ChainReader = { ...nodeOf(pastOf(good, 3)), lookUp };
    const opened = { kind: 'remote', chain, pins, trusted } as const;
    await requireRanAsApproved(session, opened, batch, 3, { digest, wasSent: true });
    expect(warnings).toHaveLength(1);
  });

  it.each(BLIND)('warns where %s and something was approved', async (_what, world) => {
    const { session, warnings } = listening();
    const opened = { kind: 'remote', ...world } as const;
    await requireRanAsApproved(session, opened, batch, 3, { digest, wasSent: true });
    await requireRanAsApproved(session, opened, batch, 3, { digest: null, wasSent: true });
    expect(warnings).toHaveLength(1);
  });
});

describe('a batch that is closed on chain', () => {
  const [first = [], second = []] = good;
  const close = batchAccountsClose({ multisig, batchIndex, rentCollector: operator });
  const votes = [owner, operator].map((member) => proposalCancelV2({ multisig, batchIndex, member }));
  const over = (executed: number): Past =>
    pastOf([first, second], executed).set('cancelled', votes).set('closed', [close]);
  const failed = {
    ...batch,
    status: 'FAILED',
    initResult: { total: 2, totalSuccessful: 2 } as never,
  } as const;
  const cancelled = { ...failed, dateCancelled: '2026-01-31T12:00:00.000Z' };
  const agree = (
    chain: ChainReader,
    other: Parameters<typeof requireChainAgrees>[2],
    totalSuccessful: number,
  ) =>
    requireChainAgrees(listening().session, { kind: 'remote', chain, pins }, other, {
      totalSuccessful,
      total: 2,
    });

  it('was cancelled when as much of it was executed as the service says', async () => {
    for (const executed of [0, 1]) await agree(nodeOf(over(executed)), cancelled, executed);
    // Others execute their own batch and name this one, or repeat an execution.
    const [vault, member] = [vaultAt.address, operator];
    const foreign = batchExecuteTransaction({
      ...{ multisig, batchIndex: batchIndex + 1n, number: 2, vault, member, message: compile(vault, second) },
    });
    const [execute] = over(1).get('executed1') ?? [];
    if (execute === undefined) throw new TypeError('One was executed.');
    await agree(nodeOf(over(1).set('strange', [foreign, execute, execute])), cancelled, 1);
  });

  const within = { ...close, program: namedAddress('another') };
  it.each([
    ['all of it was executed', over(2), /and 2 were executed\.$/],
    ['the node has forgotten a transaction', over(0).set('added1', null), /does not know/],
    [
      'the node has forgotten its beginning',
      new Map([['executed1', over(1).get('executed1') ?? null]]),
      /does not know/,
    ],
    ['another program has called it', over(0).set('within', [within]), /does not know/],
    ['the node knows nothing of it', new Map(), /does not know/],
    ['the node is behind and does not list its end', pastOf([first, second], 0), /does not know/],
  ] as [string, Past, RegExp][])(
    'is not believed to be cancelled with nothing done when %s',
    async (_what, past, reason) => {
      const kept = { within: { logs: [`Program ${SQUADS_PROGRAM} invoke [2]`] } };
      await expect(agree(nodeOf(past, { kept }), cancelled, 0)).rejects.toMatchObject({
        ...{ code: 'ERR_OUTCOME_UNKNOWN', message: expect.stringMatching(reason) },
      });
    },
  );

  it('has failed, or was executed, where the chain says as much; what waits is not closed', async () => {
    await agree(nodeOf(over(0)), failed, 0);
    await agree(nodeOf(new Map()), failed, 2);
    for (const [other, count] of [
      [failed, 1],
      [{ ...failed, status: 'FINALIZED' }, 0],
    ] as const)
      await expect(agree(nodeOf(over(0)), other, count)).rejects.toMatchObject({
        code: 'ERR_OUTCOME_UNKNOWN',
      });
  });
});
