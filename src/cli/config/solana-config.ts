/** What the Solana CLI's own configuration says, for those who have set it up: plain `name: value` lines are all that it writes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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
