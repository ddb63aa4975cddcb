/** `flywheel burn` and `burn-batch`: one burn from options, or one for each element of a file. */

import { type Command, Option } from '@commander-js/extra-typings';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { usageError } from '../../errors/flywheel-error.js';
import { fingerprint } from '../../values/digest.js';
import { MAX_PROOF_TYPE_LENGTH } from '../../values/key-terms.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { requireAllPossible, showBurnBatchPlan, showBurnPlan } from '../burn/plan.js';
import { stageOf } from '../burn/requests.js';
import { burnBatchWork, burnWork } from '../burn/work.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { checkDecimals, knownDecimals, readAmountText } from '../input/amount.js';
import { inputError, openInput, readOptionText, readProof } from '../input/read-input.js';
import type { KeyOrigin, OperationRequest } from '../journal/journal.js';
import { burnElements, contentOf, pick, warnOfEqual } from '../operation/elements.js';
import { runOperation, takenByDryRun } from '../operation/run-operation.js';
import {
  AGAIN_OPTION,
  ALLOW_CHANGED_OPTION,
  COLUMN_OPTION,
  FORMAT_OPTION,
  howOften,
  idempotencyKeyOption,
  parseIdempotencyKey,
  REST_OPTION,
} from '../options.js';
import { FORCE_OPTION, failedOutFile } from '../output/output-file.js';

/** The service deprecated both endpoints. People at a terminal are told, scripts are not. */
const DEPRECATED = 'Deprecated, and for v1 tokens only. Use `flywheel batch run` for new work.';

function tellDeprecated({ context, output, commandLine }: Session): void {
  if (context.io.stderr.isTTY)
    output.tell(`\`flywheel ${commandLine[0]}\` is deprecated. Use \`flywheel batch run\` for new work.`);
}

const burnOptions = (command: Command) =>
  command
    .requiredOption('--type <type>', 'proof type configured for the project')
    .requiredOption('--proof <json>', 'proof, a JSON object: text, @file or - for standard input')
    .requiredOption('--amount <n>', 'whole tokens to burn, such as 12.5')
    .option('--base-units', 'the amount is in base units, such as 12500000')
    .option('--persist-onchain', 'record the hash of the proof on chain')
    .addOption(
      new Option('--once', 'do not burn the same type, proof and amount a second time').conflicts(
        'idempotencyKey',
      ),
    )
    .addOption(new Option('--again', 'with --once: burn again what has landed').conflicts('idempotencyKey'))
    .option('--dry-run', 'show the effects, send nothing')
    .addOption(idempotencyKeyOption('a new key'));

type BurnOptions = OptionsOf<typeof burnOptions>;

/** Parses everything but the amount, which may need the mint's decimals. */
async function parse(options: BurnOptions, { context }: Session): Promise<Omit<BurnRequest, 'burnAmount'>> {
  const { type } = options;
  if (type === '' || type.length > MAX_PROOF_TYPE_LENGTH)
    throw inputError('--type', `expected 1 to ${MAX_PROOF_TYPE_LENGTH} characters`);
  const text = await readOptionText(context, '--proof', options.proof);
  if (/^[\w./~-]+$/.test(text.text))
    throw inputError('--proof', 'expected a JSON object; to read it from a file, write @FILE');
  return { type, proof: readProof(text), persistOnchain: options.persistOnchain === true };
}

/** @param decimals - `null` if unknown */
function amountOf({ amount, baseUnits }: BurnOptions, decimals: number | null): number {
  if (baseUnits === true && decimals === null)
    throw inputError('--base-units', 'the decimals of the mint are not known here').with({
      hint: 'Give the amount in whole tokens, or pin the project first: see `flywheel profile add --help` and `flywheel profile pin --help`.',
    });
  const text = baseUnits === true ? formatTokenAmount(BigInt(amount), decimals ?? 0) : amount;
  const read = readAmountText(text);
  if ('problem' in read) throw inputError('--amount', read.problem);
  const problem = decimals === null ? undefined : checkDecimals(read.value, decimals);
  if (problem !== undefined) throw inputError('--amount', problem);
  return read.value;
}

/** Checks that need no mint. An exponent is most likely a costly typo. */
function checkAmount({ amount, baseUnits }: BurnOptions): void {
  const [pattern, expected] =
    baseUnits === true
      ? [/^[0-9]{1,20}$/, 'base units, digits only']
      : [/^[0-9]+(?:\.[0-9]+)?$/, 'a positive decimal number such as 12.5'];
  if (!pattern.test(amount))
    throw inputError('--amount', `expected ${expected}, got ${JSON.stringify(amount.slice(0, 60))}`);
}

function keyOrigin(options: BurnOptions): KeyOrigin {
  const key = parseIdempotencyKey(options.idempotencyKey);
  const once = options.once === true;
  if (options.again === true && !once)
    throw usageError('--again needs --once. Without --once, each burn is a new one.');
  if (key !== undefined) return { from: 'user', key };
  return { from: once ? 'content' : 'chance' };
}

async function burn(session: Session, _args: [], options: BurnOptions): Promise<void> {
  const origin = keyOrigin(options);
  checkAmount(options);
  const { type, proof, persistOnchain } = await parse(options, session);
  tellDeprecated(session);
  const { dryRun = false } = options;
  const burnAmount = amountOf(options, await knownDecimals(session, dryRun));
  const request: BurnRequest = { type, proof, burnAmount, persistOnchain };
  const body = { request, once: origin.from === 'content' };
  const elements = burnElements([request]);
  const asked = {
    kind: 'burn',
    content: fingerprint({ ...request }),
    origin,
    body: () => JSON.stringify(body),
    notes: () => ({}),
    command: session.commandLine,
    ...{ elements, taken: null, again: options.again === true, allowChanged: false },
  } as const;
  if (dryRun) {
    const taken = await takenByDryRun(session, asked, (of) => burnWork(of, body));
    return showBurnPlan(session, request, taken?.length === 0);
  }
  await runOperation(session, asked, burnWork(session, body));
}

const burnBatchOptions = (command: Command) =>
  command
    .argument('<file>', 'burns file (JSON, NDJSON or CSV); - for standard input')
    .addOption(FORMAT_OPTION)
    .addOption(COLUMN_OPTION)
    .addOption(idempotencyKeyOption('from the content of the file', 'uuid'))
    .addOption(REST_OPTION)
    .addOption(AGAIN_OPTION)
    .addOption(ALLOW_CHANGED_OPTION)
    .option('--dry-run', 'check the file, show what would fail, send nothing')
    .option('--strict', 'send nothing if any entry would fail')
    .option('--failed-out <file>', 'write the failed entries to a file that can be sent again')
    .addOption(FORCE_OPTION);

async function burnBatch(
  session: Session,
  [file]: [string],
  options: OptionsOf<typeof burnBatchOptions>,
): Promise<void> {
  const { rest, ...how } = howOften(options, 'uuid');
  const failedOut = failedOutFile(session, options);
  const input = await openInput(session.context, file, options);
  tellDeprecated(session);
  const { dryRun = false, strict = false } = options;
  const { readBurnsFile } = await import('../input/burns-file.js');
  const burns = readBurnsFile(input, await knownDecimals(session, dryRun));
  const body = { burns, failedOut };
  const request: OperationRequest = {
    ...how,
    kind: 'burn-batch',
    content: contentOf(burns),
    body: () => JSON.stringify(body),
    notes: (taken) => ({ stages: [stageOf(burns, taken)] }),
    command: session.commandLine,
    elements: burnElements(burns),
    taken: null,
  };
  const workOf = (of: Session) => burnBatchWork(of, body, { rest, strict, allowChanged: how.allowChanged });
  if (dryRun) {
    const taken = await takenByDryRun(session, request, workOf);
    if (taken?.length !== 0) warnOfEqual(session, request.elements, 'burn', 'burned');
    if (strict) await requireAllPossible(session, pick(burns, taken), taken ?? [...burns.keys()]);
    return showBurnBatchPlan(session, pick(burns, taken));
  }
  await runOperation(session, request, workOf(session));
}

export const commands = {
  burn: defineCommand({
    configure: burnOptions,
    run: burn,
    details: [DEPRECATED, 'Each call burns again, except with --once.'],
    output: [
      '{ "result": "SUCCESS", "hash": sha256, "txHash": signature, "type": text, "dateBurned": time }',
      '--dry-run: { "dryRun": true, "type", "hash", "amount", "foreseen": { "burnWallet", "supply", "usedToday" }|null }',
    ],
    examples: [
      `flywheel burn --type PRODUCT_BUY --proof '{"orderId":"A-1001"}' --amount 12.5`,
      `flywheel burn --once --type PRODUCT_BUY --proof '{"orderId":"A-1001"}' --amount 12.5`,
      'flywheel burn --type WATCH_AD --proof @proof.json --amount 1 --persist-onchain --json',
    ],
  }),
  'burn-batch': defineCommand({
    configure: burnBatchOptions,
    run: burnBatch,
    details: [
      DEPRECATED,
      'Each entry is { "type": text, "proof": object, "burnAmount": number, "persistOnchain": true|false }.',
      'The whole file is checked before the first request. A request has up to 1,000 entries.',
      'The same file again prints the stored result and burns nothing.',
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
      'flywheel burn-batch burns.ndjson --output ndjson --failed-out failed.ndjson',
      'flywheel burn-batch sales.csv --column amount=Tokens --column proof.orderId=Order',
    ],
  }),
};
