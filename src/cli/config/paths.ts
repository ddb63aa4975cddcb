/** Where configuration and state live when nobody says otherwise. */
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

/** Files inside the configuration directory. */
export const PROFILES_FILE = 'profiles.json';
export const API_KEYS_FILE = 'api-keys.json';
