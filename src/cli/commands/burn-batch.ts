/** `flywheel burn-batch`: burns for every element of a file, in as many requests as it takes. */
import { resolve } from 'node:path';
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnError, BurnRequest, BurnResult } from '../../contract/schemas/burn.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { CommandSpec, Invocation, Session } from '../command.js';
import { readInputText } from '../files/read-input.js';
import { checkWritable, writeFileAtomic } from '../files/write-file.js';
import { knownDecimals } from '../known-decimals.js';
import { IDEMPOTENCY_KEY_OPTION, parseIdempotencyKey } from '../options/idempotency-key.js';
import { type BurnBatchPlan, viewBurnBatch, viewBurnBatchPlan } from '../views/burn-batch.js';

async function run(session: Session, invocation: Invocation): Promise<undefined> {
  const givenKey = parseIdempotencyKey(invocation, 'uuid');
  const failedOut = invocation.option('failedOut');
  const failedFile = failedOut === undefined ? undefined : resolve(session.context.cwd, failedOut);
  const text = await readInputText(session.context, invocation.requiredArgument(0));
  const dryRun = invocation.flag('dryRun');
  const { readBurnsFile } = await import('../input/burns-file.js');
  const { burns } = readBurnsFile(text, await knownDecimals(session, dryRun));
  if (failedFile !== undefined) checkWritable(failedFile);
  if (dryRun) {
    const plan = await planOf(burns);
    session.output.result(plan, (style) => viewBurnBatchPlan(plan, style));
    return undefined;
  }
  return burnAll(session, burns, givenKey, failedFile);
}

async function planOf(burns: readonly BurnRequest[]): Promise<BurnBatchPlan> {
  const [{ sumAmounts }, { splitBurns }] = await Promise.all([
    import('../burn-batch/totals.js'),
    import('../burn-batch/split.js'),
  ]);
  const groups = new Map<string, number[]>();
  for (const { type, burnAmount } of burns) {
    const group = groups.get(type);
    if (group === undefined) groups.set(type, [burnAmount]);
    else group.push(burnAmount);
  }
  return {
    dryRun: true,
    elements: burns.length,
    requests: splitBurns(burns).length,
    totalAmount: sumAmounts(burns.map((burn) => burn.burnAmount)),
    types: Object.fromEntries(
      [...groups].map(([type, amounts]) => [type, { elements: amounts.length, amount: sumAmounts(amounts) }]),
    ),
  };
}

async function burnAll(
  session: Session,
  burns: readonly BurnRequest[],
  givenKey: string | undefined,
  failedFile: string | undefined,
): Promise<undefined> {
  const { sendBurns } = await import('../burn-batch/send-parts.js');
  const { output } = session;
  const success: BurnResult[] = [];
  const failures: (ElementOutcome & { status: 'error' })[] = [];
  const { idempotencyKey } = await sendBurns(session, burns, givenKey, (outcome) => {
    if (output.mode === 'ndjson') output.jsonLine(outcome);
    if (outcome.status === 'error') failures.push(outcome);
    else if (output.mode === 'json') success.push(withoutIndex(outcome));
  });
  failures.sort((left, right) => left.index - right.index);
  if (failedFile !== undefined)
    writeFailed(
      failedFile,
      failures.map(({ index }) => burns[index]),
    );
  if (output.mode !== 'ndjson') {
    const result: { success: BurnResult[]; errors: BurnError[] } = {
      success,
      errors: failures.map(withoutIndex),
    };
    output.result(result, (style) => viewBurnBatch({ elements: burns.length, failures }, style));
  }
  if (failures.length > 0) throw partial(failures.length, burns.length, failedFile, idempotencyKey);
  return undefined;
}

function withoutIndex<Outcome extends ElementOutcome>(outcome: Outcome): Omit<Outcome, 'index' | 'status'> {
  const { index: _index, status: _status, ...rest } = outcome;
  return rest;
}

/** Failed elements in the form of the file's name: a JSON array, or one object a line. */
function writeFailed(file: string, burns: readonly (BurnRequest | undefined)[]): void {
  const lines = burns.map((burn) => JSON.stringify(burn));
  const isLines = /\.(ndjson|jsonl)$/i.test(file);
  writeFileAtomic(file, isLines ? lines.map((line) => `${line}\n`).join('') : `[${lines.join(',\n')}]\n`, {
    mode: 0o600,
  });
}

function partial(
  failed: number,
  total: number,
  failedFile: string | undefined,
  idempotencyKey: string,
): FlywheelError {
  return new FlywheelError('ERR_PARTIAL', `${failed} of ${total} elements failed.`, {
    idempotencyKey,
    hint:
      failedFile === undefined
        ? 'With --failed-out FILE the failed elements are written as a file that can be sent again.'
        : `${failedFile} holds the failed elements; correct what is wrong and send it.`,
  });
}

export const command: CommandSpec = {
  arguments: [{ syntax: '<file>', description: 'burns: a JSON array, or NDJSON; - for standard input' }],
  options: [
    { ...IDEMPOTENCY_KEY_OPTION, flags: '--idempotency-key <uuid>' },
    { flags: '--dry-run', description: 'check the whole file and add it up; send nothing' },
    {
      flags: '--failed-out <file>',
      description: 'write the elements that failed, as a file that can be sent again',
    },
  ],
  details: [
    'Deprecated by the service, for v1 tokens only; new work uses `flywheel batch run`.',
    'Each element is { "type": text, "proof": object, "burnAmount": number, "persistOnchain": true|false }.',
    'The whole file is checked before anything is sent; more than 1,000 elements go out as several requests.',
  ],
  output: [
    '{ "success": [ { "result", "hash", "txHash", "type", "dateBurned" } ],',
    '  "errors": [ { "message", "type": code, "proof", "proofType" } ] }',
    'ndjson: one { "index": n, "status": "success"|"error", … } an element, as it lands',
    '--dry-run: { "dryRun": true, "elements", "requests", "totalAmount", "types" }',
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
    'flywheel burn-batch burns.ndjson --output ndjson --failed-out failed.ndjson',
    'cat burns.json | flywheel burn-batch -',
  ],
  run,
};
