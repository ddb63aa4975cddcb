/** `flywheel profile pin`: who may act for the flywheel and what its token allows, as it is on chain, confirmed once. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { parseProfileName } from '../../options/names.js';
import { FORCE_OPTION, outputFile, requireFree, writeOutput } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('[name]', 'the profile in use, named for safety')
    .option('--out <file>', 'also write the pins to this file, for --pins')
    .addOption(FORCE_OPTION);

async function run(
  session: Session,
  [typed]: [string | undefined],
  options: OptionsOf<typeof configure>,
): Promise<undefined> {
  const { settings } = session;
  const [{ confirmPins, keepPins, readPins, requireChain, requirePins }, { viewPins }, { driftOf }] =
    await Promise.all([
      import('../../batch/pins.js'),
      import('../../views/pins.js'),
      import('../../../approval/pins.js'),
    ]);
  const name = typed === undefined ? null : parseProfileName(typed);
  if (name !== null && name !== settings.profile.value)
    throw new FlywheelError('ERR_USAGE', `Another profile is in use. Add --profile ${name}.`);
  const outFile = outputFile(session, '--out', options.out, options);
  if (outFile !== null) requireFree(outFile);
  const opened = await session.service();
  const before = opened.pins;
  const pins = await readPins(requireChain(opened), requirePins(before));
  for (const { fact, before: was, now } of before?.facts === undefined
    ? []
    : driftOf(before.facts, pins.facts ?? {}))
    session.output.tell(`Changed: ${fact} was ${was} and is ${now}.`);
  if (!settings.yes) await confirmPins(session, pins);
  else if (settings.profile.value !== null) await keepPins(session, settings.profile.value, pins);
  else if (outFile === null)
    session.output.warn('No profile is in use, so nothing was pinned. Add --profile NAME or --out FILE.');
  if (outFile !== null) writeOutput(outFile, `${JSON.stringify(pins, null, 2)}\n`, { isPublic: true });
  session.output.result(pins, (style) => viewPins(pins, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Reads members and rights, threshold, time lock, configuration authority, rent collector, mint and vault account from the chain.',
    'Approvals are refused once any of it changes, until you pin it again.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: ['{ "multisig", "owner", "operator", "vaultIndex", "mint", "facts": { name: text } }'],
  examples: ['flywheel profile pin', 'flywheel profile pin --yes --out pins.json'],
});
