/** Profiles as people read them; a key is only said to be there. */

import type { Limits } from '../../approval/limits.js';
import type { Profile } from '../config/profile-file.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';
import { pinnedFields } from './facts.js';

/** Each limit by what it is about. */
export function limitFields({
  batchTokens,
  dayTokens,
  supplyPercent,
  recipients,
  digestAbove,
}: Limits): readonly Field[] {
  const field = (name: string, value: string | undefined): readonly Field[] =>
    value === undefined ? [] : [[name, value]];
  return [
    ...field('tokens a batch', batchTokens),
    ...field('tokens a day', dayTokens),
    ...field('percent of the supply', supplyPercent),
    // An empty list is a limit as well.
    ...field('recipients', recipients?.length === 0 ? 'nobody' : recipients?.join(', ')),
    ...field('ask digest above', digestAbove),
  ];
}

/** A profile as it is printed. */
export interface ProfileView extends Profile {
  readonly name: string;
  readonly current: boolean;
  readonly hasApiKey: boolean;
  /** Where the RPC comes from that is used although the profile names none. */
  readonly rpcSource?: 'solana config';
  /** Where it is kept. */
  readonly file?: string;
}

const rpcText = ({ rpcUrl = [], rpcSource }: ProfileView): string =>
  `${[rpcUrl].flat().join(', ')}${rpcSource === undefined ? '' : ` (${rpcSource})`}`;

/** How transactions are sent to a cluster, where the profile says so. */
const sendingFields = (profile: ProfileView): readonly Field[] => {
  const field = (name: string, value: string | number | undefined, unit = ''): readonly Field[] =>
    value === undefined ? [] : [[name, `${value}${unit}`]];
  return [
    ...field('max fee', profile.maxPriorityFee, ' lamports'),
    ...field('commitment', profile.commitment),
  ];
};

/** Where its flywheels are, where that is no directory. */
const databaseFields = ({ databaseUrl, databaseUrlFile, project }: ProfileView): readonly Field[] => [
  ...(databaseUrl === undefined ? [] : [['database', databaseUrl] as const]),
  ...(databaseUrlFile === undefined ? [] : [['database file', databaseUrlFile] as const]),
  ...(project === undefined ? [] : [['project', project] as const]),
];

/** One profile. */
export const viewProfile = (profile: ProfileView, style: Style): readonly string[] => {
  const fields: readonly Field[] = [
    ['api', profile.apiUrl ?? 'none: the embedded engine'],
    ...(profile.apiKeyHeader === undefined ? [] : [['key header', profile.apiKeyHeader] as const]),
    ['api key', profile.hasApiKey ? 'stored' : 'none'],
    ...(profile.dataDir === undefined ? [] : [['data dir', profile.dataDir] as const]),
    ...databaseFields(profile),
    ...(profile.rpcUrl === undefined ? [] : [['rpc', rpcText(profile)] as const]),
    ...(profile.rpcQuorum === undefined ? [] : [['rpc quorum', String(profile.rpcQuorum)] as const]),
    ...sendingFields(profile),
    ...(profile.keypair === undefined ? [] : [['keypair', profile.keypair] as const]),
    ...(profile.operatorSigner === undefined ? [] : [['operator signer', profile.operatorSigner] as const]),
    ...(profile.burnSigner === undefined ? [] : [['burn signer', profile.burnSigner] as const]),
    ...(profile.pinned === undefined ? [] : pinnedFields(profile.pinned)),
    ...limitFields(profile.limits ?? {}),
    ...(profile.file === undefined ? [] : [['file', profile.file] as const]),
  ];
  return [`${style.bold(profile.name)}${profile.current ? ' (current)' : ''}`, ...fieldLines(fields, style)];
};

/** All profiles. */
export const viewProfiles = (profiles: readonly ProfileView[], style: Style): readonly string[] =>
  profiles.length === 0
    ? ['No profiles found. Add one: `flywheel profile add NAME --api-url URL --api-key-stdin`']
    : tableLines(
        [{ title: '' }, { title: 'name' }, { title: 'api' }, { title: 'key' }],
        profiles.map((profile) => [
          profile.current ? '*' : '',
          profile.name,
          profile.apiUrl ?? 'embedded',
          profile.hasApiKey ? 'stored' : 'none',
        ]),
        style.width,
      );
