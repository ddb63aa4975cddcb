/** The destination of a registration: a data directory or a database. */
import { join } from 'node:path';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import type { ProjectRecord } from '../../store/records.js';
import { openSqliteStore } from '../../store/sqlite/open.js';
import type { Store, StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import { PROJECT_NAME_RULE, projectNameOf } from '../../values/text.js';
import { clusterText } from '../cluster-check.js';
import { ownDataDirectory } from '../data-lock.js';
import { clearUnfinished, dataFiles } from '../local-config.js';
import { type Opened, whileOpen } from '../opened.js';
import { databaseOf, lookIntoStore, openDatabase, placeOf } from '../place.js';
import type { Settings } from '../settings.js';
import type { Places } from './plan.js';

const seen = (name: string | null): { readonly hint: string } => ({
  hint:
    name === null
      ? 'Show the project: `flywheel vault`. Use another --data-dir for another project.'
      : `Show the project: \`flywheel vault --project ${name}\`. Another project needs its own name, mint and vault.`,
});

const PLACES = ['mint', 'multisig', 'vaultIndex', 'owner', 'operator', 'burnWallet'] as const;

const words = (name: string): string => name.replace(/[A-Z]/, (letter) => ` ${letter.toLowerCase()}`);

const KEYS: readonly (keyof Places)[] = ['owner', 'operator', 'burnWallet'];
const CHANGED_KEYS = {
  hint: 'The keys of a registered project stay. To continue with other keys: cancel its waiting batches, then register with --multisig in another --data-dir and accept the history there: `flywheel db accept-gap`.',
};

/** @throws `ERR_LOCAL_ALREADY_EXISTS` if the registered project has other addresses */
export function requireSame(project: ProjectRecord, places: Places): void {
  const known: Places = { ...project, mint: project.mintAddress, burnWallet: project.burnWallet };
  const differing = PLACES.filter((name) => known[name] !== places[name]);
  if (differing.length === 0) return;
  const isOfKeys = differing.every((name) => KEYS.includes(name));
  const differs = differing.map(words);
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `The token ${project.symbol} (${project.mintAddress}) is already registered here with another ${differs.join(' and ')}; nothing was stored.`,
    isOfKeys && project.name === null ? CHANGED_KEYS : seen(project.name),
  );
}

/** @throws `ERR_LOCAL_ALREADY_EXISTS` if another project has the mint, the vault or the name */
export async function requireFree(tx: StoreTransaction, places: Places, name: string | null): Promise<void> {
  const others = [
    ['mint', await tx.projects.find({ mintAddress: places.mint })],
    ['vault', await tx.projects.find({ multisig: places.multisig, vaultIndex: places.vaultIndex })],
    ['name', name === null ? undefined : await tx.projects.find({ name })],
  ] as const;
  const [taken] = others.filter(([, other]) => other !== undefined);
  if (taken === undefined) return;
  const [what, other] = taken;
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `The project ${other?.name ?? other?.flywheelId} is already registered here, with the same ${what}; nothing was stored.`,
    seen(other?.name ?? null),
  );
}

export type RegistrationTarget = ReturnType<typeof createTarget>;

/** @param cluster - as given, for messages. @throws `ERR_CONFIG_INVALID` if database and data directory are ambiguous */
export function createTarget(settings: Settings, cluster: string, genesisHash: string) {
  const dataDir = settings.dataDir.value;
  const database = databaseOf(settings);
  const isDatabase = database !== null;

  /** @throws `ERR_CHAIN_MISMATCH` */
  async function requireSameChain(tx: StoreTransaction): Promise<void> {
    const { genesis } = await tx.lineages.progress();
    if (genesis === null || genesis === genesisHash) return;
    const where = isDatabase ? `the database ${database.shown}` : dataDir;
    throw new FlywheelError(
      'ERR_CHAIN_MISMATCH',
      `The projects of ${where} are on ${clusterText(genesis)}, but --cluster ${cluster} is ${clusterText(genesisHash)}; nothing was stored.`,
      {
        hint: 'A database or directory has projects of one cluster only. Use another --data-dir or database, or another --cluster.',
      },
    );
  }

  const openStore = (): Promise<Store> =>
    isDatabase ? openDatabase(database) : openSqliteStore({ path: dataFiles(dataDir).store });

  /** The registered project: a directory's only one; in a database the named one, else the one with this mint. */
  async function findIn(tx: StoreTransaction, mint: Address): Promise<ProjectRecord | undefined> {
    if (!isDatabase) return (await tx.projects.list(1))[0];
    const name = settings.project.value;
    return tx.projects.find(name === null ? { mintAddress: mint } : { name });
  }

  return {
    genesisHash,
    isDatabase,

    /** File of an unfinished registration. A database may have several, one for each mint. */
    unfinishedFile: (mint: Address): string =>
      isDatabase ? join(dataDir, `registration-${mint}.json`) : dataFiles(dataDir).registration,

    /** `null` for a data directory. @throws `ERR_INPUT_INVALID` if the symbol gives no valid name and none is set */
    nameOf(symbol: string, stored: ProjectRecord | undefined): string | null {
      if (!isDatabase) return null;
      const name = stored?.name ?? settings.project.value ?? projectNameOf(symbol);
      if (name !== undefined) return name;
      throw new FlywheelError(
        'ERR_INPUT_INVALID',
        `The symbol ${JSON.stringify(symbol)} cannot be used as the project's name.`,
        { hint: `Add --project NAME: ${PROJECT_NAME_RULE}.` },
      );
    },

    /** Reads the store; `null` if there is none. @throws `ERR_LOCAL_ALREADY_EXISTS` for a local project, `ERR_CHAIN_MISMATCH` */
    async look<Found>(look: (tx: StoreTransaction) => Promise<Found>): Promise<Found | null> {
      // A cluster project without configuration is unfinished, whatever the store has.
      if (placeOf(settings)?.kind === 'ledger')
        throw new FlywheelError(
          'ERR_LOCAL_ALREADY_EXISTS',
          `${dataDir} already has a local project. Nothing was changed.`,
          { hint: 'Use another directory: --data-dir.' },
        );
      return lookIntoStore(settings, async (tx) => {
        await requireSameChain(tx);
        return look(tx);
      });
    },

    findIn,

    /** The registered project. @throws as {@link requireSame}, or {@link requireFree} if there is none */
    async checkIn(tx: StoreTransaction, places: Places, name: string | null) {
      const known = await findIn(tx, places.mint);
      if (known === undefined) await requireFree(tx, places, name);
      else requireSame(known, places);
      return known;
    },

    /** Locks registrations until `opened` is closed. @throws `ERR_STORE_UNAVAILABLE` while another process registers */
    async lock(opened: Opened): Promise<void> {
      makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
      opened.keep(await ownDataDirectory(dataFiles(dataDir).lock));
      if (!isDatabase) return clearUnfinished(dataDir);
      // Creates or migrates the schema before anything is paid.
      await (await openStore()).close();
      const { lockRegistrations } = await import('../../store/postgres/upgrade.js');
      opened.keep(await lockRegistrations(database.reveal()));
    },

    write: <Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result> =>
      whileOpen(async (opened) => {
        const store = opened.keep(await openStore());
        await store.read(requireSameChain);
        return store.transaction(async (tx) => {
          await tx.lineages.bind(genesisHash);
          return work(tx);
        });
      }),
  };
}
