/** Carries on with an operation from what the journal holds of it. */

import type { InitBatchRequest } from '../../contract/schemas/batch.js';
import type { RunNote } from '../batch/run-work.js';
import type { BurnBatchBody } from '../burn/burn-batch-work.js';
import type { BurnBody } from '../burn/burn-work.js';
import type { Session } from '../command.js';
import type { Entry, Journal } from '../journal/journal.js';
import type { KeypairSource } from '../wallet/keypair-source.js';
import { absoluteSource, keypairLocation } from '../wallet/load-keypair.js';
import { carryOut, takeOperation, type Work, wasCancelled } from './run-operation.js';

/** An operation that is over and whose outcome was told is kept without what was asked for, or not at all. */
type Resumed = 'resumed' | 'told before' | 'not there';

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
  if (entry.state === 'cancelled') throw wasCancelled(entry.dateChanged);
  const work = await workOf(session, entry, JSON.parse(body), keypair);
  await carryOut(session, { entry }, work);
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
      const { BurnBatchWork } = await import('../burn/burn-batch-work.js');
      return new BurnBatchWork(session, body as BurnBatchBody, {
        ...AS_BEGUN,
        strict: false,
      }) as Work<unknown>;
    }
    case 'batch':
      return batchWork(session, entry, body as InitBatchRequest, source);
  }
}

const AS_BEGUN = { rest: false, allowChanged: false } as const;

type Keypair = (noted: string | null) => KeypairSource;

/** A batch is carried on as what was asked for last: only set up, or run to its end. */
async function batchWork(
  session: Session,
  entry: Entry,
  request: InitBatchRequest,
  source: Keypair,
): Promise<Work<unknown>> {
  const run = entry.notes['run'] as RunNote | undefined;
  if (run === undefined) {
    const { InitWork } = await import('../batch/pipelines-work.js');
    return new InitWork(session, request, AS_BEGUN, { out: null, failedOut: null }) as Work<unknown>;
  }
  const { RunWork } = await import('../batch/run-work.js');
  const { keypair: noted, failedOut } = run;
  return new RunWork(session, request, AS_BEGUN, { keypair: source(noted), failedOut }) as Work<unknown>;
}
