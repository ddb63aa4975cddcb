/** The steps of `batch run`: init, check, approve, execute and report. */

import { digestText, pipelinesDigest } from '../../chain/approval/pipelines.js';
import type { Batch, ExecuteResult, InitBatchResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Invocation, Session } from '../command.js';
import { canAsk } from '../consent.js';
import { readInputText } from '../files/read-input.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import { parseIdempotencyKey } from '../options/idempotency-key.js';
import { callWith } from '../send.js';
import { viewBatch } from '../views/batch.js';
import { keypairLocation, loadKeypair } from '../wallet/load-keypair.js';
import { batchName, decodeBase64 } from './approval-source.js';
import { approveBatch } from './approve-batch.js';
import { batchFailure, executeBatch } from './execute-batch.js';
import { checkedPipelines, initBatch } from './init-batch.js';

/** Runs a file of pipelines from init to the end. */
export async function runBatch(session: Session, invocation: Invocation): Promise<undefined> {
  const { context, settings, output } = session;
  const givenKey = parseIdempotencyKey(invocation);
  if (!settings.yes && !canAsk(session)) {
    throw new FlywheelError('ERR_USAGE', 'Without a terminal `batch run` needs --yes; nothing was sent.');
  }
  const signer = await loadKeypair(context, keypairLocation(context, settings, invocation.option('keypair')));
  const text = await readInputText(context, invocation.requiredArgument(0));
  const request = await checkedPipelines(session, text, false);
  const pipelines = toSourcePipelines(request.pipelines);
  output.notice(`${pipelines.length} pipelines, ${digestText(pipelinesDigest(pipelines))}`);
  const initiated = await initBatch(session, request, givenKey);
  output.notice(`Batch ${initiated.batch.id} is set up; checking what it will do.`);
  const signed = await approveBatch(session, {
    approval: issued(initiated),
    signer,
    // The file itself is what is expected: what stands on chain must equal it.
    expectation: { pipelines },
    allowUnverified: invocation.flag('allowUnverified'),
  });
  const { result } = await executeBatch(session, signed, undefined);
  const batch = await finalBatch(session, initiated.batch.id);
  return report(session, batch, result);
}

const issued = (initiated: InitBatchResult) => ({
  wire: decodeBase64('proposalApproveTx', initiated.proposalApproveTx),
  batch: batchName(initiated.batch),
});

async function finalBatch(session: Session, batchId: Batch['id']): Promise<Batch> {
  const opened = await session.service();
  return (await opened.service.getBatch({ batchId }, callWith(session, opened))).value;
}

function report(session: Session, batch: Batch, result: ExecuteResult): undefined {
  session.output.result({ batch, result }, (style) => viewBatch(batch, style));
  const failure = batchFailure(batch.id, result);
  if (failure !== undefined) throw failure;
  return undefined;
}
