/** `flywheel local export-owner`: the owner's keypair as a file of the Solana CLI's format. */

import { resolve } from 'node:path';
import { defineCommand } from '../../command.js';

export const command = defineCommand({
  configure: (command) =>
    command.argument('<file>', 'file to write (0600); an existing file is not replaced'),
  run: async (session, [file]) => {
    const owner = await (await session.local()).exportOwner(resolve(session.context.cwd, file));
    const { address, keypair } = owner;
    session.output.result(owner, (style) => [style.good(`Wrote the keypair of ${address} to ${keypair}.`)]);
    return undefined;
  },
  uses: ['service'],
  output: ['{ "address", "keypair": path }'],
  examples: ['flywheel local export-owner owner.json'],
});
