/** `flywheel profile path`: where the profiles are kept. */
import { join } from 'node:path';
import { defineCommand } from '../../command.js';
import { API_KEYS_FILE, PROFILES_FILE } from '../../config/paths.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async ({ settings, output }) => {
    const directory = settings.configDir.value;
    const [profiles, apiKeys] = [join(directory, PROFILES_FILE), join(directory, API_KEYS_FILE)];
    output.result({ profiles, apiKeys }, () => [profiles]);
    return undefined;
  },
  output: ['{ "profiles": file, "apiKeys": file }; for people the file of the profiles'],
  errors: [],
  examples: ['flywheel profile path', 'flywheel profile path --output human'],
});
