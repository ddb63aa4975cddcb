/** `flywheel local fund`: tokens or SOL from the local treasury. */
import type { Command } from '@commander-js/extra-typings';
import type { FundInput } from '../../../contract/admin.js';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { isAddress } from '../../../values/address.js';
import { defineCommand, type OptionsOf } from '../../command.js';
import { decimalOption } from '../../options/amounts.js';
import { viewFund } from '../../views/local.js';

const NAMES = ['vault', 'burn-wallet', 'owner', 'operator'];

const configure = (command: Command) =>
  command
    .option('--to <account>', 'vault, burn-wallet, owner, operator or an address (default: vault)')
    .option('--tokens <n>', 'whole tokens to send')
    .option('--sol <n>', 'SOL to send');

type Options = OptionsOf<typeof configure>;

function parse(options: Options): FundInput {
  const to = options.to ?? 'vault';
  if (!NAMES.includes(to) && !isAddress(to))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `--to: expected ${NAMES.join(', ')} or a base58 address of 32 bytes.`,
    );
  const tokens = decimalOption('--tokens', options.tokens, undefined);
  const sol = decimalOption('--sol', options.sol, undefined);
  if (tokens === undefined && sol === undefined)
    throw new FlywheelError('ERR_USAGE', 'Add --tokens, --sol or both.');
  return { to, ...(tokens === undefined ? {} : { tokens }), ...(sol === undefined ? {} : { sol }) };
}

export const command = defineCommand({
  configure,
  run: async (session, _args, options) => {
    const input = parse(options);
    const funded = await (await session.local()).fund(input);
    session.output.result(funded, (style) => viewFund(funded, style));
    return undefined;
  },
  output: ['{ "address", "tokens": balance, "lamports": balance, "txHash": signature }'],
  examples: [
    'flywheel local fund --tokens 5000',
    'flywheel local fund --to burn-wallet --tokens 100 --sol 1',
  ],
});
