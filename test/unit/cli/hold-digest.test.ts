/** Compares the approved batch with the user's own chain, before and after its execution. */
import { describe, expect, it } from 'vitest';
import { pipelinesDigest } from '../../../src/actions/pipelines.js';
import type { ChainReader } from '../../../src/chain/chain.js';
import { requireRanAsApproved, requireWillRun } from '../../../src/cli/batch/chain-agrees.js';
import type { Session } from '../../../src/cli/command.js';
import type { Uuid } from '../../../src/values/ids.js';
import {
  accountsOf,
  batchIndex,
  batchState,
  flywheel,
  instructionsOf,
  pipelines,
  readerOf,
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
        await expect(requireWillRun(world, batch, digest, wasSent)).rejects.toMatchObject({
          code,
        });
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
    const chain = nodeOf(pastOf(good, 3));
    const lookUp = async () => refuse('ERR_UNAVAILABLE', 'The RPC node does not answer.');
    const opened = {
      kind: 'remote',
      chain: { ...chain, lookUp } as ChainReader,
      pins,
      trusted,
    } as const;
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
