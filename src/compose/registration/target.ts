/** What a registration is written into: a data directory, which it makes the project's own, or a database beside others. */
import { join } from 'node:path';
import type { RegistrationPlan } from '../../contract/registration.js';
import type { FoundRegistration } from '../../engine/admin/find-registration.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import type { FlywheelRecord } from '../../store/records.js';
import { openSqliteStore } from '../../store/sqlite/open.js';
import type { Store, StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import type { DatabaseAddress } from '../../values/database-address.js';
import { PROJECT_NAME_RULE, projectNameOf } from '../../values/project-name.js';
import { clusterText } from '../cluster-check.js';
import { ownDataDirectory } from '../data-lock.js';
import { dataFiles, isOnCluster, readDataConfig } from '../local-config.js';
import { type Opened, whileOpen } from '../opened.js';
import { databaseOf, lookIntoDatabase, openDatabase } from '../place.js';
import type { Settings } from '../settings.js';
import { NOT_STORED, UNCHANGED } from './records.js';

export class RegistrationTarget {
  readonly #settings: Settings;
  /** `null`: the data directory. */
  readonly #database: DatabaseAddress | null;
  /** As it was typed. */
  readonly #cluster: string;

  /** @throws `ERR_CONFIG_INVALID` where both could be meant. */
  constructor(settings: Settings, cluster: string) {
    this.#settings = settings;
    this.#cluster = cluster;
    this.#database = databaseOf(settings);
  }

  get isDatabase(): boolean {
    return this.#database !== null;
  }

  get #dataDir(): string {
    return this.#settings.dataDir.value;
  }

  /** File of a registration of this mint that has begun; several may have begun in a database. */
  unfinishedFile(mint: string): string {
    return this.isDatabase
      ? join(this.#dataDir, `registration-${mint}.json`)
      : dataFiles(this.#dataDir).registration;
  }

  /** The project's name, which only a database has. @throws `ERR_INPUT_INVALID` where nobody says one. */
  nameOf(symbol: string, stored: FoundRegistration | undefined): string | null {
    if (!this.isDatabase) return null;
    const name = stored?.flywheel.name ?? this.#settings.project.value ?? projectNameOf(symbol);
    if (name !== undefined) return name;
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `The symbol ${JSON.stringify(symbol)} cannot be used as the project's name.`,
      { hint: `Name the project with --project: ${PROJECT_NAME_RULE}.` },
    );
  }

  /**
   * The project that is registered: the only one of a directory; of a database that of the name, else of the mint.
   * @param look - looks at the rest of what is there; not called where there is nothing.
   * @throws where another one stands in its way.
   */
  async find(
    mint: Address,
    genesisHash: string,
    look: (tx: StoreTransaction) => Promise<void> = async () => {},
  ): Promise<FoundRegistration | undefined> {
    const find = async (store: Store) => {
      await this.#requireSameChain(store, genesisHash, UNCHANGED);
      return store.read(async (tx) => {
        await look(tx);
        return (await this.findIn(tx, mint)) ?? null;
      });
    };
    if (this.#database !== null) return (await lookIntoDatabase(this.#database, find)) ?? undefined;
    const config = readDataConfig(this.#dataDir);
    if (config !== undefined && !isOnCluster(config))
      throw new FlywheelError(
        'ERR_LOCAL_ALREADY_EXISTS',
        `${this.#dataDir} already has a local project. Nothing was changed.`,
        { hint: 'Name another directory with --data-dir.' },
      );
    // Before the configuration is written it is not done, whatever the store holds.
    if (config === undefined) return undefined;
    return whileOpen(async (opened) => (await find(opened.keep(await this.#openStore(false)))) ?? undefined);
  }

  /** The same in a transaction. */
  async findIn(tx: StoreTransaction, mint: Address): Promise<FoundRegistration | undefined> {
    const flywheel = await this.#flywheelIn(tx, mint);
    const token = flywheel && (await tx.tokens.get(flywheel.tokenId));
    return token && flywheel && { token, flywheel };
  }

  async #flywheelIn(tx: StoreTransaction, mint: Address): Promise<FlywheelRecord | undefined> {
    if (!this.isDatabase) return (await tx.flywheels.list(1))[0];
    const name = this.#settings.project.value;
    if (name !== null) return tx.flywheels.byName(name);
    const token = await tx.tokens.byMint(mint);
    return token && tx.flywheels.ofToken(token.id);
  }

  /** Nobody else registers anything there until what was opened is closed. @throws `ERR_STORE_UNAVAILABLE` while another does. */
  async lock(opened: Opened): Promise<void> {
    makePrivateDirectory(this.#dataDir, 'ERR_CONFIG_INVALID');
    opened.keep(await ownDataDirectory(dataFiles(this.#dataDir).lock));
    if (this.#database === null) return;
    // Made and brought up to date before anything is paid.
    await (await this.#openStore(true)).close();
    const { lockRegistrations } = await import('../../store/postgres/registration-lock.js');
    opened.keep(await lockRegistrations(this.#database.reveal()));
  }

  /** Writes into the store, which is made where there is none. */
  write<Result>(
    { cluster }: Pick<RegistrationPlan, 'cluster'>,
    work: (tx: StoreTransaction) => Promise<Result>,
  ): Promise<Result> {
    return whileOpen(async (opened) => {
      const store = opened.keep(await this.#openStore(true));
      await this.#requireSameChain(store, cluster.genesisHash, NOT_STORED);
      await store.bind(cluster.genesisHash);
      return store.transaction(work);
    });
  }

  #openStore(create: boolean): Promise<Store> {
    if (this.#database !== null) return openDatabase(this.#database);
    return openSqliteStore({ path: dataFiles(this.#dataDir).store, create });
  }

  /** @throws `ERR_CHAIN_MISMATCH` */
  async #requireSameChain(store: Store, genesisHash: string, ending: string): Promise<void> {
    const { genesis } = await store.progress();
    if (genesis === null || genesis === genesisHash) return;
    const where = this.#database === null ? this.#dataDir : `the database ${this.#database.shown}`;
    throw new FlywheelError(
      'ERR_CHAIN_MISMATCH',
      `The projects of ${where} are on ${clusterText(genesis)}, but --cluster ${this.#cluster} is ${clusterText(genesisHash)}; ${ending}.`,
      {
        hint: 'A database or directory has projects of one cluster only. Use another one, or name its cluster.',
      },
    );
  }
}
