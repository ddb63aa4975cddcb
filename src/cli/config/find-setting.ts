/** Looks a setting up where the table says that it may be: option, environment, profile, strongest first. */

import type { Setting, Source } from '../../compose/settings.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { GlobalFlags } from './resolve.js';
import { type Reading, SETTING_ROWS, type SettingName, type ValueOf } from './settings-table.js';

/** Where settings are looked up. */
export interface Places {
  readonly flags: GlobalFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly profile: object;
}

/** What stands there. */
export interface Found {
  readonly text: string;
  readonly source: Source;
  /** How a message calls the place. */
  readonly where: string;
}

/** `--max-wait <seconds>` and `-p, --profile <name>`: `--max-wait`, `--profile`. */
export const longFlag = (flags: string): string => /--[a-z-]+/.exec(flags)?.[0] ?? flags;

const flagKey = (flags: string): string =>
  longFlag(flags)
    .slice(2)
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const textIn = (holder: object, key: string): string | undefined => {
  const value = (holder as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};

/** The text of a setting; one that is empty is not set, except as an option. */
export function findSetting(name: SettingName, { flags, env, profile }: Places): Found | undefined {
  const { flags: option, variables = [], profile: field } = SETTING_ROWS[name];
  const typed = option === undefined ? undefined : textIn(flags, flagKey(option));
  if (typed !== undefined && option !== undefined)
    return { text: typed, source: 'flag', where: longFlag(option) };
  const [variable = ''] = variables;
  const given = env[variable];
  if (given !== undefined && given !== '') return { text: given, source: 'environment', where: variable };
  const stored = field === undefined ? undefined : textIn(profile, field);
  if (stored === undefined || stored === '') return undefined;
  return { text: stored, source: 'profile', where: `${field} of the profile` };
}

const TEXT: Reading<string | null> = { takes: 'text', fallback: null, read: (text) => text };

/** A setting as it was found and read. @throws `ERR_USAGE` for what was typed, else `ERR_CONFIG_INVALID`, naming the place and what it takes. */
export function setting<Name extends SettingName>(name: Name, places: Places): Setting<ValueOf<Name>> {
  const reading = (SETTING_ROWS[name].reading ?? TEXT) as Reading<ValueOf<Name>>;
  const found = findSetting(name, places);
  if (found === undefined) return { value: reading.fallback, source: 'default' };
  const value = reading.read(found.text);
  if (value !== undefined) return { value, source: found.source };
  throw new FlywheelError(
    found.source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${found.where} takes ${reading.takes}, got ${JSON.stringify(found.text.slice(0, 80))}.`,
  );
}
