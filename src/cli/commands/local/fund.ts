/** `flywheel local fund`: tokens or SOL from the local treasury. */
import type { FundInput } from '../../../contract/admin.js';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { isAddress } from '../../../values/address.js';
import { type CommandSpec, type Invocation, inSteps } from '../../command.js';
import { decimalOption } from '../../options/amounts.js';
import { viewFund } from '../../views/local.js';

const NAMES = ['vault', 'burn-wallet', 'owner', 'operator'];

function parse(invocation: Invocation): FundInput {
  const to = invocation.option('to') ?? 'vault';
  if (!NAMES.includes(to) && !isAddress(to))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `--to: expected ${NAMES.join(', ')} or a base58 address of 32 bytes.`,
    );
  const tokens = decimalOption(invocation, 'tokens', '--tokens', undefined);
  const sol = decimalOption(invocation, 'sol', '--sol', undefined);
  if (tokens === undefined && sol === undefined)
    throw new FlywheelError('ERR_USAGE', 'Give --tokens, --sol or both.');
  return { to, ...(tokens === undefined ? {} : { tokens }), ...(sol === undefined ? {} : { sol }) };
}

export const command: CommandSpec = {
  options: [
    {
      flags: '--to <account>',
      description: 'vault, burn-wallet, owner, operator or an address (default: vault)',
    },
    { flags: '--tokens <n>', description: 'whole tokens to give' },
    { flags: '--sol <n>', description: 'SOL to give' },
  ],
  output: ['{ "address", "tokens": balance, "lamports": balance, "txHash": signature }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_INPUT_INVALID', 'ERR_INSUFFICIENT_FUNDS'],
  examples: [
    'flywheel local fund --tokens 5000',
    'flywheel local fund --to burn-wallet --tokens 100 --sol 1',
  ],
  run: inSteps({ parse, run: async (session, input) => (await session.desk()).fund(input), view: viewFund }),
};
