/** `flywheel profile pin`: who may act for the flywheel and what its token allows, as it is on chain, confirmed once. */
import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { checkWritable, writeFileAtomic } from '../../../files/write-file.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { parseProfileName } from '../../options/names.js';

const configure = (command: Command) =>
  command
    .argument('[name]', 'the profile in use; naming it guards against a mistake')
    .option('--out <file>', 'write the pins here as well, for --pins');

async function run(
  session: Session,
  [typed]: [string | undefined],
  { out }: OptionsOf<typeof configure>,
): Promise<undefined> {
  const { context, settings } = session;
  const [{ confirmPins, keepPins, noChain, pinnedText, readPins, requirePins }, { viewPins }, { driftOf }] =
    await Promise.all([
      import('../../batch/pins.js'),
      import('../../views/pins.js'),
      import('../../../approval/pins.js'),
    ]);
  const name = typed === undefined ? null : parseProfileName(typed);
  if (name !== null && name !== settings.profile.value)
    throw new FlywheelError('ERR_USAGE', `The profile in use is another one; add --profile ${name}.`);
  const outFile = out === undefined ? undefined : resolve(context.cwd, out);
  if (outFile !== undefined) checkWritable(outFile, 'ERR_INPUT_INVALID');
  const { pins: before, chain } = await session.service();
  if (chain === null) throw noChain();
  const pins = await readPins(chain, requirePins(before));
  for (const { fact, before: was, now } of before?.facts == null
    ? []
    : driftOf(before.facts, pins.facts ?? {}))
    session.output.tell(`Changed: ${fact} was ${was} and is ${now}.`);
  if (!settings.yes) await confirmPins(session, pins);
  else if (settings.profile.value !== null) await keepPins(session, settings.profile.value, pins);
  else if (outFile === undefined)
    session.output.warn(
      'Nothing was pinned: no profile is in use that could keep it. Add --profile NAME, or --out FILE.',
    );
  const value = pinnedText(pins);
  if (outFile !== undefined)
    writeFileAtomic(outFile, `${JSON.stringify(value, null, 2)}\n`, 'ERR_INPUT_INVALID');
  session.output.result(value, (style) => viewPins(value, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Reads members and their rights, threshold, time lock, configuration authority, rent collector, mint and vault account.',
    'From then on an approval is refused when any of it has changed, until it is pinned again.',
  ],
  output: ['{ "multisig", "owner", "operator", "vaultIndex", "mint", "facts": { name: text } }'],
  errors: ['ERR_APPROVAL_REFUSED', 'ERR_DECLINED', 'ERR_UNAVAILABLE'],
  examples: ['flywheel profile pin', 'flywheel profile pin --yes --out pins.json'],
});
