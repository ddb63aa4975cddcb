/** Carries on with an operation from what the journal holds of it. */

import type { RawRequest } from '../../contract/raw-api.js';
import type { InitBatchRequest } from '../../contract/schemas/batch.js';
import type { Uuid } from '../../values/ids.js';
import type { ExecuteNote } from '../batch/execute-work.js';
import type { BurnBody } from '../burn/burn-work.js';
import type { Session } from '../command.js';
import type { Entry, Journal } from '../journal/journal.js';
import { notedFile, type OutputFile } from '../output/output-file.js';
import type { KeypairSource } from '../wallet/keypair-source.js';
import { absoluteSource, keypairLocation, loadKeypair } from '../wallet/load-keypair.js';
import { carryOut, takeOperation, type Work } from './run-operation.js';

/** An operation that is over and whose outcome was told is kept without what was asked for, or not at all. */
export type Resumed = 'resumed' | 'told before' | 'not there';

/**
 * Carries on with an operation, when no other process is at it any more.
 * @param keypair - as the option says; else the one that the operation was begun with, else the usual one.
 * @throws what the command itself would.
 */
export async function resumeOperation(
  session: Session,
  journal: Journal,
  id: string,
  keypair: string | undefined,
): Promise<Resumed> {
  const entry = await takeOperation(session, journal, id);
  if (entry === undefined) return 'not there';
  const body = entry.body();
  if (body === undefined) return 'told before';
  const work = await workOf(session, entry, JSON.parse(body), keypair);
  if (!(await carryOut(session, entry, work)))
    session.output.tell(`Operation ${entry.id} was ended before anything of it landed.`);
  return 'resumed';
}

/** @param body - what was asked for, as the command that has begun it wrote it down. */
async function workOf(
  session: Session,
  entry: Entry,
  body: unknown,
  keypair: string | undefined,
): Promise<Work<unknown>> {
  const { context, settings } = session;
  const source: Keypair = (noted) =>
    absoluteSource(context, keypairLocation(context, settings, keypair ?? noted ?? undefined));
  switch (entry.kind) {
    case 'burn': {
      const { burnWork } = await import('../burn/burn-work.js');
      return burnWork(session, body as BurnBody) as Work<unknown>;
    }
    case 'burn-batch': {
      const [{ BurnBatchWork }, { keptBody }] = await Promise.all([
        import('../burn-batch/burn-batch-work.js'),
        import('../burn-batch/body.js'),
      ]);
      const kept = keptBody(entry, body as Parameters<typeof keptBody>[1]);
      return new BurnBatchWork(session, kept, { rest: false, strict: false }) as Work<unknown>;
    }
    case 'batch':
      return batchWork(session, entry, body as InitBatchRequest, source);
    case 'approve': {
      const { WalletApprovalWork } = await import('../batch/wallet-approval-work.js');
      const { batchId } = body as OfBatch;
      return new WalletApprovalWork(session, batchId, null) as Work<unknown>;
    }
    case 'execute':
      return executeWork(session, entry, body as OfBatch, source);
    case 'cancel':
      return cancelWork(session, entry, body as OfBatch, source);
    case 'api': {
      const { apiWork } = await import('../api/api-work.js');
      return apiWork(session, body as RawRequest, { withHeaders: false }) as Work<unknown>;
    }
  }
}

type Keypair = (noted: string | null) => KeypairSource;

interface OfBatch {
  readonly batchId: Uuid;
}

async function executeWork(
  session: Session,
  entry: Entry,
  { batchId }: OfBatch,
  source: Keypair,
): Promise<Work<unknown>> {
  const [{ ExecuteWork }, { signing }, { batchPipelines }] = await Promise.all([
    import('../batch/execute-work.js'),
    import('../batch/signing.js'),
    import('../batch/batch-pipelines.js'),
  ]);
  const note = entry.notes as unknown as ExecuteNote;
  const { terms, allowUnverified = terms?.allowUnverified ?? false, failedOut: noted = null } = note;
  const signer = () => loadKeypair(session.context, source(terms?.keypair ?? null));
  const sign = terms === null ? null : signing(session, batchId, terms, signer);
  const file = notedFile(noted);
  const failedOut = file === null ? null : { file, pipelines: await batchPipelines(session, batchId) };
  const options = { signedTx: null, sign, terms, digest: null, allowUnverified, failedOut };
  return new ExecuteWork(session, batchId, options) as Work<unknown>;
}

async function cancelWork(
  session: Session,
  entry: Entry,
  { batchId }: OfBatch,
  source: Keypair,
): Promise<Work<unknown>> {
  const { CancelWork } = await import('../batch/cancel-work.js');
  // Earlier versions have noted no rejections.
  const {
    keypair: noted,
    allowUnverified,
    isRejection = false,
  } = entry.notes as { keypair: string | null; allowUnverified: boolean; isRejection?: boolean };
  const signer = () => loadKeypair(session.context, source(noted));
  return new CancelWork(session, batchId, { signer, allowUnverified, isRejection }) as Work<unknown>;
}

/** A batch is carried on as what was asked for last: only set up, or run to its end. */
async function batchWork(
  session: Session,
  entry: Entry,
  request: InitBatchRequest,
  source: Keypair,
): Promise<Work<unknown>> {
  const run = entry.notes['run'] as
    | {
        keypair: string | null;
        allowUnverified: boolean;
        simulate?: boolean;
        failedOut: OutputFile | string | null;
      }
    | undefined;
  if (run === undefined) {
    const { InitWork } = await import('../batch/init-work.js');
    return new InitWork(session, request, { rest: false, out: null, failedOut: null }) as Work<unknown>;
  }
  const { RunWork } = await import('../batch/run-work.js');
  const { keypair: noted, allowUnverified, simulate = true } = run;
  const failedOut = notedFile(run.failedOut);
  const options = { rest: false, keypair: source(noted), allowUnverified, simulate, failedOut };
  return new RunWork(session, request, options) as Work<unknown>;
}
