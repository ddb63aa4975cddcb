/** `flywheel batch execute`: lands the approval and executes. */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { fingerprint } from '../../../values/digest.js';
import { isUuid, type Uuid } from '../../../values/ids.js';
import { parseStrictJson } from '../../../values/strict-json.js';
import { type ExecuteOptions, noteOf } from '../../batch/execute-work.js';
import type { CommandSpec, Invocation, Session } from '../../command.js';
import { inInput, inputError, readOptionText } from '../../files/read-input.js';
import type { OperationRequest } from '../../journal/journal.js';
import { batchIdArgument } from '../../options/batch-id.js';
import { IDEMPOTENCY_KEY_OPTION } from '../../options/idempotency-key.js';
import { ALLOW_UNVERIFIED_OPTION, EXPECT_OPTION, KEYPAIR_OPTION } from '../../options/keypair.js';
import { howOften } from '../../options/once.js';

async function run(session: Session, invocation: Invocation): Promise<undefined> {
  const batchId = batchIdArgument(invocation, 0);
  const options = await executeOptions(session, invocation, batchId);
  const [{ ExecuteWork }, { runOperation }] = await Promise.all([
    import('../../batch/execute-work.js'),
    import('../../operation/run-operation.js'),
  ]);
  const request: OperationRequest = {
    kind: 'execute',
    content: fingerprint({ batchId }),
    origin: howOften(invocation).origin,
    body: () => JSON.stringify({ batchId }),
    notes: () => noteOf(options),
    command: session.commandLine,
    elements: [],
    again: false,
  };
  await runOperation(session, request, new ExecuteWork(session, batchId, options));
  return undefined;
}

async function executeOptions(
  session: Session,
  invocation: Invocation,
  batchId: Uuid,
): Promise<ExecuteOptions> {
  const signedTx = invocation.option('signedTx');
  const approval = invocation.option('approval');
  if (signedTx !== undefined && approval !== undefined)
    throw new FlywheelError('ERR_USAGE', 'Give either --signed-tx, or --approval with --keypair.');
  if (signedTx !== undefined)
    return { signedTx: await readSignedTx(session, signedTx, batchId), sign: null, terms: null };
  if (approval === undefined && invocation.option('keypair') === undefined)
    throw new FlywheelError('ERR_USAGE', 'Give either --signed-tx, or --approval with --keypair.');
  return ownSigning(session, invocation, batchId, approval ?? batchId);
}

/** Base64, or the JSON that `batch approve` prints. */
async function readSignedTx(session: Session, option: string, batchId: Uuid): Promise<string> {
  const { name, text } = await readOptionText(session.context, '--signed-tx', option);
  const trimmed = text.trim();
  const { decodeBase64 } = await import('../../batch/approval-source.js');
  if (!trimmed.startsWith('{')) {
    decodeBase64(name, trimmed);
    return trimmed;
  }
  const value = inInput(name, () => parseStrictJson(trimmed)).value as Readonly<Record<string, unknown>>;
  const { batchId: id, signedTx } = value;
  if (typeof signedTx !== 'string' || typeof id !== 'string' || !isUuid(id))
    throw inputError(name, 'expected what `batch approve` prints: { "batchId", "signedTx" }');
  if (id.toLowerCase() !== batchId) throw inputError(name, `it is the approval of batch ${id}`);
  decodeBase64(name, signedTx);
  return signedTx;
}

/** What signs when it comes to that; the keypair and what is expected are looked at now. */
async function ownSigning(
  session: Session,
  invocation: Invocation,
  batchId: Uuid,
  approval: string,
): Promise<ExecuteOptions> {
  const { context, settings } = session;
  const [{ absoluteSource, keypairLocation, loadKeypair }, { readExpectation }, { signing, signingTerms }] =
    await Promise.all([
      import('../../wallet/load-keypair.js'),
      import('../../batch/expectation.js'),
      import('../../batch/signing.js'),
    ]);
  const keypair = absoluteSource(context, keypairLocation(context, settings, invocation.option('keypair')));
  const signer = await loadKeypair(context, keypair);
  const expect = invocation.option('expect');
  const expectation = expect === undefined ? null : await readExpectation(session, expect);
  const allowUnverified = invocation.flag('allowUnverified');
  const terms = signingTerms(session, batchId, { approval, keypair, expectation, allowUnverified });
  const sign = signing(session, batchId, terms, async () => signer);
  return { signedTx: null, sign, terms };
}

export const command: CommandSpec = {
  arguments: [{ syntax: '<batchId>', description: 'id of the batch (UUID)' }],
  options: [
    {
      flags: '--signed-tx <base64>',
      description: 'the signed approval: base64, @file (also what approve prints), or -',
    },
    {
      flags: '--approval <file>',
      description:
        'the file that `batch init` wrote, or the id of the batch; checked and signed here (default: the id)',
    },
    KEYPAIR_OPTION,
    EXPECT_OPTION,
    ALLOW_UNVERIFIED_OPTION,
    IDEMPOTENCY_KEY_OPTION,
  ],
  output: [
    '{ "batchId": uuid, "result": { "total", "totalSuccessful", "totalFailed", "successfulExecutions",',
    '  "failedOnTransactionIndex"?, "failedStartTransactionIndex"?, "failedTxMsg"? } }',
  ],
  errors: [
    'ERR_BATCH_NOT_FOUND',
    'ERR_BATCH_NOT_FINALIZED',
    'ERR_INVALID_SIGNED_TX',
    'ERR_APPROVAL_EXPIRED',
    'ERR_APPROVAL_REFUSED',
    'ERR_BATCH_FAILED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: [
    'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --signed-tx @signed.json',
    'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --approval approval.json --keypair owner.json',
  ],
  run,
};
