/** `flywheel batch approve`, `execute` and `cancel`: commands that sign as the owner after all checks. */
import { type Command, Option } from '@commander-js/extra-typings';
import { FlywheelError, isFlywheelError, usageError } from '../../../errors/flywheel-error.js';
import { isUuid, type Uuid } from '../../../values/ids.js';
import { parseStrictJson } from '../../../values/strict-json.js';
import { repeatBy } from '../../batch/approval-limits.js';
import { decodeBase64, readApproval } from '../../batch/approval-source.js';
import { approveBatch, approveWithWallet, type Signed } from '../../batch/approve-batch.js';
import { cancelBatch } from '../../batch/end-batch.js';
import {
  executeBatch,
  failedOutOf,
  needsNoApproval,
  requireExecutesFromChain,
  type SignTerms,
} from '../../batch/execute-batch.js';
import { expectationOf } from '../../batch/review.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { cancelLine } from '../../hints.js';
import { inInput, inputError, readOptionText, requireKind } from '../../input/read-input.js';
import { keypairLocation, loadKeypair, OwnerKeypair, requireKeypair } from '../../load-keypair.js';
import { getBatch } from '../../operation/done-there.js';
import { commandLine, repeatable } from '../../operation/resume-line.js';
import {
  EXPECT_OPTION,
  idempotencyKeyOption,
  KEYPAIR_OPTION,
  parseBatchId,
  parseIdempotencyKey,
  WALLET_OPTION,
} from '../../options.js';
import {
  FORCE_OPTION,
  failedOutFile,
  outputFile,
  requireFree,
  writeOutput,
} from '../../output/output-file.js';

const approveOptions = (command: Command) =>
  command
    .argument('<approval>', 'batch id, the file from `batch init`, base64, or - for standard input')
    .addOption(KEYPAIR_OPTION)
    .addOption(WALLET_OPTION)
    .addOption(EXPECT_OPTION)
    .option('--out <file>', 'write the signed approval to this file')
    .addOption(FORCE_OPTION)
    .option('--again', 'also approve proofs that have already landed or been approved');

/** @throws `ERR_KEYPAIR_INVALID` when the keypair is missing or other users can read it. */
function ownerKeypair({ context, settings }: Session, typed: string | undefined): OwnerKeypair {
  const source = keypairLocation(settings, typed);
  requireKeypair(context, source);
  return new OwnerKeypair(context, source);
}

async function approve(
  session: Session,
  [source]: [string],
  options: OptionsOf<typeof approveOptions>,
): Promise<void> {
  if (options.wallet === true) return approveWithWallet(session, source, options);
  const { settings } = session;
  const { out } = options;
  const outFile = outputFile(session, '--out', out, options);
  if (outFile !== null) requireFree(outFile);
  const keypair = ownerKeypair(session, options.keypair);
  const expectation = await expectationOf(session, options.expect);
  const approval = await readApproval(session, source);
  const { id } = approval.batch;
  const repeat = await repeatBy(session, id, options);
  const asked = { ...approval, expectation, repeat };
  const signed = await approveBatch(session, asked, keypair, false).catch((error: unknown) => {
    if (!isFlywheelError(error, 'ERR_DECLINED')) throw error;
    const message = `${error.message} Batch ${id} still waits for approval.`;
    throw new FlywheelError(error.code, message, { hint: `Cancel it: ${cancelLine(session, id)}` });
  });
  if (signed === null) {
    const already = { batchId: id, alreadyApproved: true };
    session.output.result(already, () => [`Batch ${id} is already approved. Nothing was signed.`]);
    return;
  }
  const { batchId, signedTx } = signed;
  const body = { batchId, signedTx };
  if (outFile !== null) writeOutput(outFile, `${JSON.stringify(body)}\n`, { isPublic: true });
  const next = commandLine(
    settings,
    'batch',
    'execute',
    batchId,
    '--signed-tx',
    outFile === null ? signedTx : `@${out}`,
  );
  session.output.result(body, (style) => [
    style.good(
      `Signed the approval of batch ${batchId}${outFile === null ? '' : ` and wrote it to ${outFile.path}`}.`,
    ),
    `Next: ${next}`,
  ]);
}

const executeOptions = (command: Command) =>
  command
    .argument('<batchId>', 'batch id (UUID)')
    .addOption(
      new Option(
        '--signed-tx <base64>',
        'signed approval: base64, @file (from `batch approve --out`), or -',
      ).conflicts('approval'),
    )
    .option('--approval <file>', 'approval file or batch id to check and sign (default: the batch id)')
    .option(
      '--keypair <file>',
      "owner's keypair file, or -; without a keypair, the approval must be on chain",
    )
    .addOption(EXPECT_OPTION)
    .option('--failed-out <file>', 'write the pipelines that did not land to a pipelines file')
    .addOption(FORCE_OPTION)
    .option('--again', 'also execute pipelines that landed in another batch')
    .addOption(idempotencyKeyOption('from the batch and its approval'));

type ExecuteOptions = OptionsOf<typeof executeOptions>;

async function execute(session: Session, [id]: [string], options: ExecuteOptions): Promise<void> {
  const batchId = parseBatchId(id);
  const key = parseIdempotencyKey(options.idempotencyKey, 'text');
  const terms = await signTerms(session, options, batchId);
  const file = failedOutFile(session, options);
  const failedOut = file === null ? null : await failedOutOf(session, batchId, file, options.expect);
  const { again = false } = options;
  await executeBatch(session, batchId, { ...terms, key, failedOut, again });
}

async function signTerms(session: Session, options: ExecuteOptions, batchId: Uuid): Promise<SignTerms> {
  const { signedTx, approval: source = batchId } = options;
  const isSigning = options.approval !== undefined || options.keypair !== undefined;
  const keypair = signedTx === undefined && isSigning ? ownerKeypair(session, options.keypair) : null;
  if (keypair === null && signedTx === undefined)
    await repeatable(session, () => requireNoSignature(session, batchId));
  const expectation = await expectationOf(session, options.expect);
  const digest = expectation?.digest ?? null;
  if (signedTx !== undefined)
    return { signedTx: await readSignedTx(session, signedTx, batchId), sign: null, digest };
  if (keypair === null) return { signedTx, sign: null, digest };
  const repeat = await repeatBy(session, batchId, options);
  let isFresh = false;
  const sign = async (): Promise<Signed | null> => {
    // The given approval is checked first; an expired one is issued anew by the service.
    const approval = await readApproval(session, isFresh ? batchId : source);
    isFresh = true;
    if (approval.batch.id.toLowerCase() !== batchId)
      throw inputError(source, `this is the approval of batch ${approval.batch.id}`);
    return approveBatch(session, { ...approval, expectation, repeat }, keypair);
  };
  return { signedTx, sign, digest };
}

/** @throws `ERR_USAGE` unless the owner's approval is on chain, sent by another tool or a wallet. */
async function requireNoSignature(session: Session, batchId: Uuid): Promise<void> {
  if (!(await needsNoApproval(session, await getBatch(session, batchId))))
    throw usageError(
      'The owner has not approved the batch on chain. Nothing was sent.',
      'Add --keypair FILE, or --signed-tx @FILE with a signed approval.',
    );
  await requireExecutesFromChain(session, batchId);
}

async function readSignedTx(session: Session, option: string, batchId: Uuid): Promise<string> {
  const { name, text } = await readOptionText(session.context, '--signed-tx', option);
  const trimmed = text.trim();
  let signedTx: unknown = trimmed;
  if (/^[{[]/.test(trimmed)) {
    const { value } = inInput(name, () => parseStrictJson(trimmed));
    requireKind(name, value, 'a signed approval');
    const { batchId: id, ...signed } = value as Readonly<Record<string, unknown>>;
    signedTx = signed['signedTx'];
    if (typeof signedTx !== 'string' || typeof id !== 'string' || !isUuid(id))
      throw inputError(name, 'expected { "batchId", "signedTx" }, as `batch approve` prints it');
    if (id.toLowerCase() !== batchId) throw inputError(name, `this is the approval of batch ${id}`);
  }
  decodeBase64(name, String(signedTx));
  return String(signedTx);
}

export const commands = {
  approve: defineCommand({
    configure: approveOptions,
    run: approve,
    details: [
      'Reads the batch from the chain, checks it, shows it and asks. Then signs one approval of this batch.',
      'A summary precedes the question. --verbose also shows members, rules and token.',
      'With --yes, flywheel refuses proofs that landed or were approved from this machine. --again accepts them. A batch that was set up with --again or --allow-changed needs no --again here.',
      'Without a terminal, --yes and --expect are required.',
      'With --wallet the owner signs and pays in a browser wallet (Phantom, Solflare, or a Ledger through them). flywheel checks and',
      'sends the signed approval at once. `batch execute` then needs neither --keypair nor --signed-tx.',
    ],
    output: [
      '{ "batchId": uuid, "signedTx": base64 }',
      'with --wallet: { "batchId": uuid, "approved": true, "signature" }',
      'already approved on chain: { "batchId": uuid, "alreadyApproved": true }',
    ],
    examples: [
      'flywheel batch approve 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --expect pipelines.json',
      'flywheel batch approve approval.json --keypair owner.json --expect pipelines.json --out signed.json',
      'flywheel batch approve approval.json --keypair owner.json --expect pipelines.json --yes --json',
      'flywheel batch approve 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --wallet --expect pipelines.json',
    ],
  }),
  execute: defineCommand({
    configure: executeOptions,
    run: execute,
    details: [
      'Signs with --keypair, or sends the approval of --signed-tx. Leave both out after `batch approve --wallet`: the owner has then approved on chain.',
    ],
    output: [
      '{ "batchId": uuid, "result": { "total", "totalSuccessful", "totalFailed", "successfulExecutions",',
      '  "failedOnTransactionIndex"?, "failedStartTransactionIndex"?, "failedTxMsg"? } }',
    ],
    examples: [
      'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --signed-tx @signed.json',
      'flywheel batch execute 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --approval approval.json --keypair owner.json',
    ],
  }),
  cancel: defineCommand({
    configure: (command) => command.argument('<batchId>', 'batch id (UUID)').addOption(KEYPAIR_OPTION),
    run: async (session, [id], options) => {
      const batchId = parseBatchId(id);
      const { context, settings } = session;
      // A typed path is checked now, the default path only when the owner's vote is needed.
      const typed = options.keypair === undefined ? undefined : keypairLocation(settings, options.keypair);
      await cancelBatch(
        session,
        batchId,
        () => loadKeypair(context, typed ?? keypairLocation(settings, undefined)),
        typed === undefined ? null : await new OwnerKeypair(context, typed).address(),
      );
    },
    details: [
      'Shows the batch as it is on chain and asks. Then rejects or cancels its proposal and closes its accounts. Rent and',
      'reserved caps come back. Executed transactions stay executed. The vote of the owner, if needed, is signed with the',
      'keypair.',
    ],
    output: ['{ "id", "status": "FAILED", "executeResult"?, "dateCancelled", … }'],
    examples: [
      'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json',
      'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --yes --json',
    ],
  }),
};
