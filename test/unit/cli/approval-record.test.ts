/** The record of approvals: counted by all processes together, kept for the user alone, let go of when nothing was signed. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Outflow } from '../../../src/approval/outflow.js';
import {
  type ApprovalRecord,
  openApprovalRecord,
  type RecordedBatch,
  type UsedOfDay,
} from '../../../src/cli/approvals/approval-record.js';
import { sha256 } from '../../../src/values/digest.js';
import { namedAddress } from '../../support/oracle.js';
import { emptyDirectory } from '../../support/spawn.js';

const NOON = Date.parse('2026-01-31T12:00:00.000Z');
const DAY_MS = 86_400_000;
const [alice, bob] = [namedAddress('alice'), namedAddress('bob')];

const outflow = (burned: bigint, recipients: Outflow['recipients'] = new Map()): Outflow => ({
  burned,
  airdropped: [...recipients.values()].reduce((sum, amount) => sum + amount, 0n),
  recipients,
});

const batch = (batchIndex: bigint, given: Outflow): RecordedBatch => ({
  multisig: namedAddress('multisig'),
  mint: namedAddress('mint'),
  owner: namedAddress('owner'),
  batchIndex,
  digest: sha256(`batch ${batchIndex}`),
  batchId: `batch ${batchIndex}`,
  profile: 'main',
  outflow: given,
});

interface Process {
  readonly name?: string;
  readonly running?: readonly string[];
  readonly nowMs?: number;
}

const open = (directory: string, { name = 'one', running = ['one', 'two'], nowMs = NOON }: Process = {}) =>
  openApprovalRecord({
    directory,
    processes: { self: () => name, isRunning: (other) => running.includes(other) },
    clock: { nowMs: () => nowMs },
  });

/** Reserves, and says what the others had used by then. */
function reserve(record: ApprovalRecord, one: RecordedBatch) {
  let seen: UsedOfDay | undefined;
  const reservation = record.reserve(one, (used) => {
    seen = used;
  });
  return { reservation, used: seen?.used };
}

describe('a reservation', () => {
  it('counts for another process at once, and no longer once it is released', async () => {
    const directory = emptyDirectory();
    const [first, second] = [await open(directory), await open(directory, { name: 'two' })];
    const { reservation } = reserve(first, batch(1n, outflow(70n)));
    expect(reserve(second, batch(2n, outflow(5n))).used).toBe(70n);
    expect(second.usedToday(batch(3n, outflow(0n))).used).toBe(75n);
    reservation.release();
    expect(second.usedToday(batch(3n, outflow(0n))).used).toBe(5n);
    first.close();
    second.close();
  });

  it('that is refused leaves nothing behind', async () => {
    const record = await open(emptyDirectory());
    const refuse = (): never => {
      throw new TypeError('more than is left');
    };
    expect(() => record.reserve(batch(1n, outflow(70n)), refuse)).toThrow('more than is left');
    expect(record.usedToday(batch(2n, outflow(0n))).used).toBe(0n);
    record.close();
  });

  it('of a process that is gone is let go of', async () => {
    const directory = emptyDirectory();
    const first = await open(directory, { name: 'gone' });
    reserve(first, batch(1n, outflow(70n)));
    first.close();
    const second = await open(directory, { name: 'two', running: ['two'] });
    expect(second.usedToday(batch(2n, outflow(0n))).used).toBe(0n);
    second.close();
  });

  it('once signed counts for the day, beyond 64 bits, also after a release', async () => {
    const directory = emptyDirectory();
    const record = await open(directory);
    for (const index of [1n, 2n]) {
      const { reservation } = reserve(record, batch(index, outflow(2n ** 64n - 1n)));
      reservation.signed();
      reservation.release();
    }
    expect(record.usedToday(batch(3n, outflow(0n))).used).toBe(2n ** 65n - 2n);
    record.close();
    const tomorrow = await open(directory, { nowMs: NOON + DAY_MS });
    expect(tomorrow.usedToday(batch(3n, outflow(0n)))).toEqual({ day: '2026-02-01', used: 0n });
    tomorrow.close();
  });

  it('counts a batch that is signed once more as one, for the later day', async () => {
    const directory = emptyDirectory();
    const first = await open(directory);
    reserve(first, batch(1n, outflow(70n))).reservation.signed();
    const again = reserve(first, batch(1n, outflow(70n)));
    expect(again.used).toBe(0n);
    again.reservation.signed();
    expect(first.usedToday(batch(2n, outflow(0n))).used).toBe(70n);
    first.close();
    const next = await open(directory, { nowMs: NOON + DAY_MS });
    reserve(next, batch(1n, outflow(70n))).reservation.signed();
    expect(next.usedToday(batch(2n, outflow(0n))).used).toBe(70n);
    next.close();
  });

  it('of another flywheel is nothing to this one', async () => {
    const record = await open(emptyDirectory());
    reserve(record, batch(1n, outflow(70n))).reservation.signed();
    const other = { ...batch(1n, outflow(1n)), multisig: namedAddress('another multisig') };
    const { reservation, used } = reserve(record, other);
    expect([used, reservation.known.count]).toEqual([0n, 0]);
    record.close();
  });
});

describe('what is known', () => {
  it('comes from what was signed, not from what was only asked', async () => {
    const record = await open(emptyDirectory());
    const both = batch(
      2n,
      outflow(
        0n,
        new Map([
          [alice, 5n],
          [bob, 6n],
        ]),
      ),
    );
    const { reservation } = reserve(record, batch(1n, outflow(3n, new Map([[alice, 4n]]))));
    const first = reserve(record, both).reservation;
    expect(first.known).toEqual({ twin: null, count: 0, largest: null, unseen: [alice, bob], alike: [] });
    reservation.signed();
    expect(reserve(record, both).reservation.known).toEqual({
      twin: null,
      count: 1,
      largest: 7n,
      unseen: [bob],
      alike: [alice],
    });
    record.close();
  });
});

describe('a batch under another number', () => {
  it('is told when its name was approved before, and when its content was', async () => {
    const record = await open(emptyDirectory());
    const first = batch(1n, outflow(3n));
    reserve(record, first).reservation.signed();
    const before = { batchId: 'batch 1', batchIndex: '1', date: new Date(NOON).toISOString() };
    const seen: unknown[] = [];
    const known = (one: RecordedBatch) =>
      record.reserve(one, (_used, renamed) => void seen.push(renamed)).known.twin;
    expect(known(first)).toBe(null);
    expect(known({ ...first, batchIndex: 2n })).toEqual(before);
    expect(known({ ...first, batchIndex: 2n, batchId: 'batch 2' })).toEqual(before);
    expect(known({ ...batch(3n, outflow(3n)), batchId: 'BATCH 1' })).toBe(null);
    expect(known({ ...first, batchIndex: 2n, multisig: namedAddress('other') })).toBe(null);
    expect(seen).toEqual([null, before, null, before, null]);
    record.close();
  });
});

describe('the file', () => {
  it('is for the user alone', async () => {
    const directory = emptyDirectory();
    (await open(directory)).close();
    expect(statSync(join(directory, 'approvals.db')).mode & 0o777).toBe(0o600);
  });

  it('of a newer version, or of something else, is not touched', async () => {
    const directory = emptyDirectory();
    (await open(directory)).close();
    const change = (sql: string): void => {
      const database = new Database(join(directory, 'approvals.db'));
      database.exec(sql);
      database.close();
    };
    change('PRAGMA user_version = 2');
    await expect(open(directory)).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringContaining('was written by a newer flywheel (schema 2, this one knows 1)'),
    });
    change('PRAGMA user_version = 1; PRAGMA application_id = 7');
    await expect(open(directory)).rejects.toMatchObject({
      message: expect.stringContaining('is not a record of approvals'),
    });
  });
});
