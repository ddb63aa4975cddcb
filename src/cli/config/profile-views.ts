/** Profiles without their keys, and without those in the addresses of RPC nodes as commands print them. */
import { isMoniker, NodeAddress } from '../../chain/node-address.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { databasePlace } from '../../values/database-url.js';
import type { Session } from '../command.js';
import type { ProfileView } from '../views/profile.js';
import { type Profile, readProfileKey, readProfiles } from './profile-file.js';
import { rpcUrlsOf } from './resolve-rpc.js';

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
      ...shownRpc(profile),
      ...shownDatabase(profile),
    }));
}

/** One of them. @throws `ERR_CONFIG_INVALID` where there is none. */
export function profileView(session: Session, name: string | null): ProfileView {
  const profile = profileViews(session).find((view) => view.name === name);
  if (profile !== undefined) return profile;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    name === null ? 'No profile is in use.' : `No profile ${JSON.stringify(name)}.`,
    { hint: 'List profiles: `flywheel profile list`' },
  );
}

function shownRpc(profile: Profile): Pick<ProfileView, 'rpcUrl'> {
  const [first, ...others] = rpcUrlsOf(profile).map(shownUrl);
  if (first === undefined) return {};
  return { rpcUrl: others.length === 0 ? first : [first, ...others] };
}

const shownDatabase = ({ databaseUrl }: Profile): Pick<ProfileView, 'databaseUrl'> =>
  databaseUrl === undefined ? {} : { databaseUrl: databasePlace(databaseUrl) ?? '***' };

/** One that was written by hand may be no address; what it is instead may be a key. */
function shownUrl(text: string): string {
  if (isMoniker(text)) return text;
  return URL.canParse(text) ? new NodeAddress(new URL(text), text).shown : '***';
}
