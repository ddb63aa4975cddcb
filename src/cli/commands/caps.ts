/** `flywheel caps`: the daily caps of a project, and what is left of them today. */
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { decimalOption } from '../options/amounts.js';
import { viewCaps } from '../views/vault.js';

const configure = (command: Command) =>
  command
    .option('--burn <n>', 'most tokens burned in a UTC day from now on, or none for no cap')
    .option('--airdrop <n>', 'most tokens airdropped in a UTC day from now on, or none for no cap');

/** `null` takes the cap away; `undefined` leaves it. @throws `ERR_INPUT_INVALID` */
const capOption = (flag: string, text: string | undefined): string | null | undefined =>
  text === 'none' ? null : decimalOption(flag, text, undefined);

async function run(session: Session, _args: [], options: OptionsOf<typeof configure>): Promise<undefined> {
  const changes = {
    burn: capOption('--burn', options.burn),
    airdrop: capOption('--airdrop', options.airdrop),
  };
  const isChange = changes.burn !== undefined || changes.airdrop !== undefined;
  const local = await session.local();
  const caps = isChange ? await local.setCaps(changes) : await local.caps();
  session.output.result(caps, (style) => viewCaps(caps, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'A burn or a batch that would pass a cap is refused. A cap that is lowered undoes nothing: what was accepted before keeps its room. Each change is in `flywheel audit`.',
  ],
  output: [
    '{ "day", "burn": { "used", "cap": amount|null, "left": amount|null }, "airdrop": { "used", "cap", "left" } }',
  ],
  examples: ['flywheel caps', 'flywheel caps --burn 5000', 'flywheel caps --burn 10000 --airdrop none'],
});
