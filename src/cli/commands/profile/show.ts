/** `flywheel profile show`: one profile, without its key. */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type Session } from '../../command.js';
import { profileViews } from '../../config/profile-views.js';
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
    const name = given ?? session.settings.profile.value;
    const profile = profileViews(session).find((view) => view.name === name);
    if (profile === undefined) {
      const message =
        name === null ? 'No profile is in use.' : `There is no profile ${JSON.stringify(name)}.`;
      throw new FlywheelError('ERR_CONFIG_INVALID', message, {
        hint: '`flywheel profile list` shows those there are.',
      });
    }
    const shown = withRpc(session, profile);
    session.output.result(shown, (style) => viewProfile(shown, style));
    return undefined;
  },
  output: [
    '{ "name", "current", "hasApiKey", "apiUrl"?, "apiKeyHeader"?, "dataDir"?, "rpcUrl"?, "rpcSource"?, "rpcQuorum"?, "maxPriorityFee"?, "commitment"?, "keypair"?, "pinned"?, "limits"? }',
  ],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile show staging'],
});
