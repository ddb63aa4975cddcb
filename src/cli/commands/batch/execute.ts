/** `flywheel batch execute`: lands the approval and executes. */
import type { Command } from '@commander-js/extra-typings';
import type { KeypairSigner } from '../../../chain/transaction/signer.js';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import type { Sha256 } from '../../../values/digest.js';
import { parseStrictJson } from '../../../values/strict-json.js';
import { isUuid, type Uuid } from '../../../values/uuid.js';
import type { Signed } from '../../batch/approve-batch.js';
import type { ExecuteTerms } from '../../batch/execute-batch.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { inInput, inputError, readOptionText } from '../../input/read-input.js';
import { IDEMPOTENCY_KEY_OPTION, parseIdempotencyKey } from '../../options/idempotency-key.js';
import { EXPECT_OPTION, KEYPAIR_OPTION } from '../../options/keypair.js';
import { parseBatchId } from '../../options/names.js';
import { FORCE_OPTION, failedOutFile } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<batchId>', 'batch id (UUID)')
    .option('--signed-tx <base64>', 'signed approval: base64, @file (from `batch approve --out`), or -')
    .option('--approval <file>', 'approval file or batch id to check and sign here (default: the batch id)')
    .addOption(KEYPAIR_OPTION)
    .addOption(EXPECT_OPTION)
    .option('--failed-out <file>', 'write the pipelines that did not land to a pipelines file')
    .addOption(FORCE_OPTION)
    .option('--again', 'execute also what landed in another batch')
    .addOption(IDEMPOTENCY_KEY_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [id]: [string], options: Options): Promise<undefined> {
  const batchId = parseBatchId(id);
  const key = parseIdempotencyKey(options.idempotencyKey, 'text');
  const approval = await approvalTerms(session, options, batchId);
  const file = failedOutFile(session, options);
  const { executeBatch } = await import('../../batch/execute-batch.js');
  const { failedOutOf } = await import('../../batch/batch-pipelines.js');
  const failedOut = file === null ? null : await failedOutOf(session, batchId, file, options.expect);
  const { again = false } = options;
  await executeBatch(session, batchId, { ...approval, key, failedOut, again });
  return undefined;
}

/** How it comes by the owner's approval, and what is expected of the batch. */
type Terms = Pick<ExecuteTerms, 'signedTx' | 'sign' | 'digest'>;

async function approvalTerms(session: Session, options: Options, batchId: Uuid): Promise<Terms> {
  const { signedTx, approval } = options;
  if (signedTx !== undefined && approval !== undefined)
    throw new FlywheelError('ERR_USAGE', '--signed-tx and --approval cannot be combined.');
  if (signedTx !== undefined) {
    const digest = await digestOf(session, options.expect);
    return { signedTx: await readSignedTx(session, signedTx, batchId), sign: null, digest };
  }
  if (approval === undefined && options.keypair === undefined) {
    await requireNoSignature(session, batchId);
    return { signedTx: undefined, sign: null, digest: await digestOf(session, options.expect) };
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
    throw new FlywheelError(
      'ERR_USAGE',
      'The owner has not approved the batch on chain. Add --keypair, or --signed-tx with a signed approval.',
    );
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
  { keypair: flag, expect }: Options,
  batchId: Uuid,
  source: string,
): Promise<Terms> {
  const { context, settings } = session;
  const [
    { keypairLocation, loadKeypair, requireKeypair },
    { expectedDigest, readExpectation },
    { readApproval },
    { approveBatch, requireSigned },
  ] = await Promise.all([
    import('../../wallet/load-keypair.js'),
    import('../../batch/expectation.js'),
    import('../../batch/approval-source.js'),
    import('../../batch/approve-batch.js'),
  ]);
  const keypair = keypairLocation(context, settings, flag);
  requireKeypair(context, keypair);
  const expectation = expect === undefined ? null : await readExpectation(session, expect);
  let loaded: Promise<KeypairSigner> | undefined;
  const signer = (): Promise<KeypairSigner> => {
    // Standard input can be read only once.
    loaded ??= loadKeypair(context, keypair);
    return loaded;
  };
  let isFresh = false;
  const sign = async (): Promise<Signed> => {
    // The one that was given is checked first; what has expired is issued anew by the service.
    const approval = await readApproval(session, isFresh ? batchId : source);
    isFresh = true;
    if (approval.batch.id.toLowerCase() !== batchId)
      throw inputError(source, `it is the approval of batch ${approval.batch.id}`);
    return requireSigned(await approveBatch(session, { approval, signer, expectation, mayBeApproved: true }));
  };
  return { signedTx: undefined, sign, digest: expectation && expectedDigest(expectation) };
}

export const command = defineCommand({
  configure,
  run,
  details: ['Neither is needed if the owner has approved on chain, as after `batch approve --wallet`.'],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "batchId": uuid, "result": { "total", "totalSuccessful", "totalFailed", "successfulExecutions",',
    '  "failedOnTransactionIndex"?, "failedStartTransactionIndex"?, "failedTxMsg"? } }',
  ],
  examples: [
    'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --signed-tx @signed.json',
    'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --approval approval.json --keypair owner.json',
  ],
});
