/** `flywheel profile edit`: the user's editor on a private copy of the profiles, which takes their place only when all of it can be used. */
import { lstatSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { readIfThere } from '../../../files/read-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../../../files/write-file.js';
import { defineCommand, type Session } from '../../command.js';
import { PROFILES_FILE } from '../../config/paths.js';
import { readProfileFile } from '../../config/profile-file.js';
import { parseProfileName } from '../../options/names.js';
import { shellLine } from '../../shell-line.js';

/** An editor that every system of the kind has. */
const DEFAULT_EDITOR = 'vi';
const EMPTY = `${JSON.stringify({ current: null, profiles: {} }, null, 2)}\n`;

/** Holds every profile of the copy to what commands hold it to. @throws `ERR_CONFIG_INVALID`, `ERR_INPUT_INVALID` */
async function checkAll({ context }: Session, copy: string): Promise<void> {
  const { checkProfile } = await import('../../config/resolve.js');
  const { current, profiles } = readProfileFile(copy);
  for (const [name, profile] of Object.entries(profiles)) {
    parseProfileName(name);
    checkProfile(context, profile);
  }
  if (current !== null && !Object.hasOwn(profiles, current))
    throw new FlywheelError('ERR_CONFIG_INVALID', `"current" names no profile: ${JSON.stringify(current)}.`);
}

/** @throws `ERR_DECLINED` where the editor left no file, but nothing, a link or something that would be waited for. */
function textOf(copy: string): string {
  if (lstatSync(copy, { throwIfNoEntry: false })?.isFile() === true) return readFileSync(copy, 'utf8');
  throw new FlywheelError('ERR_DECLINED', 'The editor left no file; nothing was changed.');
}

/** @returns whether something was changed. */
async function edit(session: Session, copy: string, before: string | undefined): Promise<boolean> {
  const { context, settings } = session;
  const editor = context.env['VISUAL'] || context.env['EDITOR'] || DEFAULT_EDITOR;
  const exit = await context.edit(editor, copy);
  if (exit !== 0)
    throw new FlywheelError(
      'ERR_DECLINED',
      `The editor ended with ${exit ?? 'a signal'}; nothing was changed.`,
      {
        hint: 'VISUAL or EDITOR names it.',
      },
    );
  const text = textOf(copy);
  if (text === (before ?? EMPTY)) return false;
  await checkAll(session, copy);
  const { replaceProfiles } = await import('../../config/profile-store.js');
  await replaceProfiles(settings.configDir.value, before, text);
  return true;
}

async function run(session: Session): Promise<undefined> {
  const { context, settings, output } = session;
  const directory = settings.configDir.value;
  const before = readIfThere(join(directory, PROFILES_FILE));
  makePrivateDirectory(directory, 'ERR_CONFIG_INVALID');
  const copy = join(directory, `profiles.${context.processes.self().replace(/[^\w-]/g, '-')}.edit.json`);
  writeFileAtomic(copy, before ?? EMPTY, 'ERR_CONFIG_INVALID', { mode: 0o600 });
  let changed: boolean;
  try {
    changed = await edit(session, copy, before);
  } catch (error) {
    if (!(error instanceof FlywheelError) || error.code === 'ERR_DECLINED')
      rmSync(copy, { force: true, recursive: true });
    else
      throw error.with({
        hint: `Nothing was changed. What you wrote is in ${shellLine([copy])}. ${error.hint ?? 'Run `flywheel profile edit` again.'}`,
      });
    throw error;
  }
  rmSync(copy, { force: true });
  output.result({ changed }, (style) => [
    changed ? style.good('The profiles are changed.') : 'Nothing was changed.',
  ]);
  return undefined;
}

export const command = defineCommand({
  configure: (command) => command,
  run,
  details: [
    'VISUAL or EDITOR names the editor. What no command could use is refused: the profiles stay as they were, and the copy is kept.',
    'API keys are kept in a file of their own and are not part of it.',
  ],
  output: ['{ "changed": true|false }'],
  errors: ['ERR_CONFIG_INVALID', 'ERR_DECLINED'],
  examples: ['flywheel profile edit', 'EDITOR="code --wait" flywheel profile edit'],
});
