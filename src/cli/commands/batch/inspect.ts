/** `flywheel batch inspect`: what the multisig will really do, decoded from chain. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { isUuid } from '../../../values/uuid.js';
import { defineCommand, type Session } from '../../command.js';
import { callWith } from '../../send.js';

const configure = (command: Command) =>
  command.argument('<batch>', 'batch id, or the file from `batch init --out`');

async function run(session: Session, [source]: [string]): Promise<undefined> {
  const [{ batchName, readApproval }, { inspectBatch }] = await Promise.all([
    import('../../batch/approval-source.js'),
    import('../../batch/inspect-batch.js'),
  ]);
  const opened = await session.service();
  const { chain } = opened;
  if (chain === null)
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No chain can be read, so the batch cannot be inspected.', {
      hint: 'Set FLYWHEEL_RPC_URL to an RPC of your own.',
    });
  const approval = isUuid(source) ? null : await readApproval(session, source);
  const batch =
    approval?.batch ??
    batchName((await opened.service.getBatch({ batchId: source }, callWith(session, opened))).value);
  const { value, view } = await inspectBatch(chain, opened, { batch, approval });
  session.output.result(value, view);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Makes the same checks as `batch approve`. "problem" says why that would refuse the batch, or is null.',
    'A batch whose accounts are closed is read from its transactions, if the node still has them.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "batchId", "multisig", "batchIndex", "state", "closed", "vault", "creator", "proposal": { "address", "status"?,',
    '  "approved", "rejected", "cancelled" }, "facts"?, "executed", "transactions": [ { "number", "address",',
    '  "operations", "problem"?, "txHash"?, "dateExecuted"? } ], "pipelines", "decimals", "symbol", "totals",',
    '  "digest", "executedTotals"?, "costs"?, "changes"?, "problem" }',
  ],
  examples: [
    'flywheel batch inspect approval.json',
    'flywheel batch inspect 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --json',
  ],
});
