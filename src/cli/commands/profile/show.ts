/** `flywheel profile show`: one profile, without its key. */
import { join } from 'node:path';
import { defineCommand, type Session } from '../../command.js';
import { PROFILES_FILE } from '../../config/paths.js';
import { profileView } from '../../config/profile-views.js';
import { solanaRpc } from '../../config/resolve-rpc.js';
import { type ProfileView, viewProfile } from '../../views/profile.js';

/** A profile that names no RPC is used with that of the Solana CLI. */
function withRpc({ context }: Session, profile: ProfileView): ProfileView {
  if (profile.rpcUrl !== undefined) return profile;
  const [node] = solanaRpc(context.home).value;
  return node === undefined ? profile : { ...profile, rpcUrl: node.shown, rpcSource: 'solana config' };
}

export const command = defineCommand({
  configure: (command) => command.argument('[name]', 'name of the profile (default: the one in use)'),
  run: async (session, [given]) => {
    const { profile, configDir } = session.settings;
    const view = profileView(session, given ?? profile.value);
    const shown = { ...withRpc(session, view), file: join(configDir.value, PROFILES_FILE) };
    session.output.result(shown, (style) => viewProfile(shown, style));
    return undefined;
  },
  uses: ['service'],
  output: [
    '{ "name", "current", "hasApiKey", "apiUrl"?, "apiKeyHeader"?, "dataDir"?, "rpcUrl"?, "rpcSource"?, "rpcQuorum"?, "maxPriorityFee"?, "commitment"?, "keypair"?, "pinned"?, "limits"?, "file" }',
  ],
  examples: ['flywheel profile show staging'],
});
