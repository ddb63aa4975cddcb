/** `flywheel db copy`: all that the store of a data directory holds, and what its configuration says, into a database. */

import { SQUADS_PROGRAM } from '../chain/programs.js';
import type { DatabaseCopy } from '../contract/database-admin.js';
import { requireRegistration } from '../engine/admin/find-registration.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { copyStore, type ProjectPlace } from '../store/copy.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store, StoreTransaction } from '../store/store.js';
import type { DatabaseAddress } from '../values/database-address.js';
import { projectNameOf } from '../values/project-name.js';
import { isoTime } from '../values/time.js';
import { processActor } from './actor.js';
import { ownDataDirectory } from './data-lock.js';
import { openDatabase } from './database.js';
import { dataFiles, isOnCluster, requireDataConfig } from './local-config.js';
import { whileOpen } from './opened.js';
import type { Settings } from './settings.js';

/** The flywheel of a directory with a name, as a database keeps it. */
async function placeOf(store: Store, name: string | null): Promise<ProjectPlace> {
  const { token, flywheel } = await store.read((tx) => requireRegistration(tx, null));
  const unsaid = { squadsProgram: SQUADS_PROGRAM, facts: {}, minOperatorSol: null, maxBatchRent: null };
  return {
    name: name ?? flywheel.name ?? projectNameOf(token.symbol) ?? 'flywheel',
    place: flywheel.place ?? unsaid,
  };
}

const noteCopy = (tx: StoreTransaction): Promise<void> =>
  tx.audit.append({
    ...{ tokenId: null, actor: processActor(), action: 'copy', subject: null, detail: {} },
    dateCreated: isoTime(tx.nowMs),
  });

/**
 * Nobody works in the directory meanwhile; what it holds stays as it is.
 * @throws `ERR_USAGE` for a flywheel on a ledger of its own, which a database cannot hold; `ERR_INPUT_INVALID` where the database
 *   holds something else; `ERR_STORE_UNAVAILABLE` while another process works in the directory.
 */
export async function copyIntoDatabase(settings: Settings, address: DatabaseAddress): Promise<DatabaseCopy> {
  const dataDir = settings.dataDir.value;
  const config = requireDataConfig(dataDir);
  if (!isOnCluster(config))
    throw new FlywheelError(
      'ERR_USAGE',
      `The project in ${dataDir} is on the embedded ledger, which cannot be copied to a database.`,
    );
  const { lock, store: path } = dataFiles(dataDir);
  return whileOpen(async (opened) => {
    opened.keep(await ownDataDirectory(lock));
    const from = opened.keep(await openSqliteStore({ path, create: false }));
    const to = opened.keep(await openDatabase(address, {}));
    const place = await placeOf(from, settings.project.value);
    const { tables, wasThere } = await copyStore(from, to, { place, check: noteCopy });
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    return { database: address.shown, project: place.name, rows, tables, wasThere };
  });
}
