/** The settings of a profile by their names, as `profile get` and `profile set` know them. */
import { resolve } from 'node:path';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { typedPath } from '../wallet/keypair-source.js';
import { PROFILE_FIELDS, type Profile } from './profile-file.js';

const NUMBERS = ['rpcQuorum', 'maxPriorityFee'] as const;

/** Settings that are set by name. */
export const SETTABLE = [...PROFILE_FIELDS, 'rpcUrl', ...NUMBERS] as const;
export type Settable = (typeof SETTABLE)[number];

/** What other commands set, and which. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  pinned: '`flywheel profile pin` pins the flywheel as it is on chain.',
  limits: '`flywheel profile limit` sets limits.',
  apiKey:
    '`flywheel profile add NAME --api-key-stdin` takes a key from standard input; it never stands on the command line.',
};

/** The name of a setting. @throws `ERR_INPUT_INVALID` with where it is set instead, or what there is. */
export function settableName(text: string): Settable {
  const found = SETTABLE.find((name) => name === text);
  if (found !== undefined) return found;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `There is no setting ${JSON.stringify(text.slice(0, 60))} to set.`,
    {
      hint:
        (Object.hasOwn(ELSEWHERE, text) ? ELSEWHERE[text] : undefined) ?? `Settings: ${SETTABLE.join(', ')}.`,
    },
  );
}

function parsedValue(name: Settable, text: string, cwd: string): unknown {
  if (NUMBERS.some((each) => each === name)) {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `${name}: expected a whole number, got ${JSON.stringify(text.slice(0, 60))}.`,
    );
  }
  if (name === 'databaseUrl' && URL.canParse(text) && new URL(text).password !== '')
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      'databaseUrl: a password never stands on the command line, where others can see it.',
      { hint: 'Put the address into a file and set databaseUrlFile, or use `flywheel profile edit`.' },
    );
  if (name === 'keypair') return typedPath(text, name);
  if (name === 'dataDir' || name === 'databaseUrlFile') return resolve(cwd, text);
  if (name !== 'rpcUrl') return text;
  const urls = text.split(/[\s,]+/).filter((url) => url !== '');
  return urls.length === 1 ? urls[0] : urls;
}

/** What `key=value` changes; an empty value takes the setting away. */
export interface Change {
  readonly name: Settable;
  readonly value: unknown;
}

/** @throws `ERR_USAGE`, `ERR_INPUT_INVALID` */
export function parseChange(text: string, cwd: string): Change {
  const at = text.indexOf('=');
  if (at < 1)
    throw new FlywheelError('ERR_USAGE', `Expected name=value, got ${JSON.stringify(text.slice(0, 60))}.`, {
      hint: `Settings: ${SETTABLE.join(', ')}.`,
    });
  const name = settableName(text.slice(0, at));
  const value = text.slice(at + 1);
  return { name, value: value === '' ? undefined : parsedValue(name, value, cwd) };
}

/** The profile with what has changed of it. */
export const withChanges = (before: Profile, changes: readonly Change[]): Profile =>
  Object.fromEntries(
    Object.entries({
      ...before,
      ...Object.fromEntries(changes.map(({ name, value }) => [name, value])),
    }).filter(([, value]) => value !== undefined),
  );
