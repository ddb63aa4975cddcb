/** Default directories of configuration and data, and settings from the Solana CLI's configuration file. */
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

export function configDir(place: Place): Setting<string> {
  const given = place.env['FLYWHEEL_CONFIG_DIR'];
  if (given !== undefined && given !== '') return { value: resolve(place.cwd, given), source: 'environment' };
  return {
    value: join(baseDir(place, 'XDG_CONFIG_HOME', 'APPDATA', '.config'), 'flywheel'),
    source: 'default',
  };
}

export const defaultDataDir = (place: Place): string =>
  join(baseDir(place, 'XDG_DATA_HOME', 'LOCALAPPDATA', join('.local', 'share')), 'flywheel');

export const PROFILES_FILE = 'profiles.json';
export const API_KEYS_FILE = 'api-keys.json';

/** Relative to the user's home directory. */
export const SOLANA_CONFIG_FILE = join('.config', 'solana', 'cli', 'config.yml');

const QUOTED = /^(?:"([^"]*)"|'([^']*)')\s*(?:#.*)?$/;

function scalar(text: string): string {
  const [, double, single] = QUOTED.exec(text) ?? [];
  return double ?? single ?? text.replace(/(?:^|\s)#.*$/, '').trim();
}

/** @returns `undefined` if the file or the setting is missing */
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
