/** The record of approvals: counted by all processes together, kept for the user alone, let go of when nothing was signed. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outflow } from '../../../src/approval/limits.js';
import {
  type ApprovalRecord,
  openApprovalRecord,
  type RecordedBatch,
} from '../../../src/cli/batch/approval-record.js';
import { sha256 } from '../../../src/values/digest.js';
import { namedAddress } from '../../support/oracle.js';
import { emptyDirectory } from '../../support/spawn.js';

const NOON = Date.parse('2026-01-31T12:00:00.000Z');
const TOMORROW = NOON + 86_400_000;
const [alice, bob] = [namedAddress('alice'), namedAddress('bob')];

const outflow = (burned: bigint, recipients: Outflow['recipients'] = new Map()): Outflow => ({
  ...{ burned, recipients },
  airdropped: [...recipients.values()].reduce((sum, amount) => sum + amount, 0n),
});
const batch = (batchIndex: bigint, given = outflow(0n)): RecordedBatch => ({
  ...{ multisig: namedAddress('multisig'), mint: namedAddress('mint') },
  ...{ batchIndex, digest: sha256(`batch ${batchIndex}`), batchId: `batch ${batchIndex}`, profile: 'main' },
  outflow: given,
});

let directory = '';
let opened: ApprovalRecord[] = [];
beforeEach(() => {
  directory = emptyDirectory();
});
afterEach(() => {
  for (const record of opened.splice(0)) record.close();
});
async function open(name = 'one', { running = ['one', 'two'], nowMs = NOON } = {}): Promise<ApprovalRecord> {
  const record = await openApprovalRecord({
    ...{ directory, clock: { nowMs: () => nowMs } },
    processes: { self: () => name, isRunning: (other) => running.includes(other) },
  });
  opened = [...opened, record];
  return record;
}
const used = (record: ApprovalRecord): bigint => record.usedToday(batch(99n)).used;
/** Reserves, and says what the others had used by then. */
function reserve(record: ApprovalRecord, one: RecordedBatch) {
  let seen: bigint | undefined;
  const reservation = record.reserve(one, (day) => {
    seen = day.used;
  });
  return { reservation, used: seen };
}

describe('a reservation', () => {
  it('counts for another process at once, and no longer once it is released', async () => {
    const [first, second] = [await open(), await open('two')];
    const { reservation } = reserve(first, batch(1n, outflow(70n)));
    expect([reserve(second, batch(2n, outflow(5n))).used, used(second)]).toEqual([70n, 75n]);
    reservation.release();
    expect(used(second)).toBe(5n);
  });

  it('leaves nothing behind that is refused, or whose process is gone', async () => {
    const record = await open('gone');
    const refuse = (): never => {
      throw new TypeError('more than is left');
    };
    expect(() => record.reserve(batch(1n, outflow(70n)), refuse)).toThrow('more than is left');
    expect(used(record)).toBe(0n);
    reserve(record, batch(1n, outflow(70n)));
    expect(used(await open('two', { running: ['two'] }))).toBe(0n);
  });

  it('counts for the day once signed, beyond 64 bits, also after a release', async () => {
    const record = await open();
    for (const index of [1n, 2n]) {
      const { reservation } = reserve(record, batch(index, outflow(2n ** 64n - 1n)));
      reservation.signed();
      reservation.release();
    }
    expect(used(record)).toBe(2n ** 65n - 2n);
    expect((await open('one', { nowMs: TOMORROW })).usedToday(batch(3n))).toEqual({
      day: '2026-02-01',
      used: 0n,
    });
  });

  it('counts a batch that is signed once more as one, for the later day', async () => {
    const [first, next] = [await open(), await open('one', { nowMs: TOMORROW })];
    for (const record of [first, first, next]) {
      const again = reserve(record, batch(1n, outflow(70n)));
      expect(again.used).toBe(0n);
      again.reservation.signed();
      expect(used(record)).toBe(70n);
    }
  });

  it('of another flywheel is nothing to this one', async () => {
    const record = await open();
    reserve(record, batch(1n, outflow(70n))).reservation.signed();
    const other = reserve(record, { ...batch(1n, outflow(1n)), multisig: namedAddress('another') });
    expect([other.used, other.reservation.known.count]).toEqual([0n, 0]);
  });
});

describe('what is known', () => {
  it('of recipients comes from what was signed, not from what was only asked', async () => {
    const record = await open();
    const to = (...names: [typeof alice, bigint][]) => outflow(3n, new Map(names));
    const both = batch(2n, to([alice, 5n], [bob, 6n]));
    const { reservation } = reserve(record, batch(1n, to([alice, 4n])));
    const none = { twin: null, count: 0, largest: null, unseen: [alice, bob], alike: [] };
    expect(reserve(record, both).reservation.known).toEqual(none);
    reservation.signed();
    const some = { twin: null, count: 1, largest: 7n, unseen: [bob], alike: [alice] };
    expect(reserve(record, both).reservation.known).toEqual(some);
  });

  it('of a batch is that its name, or its content, was approved before under another number', async () => {
    const record = await open();
    const first = batch(1n, outflow(3n));
    reserve(record, first).reservation.signed();
    const before = { batchId: 'batch 1', batchIndex: '1', date: new Date(NOON).toISOString() };
    const seen: unknown[] = [];
    const twin = (one: RecordedBatch) =>
      record.reserve(one, (_used, renamed) => void seen.push(renamed)).known.twin;
    expect(twin(first)).toBe(null);
    expect(twin({ ...first, batchIndex: 2n })).toEqual(before);
    expect(twin({ ...first, batchIndex: 2n, batchId: 'batch 2' })).toEqual(before);
    expect(twin({ ...batch(3n, outflow(3n)), batchId: 'BATCH 1' })).toBe(null);
    expect(twin({ ...first, batchIndex: 2n, multisig: namedAddress('other') })).toBe(null);
    expect(seen).toEqual([null, before, null, before, null]);
  });
});
