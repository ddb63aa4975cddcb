/** `flywheel burn-batch`: burns for every element of a file, in as many requests as it takes. */
import { resolve } from 'node:path';
import type { CommandSpec, Invocation, Session } from '../command.js';
import { readInputText } from '../files/read-input.js';
import { checkWritable } from '../files/write-file.js';
import { knownDecimals } from '../known-decimals.js';
import { IDEMPOTENCY_KEY_OPTION } from '../options/idempotency-key.js';
import { AGAIN_OPTION, howOften, ONLY_NEW_OPTION, REST_OPTION } from '../options/once.js';

async function run(session: Session, invocation: Invocation): Promise<undefined> {
  const how = howOften(invocation, 'uuid');
  const failedOut = invocation.option('failedOut');
  const failedFile = failedOut === undefined ? null : resolve(session.context.cwd, failedOut);
  const text = await readInputText(session.context, invocation.requiredArgument(0));
  const dryRun = invocation.flag('dryRun');
  const { readBurnsFile } = await import('../input/burns-file.js');
  const { burns } = readBurnsFile(text, await knownDecimals(session, dryRun));
  if (failedFile !== null) checkWritable(failedFile);
  if (dryRun) {
    const { showBurnBatchPlan } = await import('../burn-batch/plan.js');
    return showBurnBatchPlan(session, burns);
  }
  const { runBurnBatch } = await import('../burn-batch/run-burn-batch.js');
  const strict = invocation.flag('strict');
  await runBurnBatch(session, { burns, failedOut: failedFile }, { ...how, strict });
  return undefined;
}

export const command: CommandSpec = {
  arguments: [{ syntax: '<file>', description: 'burns: a JSON array, or NDJSON; - for standard input' }],
  options: [
    { ...IDEMPOTENCY_KEY_OPTION, flags: '--idempotency-key <uuid>' },
    REST_OPTION,
    AGAIN_OPTION,
    ONLY_NEW_OPTION,
    {
      flags: '--dry-run',
      description: 'check the whole file, add it up, and say what would fail; send nothing',
    },
    {
      flags: '--strict',
      description: 'make the same checks first, and send nothing if any element would fail',
    },
    {
      flags: '--failed-out <file>',
      description: 'write the elements that failed, as a file that can be sent again',
    },
  ],
  details: [
    'Deprecated by the service, for v1 tokens only; new work uses `flywheel batch run`.',
    'Each element is { "type": text, "proof": object, "burnAmount": number, "persistOnchain": true|false }.',
    'The whole file is checked before anything is sent; more than 1,000 elements go out as several requests.',
    'The same file is the same request: run again, it prints what came of it and burns nothing.',
  ],
  output: [
    '{ "success": [ { "result", "hash", "txHash", "type", "dateBurned" } ],',
    '  "errors": [ { "message", "type": code, "proof", "proofType" } ] }',
    'ndjson: one { "index": n, "status": "success"|"error", … } an element, as it lands',
    '--dry-run: { "dryRun": true, "elements", "requests", "totalAmount", "types",',
    '  "foreseen": { "failures": [ { "index", "type": code, "message" } ], "burnWallet", "supply", "usedToday" }|null }',
  ],
  errors: [
    'ERR_INPUT_INVALID',
    'ERR_PARTIAL',
    'ERR_UNAUTHORIZED',
    'ERR_KEY_SCOPES_UNAUTHORIZED',
    'ERR_RATE_LIMIT_EXCEEDED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: [
    'flywheel burn-batch burns.json --dry-run',
    'flywheel burn-batch burns.json --strict',
    'flywheel burn-batch burns.ndjson --output ndjson --failed-out failed.ndjson',
    'cat burns.json | flywheel burn-batch -',
  ],
  run,
};
