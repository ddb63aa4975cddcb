/** Where configuration and state live when nobody says otherwise, and what the Solana CLI's own configuration says. */
import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Setting } from '../../compose/settings.js';
import type { CliContext } from '../context.js';

type Place = Pick<CliContext, 'env' | 'home' | 'cwd' | 'platform'>;

const baseDir = (place: Place, xdg: string, windows: string, unix: string): string => {
  const given = place.env[xdg];
  if (given !== undefined && isAbsolute(given)) return given;
  if (place.platform === 'win32') return place.env[windows] ?? join(place.home, 'AppData', 'Roaming');
  return join(place.home, unix);
};

/** The directory of profiles and their keys: FLYWHEEL_CONFIG_DIR, else the platform's place. */
export function configDir(place: Place): Setting<string> {
  const given = place.env['FLYWHEEL_CONFIG_DIR'];
  if (given !== undefined && given !== '') return { value: resolve(place.cwd, given), source: 'environment' };
  return {
    value: join(baseDir(place, 'XDG_CONFIG_HOME', 'APPDATA', '.config'), 'flywheel'),
    source: 'default',
  };
}

/** The data directory that is used when neither flag, environment nor profile names one. */
export const defaultDataDir = (place: Place): string =>
  join(baseDir(place, 'XDG_DATA_HOME', 'LOCALAPPDATA', join('.local', 'share')), 'flywheel');

export const PROFILES_FILE = 'profiles.json';
export const API_KEYS_FILE = 'api-keys.json';

/** Its file, below the directory of the user. */
export const SOLANA_CONFIG_FILE = join('.config', 'solana', 'cli', 'config.yml');

const QUOTED = /^(?:"([^"]*)"|'([^']*)')\s*(?:#.*)?$/;

/** The text of a scalar, without quotes and without a comment. */
function scalar(text: string): string {
  const [, double, single] = QUOTED.exec(text) ?? [];
  return double ?? single ?? text.replace(/(?:^|\s)#.*$/, '').trim();
}

/** A setting of the Solana CLI, or `undefined` where there is none or no such file. */
export function solanaCliSetting(home: string, name: 'keypair_path' | 'json_rpc_url'): string | undefined {
  let text: string;
  try {
    text = readFileSync(join(home, SOLANA_CONFIG_FILE), 'utf8');
  } catch {
    return undefined;
  }
  const line = text.split(/\r?\n/).find((each) => each.startsWith(`${name}:`));
  const value = line === undefined ? '' : scalar(line.slice(name.length + 1).trim());
  return value === '' ? undefined : value;
}
