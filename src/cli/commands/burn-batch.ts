/** `flywheel burn-batch`: burns for every element of a file, in as many requests as it takes. */

import type { Command } from '@commander-js/extra-typings';
import { DEPRECATED, tellDeprecated } from '../burn/deprecation.js';
import type { BurnBatchBody } from '../burn-batch/burn-batch-work.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { openInput } from '../input/open-input.js';
import type { OperationRequest } from '../journal/journal.js';
import { knownDecimals } from '../known-decimals.js';
import { IDEMPOTENCY_UUID_OPTION } from '../options/idempotency-key.js';
import { COLUMN_OPTION, FORMAT_OPTION } from '../options/input-format.js';
import { AGAIN_OPTION, ALLOW_CHANGED_OPTION, howOften, REST_OPTION } from '../options/once.js';
import { FORCE_OPTION, failedOutFile } from '../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<file>', 'burns file (JSON, NDJSON or CSV); - for standard input')
    .addOption(FORMAT_OPTION)
    .addOption(COLUMN_OPTION)
    .addOption(IDEMPOTENCY_UUID_OPTION)
    .addOption(REST_OPTION)
    .addOption(AGAIN_OPTION)
    .addOption(ALLOW_CHANGED_OPTION)
    .option('--dry-run', 'check the file and show what would fail; send nothing')
    .option('--strict', 'send nothing if any entry would fail')
    .option('--failed-out <file>', 'write the failed entries to a file that can be sent again')
    .addOption(FORCE_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [file]: [string], options: Options): Promise<undefined> {
  const { rest, ...how } = howOften(options, 'uuid');
  const failedOut = failedOutFile(session, options);
  const input = await openInput(session.context, file, options);
  tellDeprecated(session);
  const { dryRun = false, strict = false } = options;
  const { readBurnsFile } = await import('../input/burns-file.js');
  const burns = readBurnsFile(input, await knownDecimals(session, dryRun));
  const [{ burnElements, contentOf }, { pick, stageOf }, { BurnBatchWork }] = await Promise.all([
    import('../operation/elements.js'),
    import('../burn-batch/requests.js'),
    import('../burn-batch/burn-batch-work.js'),
  ]);
  const request: OperationRequest = {
    ...how,
    kind: 'burn-batch',
    content: contentOf(burns),
    body: () => JSON.stringify({ burns, failedOut } satisfies BurnBatchBody),
    notes: (taken) => ({ stages: [stageOf(burns, taken)] }),
    command: session.commandLine,
    elements: burnElements(burns),
    taken: null,
  };
  const { allowChanged } = how;
  const workOf = (of: Session) => new BurnBatchWork(of, { burns, failedOut }, { rest, strict, allowChanged });
  if (dryRun) {
    const { takenByDryRun } = await import('../operation/dry-run.js');
    const taken = await takenByDryRun(session, request, workOf);
    const { requireAllPossible, showBurnBatchPlan } = await import('../burn-batch/plan.js');
    if (strict) await requireAllPossible(session, pick(burns, taken), taken ?? [...burns.keys()]);
    return showBurnBatchPlan(session, pick(burns, taken));
  }
  const { runOperation, tellAllSkipped } = await import('../operation/run-operation.js');
  const work = workOf(session);
  if (!(await runOperation(session, request, work)))
    tellAllSkipped(session, burns.length, { success: [], errors: [] });
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    DEPRECATED,
    'Each entry is { "type": text, "proof": object, "burnAmount": number, "persistOnchain": true|false }.',
    'The whole file is checked before anything is sent. More than 1,000 entries are sent as several requests.',
    'Run again with the same file, it prints the stored result and burns nothing.',
  ],
  output: [
    '{ "success": [ { "result", "hash", "txHash", "type", "dateBurned" } ],',
    '  "errors": [ { "message", "type": code, "proof", "proofType" } ] }',
    'ndjson: one { "index": n, "status": "success"|"error", … } per entry, as it lands',
    '--dry-run: { "dryRun": true, "elements", "requests", "totalAmount", "types",',
    '  "foreseen": { "failures": [ { "index", "type": code, "message" } ], "burnWallet", "supply", "usedToday" }|null }',
  ],
  examples: [
    'flywheel burn-batch burns.json --dry-run',
    'flywheel burn-batch burns.json --strict',
    'flywheel burn-batch burns.ndjson --output ndjson --failed-out failed.ndjson',
    'flywheel burn-batch sales.csv --column amount=Tokens --column proof.orderId=Order',
    'cat burns.json | flywheel burn-batch -',
  ],
});
