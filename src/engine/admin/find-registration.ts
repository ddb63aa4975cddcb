/** Which project of a store administration acts on: the one that is named, else the only one. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { FlywheelRecord, TokenRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';

/** Names that an error lists. */
const MAX_NAMES = 20;

/** A project as it was registered. */
export interface FoundRegistration {
  readonly token: TokenRecord;
  readonly flywheel: FlywheelRecord;
}

async function named(tx: StoreTransaction, name: string): Promise<FlywheelRecord> {
  const found = await tx.flywheels.byName(name);
  if (found !== undefined) return found;
  const names = (await tx.flywheels.list(MAX_NAMES)).flatMap(({ name: one }) => one ?? []);
  throw new FlywheelError(
    'ERR_LOCAL_NOT_FOUND',
    `No project ${JSON.stringify(name)}${names.length === 0 ? '' : `. Projects: ${names.join(', ')}`}.`,
    { hint: 'Name another project with --project, or create it: `flywheel register --project NAME`.' },
  );
}

async function only(tx: StoreTransaction): Promise<FlywheelRecord | undefined> {
  const [first, ...others] = await tx.flywheels.list(MAX_NAMES + 1);
  if (others.length === 0) return first;
  // Without names it is the store of a data directory, whose project is the one that was registered first.
  if (first?.name === null) {
    const [token] = await tx.tokens.list();
    return token && tx.flywheels.ofToken(token.id);
  }
  const names = [first, ...others].map((one) => one?.name ?? one?.id);
  const shown = names.slice(0, MAX_NAMES).join(', ');
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `There are several projects: ${shown}${names.length > MAX_NAMES ? ', …' : ''}.`,
    { hint: 'Choose one with --project or FLYWHEEL_PROJECT.' },
  );
}

/**
 * The project of that name; without a name the only one, or `undefined` where nothing is registered.
 * @throws `ERR_LOCAL_NOT_FOUND` for a name that is not there, `ERR_CONFIG_INVALID` where a name is needed.
 */
export async function findRegistration(
  tx: StoreTransaction,
  project: string | null,
): Promise<FoundRegistration | undefined> {
  const flywheel = project === null ? await only(tx) : await named(tx, project);
  const token = flywheel && (await tx.tokens.get(flywheel.tokenId));
  return token && flywheel && { token, flywheel };
}

/** @throws as {@link findRegistration}; `ERR_LOCAL_NOT_FOUND` where nothing is registered. */
export async function requireRegistration(
  tx: StoreTransaction,
  project: string | null,
): Promise<FoundRegistration> {
  const found = await findRegistration(tx, project);
  if (found !== undefined) return found;
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', 'There is no project here.');
}
