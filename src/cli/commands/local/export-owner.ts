/** `flywheel local export-owner`: the owner's keypair as a file of the Solana CLI's format. */
import { resolve } from 'node:path';
import { type CommandSpec, inSteps } from '../../command.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<file>', description: 'file to write (0600); one that is there is not replaced' }],
  output: ['{ "address", "keypair": path }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_INPUT_INVALID'],
  examples: ['flywheel local export-owner owner.json'],
  run: inSteps({
    parse: (invocation, { context }) => resolve(context.cwd, invocation.requiredArgument(0)),
    run: async (session, file) => (await session.desk()).exportOwner(file),
    view: ({ address, keypair }, style) => [style.good(`Wrote the keypair of ${address} to ${keypair}.`)],
  }),
};
