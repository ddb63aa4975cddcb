/** `flywheel burn`: one burn from options. */
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { MAX_PROOF_TYPE_LENGTH } from '../../contract/schemas/scalars.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fingerprint } from '../../values/digest.js';
import { type CommandSpec, type Invocation, inSteps, type Session } from '../command.js';
import { inputError, readOptionText } from '../files/read-input.js';
import { readAmountText } from '../input/amount.js';
import { checkDecimals } from '../input/decimals.js';
import { readProof } from '../input/proof.js';
import { IDEMPOTENCY_KEY_OPTION, parseIdempotencyKey } from '../options/idempotency-key.js';
import { sendOnce } from '../send.js';
import { viewBurn } from '../views/burn.js';

interface Input {
  readonly request: BurnRequest;
  readonly givenKey: string | undefined;
}

async function parse(invocation: Invocation, { context }: Session): Promise<Input> {
  const givenKey = parseIdempotencyKey(invocation);
  const amount = readAmountText(invocation.requiredOption('amount'));
  if ('problem' in amount) throw inputError('--amount', amount.problem);
  const type = invocation.requiredOption('type');
  if (type === '' || type.length > MAX_PROOF_TYPE_LENGTH)
    throw inputError('--type', `expected 1 to ${MAX_PROOF_TYPE_LENGTH} characters`);
  const text = await readOptionText(context, '--proof', invocation.requiredOption('proof'));
  return {
    givenKey,
    request: {
      type,
      proof: readProof(text),
      burnAmount: amount.value,
      persistOnchain: invocation.flag('persistOnchain'),
    },
  };
}

async function run(session: Session, { request, givenKey }: Input) {
  const { trusted } = await session.service();
  if (trusted !== null) {
    const problem = checkDecimals(request.burnAmount, trusted.decimals);
    if (problem !== undefined) throw new FlywheelError('ERR_INPUT_INVALID', `--amount: ${problem}.`);
  }
  const body = { operation: 'burn', fingerprint: fingerprint({ ...request }), givenKey };
  return (await sendOnce(session, body, ({ service }, call) => service.burn(request, call))).value;
}

export const command: CommandSpec = {
  details: ['Deprecated by the service, for v1 tokens only; new work uses `flywheel batch run`.'],
  options: [
    { flags: '--type <type>', description: 'proof type, one of the flywheel', required: true },
    {
      flags: '--proof <json>',
      description: 'the proof, a JSON object: text, @file or - for standard input',
      required: true,
    },
    { flags: '--amount <n>', description: 'whole tokens to burn, such as 12.5', required: true },
    { flags: '--persist-onchain', description: 'record the hash of the proof on chain' },
    IDEMPOTENCY_KEY_OPTION,
  ],
  output: ['{ "result": "SUCCESS", "hash": sha256, "txHash": signature, "type": text, "dateBurned": time }'],
  errors: [
    'ERR_INPUT_INVALID',
    'ERR_UNAUTHORIZED',
    'ERR_KEY_SCOPES_UNAUTHORIZED',
    'ERR_INVALID_PROOF',
    'ERR_DAILY_LIMIT_EXCEEDED',
    'ERR_BURN_TOKENOMICS_FAILED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: [
    `flywheel burn --type PRODUCT_BUY --proof '{"orderId":"A-1001"}' --amount 12.5`,
    'flywheel burn --type WATCH_AD --proof @proof.json --amount 1 --persist-onchain --json',
  ],
  run: inSteps({ parse, run, view: viewBurn }),
};
