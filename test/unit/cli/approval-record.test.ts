/** The record of approvals: shared by all processes, private to the user. */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { PipelineContent } from '../../../src/actions/pipelines.js';
import type { ApprovalRecord, Standing } from '../../../src/cli/journal/approval-record.js';
import { openSqliteJournal } from '../../../src/cli/journal/sqlite-journal.js';
import type { Address } from '../../../src/values/address.js';
import { sha256 } from '../../../src/values/digest.js';
import { randomIds } from '../../../src/values/ids.js';
import { namedAddress } from '../../support/oracle.js';
import { emptyDirectory } from '../../support/spawn.js';

type RecordedBatch = Parameters<ApprovalRecord['approve']>[0];

const NOON = Date.parse('2026-01-31T12:00:00.000Z');
const TOMORROW = NOON + 86_400_000;
const [alice, _bob] = [namedAddress('alice'), namedAddress('bob')];

const airdrop = (toAddress: Address, amount: bigint): PipelineContent['actions'][number] => ({
  ...{ action: 'AIRDROP', toAddress, amount },
});
const pipeline = (name: string, ...actions: PipelineContent['actions']): PipelineContent => ({
  ...{ type: 'WATCH_AD', proofHash: sha256(name), actions },
});
const burning = (amount: bigint) => [pipeline('burn', { action: 'BURN', amount })];
const batch = (batchIndex: bigint, pipelines = burning(0n)): RecordedBatch => ({
  ...{ multisig: namedAddress('multisig'), mint: namedAddress('mint'), own: [], newest: null, pipelines },
  ...{ batchIndex, digest: sha256(`batch ${batchIndex}`), batchId: `batch ${batchIndex}`, profile: 'main' },
});

let directory = '';
beforeEach(() => {
  directory = emptyDirectory();
});
async function open(nowMs = NOON): Promise<ApprovalRecord> {
  const journal = await openSqliteJournal({
    ...{ directory, target: { address: 'test:', flywheel: null }, ids: randomIds },
    ...{ clock: { nowMs: () => nowMs }, self: 'test' },
  });
  onTestFinished(() => journal.close());
  return journal.approvals;
}
const used = (record: ApprovalRecord): bigint => record.standing(batch(99n)).used.used;
const pass = (): void => undefined;
/** Approves without consent to pay again; the owner saw what the record says now. */
const approve = (record: ApprovalRecord, one: RecordedBatch): void =>
  record.approve(one, pass, record.standing(one).known);

describe('an approval', () => {
  it('counts for the other processes, which are checked when they sign', async () => {
    const [first, second] = [await open(), await open()];
    const within = ({ used: { used: others } }: Standing): void => {
      if (others + 5n > 70n) throw new TypeError('more than is left');
    };
    const [one, other] = [batch(1n, burning(70n)), batch(2n, burning(5n))];
    const shown = [first.standing(one), second.standing(other)];
    expect(shown.map((standing) => standing.used.used)).toEqual([0n, 0n]);
    first.approve(one, within, null);
    expect(() => second.approve(other, within, null)).toThrow('more than is left');
    expect([used(second), second.standing(one).used.used]).toEqual([70n, 0n]);
  });

  it('counts for the day on which it was given, beyond 64 bits', async () => {
    for (const index of [1n, 2n]) approve(await open(), batch(index, burning(2n ** 64n - 1n)));
    expect(used(await open())).toBe(2n ** 65n - 2n);
    expect((await open(TOMORROW)).standing(batch(3n)).used).toEqual({ day: '2026-02-01', used: 0n });
  });

  it('counts a batch that is signed once more as one, on each of its days', async () => {
    const [first, next] = [await open(), await open(TOMORROW)];
    for (const record of [first, first, next]) {
      const again = batch(1n, burning(70n));
      expect(record.standing(again).used.used).toBe(0n);
      approve(record, again);
      expect(used(record)).toBe(70n);
    }
    expect([used(first), first.standing(batch(2n)).known.count]).toEqual([70n, 2]);
  });

  it('of another flywheel is nothing to this one', async () => {
    const record = await open();
    approve(record, batch(1n, burning(70n)));
    const other = record.standing({ ...batch(1n, burning(1n)), multisig: namedAddress('another') });
    expect([other.used.used, other.known.count]).toEqual([0n, 0]);
  });
});

describe('what is known', () => {
  it('of proofs is what other batches have paid, or may pay as long as they have not ended', async () => {
    const record = await open();
    const burn = (amount: bigint) => ({ action: 'BURN', amount }) as const;
    const first = batch(1n, [pipeline('a', burn(1n)), pipeline('b', burn(2n)), pipeline('c', burn(3n))]);
    const other = batch(2n, [pipeline('c', burn(3n)), pipeline('a', burn(9n))]);
    const asked = { ...other, batchIndex: null, digest: null };
    const paid = (more = {}) =>
      record
        .standing({ ...asked, ...more })
        .known.paid.map(({ at, batchId, isExecuted, isSame }) => [at, batchId, isExecuted, isSame]);
    expect(paid()).toEqual([]);
    approve(record, first);
    const approved = [
      [0, 'batch 1', false, true],
      [1, 'batch 1', false, false],
    ];
    expect(paid()).toEqual(approved);
    // Another action for the same proof; the batch itself; a batch of the same operation.
    expect(paid({ pipelines: [pipeline('a', airdrop(alice, 1n))] })).toEqual([]);
    expect([paid({ batchIndex: 1n }), paid({ own: ['batch 1'] })]).toEqual([[], []]);
    // The embedded ledger was restored to before the batch.
    expect([paid({ newest: 0n }), paid({ newest: 1n })]).toEqual([[], approved]);
    // Another batch has its number, after the ledger was restored.
    record.executed(first, { batchId: 'another', batchIndex: 1n }, 2, true);
    expect(paid()).toEqual(approved);
    record.executed(first, { batchId: 'batch 1', batchIndex: 1n }, 1, false);
    expect(paid()).toEqual([approved[0], [1, 'batch 1', true, false]]);
    record.executed(first, { batchId: 'batch 1', batchIndex: 1n }, 0, true);
    expect(paid()).toEqual([[1, 'batch 1', true, false]]);
  });

  it('of a proof may come while the batch is shown: then nothing is signed without consent', async () => {
    const record = await open();
    const shown = record.standing(batch(2n)).known;
    approve(record, batch(1n));
    expect(() => record.approve(batch(2n), pass, shown)).toThrow('approved meanwhile');
    expect(() => record.approve(batch(2n), pass, null)).not.toThrow();
  });

  it('of a batch is that its name was approved before under another number', async () => {
    const record = await open();
    const first = batch(1n);
    approve(record, first);
    const before = { batchId: 'batch 1', batchIndex: '1', date: new Date(NOON).toISOString() };
    const renamed = (one: RecordedBatch): unknown => record.standing(one).renamed;
    expect(renamed(first)).toBe(null);
    expect(renamed({ ...first, batchIndex: 2n })).toEqual(before);
    expect(renamed({ ...first, batchIndex: 2n, batchId: 'batch 2' })).toBe(null);
    expect(renamed({ ...batch(3n), batchId: 'BATCH 1' })).toEqual(before);
  });
});
