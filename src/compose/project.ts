/** Finds the project of a command, and the pins of its flywheel. */
import { multisigFacts, tokenFacts } from '../approval/flywheel-facts.js';
import type { Pins } from '../approval/pins.js';
import type { Flywheel } from '../chain/chain.js';
import { TOKEN_2022_PROGRAM } from '../chain/programs.js';
import { findRegistration, registeredMultisig } from '../engine/admin/project.js';
import { flywheelOf } from '../engine/batches/batch-context.js';
import { apiKeyHash } from '../engine/operation.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { apiKeyFile } from '../files/directories.js';
import type { StoreTransaction } from '../store/store.js';
import type { Secret } from '../values/secret.js';
import { readSecret } from './local-config.js';
import { databaseOf, lookIntoStore } from './place.js';
import type { Settings } from './settings.js';

export interface Project {
  readonly credential: Secret | null;
  /** The other fields are `null` if the key is unknown or nothing is registered; the service refuses the key later. */
  readonly tokenId: string | null;
  readonly symbol: string | null;
  readonly flywheel: Flywheel | null;
  /** Pins as registered: the operator's machine trusts its own registration. */
  readonly pins: Pins | null;
}

/**
 * The project of the API key, else the named one, else the only one.
 * @throws `ERR_CONFIG_INVALID` if several are possible, or the key belongs to another project than the named one;
 *  `ERR_LOCAL_NOT_FOUND` for an unknown name
 */
export async function findProject(tx: StoreTransaction, settings: Settings): Promise<Project> {
  const given = settings.apiKey.value;
  const name = databaseOf(settings) === null ? null : settings.project.value;
  const key = given === null ? undefined : await tx.apiKeys.find({ hash: apiKeyHash(given) });
  const own = key && (await tx.projects.find({ id: key.tokenId }));
  if (own !== undefined && name !== null && own.name !== name)
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `The API key belongs to the project ${own.name}, not to ${name}.`,
      { hint: 'Leave out --project, or use the key of that project.' },
    );
  const project = own ?? (await findRegistration(tx, name));
  if (project === undefined)
    return { credential: given, tokenId: null, symbol: null, flywheel: null, pins: null };
  return {
    credential: given ?? readSecret(apiKeyFile(settings.dataDir.value, project.name)),
    ...{ tokenId: project.id, symbol: project.symbol },
    flywheel: flywheelOf(project),
    pins: registeredPins(flywheelOf(project), project.facts ?? {}),
  };
}

/** The settings' pins, from the store alone; `null` without a project. */
export const pinsOfPlace = async (settings: Settings): Promise<Pins | null> =>
  (await lookIntoStore(settings, (tx) => findProject(tx, settings)))?.pins ?? null;

/** @param confirmed - facts of a registration on a cluster; empty on the embedded ledger, where they follow from how accounts are made */
function registeredPins(flywheel: Flywheel, confirmed: Readonly<Record<string, string>>): Pins {
  const { multisig, owner, operator, vault, vaultIndex, mint, decimals, tokenProgram } = flywheel;
  // The associated-token program creates Token-2022 accounts with an immutable owner.
  const extensions =
    tokenProgram === TOKEN_2022_PROGRAM ? [{ name: 'immutableOwner' as const, data: new Uint8Array() }] : [];
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
