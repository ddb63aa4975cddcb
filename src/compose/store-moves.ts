/** `flywheel export` and `import`: which store is read and which is written, and what travels with it. */

import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import type { StoreExported, StoreImported } from '../cli/local-admin.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { makePrivateDirectory } from '../files/write-file.js';
import type { FlywheelRecord, TokenRecord } from '../store/records.js';
import { placeText } from '../store/repositories/flywheels.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store, StoreTransaction } from '../store/store.js';
import { exportStore, type ProjectPlace } from '../store/transfer/export.js';
import { type ExportEnd, type ExportHeader, linesOf, notAnExport } from '../store/transfer/format.js';
import { type ImportTerms, importStore } from '../store/transfer/import.js';
import { projectNameOf } from '../values/project-name.js';
import { isoTime } from '../values/time.js';
import { processActor } from './actor.js';
import { chosenFunds } from './batch-funds.js';
import { ownDataDirectory } from './data-lock.js';
import { databaseOf, requirePlace } from './data-place.js';
import { openDatabase } from './database.js';
import { openExport, writeExport } from './export-file.js';
import {
  type ClusterConfig,
  dataFiles,
  exists,
  isOnCluster,
  readBegunConfig,
  writeLocalConfig,
} from './local-config.js';

const summaryOf = ({ tables, sha256 }: ExportEnd) => ({
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  tables,
  sha256,
});

/** What stands in the configuration of a directory, as a database keeps it with the flywheel. */
function placeOf(
  config: ClusterConfig,
  flywheel: FlywheelRecord,
  token: TokenRecord,
  name: string | null,
): ProjectPlace {
  const { squadsProgram, facts } = config.cluster;
  const { minOperatorSol, maxBatchRent } = chosenFunds(config);
  return {
    name: name ?? flywheel.name ?? projectNameOf(token.symbol) ?? 'flywheel',
    place: placeText({
      ...{ squadsProgram, facts },
      ...{ minOperatorSol: minOperatorSol ?? null, maxBatchRent: maxBatchRent ?? null },
    }),
  };
}

async function closing<Result>(store: Store, work: (store: Store) => Promise<Result>): Promise<Result> {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function exportDirectory(settings: Settings, config: ClusterConfig, write: Write): Promise<ExportEnd> {
  const path = dataFiles(settings.dataDir.value).store;
  return closing(await openSqliteStore({ path, create: false }), async (store) => {
    const [token] = await store.read((tx) => tx.tokens.list());
    const flywheel = token && (await store.read((tx) => tx.flywheels.ofToken(token.id)));
    if (token === undefined || flywheel === undefined)
      throw new FlywheelError('ERR_LOCAL_NOT_FOUND', 'Nothing is registered here.');
    return exportStore(store, write, { place: placeOf(config, flywheel, token, settings.project.value) });
  });
}

type Write = (text: string) => Promise<void>;

/** @throws `ERR_USAGE` for a flywheel on a ledger of its own, which is not in it. */
export async function exportFrom(ambient: Ambient, settings: Settings, file: string): Promise<StoreExported> {
  const place = requirePlace(settings);
  if (place.kind === 'directory' && !isOnCluster(place.config))
    throw new FlywheelError(
      'ERR_USAGE',
      `The flywheel in ${settings.dataDir.value} is on a ledger of its own, which an export would not hold.`,
      { hint: 'Stop what uses the directory, then copy all of it.' },
    );
  const write = async (to: Write): Promise<ExportEnd> => {
    if (place.kind === 'directory') return exportDirectory(settings, place.config as ClusterConfig, to);
    const store = await openDatabase(place.address, { schema: 'require', readers: 1 });
    return closing(store, (opened) => exportStore(opened, to));
  };
  const end = await writeExport(ambient, file, write);
  return { file: file === '-' ? null : file, ...summaryOf(end) };
}

const requireCluster = ({ genesis }: ExportHeader): void => {
  if (genesis === null) throw notAnExport('is of no chain');
};

/** What was imported can be served: each project says where it is. @returns them */
async function requirePlaces(tx: StoreTransaction): Promise<readonly FlywheelRecord[]> {
  const flywheels = await tx.flywheels.list(Number.MAX_SAFE_INTEGER);
  if (flywheels.length === 0 || flywheels.some(({ name, place }) => name === null || place === null))
    throw notAnExport('has a project that does not say where it is');
  return flywheels;
}

const noteImport = (tx: StoreTransaction, header: ExportHeader): Promise<void> =>
  tx.audit.append({
    ...{ tokenId: null, actor: processActor(), action: 'import', subject: null },
    detail: { genesis: header.genesis, revision: header.revision },
    dateCreated: isoTime(tx.nowMs),
  });

async function fill(
  store: Store,
  ambient: Ambient,
  file: string,
  check: (tx: StoreTransaction) => Promise<unknown> = requirePlaces,
): Promise<StoreImported & { readonly genesis: string }> {
  let header: ExportHeader | undefined;
  const terms: ImportTerms = {
    accept: (found) => {
      requireCluster(found);
      header = found;
    },
    check: async (tx) => {
      await check(tx);
      if (header !== undefined) await noteImport(tx, header);
    },
  };
  const imported = await importStore(store, linesOf(openExport(ambient, file)), terms);
  const projects = imported.tables.find(({ name }) => name === 'flywheels')?.rows ?? 0;
  const { wasThere } = imported;
  return { ...summaryOf(imported), projects, wasThere, genesis: imported.header.genesis ?? '' };
}

/** @throws `ERR_LOCAL_ALREADY_EXISTS` */
function requireNoFlywheel(dataDir: string): void {
  if (readBegunConfig(dataDir) === undefined && !exists(dataFiles(dataDir).registration)) return;
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `${dataDir} already holds a flywheel, or the beginning of one; nothing was changed.`,
    { hint: 'Give another directory with --data-dir.' },
  );
}

/**
 * @throws `ERR_LOCAL_ALREADY_EXISTS` where one is there, `ERR_USAGE` where no node is named, `ERR_STORE_UNAVAILABLE` while another
 *   process works in the directory.
 */
async function importDirectory(ambient: Ambient, settings: Settings, file: string): Promise<StoreImported> {
  const dataDir = settings.dataDir.value;
  requireNoFlywheel(dataDir);
  if (settings.rpcUrl.value.length === 0)
    throw new FlywheelError('ERR_USAGE', 'No RPC node is named; an export holds none.', {
      hint: 'Name the nodes of the data directory with --rpc-url or FLYWHEEL_RPC_URL, or a database to import into.',
    });
  makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  const lock = await ownDataDirectory(dataFiles(dataDir).lock);
  try {
    requireNoFlywheel(dataDir);
    return await fillDirectory(ambient, settings, file);
  } finally {
    lock.release();
  }
}

async function fillDirectory(ambient: Ambient, settings: Settings, file: string): Promise<StoreImported> {
  const dataDir = settings.dataDir.value;
  const { rpcUrl, rpcQuorum } = settings;
  const store = await openSqliteStore({ path: dataFiles(dataDir).store, clock: ambient.clock });
  return closing(store, async (opened) => {
    const { genesis, ...imported } = await fill(opened, ambient, file, async (tx) => {
      if ((await requirePlaces(tx)).length > 1)
        throw notAnExport('holds several projects, and a data directory has room for one');
    });
    const found = await opened.read(async (tx) => {
      const [flywheel] = await requirePlaces(tx);
      return { flywheel, token: flywheel && (await tx.tokens.get(flywheel.tokenId)) };
    });
    const { flywheel, token } = found;
    if (token === undefined || flywheel?.place == null) throw notAnExport('has no project');
    const { squadsProgram, facts, minOperatorSol, maxBatchRent } = flywheel.place;
    // Until this is written there is no flywheel in the directory, whatever its store holds.
    writeLocalConfig(dataDir, {
      cluster: {
        ...{ genesisHash: genesis, mint: token.mintAddress, squadsProgram, facts },
        ...{ rpcUrls: rpcUrl.value.map(({ given }) => given), rpcQuorum: rpcQuorum.value },
      },
      ...(minOperatorSol === null ? {} : { minOperatorSol }),
      ...(maxBatchRent === null ? {} : { maxBatchRent }),
    });
    return imported;
  });
}

/** Into the database of the settings, else into the data directory. */
export async function importInto(ambient: Ambient, settings: Settings, file: string): Promise<StoreImported> {
  const address = databaseOf(settings);
  if (address === null) return importDirectory(ambient, settings, file);
  const store = await openDatabase(address, {});
  const { genesis: _genesis, ...imported } = await closing(store, (opened) => fill(opened, ambient, file));
  return imported;
}
