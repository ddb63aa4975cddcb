/**
 * The approvals of a journal: batch, amount, proofs, recipients, date and executed transactions. The daily limit and the warnings
 * about repeated payments are computed from them.
 */
import { contentDigest, type PipelineContent } from '../../actions/pipelines.js';
import { actionRecipients } from '../../actions/registry.js';
import { endsOf, outflowOf, totalOutflow } from '../../approval/limits.js';
import type { Flywheel } from '../../chain/chain.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { SqliteFile } from '../../files/sqlite-file.js';
import type { Address } from '../../values/address.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { type Clock, isoTime, type UtcDay, utcDay } from '../../values/time.js';
import { kindsOf } from '../operation/elements.js';

/** Approvals of all profiles with the same multisig and mint count together. */
type Project = Pick<Flywheel, 'multisig' | 'mint'>;

/** A batch, or with `null` a file that is none yet. */
interface AskedBatch extends Project {
  readonly batchIndex: bigint | null;
  readonly digest: Sha256 | null;
  readonly batchId: string | null;
  readonly pipelines: readonly PipelineContent[];
  /** Ids of earlier batches of the same operation; their payments are not repeats. */
  readonly own: readonly string[];
  /** Index of the newest batch on the embedded ledger: later approvals were on a ledger that was restored since. `null`: any. */
  readonly newest: bigint | null;
}

interface ApprovedBatch extends AskedBatch {
  readonly batchIndex: bigint;
  readonly digest: Sha256;
  readonly batchId: string;
  readonly profile: string;
}

interface UsedOfDay {
  readonly day: UtcDay;
  readonly used: bigint;
}

interface EarlierApproval {
  readonly batchId: string;
  readonly batchIndex: string;
  readonly date: string;
}

/** A proof that another batch paid, or may still pay. */
export interface PaidProof extends EarlierApproval {
  readonly at: number;
  /** False: approved, and not known to have ended. */
  readonly isExecuted: boolean;
  readonly isSame: boolean;
}

/** Other approvals that were executed, or may still be. */
export interface Known {
  /** In the order of the pipelines. Per pipeline one batch: same content first, then executed, then the latest. */
  readonly paid: readonly PaidProof[];
  readonly count: number;
  /** Recipients of the batch that no executed pipeline paid. */
  readonly unseen: readonly Address[];
  /** Earlier recipients whose address has the same ends as one of the batch, equal addresses included. */
  readonly alike: readonly Address[];
}

const subjectOf = ({ type, proofHash }: { readonly type: string; readonly proofHash: string }): string =>
  sha256(`${type} ${proofHash}`);

/** What the record says of a batch that is about to be approved. */
export interface Standing {
  /** Of all other batches. */
  readonly used: UsedOfDay;
  readonly known: Known;
  /** The same batch id, approved with another index. */
  readonly renamed: EarlierApproval | null;
}

const approvedMeanwhile = (): FlywheelError =>
  new FlywheelError(
    'ERR_INPUT_INVALID',
    'Another batch with the same proofs was approved meanwhile. Nothing was signed.',
    { hint: 'Run the same command again. It shows which payments would be repeated.' },
  );

const paymentText = ({ at, batchId, isSame }: PaidProof): string => `${at} ${batchId} ${isSame}`;

type Values = readonly (string | number)[];

export class ApprovalRecord {
  readonly #file: SqliteFile;
  readonly #clock: Clock;

  constructor(file: SqliteFile, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  standing(batch: AskedBatch): Standing {
    return this.#file.read(() => ({
      ...{ used: this.#used(batch), known: this.#known(batch), renamed: this.#renamed(batch) },
    }));
  }

  /**
   * Records the approval if it may still be given. One transaction, atomic across processes: call it before the signature is
   * handed out.
   * @param check - throws when the batch may not be approved as things stand now
   * @param shown - what the owner has seen; `null`: consent to pay proofs of other batches again
   * @throws `ERR_INPUT_INVALID` if another batch with one of the proofs was approved since
   */
  approve(batch: ApprovedBatch, check: (standing: Standing) => void, shown: Known | null): void {
    this.#file.write(() => {
      const standing = this.standing(batch);
      check(standing);
      const seen = new Set(shown?.paid.map(paymentText));
      const isNew = !standing.known.paid.every((paid) => seen.has(paymentText(paid)));
      if (shown !== null && isNew) throw approvedMeanwhile();
      this.#insert(batch, standing.used.day);
    });
  }

  /** @param isOver - no further transaction can be executed */
  executed(
    { multisig, mint }: Project,
    { batchId, batchIndex }: Pick<ApprovedBatch, 'batchId' | 'batchIndex'>,
    count: number,
    isOver: boolean,
  ): void {
    this.#file.write(() =>
      this.#run(
        `UPDATE approvals SET executed = max(executed, ?), ended = max(ended, ?)
         WHERE multisig = ? AND mint = ? AND batch_index = ? AND lower(batch_id) = ?`,
        [count, Number(isOver), multisig, mint, String(batchIndex), batchId.toLowerCase()],
      ),
    );
  }

  #renamed({ multisig, mint, batchId, batchIndex }: AskedBatch): EarlierApproval | null {
    const [row] = this.#all(
      `SELECT batch_id, batch_index, date FROM approvals
       WHERE multisig = ? AND mint = ? AND lower(batch_id) = ? AND batch_index <> ? ORDER BY id DESC LIMIT 1`,
      [multisig, mint, batchId?.toLowerCase() ?? '', String(batchIndex)],
    );
    return row === undefined ? null : earlier(row);
  }

  #known(batch: AskedBatch): Known {
    const { multisig, mint, pipelines, batchIndex, digest } = batch;
    const others = [multisig, mint, String(batchIndex ?? ''), digest ?? ''];
    const isOther =
      'a.multisig = ? AND a.mint = ? AND NOT (a.batch_index = ? AND a.digest = ?) AND (a.executed > 0 OR NOT a.ended)';
    const recipients = [...outflowOf(pipelines).recipients.keys()];
    const alike = recipients.flatMap((one) =>
      this.#all(
        `SELECT r.address, max(r.place < a.executed) FROM recipients r JOIN approvals a ON a.id = r.approval
         WHERE r.ends = ? AND ${isOther} GROUP BY r.address`,
        [endsOf(one), ...others],
      ),
    );
    const paid = new Set(alike.flatMap(([address, isPaid]) => (isPaid === 1 ? address : [])));
    return {
      paid: this.#paid(batch),
      count: this.#all(`SELECT 1 FROM approvals a WHERE ${isOther}`, others).length,
      unseen: recipients.filter((one) => !paid.has(one)),
      alike: [...new Set(alike.map(([address]) => address as Address))],
    };
  }

  #paid({ multisig, mint, newest, pipelines, batchIndex, own }: AskedBatch): readonly PaidProof[] {
    const last = Number(newest ?? Number.MAX_SAFE_INTEGER);
    const others = [multisig, mint, String(batchIndex ?? ''), last, JSON.stringify(own)];
    return pipelines.flatMap((pipeline, at) => {
      const content = contentDigest([pipeline], 0);
      const [row] = this.#all(
        `SELECT a.batch_id, a.batch_index, a.date, p.place < a.executed AS paid, p.content
         FROM proofs p JOIN approvals a ON a.id = p.approval
         WHERE p.subject = ? AND p.kinds & ? <> 0 AND a.multisig = ? AND a.mint = ? AND a.batch_index <> ? AND (p.place < a.executed OR NOT a.ended)
           AND CAST(a.batch_index AS INTEGER) <= ? AND a.batch_id NOT IN (SELECT value FROM json_each(?))
         ORDER BY p.content = ? DESC, paid DESC, a.id DESC LIMIT 1`,
        [subjectOf(pipeline), kindsOf(pipeline), ...others, content],
      );
      if (row === undefined) return [];
      return [{ ...earlier(row), at, isExecuted: row[3] === 1, isSame: row[4] === content }];
    });
  }

  /** Amount of all other batches today. */
  #used({ multisig, mint, batchIndex, digest }: AskedBatch): UsedOfDay {
    const day = utcDay(this.#clock.nowMs());
    const amounts = this.#all(
      'SELECT total FROM approvals WHERE multisig = ? AND mint = ? AND day = ? AND NOT (batch_index = ? AND digest = ?)',
      [multisig, mint, day, String(batchIndex ?? ''), digest ?? ''],
    );
    return { day, used: amounts.reduce((sum, [amount]) => sum + BigInt(String(amount)), 0n) };
  }

  #insert(
    { multisig, mint, digest, batchId, profile, pipelines, batchIndex }: ApprovedBatch,
    day: UtcDay,
  ): void {
    const date = isoTime(this.#clock.nowMs());
    // A batch that is signed again counts once a day, and on each day: the clock may have been wrong.
    const [[approval] = []] = this.#all(
      `INSERT INTO approvals (multisig, mint, batch_index, digest, batch_id, profile, total, day, date)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (multisig, mint, batch_index, digest, day) DO UPDATE SET date = excluded.date RETURNING id`,
      [
        multisig,
        mint,
        String(batchIndex),
        digest,
        batchId,
        profile,
        String(totalOutflow(outflowOf(pipelines))),
        day,
        date,
      ],
    );
    const id = Number(approval);
    pipelines.forEach((pipeline, place) => {
      this.#run(
        'INSERT INTO proofs (approval, place, subject, kinds, content) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
        [id, place, subjectOf(pipeline), kindsOf(pipeline), contentDigest([pipeline], 0)],
      );
      for (const address of pipeline.actions.flatMap(actionRecipients))
        this.#run(
          'INSERT INTO recipients (approval, address, ends, place) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
          [id, address, endsOf(address), place],
        );
    });
  }

  #run(sql: string, values: Values): void {
    this.#file.prepare(sql).run(values);
  }

  #all(sql: string, values: Values): readonly (readonly unknown[])[] {
    return this.#file.prepare(sql).all(values);
  }
}

/** The first columns of a row. */
const earlier = ([batchId, batchIndex, date]: readonly unknown[]): EarlierApproval => ({
  ...{ batchId: String(batchId), batchIndex: String(batchIndex), date: String(date) },
});
