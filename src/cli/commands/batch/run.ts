/** `flywheel batch run`: init, check, approve, execute and report, in one go. */

import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { canAsk } from '../../consent.js';
import { openInput } from '../../input/open-input.js';
import { IDEMPOTENCY_KEY_OPTION } from '../../options/idempotency-key.js';
import { COLUMN_OPTION, TABLE_FORMAT_OPTION } from '../../options/input-format.js';
import { KEYPAIR_OPTION } from '../../options/keypair.js';
import { AGAIN_OPTION, ALLOW_CHANGED_OPTION, howOften, REST_OPTION } from '../../options/once.js';
import { FORCE_OPTION, failedOutFile } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<pipelines>', 'pipelines file (JSON or CSV)')
    .addOption(KEYPAIR_OPTION)
    .addOption(TABLE_FORMAT_OPTION)
    .addOption(COLUMN_OPTION)
    .addOption(REST_OPTION)
    .addOption(AGAIN_OPTION)
    .addOption(ALLOW_CHANGED_OPTION)
    .option('--failed-out <file>', 'write the pipelines that did not land to a pipelines file')
    .addOption(FORCE_OPTION)
    .option('--dry-run', 'check the file and show totals and effects; send nothing')
    .addOption(IDEMPOTENCY_KEY_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [file]: [string], options: Options): Promise<undefined> {
  const { context, settings } = session;
  const how = howOften(options);
  const { dryRun = false } = options;
  if (!dryRun && !settings.yes && !canAsk(session))
    throw new FlywheelError('ERR_USAGE', 'Without a terminal `batch run` needs --yes. Nothing was sent.');
  const failedOut = failedOutFile(session, options);
  const input = await openInput(context, file, options);
  const { checkedPipelines, runBatchOperation } = await import('../../batch/batch-operation.js');
  const request = await checkedPipelines(session, input, dryRun);
  if (dryRun) {
    const [{ showPipelinesPlan }, { PipelinesWork }] = await Promise.all([
      import('../../batch/dry-run.js'),
      import('../../batch/pipelines-work.js'),
    ]);
    return showPipelinesPlan(session, request, how, (of) => new PipelinesWork(of, request, how));
  }
  const [{ RunWork }, { absoluteSource, keypairLocation }] = await Promise.all([
    import('../../batch/run-work.js'),
    import('../../wallet/load-keypair.js'),
  ]);
  const keypair = absoluteSource(context, keypairLocation(context, settings, options.keypair));
  const work = new RunWork(session, request, {
    rest: how.rest,
    allowChanged: how.allowChanged,
    keypair,
    failedOut,
  });
  await runBatchOperation(session, request, how, work, work.notes);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Reads the batch back from the chain before signing: it must equal the file.',
    'Run again with the same file, it resumes where it stopped; a finished batch is printed and not run again.',
    'Without a terminal, --yes is required.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "batch": { "id", "status": "EXECUTED"|"FAILED", … }, "result": { "total", "totalSuccessful", … } }',
    '--dry-run: { "dryRun": true, "pipelines", "actions", "totalBurn", "totalAirdrop", "digest",',
    '  "foreseen": { "vault", "supply", "usedToday", "rent" }|null }',
  ],
  examples: [
    'flywheel batch run pipelines.json --keypair owner.json --yes',
    'flywheel batch run pipelines.json --keypair owner.json --rest --yes',
  ],
});
