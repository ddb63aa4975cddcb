/** What a registration is written into: a data directory, which it makes the project's own, or a database beside others. */
import { join } from 'node:path';
import { SQUADS_PROGRAM } from '../chain/programs.js';
import type { DatabaseAddress } from '../cli/config/database-address.js';
import { typedSending } from '../cli/config/resolve-sending.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import type { ApiKeyCreated, Registration } from '../contract/admin.js';
import type { RegistrationPlan } from '../contract/registration.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { makePrivateDirectory } from '../files/write-file.js';
import type { Places } from '../registration/read-state.js';
import { requireFree, storedProject, storeRegistration, type ToStore } from '../registration/records.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store } from '../store/store.js';
import { randomIds } from '../values/ids.js';
import { PROJECT_NAME_RULE, projectNameOf } from '../values/project-name.js';
import { processActor } from './actor.js';
import { chosenFunds } from './batch-funds.js';
import { clusterText } from './cluster-engine.js';
import { namesNodes, withClusterNodes } from './cluster-nodes.js';
import { databaseOf } from './data-place.js';
import { openDatabase } from './database.js';
import {
  dataFiles,
  isOnCluster,
  projectFiles,
  readApiKey,
  readDataConfig,
  readProjectKey,
  type StoredSigners,
  writeLocalConfig,
  writePrivate,
} from './local-config.js';

/** What is registered, without what only a database needs. */
export type Landed = Omit<ToStore, 'project' | 'plan'> & {
  readonly plan: RegistrationPlan;
  readonly facts: Readonly<Record<string, string>>;
};

/** What came of it. */
export interface Kept {
  readonly registration: Registration;
  readonly apiKey: ApiKeyCreated | null;
  readonly project?: string;
}

export interface RegistrationTarget {
  /** File of a registration of this mint that has begun. */
  unfinishedFile(mint: string): string;
  /** The project that is registered here, or `null`. @throws where another one stands in its way. */
  finished(mint: string, genesisHash: string): Promise<Registration | null>;
  /**
   * Its name, where it has one. @throws `ERR_INPUT_INVALID` where nobody says one, `ERR_LOCAL_ALREADY_EXISTS` where another has
   * it, or has what the project would have.
   */
  named(plan: Pick<RegistrationPlan, 'symbol'>, places: Places): Promise<{ readonly project?: string }>;
  /** Stores it, and its first key for this user; what is stored stays. @param isBegun - was it carried on, so that the key of a crash may be lost? */
  keep(landed: Landed, isBegun: boolean): Promise<Kept>;
}

/** What a target works on. */
export interface TargetPlace {
  readonly ambient: Ambient;
  readonly settings: Settings;
  /** As it was typed. */
  readonly cluster: string;
  readonly dataDir: string;
}

const depsOf = (store: Store) => ({ store, ids: randomIds, actor: processActor() });

async function withStore<Result>(
  opening: Promise<Store>,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await opening;
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

class DirectoryTarget implements RegistrationTarget {
  readonly #place: TargetPlace;

  constructor(place: TargetPlace) {
    this.#place = place;
  }

  unfinishedFile(): string {
    return this.#files.registration;
  }

  /** @throws `ERR_LOCAL_ALREADY_EXISTS` for one of the embedded ledger. */
  async finished(): Promise<Registration | null> {
    const { dataDir } = this.#place;
    const config = readDataConfig(dataDir);
    if (config === undefined) return null;
    if (!isOnCluster(config))
      throw new FlywheelError(
        'ERR_LOCAL_ALREADY_EXISTS',
        `${dataDir} already holds a local flywheel; nothing was changed.`,
        { hint: 'Give another directory with --data-dir.' },
      );
    return withStore(
      openSqliteStore({ path: this.#files.store, create: false, clock: this.#place.ambient.clock }),
      async (store) => {
        return (await storedProject({ store }, 'any'))?.registration ?? null;
      },
    );
  }

  async named(): Promise<Record<never, never>> {
    return {};
  }

  async keep(landed: Landed): Promise<Kept> {
    const { dataDir } = this.#place;
    const { genesisHash } = landed.plan.cluster;
    const stored = await withStore(
      openSqliteStore({ path: this.#files.store, create: true, clock: this.#place.ambient.clock }),
      async (store) => {
        await store.bind(genesisHash);
        const what = { ...landed, project: null };
        return storeRegistration(depsOf(store), what, readApiKey(dataDir) !== null);
      },
    );
    if (stored.apiKey !== null) writePrivate(this.#files.apiKey, `${stored.apiKey.key}\n`);
    this.#writeConfig(landed);
    return stored;
  }

  get #files() {
    return dataFiles(this.#place.dataDir);
  }

  #writeConfig({ plan, places, wanted, facts }: Landed): void {
    const { ambient, settings, cluster, dataDir } = this.#place;
    const { rpcUrl, rpcQuorum } = withClusterNodes(ambient, settings, cluster);
    const config = readDataConfig(dataDir);
    const before = config !== undefined && isOnCluster(config) ? config : undefined;
    writeLocalConfig(dataDir, {
      cluster: {
        genesisHash: plan.cluster.genesisHash,
        mint: places.mint,
        squadsProgram: SQUADS_PROGRAM,
        ...(before !== undefined && !namesNodes(ambient, settings, cluster)
          ? { rpcUrls: before.cluster.rpcUrls, rpcQuorum: before.cluster.rpcQuorum }
          : { rpcUrls: rpcUrl.value.map(({ given }) => given), rpcQuorum: rpcQuorum.value }),
        ...{ facts, sending: { ...before?.cluster.sending, ...typedSending(settings) } },
      },
      signers: { ...before?.signers, ...typedSigners(settings) },
      ...chosenFunds({
        minOperatorSol: wanted.minOperatorSol ?? before?.minOperatorSol,
        maxBatchRent: wanted.maxBatchRent ?? before?.maxBatchRent,
      }),
    });
  }
}

class DatabaseTarget implements RegistrationTarget {
  readonly #place: TargetPlace;
  readonly #address: DatabaseAddress;
  /** Once it is known. */
  #name: string | undefined;

  constructor(place: TargetPlace, address: DatabaseAddress) {
    this.#place = place;
    this.#address = address;
  }

  /** Several may have begun on one machine. */
  unfinishedFile(mint: string): string {
    return join(this.#place.dataDir, `registration-${mint}.json`);
  }

  async finished(mint: string, genesisHash: string): Promise<Registration | null> {
    const { value } = this.#place.settings.project;
    const found = await this.#look(async (store) => {
      await this.#requireSameChain(store, genesisHash);
      return storedProject({ store }, value === null ? { mint } : { name: value });
    });
    this.#name = found?.flywheel.name ?? undefined;
    return found?.registration ?? null;
  }

  async named({ symbol }: Pick<RegistrationPlan, 'symbol'>, places: Places): Promise<{ project: string }> {
    if (this.#name !== undefined) return { project: this.#name };
    const name = this.#place.settings.project.value ?? projectNameOf(symbol);
    if (name === undefined)
      throw new FlywheelError(
        'ERR_INPUT_INVALID',
        `The symbol ${JSON.stringify(symbol)} makes no name for the project.`,
        { hint: `Name it with --project: ${PROJECT_NAME_RULE}.` },
      );
    await this.#look((store) => store.read((tx) => requireFree(tx, places, name)).then(() => null));
    this.#name = name;
    return { project: name };
  }

  async keep(landed: Landed, isBegun: boolean): Promise<Kept> {
    const { dataDir } = this.#place;
    const { project: name } = await this.named(landed.plan, landed.places);
    const stored = await withStore(openDatabase(this.#address, {}), async (store) => {
      await this.#requireSameChain(store, landed.plan.cluster.genesisHash);
      await store.bind(landed.plan.cluster.genesisHash);
      const known = await storedProject({ store }, { name });
      const keyIsKept = readProjectKey(dataDir, name) !== null || (known !== null && !isBegun);
      const { minOperatorSol, maxBatchRent } = chosenFunds(landed.wanted);
      const place = {
        ...{ squadsProgram: SQUADS_PROGRAM, facts: landed.facts },
        minOperatorSol: minOperatorSol ?? known?.flywheel.place?.minOperatorSol ?? null,
        maxBatchRent: maxBatchRent ?? known?.flywheel.place?.maxBatchRent ?? null,
      };
      const what = { ...landed, project: { name, place } };
      return storeRegistration(depsOf(store), what, keyIsKept);
    });
    if (stored.apiKey !== null) {
      const { apiKey } = projectFiles(dataDir, name);
      makePrivateDirectory(join(dataDir, 'api-keys'), 'ERR_CONFIG_INVALID');
      writePrivate(apiKey, `${stored.apiKey.key}\n`);
    }
    return { ...stored, project: name };
  }

  /** Looks into a database that may be empty yet. */
  async #look<Found>(look: (store: Store) => Promise<Found | null>): Promise<Found | null> {
    try {
      return await withStore(openDatabase(this.#address, { schema: 'require' }), look);
    } catch (error) {
      if (isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) return null;
      throw error;
    }
  }

  /** @throws `ERR_CHAIN_MISMATCH` */
  async #requireSameChain(store: Store, genesisHash: string): Promise<void> {
    const { genesis } = await store.progress();
    if (genesis === null || genesis === genesisHash) return;
    throw new FlywheelError(
      'ERR_CHAIN_MISMATCH',
      `The flywheels of the database ${this.#address.shown} are on ${clusterText(genesis)}, and --cluster ${this.#place.cluster} is ${clusterText(genesisHash)}; nothing was changed.`,
      { hint: 'A database holds the flywheels of one cluster: name another, or the cluster that it has.' },
    );
  }
}

/** Programs that were typed are asked from then on. */
function typedSigners({ signers: { operator, burnWallet } }: Settings): StoredSigners {
  const command = ({ value, source }: typeof operator): string | undefined =>
    source === 'flag' && value !== null && 'command' in value ? value.command : undefined;
  const [ofOperator, ofBurnWallet] = [command(operator), command(burnWallet)];
  return {
    ...(ofOperator === undefined ? {} : { operator: ofOperator }),
    ...(ofBurnWallet === undefined ? {} : { burnWallet: ofBurnWallet }),
  };
}

/** The database that the settings name, else the data directory. @throws `ERR_CONFIG_INVALID` where both could be meant. */
export function registrationTarget(place: TargetPlace): RegistrationTarget {
  const address = databaseOf(place.settings);
  return address === null ? new DirectoryTarget(place) : new DatabaseTarget(place, address);
}
