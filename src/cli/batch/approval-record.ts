/**
 * What has been approved through a configuration or data directory: which batch, what it took, to whom, when. The limit of a day
 * is counted from it, by all processes together, and what an approval holds that has not been seen before is told by it.
 */
import { join } from 'node:path';
import { endsOf, type Outflow, totalOutflow } from '../../approval/limits.js';
import { APPROVALS_FILE } from '../../files/directories.js';
import { type FileFormat, openSqliteFile, prepareFile, type SqliteFile } from '../../files/sqlite-file.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import { type Clock, isoTime, type UtcDay, utcDay } from '../../values/time.js';
import type { Processes } from '../journal/journal.js';

// Amounts are base units as text: their sums go beyond 64 bits. `ends` are those of the address, by which look-alikes are found.
// A reservation is an approval that somebody is being asked for; it counts for the day as long as its process lives.
const TABLES = `
CREATE TABLE approvals (
  id INTEGER PRIMARY KEY, multisig TEXT NOT NULL, mint TEXT NOT NULL, batch_index TEXT NOT NULL, digest TEXT NOT NULL,
  batch_id TEXT NOT NULL, profile TEXT NOT NULL, total TEXT NOT NULL, day TEXT NOT NULL, date TEXT NOT NULL,
  cancelled INTEGER NOT NULL DEFAULT 0, UNIQUE (multisig, mint, batch_index, digest)
) STRICT;
CREATE TABLE recipients (
  approval INTEGER NOT NULL REFERENCES approvals (id), address TEXT NOT NULL, ends TEXT NOT NULL, PRIMARY KEY (approval, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX recipients_by_ends ON recipients (ends);
CREATE TABLE reservations (
  id INTEGER PRIMARY KEY, multisig TEXT NOT NULL, mint TEXT NOT NULL, batch_index TEXT NOT NULL, digest TEXT NOT NULL,
  total TEXT NOT NULL, day TEXT NOT NULL, holder TEXT NOT NULL
) STRICT;
`;

const APPROVALS: FileFormat = {
  // "FLYA"
  applicationId: 0x46_4c_59_41,
  tables: TABLES,
  kind: 'a record of approvals',
  hints: {
    otherBuild:
      'Nothing was signed. Move the file away. Earlier approvals then no longer count towards the limits.',
    otherFile: 'Nothing was written or signed. Move the file away.',
  },
};

interface ApprovalRecordOptions {
  /** Made when missing, for the user alone. */
  readonly directory: string;
  readonly processes: Processes;
  readonly clock: Clock;
}

/** Which token of which flywheel; approvals of all profiles that name it count together. */
interface RecordedFlywheel {
  readonly multisig: Address;
  readonly mint: Address;
}

/** A batch that is to be approved. */
export interface RecordedBatch extends RecordedFlywheel {
  readonly batchIndex: bigint;
  readonly digest: Sha256;
  readonly batchId: string;
  /** Name of the profile; empty without one. */
  readonly profile: string;
  readonly outflow: Outflow;
}

/** What other batches have used of a day. */
interface UsedOfDay {
  readonly day: UtcDay;
  /** Base units that were approved, or are being asked for. */
  readonly used: bigint;
}

/** An approval that was given before. */
export interface EarlierApproval {
  readonly batchId: string;
  readonly batchIndex: string;
  readonly date: string;
}

/** What earlier approvals say of a batch. */
export interface Known {
  /** The latest of the same content under another number. */
  readonly twin: EarlierApproval | null;
  /** Approvals so far. */
  readonly count: number;
  /** Base units of the largest; `null` when there is none. */
  readonly largest: bigint | null;
  /** Recipients of the batch that no approval has had. */
  readonly unseen: readonly Address[];
  /** Recipients of earlier approvals with the ends of one of the batch, the same ones among them. */
  readonly alike: readonly Address[];
}

/** A batch counts from when it is reserved until it is released, or for good once it is signed. */
interface Reservation {
  /** As of when it was reserved. */
  readonly known: Known;
  /** The signature is about to be handed out. */
  signed(): void;
  /** Nothing was signed; without effect once it was. */
  release(): void;
}

/** Opens the record of a directory. @throws `ERR_STORE_UNAVAILABLE` naming the file and why it cannot be used. */
export async function openApprovalRecord(options: ApprovalRecordOptions): Promise<ApprovalRecord> {
  makePrivateDirectory(options.directory, 'ERR_CONFIG_INVALID');
  const path = join(options.directory, APPROVALS_FILE);
  const file = await openSqliteFile({ path, noun: 'record of approvals', create: true });
  try {
    prepareFile(file, APPROVALS);
    return new ApprovalRecord(file, options);
  } catch (error) {
    file.close();
    throw error;
  }
}

type Values = readonly (string | number)[];

export class ApprovalRecord {
  readonly #file: SqliteFile;
  readonly #options: ApprovalRecordOptions;

  constructor(file: SqliteFile, options: ApprovalRecordOptions) {
    this.#file = file;
    this.#options = options;
  }

  close(): void {
    this.#file.close();
  }

  /** What is used today, without reserving anything. */
  usedToday(flywheel: RecordedFlywheel): UsedOfDay {
    return this.#file.write(() => this.#used(flywheel, ['', '']));
  }

  /**
   * Counts a batch for today, if `check` lets it pass; both in one step for all processes.
   * @param check - throws when the batch is more than what is left, or was another one when it was approved before.
   */
  reserve(
    batch: RecordedBatch,
    check: (used: UsedOfDay, renamed: EarlierApproval | null) => void,
  ): Reservation {
    const { multisig, mint, digest, batchId, outflow } = batch;
    const batchIndex = String(batch.batchIndex);
    const { id, day, known } = this.#file.write(() => {
      const used = this.#used(batch, [batchIndex, digest]);
      const renamed = 'lower(batch_id) = ? AND batch_index <> ?';
      check(used, this.#earlier(batch, renamed, [batchId.toLowerCase(), batchIndex]));
      const [[reserved] = []] = this.#all(
        `INSERT INTO reservations (multisig, mint, batch_index, digest, total, day, holder) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
        [
          ...[multisig, mint, batchIndex, digest, String(totalOutflow(outflow)), used.day],
          this.#options.processes.self(),
        ],
      );
      return { id: Number(reserved), day: used.day, known: this.#known(batch) };
    });
    const remove = (): void => this.#run('DELETE FROM reservations WHERE id = ?', [id]);
    let isSigned = false;
    return {
      known,
      signed: () => {
        this.#file.write(() => {
          // It counts for the day on which it was asked for, though the answer may have come after midnight.
          this.#insert(batch, day);
          remove();
        });
        isSigned = true;
      },
      release: () => {
        if (!isSigned) this.#file.write(remove);
      },
    };
  }

  /** A batch was cancelled before anything of it landed: the same pipelines may well be approved again. */
  cancelled({ multisig, mint }: RecordedFlywheel, batchIndex: bigint): void {
    this.#file.write(() =>
      this.#run('UPDATE approvals SET cancelled = 1 WHERE multisig = ? AND mint = ? AND batch_index = ?', [
        ...[multisig, mint, String(batchIndex)],
      ]),
    );
  }

  #earlier({ multisig, mint }: RecordedFlywheel, which: string, values: Values): EarlierApproval | null {
    const [row] = this.#all(
      `SELECT batch_id, batch_index, date FROM approvals WHERE multisig = ? AND mint = ? AND ${which} ORDER BY id DESC LIMIT 1`,
      [multisig, mint, ...values],
    );
    if (row === undefined) return null;
    const [batchId, batchIndex, date] = row.map(String) as [string, string, string];
    return { batchId, batchIndex, date };
  }

  #known(batch: RecordedBatch): Known {
    const { multisig, mint, outflow, digest, batchIndex } = batch;
    const totals = this.#all('SELECT total FROM approvals WHERE multisig = ? AND mint = ?', [multisig, mint])
      .flat()
      .map((total) => BigInt(String(total)));
    const byEnds = this.#file.prepare(
      `SELECT DISTINCT r.address FROM recipients r JOIN approvals a ON a.id = r.approval
       WHERE r.ends = ? AND a.multisig = ? AND a.mint = ?`,
    );
    const recipients = [...outflow.recipients.keys()];
    const found = new Set(
      recipients.flatMap((one) =>
        byEnds.all([endsOf(one), multisig, mint]).map(([other]) => other as Address),
      ),
    );
    const twin = 'digest = ? AND batch_index <> ? AND cancelled = 0';
    return {
      twin: this.#earlier(batch, twin, [digest, String(batchIndex)]),
      count: totals.length,
      largest: totals.reduce<bigint | null>((most, one) => (most === null || one > most ? one : most), null),
      unseen: recipients.filter((one) => !found.has(one)),
      alike: [...found],
    };
  }

  /** What all batches but one have used today. Reservations of processes that are gone are let go of first. */
  #used({ multisig, mint }: RecordedFlywheel, but: readonly [batchIndex: string, digest: string]): UsedOfDay {
    const { processes, clock } = this.#options;
    for (const [holder] of this.#all('SELECT DISTINCT holder FROM reservations', []))
      if (!processes.isRunning(String(holder)))
        this.#run('DELETE FROM reservations WHERE holder = ?', [String(holder)]);
    const day = utcDay(clock.nowMs());
    const amounts = ['approvals', 'reservations'].flatMap((table) =>
      this.#all(
        `SELECT total FROM ${table} WHERE multisig = ? AND mint = ? AND day = ? AND NOT (batch_index = ? AND digest = ?)`,
        [multisig, mint, day, ...but],
      ).flat(),
    );
    return { day, used: amounts.reduce<bigint>((sum, one) => sum + BigInt(String(one)), 0n) };
  }

  #insert({ multisig, mint, digest, batchId, profile, outflow, ...batch }: RecordedBatch, day: UtcDay): void {
    const date = isoTime(this.#options.clock.nowMs());
    // The same batch signed once more, for another blockhash, is still one batch.
    const [[approval] = []] = this.#all(
      `INSERT INTO approvals (multisig, mint, batch_index, digest, batch_id, profile, total, day, date)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (multisig, mint, batch_index, digest) DO UPDATE SET day = excluded.day, date = excluded.date RETURNING id`,
      [
        ...[multisig, mint, String(batch.batchIndex), digest, batchId, profile],
        ...[String(totalOutflow(outflow)), day, date],
      ],
    );
    const insert = this.#file.prepare(
      'INSERT INTO recipients (approval, address, ends) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    for (const recipient of outflow.recipients.keys())
      insert.run([Number(approval), recipient, endsOf(recipient)]);
  }

  #run(sql: string, values: Values): void {
    this.#file.prepare(sql).run(values);
  }

  #all(sql: string, values: Values): readonly (readonly unknown[])[] {
    return this.#file.prepare(sql).all(values);
  }
}
