/** Which project a command is about, and what its flywheel is held against. */
import { multisigFacts, tokenFacts } from '../approval/flywheel-facts.js';
import type { Pins } from '../approval/pins.js';
import type { Flywheel } from '../chain/flywheel.js';
import { TOKEN_2022_PROGRAM } from '../chain/programs.js';
import { TOKEN_EXTENSION } from '../chain/tokens/accounts.js';
import { type FoundRegistration, findRegistration, registeredMultisig } from '../engine/admin/project.js';
import { flywheelOf } from '../engine/batches/batch-context.js';
import { apiKeyHash } from '../engine/operation.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { apiKeyFile } from '../files/directories.js';
import type { StoreTransaction } from '../store/store.js';
import type { Secret } from '../values/secret.js';
import { readSecret } from './local-config.js';
import { databaseOf, lookIntoStore, type PlaceSettings } from './place.js';
import type { Settings } from './settings.js';

/** The project that a command is about, and the key to it that was given or is kept on this machine. */
export interface Project {
  readonly credential: Secret | null;
  /** The others are `null` where the key, which is refused later, says nothing and nothing is registered. */
  readonly tokenId: string | null;
  readonly symbol: string | null;
  readonly flywheel: Flywheel | null;
  /** Whoever holds the operator's key trusts what was registered. */
  readonly pins: Pins | null;
}

async function ofKey(tx: StoreTransaction, key: Secret): Promise<FoundRegistration | undefined> {
  const record = await tx.apiKeys.find({ hash: apiKeyHash(key) });
  const token = record && (await tx.tokens.find({ id: record.tokenId }));
  const flywheel = token && (await tx.flywheels.find({ tokenId: token.id }));
  return token && flywheel && { token, flywheel };
}

/**
 * That of the API key, else the one that is named, else the only one.
 * @throws `ERR_CONFIG_INVALID` where several could be meant, or the key is of another project than the one that is named;
 *   `ERR_LOCAL_NOT_FOUND` for a name that is not there.
 */
export async function findProject(
  tx: StoreTransaction,
  settings: PlaceSettings & Pick<Settings, 'apiKey' | 'project'>,
): Promise<Project> {
  const given = settings.apiKey.value;
  // Only a database has names.
  const name = databaseOf(settings) === null ? null : settings.project.value;
  const own = given === null ? undefined : await ofKey(tx, given);
  if (own !== undefined && name !== null && own.flywheel.name !== name)
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `The API key belongs to the project ${own.flywheel.name}, not to ${name}.`,
      { hint: 'Leave out --project, or use the key of that project.' },
    );
  const found = own ?? (await findRegistration(tx, name));
  if (found === undefined)
    return { credential: given, tokenId: null, symbol: null, flywheel: null, pins: null };
  const { token, flywheel } = found;
  return {
    credential: given ?? readSecret(apiKeyFile(settings.dataDir.value, flywheel.name)),
    ...{ tokenId: token.id, symbol: token.symbol },
    flywheel: flywheelOf(token, flywheel),
    pins: registeredPins(flywheelOf(token, flywheel), flywheel.facts ?? {}),
  };
}

/** What the flywheel of the settings is held against, read from its store alone; `null` before there is one. */
export const pinsOfPlace = async (
  settings: PlaceSettings & Pick<Settings, 'apiKey' | 'project'>,
): Promise<Pins | null> => (await lookIntoStore(settings, (tx) => findProject(tx, settings)))?.pins ?? null;

/** @param confirmed - at its registration on a cluster. @default what follows from how it is made on a local ledger */
function registeredPins(flywheel: Flywheel, confirmed: Readonly<Record<string, string>>): Pins {
  const { multisig, owner, operator, vault, vaultIndex, mint, decimals, tokenProgram } = flywheel;
  // The associated-token program makes accounts of Token-2022 with an owner that cannot be changed.
  const extensions =
    tokenProgram === TOKEN_2022_PROGRAM
      ? [{ type: TOKEN_EXTENSION.immutableOwner, data: new Uint8Array() }]
      : [];
  const made = {
    ...multisigFacts(registeredMultisig(flywheel)),
    ...tokenFacts(
      flywheel.vaultTokenAccount,
      { tokenProgram, decimals, mintAuthority: null, freezeAuthority: null, extensions: [] },
      { owner: vault, delegate: null, closeAuthority: null, frozen: false, extensions },
    ),
  };
  const facts = Object.keys(confirmed).length === 0 ? made : confirmed;
  return { multisig, owner, operator, vaultIndex, mint, facts };
}
