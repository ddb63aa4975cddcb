/** Which project of a database a command is about: that of its API key, else the one that is named, else the only one. */
import type { Pins } from '../approval/pins.js';
import type { DatabaseAddress } from '../cli/config/database-address.js';
import type { Settings } from '../cli/config/settings.js';
import {
  type FoundRegistration,
  findRegistration,
  requireRegistration,
} from '../engine/admin/find-registration.js';
import { apiKeyHash } from '../engine/authenticate.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { FlywheelPlace } from '../store/records.js';
import type { Store, StoreTransaction } from '../store/store.js';
import type { Secret } from '../values/secret.js';
import { type Registered, registeredOf } from './data-pins.js';
import { databaseOf, type PlaceSettings } from './data-place.js';
import { lookInto } from './database.js';
import { dataFiles, projectFiles, readProjectKey } from './local-config.js';
import { registeredPins } from './pinned.js';

/** A project, and the key to it that is kept on this machine or was given. */
export interface Project {
  readonly credential: Secret | null;
  /** `null` where the key, which is refused later, says nothing and nothing is registered. */
  readonly registered: Registered | null;
  readonly facts: FlywheelPlace['facts'] | null;
  readonly tokenId: string | null;
}

type ProjectSettings = Pick<Settings, 'apiKey' | 'project' | 'dataDir'>;

async function ofKey(tx: StoreTransaction, key: Secret): Promise<FoundRegistration | undefined> {
  const record = await tx.apiKeys.byHash(apiKeyHash(key));
  const token = record && (await tx.tokens.get(record.tokenId));
  const flywheel = token && (await tx.flywheels.ofToken(token.id));
  return token && flywheel && { token, flywheel };
}

/**
 * @throws `ERR_CONFIG_INVALID` where several could be meant, or the key is of another project than the one that is named;
 *   `ERR_LOCAL_NOT_FOUND` for a name that is not there.
 */
export async function findProject(
  store: Store,
  { apiKey, project, dataDir }: ProjectSettings,
): Promise<Project> {
  const given = apiKey.value;
  const found = await store.read(async (tx) => {
    const own = given === null ? undefined : await ofKey(tx, given);
    if (own === undefined || project.value === null || own.flywheel.name === project.value)
      return own ?? findRegistration(tx, project.value);
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `The API key is of the project ${own.flywheel.name}, and ${project.value} is named.`,
      { hint: 'Name the project of the key, or none.' },
    );
  });
  const name = found?.flywheel.name ?? null;
  return {
    credential: given ?? (name === null ? null : readProjectKey(dataDir.value, name)),
    registered: found === undefined ? null : registeredOf(found),
    facts: found?.flywheel.place?.facts ?? null,
    tokenId: found?.token.id ?? null,
  };
}

/** The file with the API key that commands of this machine use for the project that administration acts on. */
export async function ownKeyFile(
  store: Store,
  settings: PlaceSettings & Pick<Settings, 'project'>,
): Promise<string> {
  const dataDir = settings.dataDir.value;
  if (databaseOf(settings) === null) return dataFiles(dataDir).apiKey;
  const { flywheel } = await store.read((tx) => requireRegistration(tx, settings.project.value));
  return flywheel.name === null ? dataFiles(dataDir).apiKey : projectFiles(dataDir, flywheel.name).apiKey;
}

/** What the flywheel that is meant is held against, as it was registered; `null` before there is one. */
export async function pinsInDatabase(
  address: DatabaseAddress,
  settings: ProjectSettings,
): Promise<Pins | null> {
  const project = await lookInto(address, (store) => findProject(store, settings));
  if (project?.registered == null) return null;
  return { ...registeredPins(project.registered.flywheel), ...(project.facts && { facts: project.facts }) };
}
