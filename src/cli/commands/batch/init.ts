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
    .option(
      '--out <file>',
      'write the response here: the approval file (default: among the approvals of the flywheel)',
    )
    .option(
      '--failed-out <file>',
      'of a batch that is over: write the pipelines that did not land, as a file',
    )
    .addOption(FORCE_OPTION)
    .addOption(TABLE_FORMAT_OPTION)
    .addOption(COLUMN_OPTION)
    .addOption(REST_OPTION)
    .addOption(AGAIN_OPTION)
    .addOption(ALLOW_CHANGED_OPTION)
    .option('--dry-run', 'check the whole file, add it up, and say what it would come to; send nothing')
    .addOption(IDEMPOTENCY_KEY_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [file]: [string], options: Options): Promise<undefined> {
  const how = howOften(options);
  const out = outputFile(session, '--out', options.out, options);
  const failedOut = failedOutFile(session, options);
  if (out !== null && out.path === failedOut?.path)
    throw new FlywheelError('ERR_USAGE', '--out and --failed-out need two files.');
  const input = await openInput(session.context, file, options);
  const { checkedPipelines, runBatchOperation } = await import('../../batch/batch-operation.js');
  const { dryRun = false } = options;
  const request = await checkedPipelines(session, input, dryRun);
  if (dryRun) {
    const { showPipelinesPlan } = await import('../../batch/dry-run.js');
    return showPipelinesPlan(session, request, how);
  }
  const { InitWork } = await import('../../batch/init-work.js');
  const work = new InitWork(session, request, {
    ...{ rest: how.rest, allowChanged: how.allowChanged },
    ...{ out, failedOut },
  });
  if (!(await runBatchOperation(session, request, how, work))) nothingNew(session);
  return undefined;
}

const nothingNew = ({ output }: Session): void =>
  output.result(null, () => ['All of it has landed before; nothing was sent.']);

export const command = defineCommand({
  configure,
  run,
  details: [
    'The file is { "pipelines": [ { "type", "payload", "actions" } ] } or the bare list.',
    'A payload is the proof as JSON text or as an object; actions are BURN, AIRDROP and MEMO.',
    'The same file is the same batch: run again, it prints that one, with a fresh approval.',
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
