/** What was approved, held against what stands on the user's own chain before it is executed and after. */
import { describe, expect, it } from 'vitest';
import { pipelinesDigest } from '../../../src/actions/pipelines.js';
import { readBatch } from '../../../src/approval/read-batch.js';
import type { ChainReader } from '../../../src/chain/chain.js';
import { requireRanAsApproved, requireWillRun } from '../../../src/cli/batch/hold-digest.js';
import type { Session } from '../../../src/cli/command.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import type { Uuid } from '../../../src/values/ids.js';
import {
  accountsOf,
  batchIndex,
  batchState,
  flywheel,
  goodInstructions,
  pipelines,
  readerOf,
} from '../../support/batch-on-chain.js';
import { nodeOf, type Past, pastOf } from '../../support/past-batch.js';

const batch = { id: 'b-1' as Uuid, batchIndex: String(batchIndex) };
const digest = pipelinesDigest(pipelines);
const good = goodInstructions();
/** A batch that is another from the first pipeline on. */
const other = [...good].reverse();

const pins = { ...flywheel, facts: null };

/** A session that keeps what it warns of. */
function listening(): { session: Session; warnings: string[] } {
  const warnings: string[] = [];
  const session = { output: { warn: (text: string) => warnings.push(text) } } as unknown as Session;
  return { session, warnings };
}

describe('before a batch is executed', () => {
  const { session, warnings } = listening();
  const opened = (instructions: typeof good) => ({
    ...{ chain: readerOf(accountsOf(batchState(instructions))), pins, trusted: async () => flywheel },
  });
  const unsent = { wasSent: false, allowUnverified: false };
  const willRun = (instructions: typeof good, wasSent = false, approved: typeof digest | null = digest) =>
    requireWillRun(session, opened(instructions), batch, approved, { ...unsent, wasSent });

  it('goes on when it is the one that was approved, and where nothing is known of that', async () => {
    await willRun(good);
    await willRun(other, false, null);
    // Of one that is closed nothing more can run.
    await requireWillRun(session, { ...opened(good), chain: readerOf(new Map()) }, batch, digest, unsent);
    expect(warnings).toEqual([]);
  });

  it.each([
    [false, 'ERR_APPROVAL_REFUSED'],
    [true, 'ERR_OUTCOME_UNKNOWN'],
  ])('stops when the node shows another by now (sent before: %s)', async (wasSent, code) => {
    await expect(willRun(other, wasSent)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`approved was sha256:${digest}`),
    });
  });

  it('judges nothing again that has not changed since it was judged, and all of it where anything has', async () => {
    const reviewed = await readBatch(readerOf(accountsOf(batchState(good))), {
      ...{ multisig: flywheel.multisig, batchIndex },
    });
    const sending = { ...unsent, reviewed };
    await requireWillRun(session, opened(good), batch, digest, sending);
    await expect(requireWillRun(session, opened(other), batch, digest, sending)).rejects.toMatchObject({
      ...{ code: 'ERR_APPROVAL_REFUSED', message: expect.stringContaining(`sha256:${digest}`) },
    });
    // What was looked at is not what is to run.
    const unlike = await readBatch(readerOf(accountsOf(batchState(other))), reviewed);
    await expect(
      requireWillRun(session, opened(other), batch, digest, { ...unsent, reviewed: unlike }),
    ).rejects.toMatchObject({ code: 'ERR_APPROVAL_REFUSED' });
  });
});

describe('before a batch is executed that nobody can look at', () => {
  const { chain, trusted } = { chain: readerOf(accountsOf(batchState(good))), trusted: async () => flywheel };
  const each = [
    ['no chain is read', { chain: null, pins, trusted }, /no chain can be read/],
    ['nothing is pinned', { chain, pins: null, trusted: async () => null }, /nothing is pinned/],
    ['the mint cannot be read', { chain, pins, trusted: async () => null }, /is not a mint/],
  ] as const;

  it.each(each)('it is not, where it is known what was approved: %s', async (_what, opened, reason) => {
    const { session, warnings } = listening();
    const sending = { wasSent: false, allowUnverified: false };
    await expect(requireWillRun(session, opened, batch, digest, sending)).rejects.toMatchObject({
      ...{ code: 'ERR_APPROVAL_REFUSED', message: expect.stringMatching(reason) },
    });
    await expect(
      requireWillRun(session, opened, batch, digest, { ...sending, wasSent: true }),
    ).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' });
    expect(warnings).toEqual([]);
    await requireWillRun(session, opened, batch, digest, { ...sending, allowUnverified: true });
    expect(warnings).toEqual([expect.stringMatching(reason)]);
  });

  it.each(each)('and was, that is said: %s', async (_what, opened, reason) => {
    const { session, warnings } = listening();
    const { history } = nodeOf(pastOf(good, 3));
    const remote = { kind: 'remote', history, ...opened } as const;
    await requireRanAsApproved(session, remote, batch, { totalSuccessful: 3 }, digest, true);
    expect(warnings).toEqual([expect.stringMatching(reason)]);
    await requireRanAsApproved(session, remote, batch, { totalSuccessful: 3 }, null, true);
    expect(warnings).toHaveLength(1);
  });
});

describe('after a batch was executed', () => {
  async function ran(past: Past, totalSuccessful: number, failed: readonly string[] = [], wasSent = true) {
    const { session, warnings } = listening();
    const opened = {
      kind: 'remote',
      ...nodeOf(past, { failed }),
      pins,
      trusted: async () => flywheel,
    } as const;
    await requireRanAsApproved(session, opened, batch, { totalSuccessful }, digest, wasSent);
    return warnings;
  }

  it('is content when exactly that ran', async () => {
    expect(await ran(pastOf(good, 3), 3)).toEqual([]);
    expect(await ran(pastOf(good, 2), 2)).toEqual([]);
  });

  it.each([
    ['another batch ran', pastOf(other, 3), `approved was sha256:${digest}`],
    ['less ran', pastOf(good, 2), '2 of its transactions were executed, the service says 3'],
    ['nothing ran', pastOf(good, 0), '0 of its transactions were executed, the service says 3'],
  ])('does not believe the service when %s', async (_what, past, reason) => {
    await expect(ran(past, 3)).rejects.toMatchObject({
      code: 'ERR_OUTCOME_UNKNOWN',
      message: expect.stringContaining(reason),
    });
  });

  it('is refused for good where another was expected and nothing was approved here', async () => {
    await expect(ran(pastOf(other, 3), 3, [], false)).rejects.toMatchObject({
      code: 'ERR_APPROVAL_REFUSED',
      message: expect.stringContaining('Nothing was approved here.'),
      options: { keyUnused: true },
    });
    // What the service says of it is doubted all the same.
    await expect(ran(pastOf(good, 2), 3, [], false)).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' });
  });

  it('counts what ran also where nothing was expected of it', async () => {
    const { session } = listening();
    const opened = {
      kind: 'remote',
      ...nodeOf(pastOf(good, 0)),
      pins,
      trusted: async () => flywheel,
    } as const;
    await expect(
      requireRanAsApproved(session, opened, batch, { totalSuccessful: 3 }, null, true),
    ).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN', message: expect.stringContaining('says 3') });
  });

  it('says so when the node has forgotten some of it, or contradicts itself', async () => {
    const forgotten = pastOf(good, 3);
    forgotten.set('added2', null);
    for (const [past, failed] of [
      [forgotten, []],
      [pastOf(good, 3), ['executed2']],
      [new Map(), []],
    ] as const)
      expect(await ran(past, 3, failed)).toEqual([expect.stringContaining('does not know the past')]);
  });

  it('says so when the node does not answer', async () => {
    const down = async (): Promise<never> => {
      throw new FlywheelError('ERR_UNAVAILABLE', 'The RPC node does not answer.');
    };
    const { session, warnings } = listening();
    const { history, chain } = nodeOf(pastOf(good, 3));
    const broken = { ...chain, lookUp: down } as ChainReader;
    const opened = { kind: 'remote', chain: broken, history, pins, trusted: async () => flywheel } as const;
    await requireRanAsApproved(session, opened, batch, { totalSuccessful: 3 }, digest, true);
    expect(warnings).toHaveLength(1);
  });
});
