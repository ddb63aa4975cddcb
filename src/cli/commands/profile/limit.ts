/** `flywheel profile limit`: what may be approved with a profile at most, whatever it is. */
import type { Command } from '@commander-js/extra-typings';
import { isLimitNumber, type Limits, NUMBER_LIMITS } from '../../../approval/limits.js';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { type Address, isAddress } from '../../../values/address.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import type { Profile } from '../../config/profile-file.js';
import { inputError, readOptionText } from '../../input/read-input.js';
import { parseProfileName } from '../../options/names.js';
import { fieldLines } from '../../output/table.js';
import { limitFields } from '../../views/profile.js';

const configure = (command: Command) =>
  command
    .argument('[name]', 'name of the profile (default: the one in use)')
    .option('--batch-tokens <n>', 'most tokens of one batch, burned and airdropped together')
    .option('--day-tokens <n>', 'most tokens of all batches that are approved on one UTC day')
    .option('--supply-percent <n>', 'most of one batch in percent of the supply')
    .option('--recipients <list>', 'the only addresses of airdrops: with commas, @file, or -')
    .option('--digest-above <n>', 'for a batch of more tokens the answer is the beginning of its digest');

type Options = OptionsOf<typeof configure>;

/** Takes a limit away. */
const NONE = 'none';

/** What the options change; `null` takes a limit away. */
type Changes = { readonly [Name in keyof Limits]?: Limits[Name] | null };

const FLAGS = {
  batchTokens: '--batch-tokens',
  dayTokens: '--day-tokens',
  supplyPercent: '--supply-percent',
  digestAbove: '--digest-above',
} as const;

function numberChanges(options: Options): Changes {
  const given = NUMBER_LIMITS.flatMap((name) => {
    const text = options[name];
    return text === undefined ? [] : [{ name, text }];
  });
  const wrong = given.find(({ text }) => text !== NONE && !isLimitNumber(text));
  if (wrong !== undefined) {
    const got = JSON.stringify(wrong.text.slice(0, 60));
    throw inputError(FLAGS[wrong.name], `expected a decimal number or ${NONE}, got ${got}`);
  }
  return Object.fromEntries(given.map(({ name, text }) => [name, text === NONE ? null : text]));
}

async function readRecipients({ context }: Session, option: string): Promise<readonly Address[]> {
  const { name, text } = await readOptionText(context, '--recipients', option);
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const wrong = words.find((word) => !isAddress(word));
  if (wrong !== undefined)
    throw inputError(name, `${JSON.stringify(wrong.slice(0, 60))} is not a base58 address of 32 bytes`);
  return [...new Set(words.filter(isAddress))];
}

async function readChanges(session: Session, options: Options): Promise<Changes> {
  const { recipients } = options;
  const numbers = numberChanges(options);
  if (recipients === undefined) return numbers;
  return { ...numbers, recipients: recipients === NONE ? null : await readRecipients(session, recipients) };
}

/** Limits with what has changed of them; those that were taken away are not there. */
const changed = (before: Limits, changes: Changes): Limits =>
  Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null));

async function run(session: Session, [typed]: [string | undefined], options: Options): Promise<undefined> {
  const { settings, output } = session;
  const name = typed === undefined ? settings.profile.value : parseProfileName(typed);
  if (name === null)
    throw new FlywheelError('ERR_USAGE', 'No profile is in use, and limits are kept in one.', {
      hint: 'Make one with `flywheel profile add`, or put "limits" into the file of --pins.',
    });
  const changes = await readChanges(session, options);
  const { requireProfile, saveProfile } = await import('../../config/profile-store.js');
  const directory = settings.configDir.value;
  const { profiles } = requireProfile(directory, name);
  const withChanges = ({ limits = {} }: Profile): Profile => ({ limits: changed(limits, changes) });
  const { limits = {} } =
    Object.keys(changes).length === 0
      ? (profiles[name] ?? {})
      : await saveProfile(directory, name, withChanges, null);
  output.result({ profile: name, limits }, (style) =>
    Object.keys(limits).length === 0
      ? [`The profile ${name} has no limits.`]
      : fieldLines(limitFields(limits), style),
  );
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'What is over a limit is refused before anything is signed, with --yes as well; `none` takes a limit away.',
    'A day counts what was approved here, whether or not it was executed. Without options the limits are shown.',
  ],
  output: [
    '{ "profile": name, "limits": { "batchTokens"?, "dayTokens"?, "supplyPercent"?, "recipients"?: [address], "digestAbove"? } }',
  ],
  errors: ['ERR_INPUT_INVALID', 'ERR_CONFIG_INVALID'],
  examples: [
    'flywheel profile limit --batch-tokens 50000 --day-tokens 200000 --digest-above 10000',
    'flywheel profile limit staging --recipients @recipients.txt --supply-percent 0.5',
    'flywheel profile limit --day-tokens none',
  ],
});
