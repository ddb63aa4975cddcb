/** `flywheel batch inspect`: what the multisig will really do, decoded from chain. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { isUuid } from '../../../values/ids.js';
import { defineCommand, type Session } from '../../command.js';
import { safeLine } from '../../output/safe-text.js';
import { callWith } from '../../send.js';

const configure = (command: Command) =>
  command.argument('<batch>', 'id of the batch, or the file that `batch init --out` wrote');

async function run(session: Session, [source]: [string]): Promise<undefined> {
  const [{ batchName, readApproval }, { inspectBatch }, { viewBatchContent }] = await Promise.all([
    import('../../batch/approval-source.js'),
    import('../../batch/inspect-batch.js'),
    import('../../views/batch-content.js'),
  ]);
  const opened = await session.service();
  const { batch } = isUuid(source)
    ? {
        batch: batchName(
          (await opened.service.getBatch({ batchId: source }, callWith(session, opened))).value,
        ),
      }
    : await readApproval(session, source);
  if (opened.chain === null) {
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No chain can be read, so there is nothing to inspect.', {
      hint: 'Set FLYWHEEL_RPC_URL to an RPC of your own.',
    });
  }
  const { description, decimals, value, problem } = await inspectBatch(
    opened.chain,
    await opened.trusted(),
    batch,
  ).catch(async (error: unknown) => {
    await refuseClosed(session, batch.id);
    throw error;
  });
  session.output.result(value, (style) => [
    ...viewBatchContent(description, { decimals }, style),
    problem === null
      ? style.good('Everything in it is allowed.')
      : style.bad(`Not to be approved: ${safeLine(problem)}`),
  ]);
  return undefined;
}

/** The accounts of an executed batch are closed, so there is nothing to read; that is not a danger, and is said as it is. */
async function refuseClosed(session: Session, batchId: string): Promise<void> {
  const opened = await session.service();
  const { value } = await opened.service.getBatch({ batchId }, callWith(session, opened));
  if (value.status !== 'EXECUTED') return;
  throw new FlywheelError(
    'ERR_BATCH_NOT_FOUND',
    `Batch ${batchId} is EXECUTED and its accounts are closed: nothing of it is left on chain to inspect.`,
    { hint: `\`flywheel batch status ${batchId}\` lists its transactions.` },
  );
}

export const command = defineCommand({
  configure,
  run,
  output: [
    '{ "batchId", "multisig", "batchIndex", "vault", "proposal": { "address", "status", "approved" },',
    '  "transactions": [ { "number", "address", "operations" } ], "pipelines", "totals", "digest", "problem" }',
  ],
  errors: [
    'ERR_INPUT_INVALID',
    'ERR_BATCH_NOT_FOUND',
    'ERR_APPROVAL_REFUSED',
    'ERR_CHAIN_MISMATCH',
    'ERR_CONFIG_INVALID',
  ],
  examples: [
    'flywheel batch inspect approval.json',
    'flywheel batch inspect 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --json',
  ],
});
