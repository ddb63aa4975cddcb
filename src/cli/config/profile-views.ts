/** Profiles without their keys, as commands print them. */
import type { Session } from '../command.js';
import type { ProfileView } from '../views/profile.js';
import { readProfileKey, readProfiles } from './profile-file.js';

/** All profiles by name. */
export function profileViews({ settings, context }: Session): readonly ProfileView[] {
  const directory = settings.configDir.value;
  const { current, profiles } = readProfiles(directory);
  return Object.entries(profiles)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, profile]) => ({
      name,
      current: name === current,
      hasApiKey: readProfileKey(directory, name, context.platform) !== null,
      ...profile,
    }));
}
