/** `flywheel db …`: migrates, copies to and inspects a database; `db check` also reads a data directory. */
import { clusterName } from '../chain/node-address.js';
import { requireRegistration } from '../engine/admin/project.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { processActor } from '../files/process-identity.js';
import { copyStore } from '../store/copy.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { StoreTransaction } from '../store/store.js';
import type { DatabaseAddress } from '../values/database-address.js';
import { projectNameOf } from '../values/text.js';
import { isoTime } from '../values/time.js';
import type { Ambient } from './context.js';
import { ownDataDirectory } from './data-lock.js';
import { dataFiles, isOnCluster, requireDataConfig } from './local-config.js';
import { whileOpen } from './opened.js';
import { databaseOf, lookIntoStore, openDatabase, requirePlace } from './place.js';
import type { Settings } from './settings.js';

/** @throws `ERR_LOCAL_NOT_FOUND` */
async function checkRows(settings: Settings) {
  requirePlace(settings);
  const broken = await lookIntoStore(settings, (tx) => tx.rules.check(), true);
  if (broken === null)
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', 'The database has no project.', {
      hint: 'Create a project with `flywheel register`, or unset the database address.',
    });
  return broken.map(({ name, what, wrong }) => ({
    ...{ name, ok: wrong === 0 },
    detail: `${wrong === 0 ? 'no' : wrong} ${what}`,
  }));
}

const noteCopy = (tx: StoreTransaction): Promise<void> =>
  tx.audit.append({
    ...{ tokenId: null, actor: processActor(), action: 'copy', subject: null, detail: {} },
    dateCreated: isoTime(tx.nowMs),
  });

/**
 * Locks the directory exclusively during the copy and does not change it.
 * @throws `ERR_USAGE` for a project on the embedded ledger, which cannot be in a database; `ERR_INPUT_INVALID` if the database has
 *  other rows; `ERR_STORE_UNAVAILABLE` while another process works in the directory
 */
async function copyIntoDatabase(settings: Settings, address: DatabaseAddress) {
  const dataDir = settings.dataDir.value;
  const config = requireDataConfig(dataDir);
  if (!isOnCluster(config))
    throw new FlywheelError(
      'ERR_USAGE',
      `The project in ${dataDir} uses the embedded ledger, which cannot be copied to a database.`,
    );
  const { lock, store: path } = dataFiles(dataDir);
  return whileOpen(async (opened) => {
    opened.keep(await ownDataDirectory(lock));
    const from = opened.keep(await openSqliteStore({ path, create: false }));
    const to = opened.keep(await openDatabase(address));
    const registered = await from.read((tx) => requireRegistration(tx, null));
    const project =
      settings.project.value ?? registered.name ?? projectNameOf(registered.symbol) ?? 'flywheel';
    const { tables, wasThere } = await copyStore(from, to, { name: project, check: noteCopy });
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    return { database: address.shown, project, rows, tables, wasThere };
  });
}

export type DatabaseAdmin = ReturnType<typeof createDatabaseAdmin>;
export type DatabaseStatus = Awaited<ReturnType<DatabaseAdmin['status']>>;

export function createDatabaseAdmin(ambient: Ambient, settings: Settings) {
  /** @throws `ERR_CONFIG_INVALID` if no database is named */
  const named = (): DatabaseAddress => {
    const address = settings.database.value;
    if (address !== null) return address;
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No database is set.', {
      hint: 'Set FLYWHEEL_DATABASE_URL, or add --database-url-file FILE.',
    });
  };
  return {
    migrate: async ({ isDryRun }: { readonly isDryRun: boolean }) => {
      const address = named();
      databaseOf(settings);
      const { upgradeStore } = await import('../store/postgres/upgrade.js');
      return { database: address.shown, ...(await upgradeStore({ url: address.reveal(), isDryRun })) };
    },
    /** Copies the data directory into the database. @throws `ERR_INPUT_INVALID` if the database has other rows; nothing was written then */
    copy: async () => copyIntoDatabase(settings, named()),
    status: async () => {
      const address = named();
      const { inspectStore } = await import('../store/postgres/upgrade.js');
      const { genesis, ...status } = await inspectStore(address.reveal());
      const chain = genesis === null ? null : { name: clusterName(genesis), genesisHash: genesis };
      return { database: address.shown, source: address.name, chain, ...status };
    },
    /** Counts rows that break an invariant. `onChain` also checks landed transactions against the chain. */
    check: async ({ onChain }: { readonly onChain: boolean }) => {
      const findings = await checkRows(settings);
      if (!onChain) return findings;
      const { openEngine } = await import('./open-engine.js');
      return whileOpen(async (opened) => {
        const { engine } = opened.keep(await openEngine(ambient, settings));
        return [...findings, ...(await engine.checkChain())];
      });
    },
  };
}
