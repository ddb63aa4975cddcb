/** `flywheel batch run`: init, check, approve, execute and report, in one go. */
import type { CommandSpec } from '../../command.js';
import { IDEMPOTENCY_KEY_OPTION } from '../../options/idempotency-key.js';
import { ALLOW_UNVERIFIED_OPTION, KEYPAIR_OPTION } from '../../options/keypair.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<pipelines>', description: 'pipelines file (JSON)' }],
  options: [KEYPAIR_OPTION, ALLOW_UNVERIFIED_OPTION, IDEMPOTENCY_KEY_OPTION],
  details: [
    'What was set up is read back from chain and must equal the file before it is signed.',
    'Without a terminal it needs --yes.',
  ],
  output: [
    '{ "batch": { "id", "status": "EXECUTED"|"FAILED", … }, "result": { "total", "totalSuccessful", … } }',
  ],
  errors: [
    'ERR_INPUT_INVALID',
    'ERR_KEYPAIR_INVALID',
    'ERR_INSUFFICIENT_FUNDS',
    'ERR_DAILY_LIMIT_EXCEEDED',
    'ERR_APPROVAL_REFUSED',
    'ERR_BATCH_FAILED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: ['flywheel batch run pipelines.json --keypair owner.json --yes'],
  run: async (session, invocation) =>
    (await import('../../batch/run-batch.js')).runBatch(session, invocation),
};
