/**
 * What has been approved through a configuration or data directory: which batch, what it took, to whom, when. The limit of a day
 * is counted from it, by all processes together, and what an approval holds that has not been seen before is told by it.
 */
import { join } from 'node:path';
import { endsOf } from '../../approval/look-alikes.js';
import { type Outflow, totalOutflow } from '../../approval/outflow.js';
import { APPROVALS_FILE } from '../../files/directories.js';
import { openSqliteFile, type SqliteFile } from '../../files/sqlite-file.js';
import { type FileFormat, prepareFile } from '../../files/sqlite-version.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import { type Clock, isoTime, type UtcDay, utcDay } from '../../values/time.js';
import type { Processes } from '../journal/journal.js';

// Amounts are base units as text: their sums go beyond 64 bits. `ends` are those of the address, by which look-alikes are found.
// A reservation is an approval that somebody is being asked for; it counts for the day as long as its process lives.
const TABLES = `
CREATE TABLE flywheels (id INTEGER PRIMARY KEY, multisig TEXT NOT NULL, mint TEXT NOT NULL, UNIQUE (multisig, mint)) STRICT;
CREATE TABLE approvals (
  id INTEGER PRIMARY KEY, flywheel INTEGER NOT NULL REFERENCES flywheels (id), batch_index TEXT NOT NULL, digest TEXT NOT NULL,
  batch_id TEXT NOT NULL, owner TEXT NOT NULL, profile TEXT NOT NULL, burned TEXT NOT NULL, airdropped TEXT NOT NULL,
  day TEXT NOT NULL, date TEXT NOT NULL, cancelled INTEGER NOT NULL DEFAULT 0, UNIQUE (flywheel, batch_index, digest)
) STRICT;
CREATE INDEX approvals_by_day ON approvals (flywheel, day);
CREATE TABLE recipients (
  id INTEGER PRIMARY KEY, flywheel INTEGER NOT NULL REFERENCES flywheels (id), address TEXT NOT NULL, ends TEXT NOT NULL,
  UNIQUE (flywheel, address)
) STRICT;
CREATE INDEX recipients_by_ends ON recipients (flywheel, ends);
CREATE TABLE shares (
  approval INTEGER NOT NULL REFERENCES approvals (id), recipient INTEGER NOT NULL REFERENCES recipients (id),
  amount TEXT NOT NULL, PRIMARY KEY (approval, recipient)
) STRICT, WITHOUT ROWID;
CREATE TABLE reservations (
  id INTEGER PRIMARY KEY, flywheel INTEGER NOT NULL REFERENCES flywheels (id), batch_index TEXT NOT NULL, digest TEXT NOT NULL,
  total TEXT NOT NULL, day TEXT NOT NULL, holder TEXT NOT NULL
) STRICT;
`;

const APPROVALS: FileFormat = {
  // "FLYA"
  applicationId: 0x46_4c_59_41,
  tables: TABLES,
  kind: 'a record of approvals',
  hints: {
    otherBuild: 'Move it away: what was approved before then counts no more. Nothing was signed.',
    otherFile: 'Move it away. Nothing was written into it, and nothing was signed.',
  },
};

/** Makes sure that the file holds the tables. @throws `ERR_STORE_UNAVAILABLE` */
const prepareApprovals = (file: SqliteFile): void => prepareFile(file, APPROVALS);

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
  readonly owner: Address;
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
  const file = await openSqliteFile({
    path: join(options.directory, APPROVALS_FILE),
    noun: 'record of approvals',
    create: true,
  });
  try {
    prepareApprovals(file);
    return new ApprovalRecord(file, options);
  } catch (error) {
    file.close();
    throw error;
  }
}

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
    return this.#file.write(() => this.#used(this.#flywheel(flywheel), null));
  }

  /**
   * Counts a batch for today, if `check` lets it pass; both in one step for all processes.
   * @param check - throws when the batch is more than what is left, or was another one when it was approved before.
   */
  reserve(
    batch: RecordedBatch,
    check: (used: UsedOfDay, renamed: EarlierApproval | null) => void,
  ): Reservation {
    const { batchIndex, digest, outflow } = batch;
    const { flywheel, id, day, known } = this.#file.write(() => {
      const at = this.#flywheel(batch);
      const used = this.#used(at, batch);
      check(used, this.#renamed(at, batch));
      const total = String(totalOutflow(outflow));
      const holder = this.#options.processes.self();
      this.#run(
        'INSERT INTO reservations (flywheel, batch_index, digest, total, day, holder) VALUES (?, ?, ?, ?, ?, ?)',
        [at, String(batchIndex), digest, total, used.day, holder],
      );
      return { flywheel: at, id: this.#lastId(), day: used.day, known: this.#known(at, batch) };
    });
    const remove = (): void => this.#run('DELETE FROM reservations WHERE id = ?', [id]);
    let isSigned = false;
    return {
      known,
      signed: () => {
        this.#file.write(() => {
          // It counts for the day on which it was asked for, though the answer may have come after midnight.
          this.#insert(flywheel, batch, day);
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
  cancelled(flywheel: RecordedFlywheel, batchIndex: bigint): void {
    this.#file.write(() =>
      this.#run('UPDATE approvals SET cancelled = 1 WHERE flywheel = ? AND batch_index = ?', [
        this.#find(flywheel),
        String(batchIndex),
      ]),
    );
  }

  /** An approval that was given to the same name for another number. */
  #renamed(flywheel: number, { batchId, batchIndex }: RecordedBatch): EarlierApproval | null {
    return this.#earlier('lower(batch_id) = ? AND batch_index <> ?', [
      flywheel,
      batchId.toLowerCase(),
      String(batchIndex),
    ]);
  }

  #earlier(which: string, parameters: readonly (string | number)[]): EarlierApproval | null {
    const [row] = this.#all(
      `SELECT batch_id, batch_index, date FROM approvals WHERE flywheel = ? AND ${which} ORDER BY id DESC LIMIT 1`,
      parameters,
    );
    if (row === undefined) return null;
    const [batchId, batchIndex, date] = row.map(String) as [string, string, string];
    return { batchId, batchIndex, date };
  }

  #known(flywheel: number, { outflow, digest, batchIndex }: RecordedBatch): Known {
    const totals = this.#all('SELECT burned, airdropped FROM approvals WHERE flywheel = ?', [flywheel]).map(
      ([burned, airdropped]) => BigInt(String(burned)) + BigInt(String(airdropped)),
    );
    const byEnds = this.#file.prepare('SELECT address FROM recipients WHERE flywheel = ? AND ends = ?');
    const recipients = [...outflow.recipients.keys()];
    const found = new Set(
      recipients.flatMap((one) => byEnds.all([flywheel, endsOf(one)]).map(([address]) => address as Address)),
    );
    return {
      twin: this.#earlier('digest = ? AND batch_index <> ? AND cancelled = 0', [
        flywheel,
        digest,
        String(batchIndex),
      ]),
      count: totals.length,
      largest: totals.reduce<bigint | null>((most, one) => (most === null || one > most ? one : most), null),
      unseen: recipients.filter((one) => !found.has(one)),
      alike: [...found],
    };
  }

  /** What all other batches have used today. Reservations of processes that are gone are let go of first. */
  #used(flywheel: number, but: Pick<RecordedBatch, 'batchIndex' | 'digest'> | null): UsedOfDay {
    const { processes, clock } = this.#options;
    for (const [holder] of this.#all('SELECT DISTINCT holder FROM reservations', []))
      if (!processes.isRunning(String(holder)))
        this.#run('DELETE FROM reservations WHERE holder = ?', [String(holder)]);
    const day = utcDay(clock.nowMs());
    const of = [flywheel, day, String(but?.batchIndex ?? ''), but?.digest ?? ''];
    const others = 'WHERE flywheel = ? AND day = ? AND NOT (batch_index = ? AND digest = ?)';
    const signed = this.#all(`SELECT burned, airdropped FROM approvals ${others}`, of).flat();
    const asked = this.#all(`SELECT total FROM reservations ${others}`, of).flat();
    return { day, used: [...signed, ...asked].reduce<bigint>((sum, one) => sum + BigInt(String(one)), 0n) };
  }

  #insert(flywheel: number, batch: RecordedBatch, day: UtcDay): void {
    const { batchIndex, digest, batchId, owner, profile, outflow } = batch;
    const key = [flywheel, String(batchIndex), digest];
    const date = isoTime(this.#options.clock.nowMs());
    // The same batch signed once more, for another blockhash, is still one batch.
    this.#run(
      `INSERT INTO approvals (flywheel, batch_index, digest, batch_id, owner, profile, burned, airdropped, day, date)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (flywheel, batch_index, digest) DO UPDATE SET day = excluded.day, date = excluded.date`,
      [...key, batchId, owner, profile, String(outflow.burned), String(outflow.airdropped), day, date],
    );
    const approval = this.#number(
      'SELECT id FROM approvals WHERE flywheel = ? AND batch_index = ? AND digest = ?',
      key,
    );
    const known = this.#file.prepare(
      'INSERT INTO recipients (flywheel, address, ends) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    const share = this.#file.prepare(
      `INSERT INTO shares (approval, recipient, amount)
       VALUES (?, (SELECT id FROM recipients WHERE flywheel = ? AND address = ?), ?) ON CONFLICT DO NOTHING`,
    );
    for (const [address, amount] of outflow.recipients) {
      known.run([flywheel, address, endsOf(address)]);
      share.run([approval, flywheel, address, String(amount)]);
    }
  }

  #find({ multisig, mint }: RecordedFlywheel): number {
    return this.#number('SELECT id FROM flywheels WHERE multisig = ? AND mint = ?', [multisig, mint]);
  }

  /** The number of a flywheel, which is new the first time. */
  #flywheel(flywheel: RecordedFlywheel): number {
    const { multisig, mint } = flywheel;
    this.#run('INSERT INTO flywheels (multisig, mint) VALUES (?, ?) ON CONFLICT DO NOTHING', [
      multisig,
      mint,
    ]);
    return this.#find(flywheel);
  }

  #lastId(): number {
    return this.#number('SELECT last_insert_rowid()', []);
  }

  #run(sql: string, parameters: readonly (string | number)[]): void {
    this.#file.prepare(sql).run(parameters);
  }

  #all(sql: string, parameters: readonly (string | number)[]): readonly (readonly unknown[])[] {
    return this.#file.prepare(sql).all(parameters);
  }

  #number(sql: string, parameters: readonly (string | number)[]): number {
    return Number(this.#file.prepare(sql).get(parameters)?.[0] ?? 0);
  }
}
