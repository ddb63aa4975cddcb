/** The options that every command takes; they follow from the table of settings. */
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { collect } from '../options/amounts.js';
import type { GlobalFlags } from './resolve.js';
import { SETTING_ROWS, type Use } from './settings-table.js';

const ROWS = Object.values(SETTING_ROWS);

/** Declares them, and hides them from help: they have a page of their own. */
export function addGlobalOptions(program: CommandUnknownOpts): void {
  for (const { flags, help, choices, isList } of ROWS) {
    if (flags === undefined) continue;
    const option = new Option(flags, help).hideHelp();
    if (choices !== undefined) option.choices(choices);
    if (isList === true) option.argParser(collect as (value: string, previous: unknown) => string[]);
    program.addOption(option);
  }
}

/** The global options as they were typed. */
export const globalFlags = (program: CommandUnknownOpts): GlobalFlags => program.opts();

const USES: ReadonlyMap<string | undefined, Use> = new Map(ROWS.map(({ flags, use }) => [flags, use]));

/** Has a global option an effect on a command with such uses? */
export function hasEffect({ flags }: Option, uses: readonly Use[]): boolean {
  const use = USES.get(flags) ?? 'output';
  return use === 'output' || uses.includes(use);
}

/**
 * An option that a command has no use for would look as if it had one.
 * @param path - the words that lead to the command.
 * @throws `ERR_USAGE` naming the option.
 */
export function requireUse(program: CommandUnknownOpts, path: string, uses: readonly Use[]): void {
  for (const option of program.options) {
    if (hasEffect(option, uses) || program.getOptionValueSource(option.attributeName()) !== 'cli') continue;
    throw new FlywheelError('ERR_USAGE', `\`${path}\` does not take ${option.long}.`, {
      hint: 'See `flywheel help settings`.',
    });
  }
}
