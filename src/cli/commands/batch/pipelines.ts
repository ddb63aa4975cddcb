/** `flywheel batch init` and `run`: make a file of pipelines a batch that waits for approval, or execute it. */
import type { Command } from '@commander-js/extra-typings';
import type { InitBatchRequest } from '../../../contract/schemas/batch.js';
import { isFlywheelError, usageError } from '../../../errors/flywheel-error.js';
import { batchWork } from '../../batch/batch-work.js';
import { checkedPipelines, runBatchOperation, showPipelinesPlan } from '../../batch/pipelines-operation.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { canAsk, withoutQuestion } from '../../consent.js';
import { openInput } from '../../input/read-input.js';
import { absoluteSource, keypairLocation } from '../../load-keypair.js';
import {
  AGAIN_OPTION,
  ALLOW_CHANGED_OPTION,
  COLUMN_OPTION,
  type HowOften,
  howOften,
  idempotencyKeyOption,
  KEYPAIR_OPTION,
  REST_OPTION,
  TABLE_FORMAT_OPTION,
  WALLET_OPTION,
} from '../../options.js';
import { FORCE_OPTION, failedOutFile, outputFile } from '../../output/output-file.js';

const fileOptions = <Args extends unknown[], Options extends Record<string, unknown>>(
  command: Command<Args, Options>,
) =>
  command
    .option('--failed-out <file>', 'when the batch has ended, write what did not land to this file')
    .addOption(FORCE_OPTION)
    .addOption(TABLE_FORMAT_OPTION)
    .addOption(COLUMN_OPTION)
    .addOption(REST_OPTION)
    .addOption(AGAIN_OPTION)
    .addOption(ALLOW_CHANGED_OPTION)
    .option('--dry-run', 'check the file, show totals and effects, send nothing')
    .addOption(idempotencyKeyOption('from the content of the file'));

const initOptions = (command: Command) =>
  fileOptions(
    command
      .argument('<pipelines>', 'pipelines file (JSON or CSV); - for standard input')
      .option('--out <file>', 'write the approval file here (default: approvals/ in the data directory)'),
  );

async function init(
  session: Session,
  [file]: [string],
  options: OptionsOf<typeof initOptions>,
): Promise<void> {
  const how = howOften(options);
  const out = outputFile(session, '--out', options.out, options);
  const failedOut = failedOutFile(session, options);
  if (out !== null && out.path === failedOut?.path)
    throw usageError('--out and --failed-out must name different files.');
  const input = await openInput(session.context, file, options);
  const { dryRun = false } = options;
  const request = await checkedPipelines(session, input, dryRun);
  await runOrPlan(session, request, how, dryRun, { run: null, out, failedOut });
}

async function runOrPlan(
  session: Session,
  request: InitBatchRequest,
  how: HowOften,
  dryRun: boolean,
  options: Parameters<typeof batchWork>[3],
): Promise<void> {
  const workOf = (of: Session) => batchWork(of, request, how, options);
  const signs = options.run?.wallet === false;
  await (dryRun
    ? showPipelinesPlan(session, request, how, workOf, signs)
    : runBatchOperation(session, request, how, workOf(session)));
}

const runOptions = (command: Command) =>
  fileOptions(
    command
      .argument('<pipelines>', 'pipelines file (JSON or CSV)')
      .addOption(KEYPAIR_OPTION)
      .addOption(WALLET_OPTION),
  );

async function runFile(
  session: Session,
  [file]: [string],
  options: OptionsOf<typeof runOptions>,
): Promise<void> {
  const { context, settings } = session;
  const how = howOften(options);
  const { dryRun = false, wallet = false } = options;
  // With --wallet the owner consents in the wallet.
  if (!dryRun && !wallet && !settings.yes && !canAsk(session))
    throw usageError(`${withoutQuestion(session)} \`batch run\` needs --yes or --wallet. Nothing was sent.`);
  const failedOut = failedOutFile(session, options);
  const input = await openInput(context, file, options);
  const request = await checkedPipelines(session, input, dryRun);
  const keypair = wallet ? null : keypairOf(session, options.keypair, dryRun);
  await runOrPlan(session, request, how, dryRun, { run: { keypair, wallet }, out: null, failedOut });
}

/** A dry run signs nothing; it uses a keypair only to compare the owner. */
function keypairOf({ context, settings }: Session, typed: string | undefined, dryRun: boolean) {
  try {
    return absoluteSource(context, keypairLocation(settings, typed));
  } catch (error) {
    if (!dryRun || typed !== undefined || !isFlywheelError(error, 'ERR_KEYPAIR_INVALID')) throw error;
    return null;
  }
}

const DRY_RUN = [
  '--dry-run: { "dryRun": true, "pipelines", "actions", "totalBurn", "totalAirdrop", "digest",',
  '  "foreseen": { "vault", "supply", "usedToday", "costs" }|null, "warnings" }',
];

export const commands = {
  init: defineCommand({
    configure: initOptions,
    run: init,
    details: [
      'The file is { "pipelines": [ { "type", "payload", "actions" } ] } or the list alone.',
      'The payload is the proof: an object, or JSON text. Actions are BURN, AIRDROP and MEMO.',
      'The same file again prints the same batch with a new approval.',
    ],
    output: [
      '{ "proposalApproveTx": base64, "batch": { "id", "status": "FINALIZED", …, "initResult", "pipelines" } }',
      ...DRY_RUN,
    ],
    examples: [
      'flywheel batch init pipelines.json --dry-run',
      'flywheel batch init pipelines.json --out approval.json',
    ],
  }),
  run: defineCommand({
    configure: runOptions,
    run: runFile,
    details: [
      'Reads the batch back from the chain before signing. The batch must equal the file.',
      'The same file again resumes an unfinished batch, and prints the result of a finished one.',
      'With --yes, flywheel refuses proofs that were paid or approved from this machine. --again pays them again.',
      'With --wallet the owner signs and pays in a browser wallet (Phantom, Solflare, or a Ledger through them), as with `batch approve`.',
      'Without a terminal, --yes or --wallet is required.',
    ],
    output: [
      '{ "batch": { "id", "status": "EXECUTED"|"FAILED", … }, "result": { "total", "totalSuccessful", … } }',
      ...DRY_RUN,
    ],
    examples: [
      'flywheel batch run pipelines.json --keypair owner.json --yes',
      'flywheel batch run pipelines.json --keypair owner.json --rest --yes',
      'flywheel batch run pipelines.json --wallet',
    ],
  }),
};
