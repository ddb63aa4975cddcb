/** `flywheel batch show`: one batch with its pipelines and what each did. */

import { type Command, Option } from '@commander-js/extra-typings';
import { ACTION_NAMES } from '../../../actions/registry.js';
import { PIPELINE_STATES, type PipelineState } from '../../../contract/schemas/batch.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { pipelineFilters, pipelineQuery } from '../../options/filters.js';
import { parseBatchId } from '../../options/names.js';
import type { Style } from '../../output/color.js';
import { listedItems, pageOptions, partOf } from '../../pages.js';
import { callWith } from '../../send.js';
import { actionText, viewBatch, viewPipelines } from '../../views/batch.js';

const MAX_LIMIT = 100_000;

const COLUMNS = [
  'index',
  'type',
  'state',
  'actions',
  'proof hash',
  'transaction',
  'executed',
  'message',
] as const;

const cells = (pipeline: PipelineState) => [
  pipeline.index,
  pipeline.type,
  pipeline.state,
  pipeline.actions.map(actionText).join('; '),
  pipeline.proofHash,
  pipeline.txHash,
  pipeline.dateExecuted,
  pipeline.message,
];

const configure = (command: Command) =>
  pageOptions(
    pipelineFilters(command.argument('<batchId>', 'batch id (UUID), of any age'), ACTION_NAMES).addOption(
      new Option('--state <state>', 'only pipelines with this outcome').choices(PIPELINE_STATES),
    ),
    'all',
  );

async function run(
  session: Session,
  [id]: [string],
  options: OptionsOf<typeof configure>,
): Promise<undefined> {
  const batchId = parseBatchId(id);
  const part = partOf(options, { most: MAX_LIMIT, fallback: MAX_LIMIT });
  const { state } = options;
  const filter = { ...pipelineQuery(options), ...(state === undefined ? {} : { state }) };
  const opened = await session.service();
  const call = callWith(session, opened);
  const { value: batch } = await opened.service.getBatch({ batchId }, call);
  const pipelines = await listedItems(session, part, (page) =>
    opened.service.batchPipelines({ batchId, ...filter, ...page }, call),
  );
  const { output } = session;
  const view = (style: Style): readonly string[] => viewPipelines(pipelines, opened.symbol, style);
  if (output.mode === 'csv') await output.list(pipelines, { columns: COLUMNS, cells }, view);
  else output.result({ ...batch, pipelines }, (style) => [...viewBatch(batch, style), ...view(style)]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: [
    '{ "id", "status", …, "pipelines": [ { "index", "type", "payload", "actions", "proofHash",',
    '  "state": "WAITING"|"EXECUTED"|"FAILED"|"NOT_EXECUTED", "txHash"?, "dateExecuted"?, "message"? } ] }',
  ],
  csv: COLUMNS,
  examples: [
    'flywheel batch show 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11',
    'flywheel batch show 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --state FAILED',
  ],
});
