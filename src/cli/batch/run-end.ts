/** Begins the operation that ends a batch, or takes it up: `batch cancel` and `batch reject` are one to the journal. */
import { fingerprint } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OperationRequest } from '../journal/journal.js';
import { runOperation } from '../operation/run-operation.js';
import { parseBatchId } from '../options/names.js';
import { absoluteSource, keypairLocation, loadKeypair } from '../wallet/load-keypair.js';
import { CancelWork } from './cancel-work.js';

export interface EndOptions {
  readonly keypair?: string;
  readonly allowUnverified?: boolean;
}

export async function runEnd(
  session: Session,
  id: string,
  options: EndOptions,
  isRejection: boolean,
): Promise<undefined> {
  const batchId = parseBatchId(id);
  const { context, settings } = session;
  const allowUnverified = options.allowUnverified === true;
  const flag = options.keypair;
  const source =
    flag === undefined ? null : absoluteSource(context, keypairLocation(context, settings, flag));
  const keypair = typeof source === 'string' ? source : null;
  const request: OperationRequest = {
    kind: 'cancel',
    content: fingerprint({ batchId }),
    origin: { from: 'content' },
    body: () => JSON.stringify({ batchId }),
    notes: () => ({ allowUnverified, keypair, ...(isRejection ? { isRejection } : {}) }),
    command: session.commandLine,
    elements: [],
    again: false,
  };
  const signer = () => loadKeypair(context, source ?? keypairLocation(context, settings, undefined));
  await runOperation(
    session,
    request,
    new CancelWork(session, batchId, { signer, allowUnverified, isRejection }),
  );
  return undefined;
}
