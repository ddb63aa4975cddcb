/** `flywheel batch init`: a file of pipelines becomes a batch that waits for the owner's approval. */

import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { openInput } from '../../input/open-input.js';
import { IDEMPOTENCY_KEY_OPTION } from '../../options/idempotency-key.js';
import { COLUMN_OPTION, TABLE_FORMAT_OPTION } from '../../options/input-format.js';
import { AGAIN_OPTION, ALLOW_CHANGED_OPTION, howOften, REST_OPTION } from '../../options/once.js';
import { FORCE_OPTION, failedOutFile, outputFile } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<pipelines>', 'pipelines file (JSON or CSV); - for standard input')
    .option('--out <file>', 'write the approval file here (default: approvals/ in the data directory)')
    .option('--failed-out <file>', 'if the batch is over: write the pipelines that did not land to a file')
    .addOption(FORCE_OPTION)
    .addOption(TABLE_FORMAT_OPTION)
    .addOption(COLUMN_OPTION)
    .addOption(REST_OPTION)
    .addOption(AGAIN_OPTION)
    .addOption(ALLOW_CHANGED_OPTION)
    .option('--dry-run', 'check the file and show totals and effects; send nothing')
    .addOption(IDEMPOTENCY_KEY_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [file]: [string], options: Options): Promise<undefined> {
  const how = howOften(options);
  const out = outputFile(session, '--out', options.out, options);
  const failedOut = failedOutFile(session, options);
  if (out !== null && out.path === failedOut?.path)
    throw new FlywheelError('ERR_USAGE', '--out and --failed-out must name different files.');
  const input = await openInput(session.context, file, options);
  const { checkedPipelines, runBatchOperation } = await import('../../batch/batch-operation.js');
  const { dryRun = false } = options;
  const request = await checkedPipelines(session, input, dryRun);
  const { InitWork } = await import('../../batch/init-work.js');
  const { rest, allowChanged } = how;
  const workOf = (of: Session) => new InitWork(of, request, { rest, allowChanged, out, failedOut });
  if (dryRun) {
    const { showPipelinesPlan } = await import('../../batch/dry-run.js');
    return showPipelinesPlan(session, request, how, workOf);
  }
  await runBatchOperation(session, request, how, workOf(session));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'The file is { "pipelines": [ { "type", "payload", "actions" } ] } or only the list.',
    'The payload is the proof: an object, or JSON text. Actions are BURN, AIRDROP and MEMO.',
    'Run again with the same file, it prints the same batch with a fresh approval.',
  ],
  output: [
    '{ "proposalApproveTx": base64, "batch": { "id", "status": "FINALIZED", …, "initResult", "pipelines" } }',
    '--dry-run: { "dryRun": true, "pipelines", "actions", "totalBurn", "totalAirdrop", "digest",',
    '  "foreseen": { "vault", "supply", "usedToday", "rent" }|null }',
  ],
  examples: [
    'flywheel batch init pipelines.json --dry-run',
    'flywheel batch init pipelines.json --out approval.json',
  ],
});
