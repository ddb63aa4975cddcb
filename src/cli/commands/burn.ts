/** `flywheel burn`: one burn from options. */

import type { Command } from '@commander-js/extra-typings';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { MAX_PROOF_TYPE_LENGTH } from '../../values/proof-type.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { DEPRECATED, tellDeprecated } from '../burn/deprecation.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { readAmountText } from '../input/amount.js';
import { checkDecimals } from '../input/decimals.js';
import { readProof } from '../input/proof.js';
import { inputError, readOptionText } from '../input/read-input.js';
import type { KeyOrigin } from '../journal/journal.js';
import { knownDecimals } from '../known-decimals.js';
import { IDEMPOTENCY_KEY_OPTION, parseIdempotencyKey } from '../options/idempotency-key.js';
import { AGAIN_OPTION } from '../options/once.js';

const configure = (command: Command) =>
  command
    .requiredOption('--type <type>', 'proof type configured for the project')
    .requiredOption('--proof <json>', 'proof, a JSON object: text, @file or - for standard input')
    .requiredOption('--amount <n>', 'whole tokens to burn, such as 12.5')
    .option('--base-units', 'the amount is in base units, such as 12500000')
    .option('--persist-onchain', 'record the hash of the proof on chain')
    .option('--once', 'do not burn the same type, proof and amount a second time')
    .addOption(AGAIN_OPTION)
    .option('--dry-run', 'show the effects; send nothing')
    .addOption(IDEMPOTENCY_KEY_OPTION);

type Options = OptionsOf<typeof configure>;

/** What is asked for, but for the amount, which may depend on the mint. */
async function parse(options: Options, { context }: Session): Promise<Omit<BurnRequest, 'burnAmount'>> {
  const { type } = options;
  if (type === '' || type.length > MAX_PROOF_TYPE_LENGTH)
    throw inputError('--type', `expected 1 to ${MAX_PROOF_TYPE_LENGTH} characters`);
  const text = await readOptionText(context, '--proof', options.proof);
  return { type, proof: readProof(text), persistOnchain: options.persistOnchain === true };
}

/** @param decimals - of the mint; `null` where nobody says. */
function amountOf({ amount, baseUnits }: Options, decimals: number | null): number {
  if (baseUnits === true && decimals === null)
    throw inputError('--base-units', "--base-units needs the mint's decimals; set --rpc-url");
  const text = baseUnits === true ? formatTokenAmount(BigInt(amount), decimals ?? 0) : amount;
  const read = readAmountText(text);
  const problem =
    'problem' in read ? read.problem : decimals === null ? undefined : checkDecimals(read.value, decimals);
  if ('problem' in read || problem !== undefined)
    throw inputError('--amount', problem ?? 'expected a number');
  return read.value;
}

/** What can be said of an amount without its mint. An exponent is most likely a slip, and a costly one. */
function checkAmount({ amount, baseUnits }: Options): void {
  const [pattern, expected] =
    baseUnits === true
      ? [/^[0-9]{1,20}$/, 'base units, digits only']
      : [/^[0-9]+(?:\.[0-9]+)?$/, 'a positive decimal number such as 12.5'];
  if (!pattern.test(amount))
    throw inputError('--amount', `expected ${expected}, got ${JSON.stringify(amount.slice(0, 60))}`);
}

/** Where the key comes from; `--again` is about what was done once. */
function keyOrigin(options: Options): KeyOrigin {
  const key = parseIdempotencyKey(options.idempotencyKey);
  const once = options.once === true;
  if (key !== undefined && once)
    throw new FlywheelError('ERR_USAGE', '--idempotency-key and --once cannot be combined.');
  if (options.again === true && !once)
    throw new FlywheelError('ERR_USAGE', '--again needs --once. Without --once every burn is a new one.');
  if (key !== undefined) return { from: 'user', key };
  return { from: once ? 'content' : 'chance' };
}

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const origin = keyOrigin(options);
  checkAmount(options);
  const { type, proof, persistOnchain } = await parse(options, session);
  tellDeprecated(session);
  const { dryRun = false } = options;
  const burnAmount = amountOf(options, await knownDecimals(session, dryRun));
  const request: BurnRequest = { type, proof, burnAmount, persistOnchain };
  const [{ burnWork }, { burnElements }, { runOperation }, { fingerprint }] = await Promise.all([
    import('../burn/burn-work.js'),
    import('../operation/elements.js'),
    import('../operation/run-operation.js'),
    import('../../values/digest.js'),
  ]);
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
    const [{ showBurnPlan }, { takenByDryRun }] = await Promise.all([
      import('../burn/burn-plan.js'),
      import('../operation/dry-run.js'),
    ]);
    await takenByDryRun(session, asked, (of) => burnWork(of, body));
    return showBurnPlan(session, request);
  }
  await runOperation(session, asked, burnWork(session, body));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [DEPRECATED, 'Each call burns again, unless --once is given.'],
  output: [
    '{ "result": "SUCCESS", "hash": sha256, "txHash": signature, "type": text, "dateBurned": time }',
    '--dry-run: { "dryRun": true, "type", "hash", "amount", "foreseen": { "burnWallet", "supply", "usedToday" }|null }',
  ],
  examples: [
    `flywheel burn --type PRODUCT_BUY --proof '{"orderId":"A-1001"}' --amount 12.5`,
    `flywheel burn --once --type PRODUCT_BUY --proof '{"orderId":"A-1001"}' --amount 12.5`,
    'flywheel burn --type WATCH_AD --proof @proof.json --amount 1 --persist-onchain --json',
  ],
});
