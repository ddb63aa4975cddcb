/** `flywheel batch execute`: lands the approval and executes. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { fingerprint, type Sha256 } from '../../../values/digest.js';
import { isUuid, type Uuid } from '../../../values/ids.js';
import { parseStrictJson } from '../../../values/strict-json.js';
import { type ExecuteOptions, noteOf } from '../../batch/execute-work.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { inInput, inputError, readOptionText } from '../../input/read-input.js';
import type { OperationRequest } from '../../journal/journal.js';
import { IDEMPOTENCY_KEY_OPTION } from '../../options/idempotency-key.js';
import {
  ALLOW_UNVERIFIED_OPTION,
  EXPECT_OPTION,
  KEYPAIR_OPTION,
  NO_SIMULATE_OPTION,
} from '../../options/keypair.js';
import { parseBatchId } from '../../options/names.js';
import { howOften } from '../../options/once.js';
import { FORCE_OPTION, failedOutFile } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<batchId>', 'id of the batch (UUID)')
    .option('--signed-tx <base64>', 'the signed approval: base64, @file (also what approve prints), or -')
    .option(
      '--approval <file>',
      'the file that `batch init` wrote, or the id of the batch; checked and signed here (default: the id)',
    )
    .addOption(KEYPAIR_OPTION)
    .addOption(EXPECT_OPTION)
    .option('--failed-out <file>', 'write the pipelines that did not land, as a pipelines file')
    .addOption(FORCE_OPTION)
    .addOption(ALLOW_UNVERIFIED_OPTION)
    .addOption(NO_SIMULATE_OPTION)
    .addOption(IDEMPOTENCY_KEY_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [id]: [string], typed: Options): Promise<undefined> {
  const batchId = parseBatchId(id);
  const options = {
    ...(await executeOptions(session, typed, batchId)),
    ...(await failedOut(session, typed, batchId)),
  };
  const [{ ExecuteWork }, { runOperation }] = await Promise.all([
    import('../../batch/execute-work.js'),
    import('../../operation/run-operation.js'),
  ]);
  const request: OperationRequest = {
    kind: 'execute',
    content: fingerprint({ batchId }),
    origin: howOften(typed).origin,
    body: () => JSON.stringify({ batchId }),
    notes: () => noteOf(options),
    command: session.commandLine,
    elements: [],
    again: false,
  };
  await runOperation(session, request, new ExecuteWork(session, batchId, options));
  return undefined;
}

async function failedOut(
  session: Session,
  options: Options,
  batchId: Uuid,
): Promise<Pick<ExecuteOptions, 'failedOut'>> {
  const file = failedOutFile(session, options);
  if (file === null) return { failedOut: null };
  const { failedOutOf } = await import('../../batch/batch-pipelines.js');
  return { failedOut: await failedOutOf(session, batchId, file, options.expect) };
}

/** How it executes, whatever is written of it then. */
type Terms = Omit<ExecuteOptions, 'failedOut'>;

async function executeOptions(session: Session, options: Options, batchId: Uuid): Promise<Terms> {
  const { signedTx } = options;
  const { approval } = options;
  const allowUnverified = options.allowUnverified === true;
  if (signedTx !== undefined && approval !== undefined)
    throw new FlywheelError('ERR_USAGE', 'Give either --signed-tx, or --approval with --keypair.');
  if (signedTx !== undefined) {
    const digest = await digestOf(session, options.expect);
    const signed = await readSignedTx(session, signedTx, batchId);
    return { signedTx: signed, sign: null, terms: null, digest, allowUnverified };
  }
  if (approval === undefined && options.keypair === undefined) {
    await requireNoSignature(session, batchId);
    const digest = await digestOf(session, options.expect);
    return { signedTx: null, sign: null, terms: null, digest, allowUnverified };
  }
  return ownSigning(session, options, batchId, approval ?? batchId);
}

/** The digest of `--expect`; `null` without it. */
async function digestOf(session: Session, expect: string | undefined): Promise<Sha256 | null> {
  if (expect === undefined) return null;
  const { expectedDigest, readExpectation } = await import('../../batch/expectation.js');
  return expectedDigest(await readExpectation(session, expect));
}

/** @throws `ERR_USAGE` unless the owner's approval stands on chain, where another tool or a wallet has put it. */
async function requireNoSignature(session: Session, batchId: Uuid): Promise<void> {
  const { needsNoApproval, requireExecutesFromChain } = await import('../../batch/approved-on-chain.js');
  if (!(await needsNoApproval(session, batchId)))
    throw new FlywheelError('ERR_USAGE', 'Give either --signed-tx, or --approval with --keypair.');
  await requireExecutesFromChain(session, batchId);
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
  options: Options,
  batchId: Uuid,
  approval: string,
): Promise<Terms> {
  const { context, settings } = session;
  const [
    { absoluteSource, keypairLocation, loadKeypair, requireKeypair },
    { expectedDigest, readExpectation },
    { signing, signingTerms },
  ] = await Promise.all([
    import('../../wallet/load-keypair.js'),
    import('../../batch/expectation.js'),
    import('../../batch/signing.js'),
  ]);
  const keypair = absoluteSource(context, keypairLocation(context, settings, options.keypair));
  requireKeypair(context, keypair);
  const { expect } = options;
  const expectation = expect === undefined ? null : await readExpectation(session, expect);
  const allowUnverified = options.allowUnverified === true;
  const { simulate } = options;
  const terms = signingTerms(session, batchId, { approval, keypair, expectation, allowUnverified, simulate });
  const sign = signing(session, batchId, terms, () => loadKeypair(context, keypair));
  const digest = expectation && expectedDigest(expectation);
  return { signedTx: null, sign, terms, digest, allowUnverified };
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Neither is needed once the approval of the owner stands on chain, as after `batch approve --wallet`.',
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
    'ERR_CHAIN_MISMATCH',
    'ERR_BATCH_FAILED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: [
    'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --signed-tx @signed.json',
    'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --approval approval.json --keypair owner.json',
  ],
});
