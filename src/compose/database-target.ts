/** A registration into a database, beside other projects, which other machines may register at the same time. */
import { join } from 'node:path';
import { SQUADS_PROGRAM } from '../chain/programs.js';
import type { DatabaseAddress } from '../cli/config/database-address.js';
import { FlywheelError, invariant, isFlywheelError } from '../errors/flywheel-error.js';
import { makePrivateDirectory } from '../files/write-file.js';
import {
  NOT_STORED,
  requireFree,
  type StoredProject,
  storedProject,
  storeRegistration,
  UNCHANGED,
} from '../registration/records.js';
import type { Store } from '../store/store.js';
import { PROJECT_NAME_RULE, projectNameOf } from '../values/project-name.js';
import { processActor } from './actor.js';
import { chosenFunds } from './batch-funds.js';
import { clusterText } from './cluster-engine.js';
import { openDatabase } from './database.js';
import { projectFiles, readProjectKey, writePrivate } from './local-config.js';
import {
  type Beginning,
  holdRegistration,
  type RegistrationHold,
  requireNoneBegun,
} from './registration-hold.js';
import {
  depsOf,
  type Kept,
  type Landed,
  type RegistrationTarget,
  type TargetPlace,
  type ToBegin,
  withStore,
} from './registration-target.js';

/** As the database is told of it. */
const beginningOf = ({ id, takeOver, plan, places }: ToBegin, name: string): Beginning => ({
  wanted: {
    ...{ id, name, genesisHash: plan.cluster.genesisHash, actor: processActor() },
    ...{ mint: places.mint, multisig: places.multisig, vaultIndex: places.vaultIndex },
  },
  takeOver,
});

/** The database of the settings, and what of it lies in the data directory. */
export class DatabaseTarget implements RegistrationTarget {
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

  async finished(mint: string, genesisHash: string): Promise<StoredProject | null> {
    const found = await this.#look((store) => this.#storedIn(store, mint, genesisHash));
    this.#name = found?.flywheel.name ?? undefined;
    return found;
  }

  async #storedIn(store: Store, mint: string, genesisHash: string): Promise<StoredProject | null> {
    const { value } = this.#place.settings.project;
    await this.#requireSameChain(store, genesisHash, UNCHANGED);
    return storedProject({ store }, value === null ? { mint } : { name: value });
  }

  async named(planned: ToBegin): Promise<{ project: string }> {
    if (this.#name !== undefined) return { project: this.#name };
    const { symbol } = planned.plan;
    const name = this.#place.settings.project.value ?? projectNameOf(symbol);
    if (name === undefined)
      throw new FlywheelError(
        'ERR_INPUT_INVALID',
        `The symbol ${JSON.stringify(symbol)} makes no name for the project.`,
        { hint: `Name it with --project: ${PROJECT_NAME_RULE}.` },
      );
    await this.#look(async (store) => {
      await store.read((tx) => requireFree(tx, planned.places, name));
      await requireNoneBegun(this.#address, beginningOf(planned, name));
      return null;
    });
    this.#name = name;
    return { project: name };
  }

  async hold(planned: ToBegin): Promise<RegistrationHold | { readonly refusal: FlywheelError }> {
    const { project: name } = await this.named(planned);
    return withStore(openDatabase(this.#address, {}), (store) =>
      holdRegistration(this.#address, beginningOf(planned, name), () =>
        this.#requireStillNew(store, planned, name),
      ),
    );
  }

  /** What was stored before it had the place to itself is seen now. */
  async #requireStillNew(store: Store, { plan, places }: ToBegin, name: string): Promise<void> {
    const stored = await this.#storedIn(store, places.mint, plan.cluster.genesisHash);
    if (stored === null) {
      await store.read((tx) => requireFree(tx, places, name));
      return;
    }
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `The project ${stored.flywheel.name} was registered meanwhile by another process; this command has sent nothing.`,
      { hint: 'Run the same command again: it finds what is registered.' },
    );
  }

  async keep(landed: Landed, isBegun: boolean): Promise<Kept> {
    const { dataDir } = this.#place;
    const name = this.#name;
    invariant(name !== undefined, 'What is kept has been planned, and has its name.');
    const stored = await withStore(openDatabase(this.#address, {}), async (store) => {
      await this.#requireSameChain(store, landed.plan.cluster.genesisHash, NOT_STORED);
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
  async #requireSameChain(store: Store, genesisHash: string, ending: string): Promise<void> {
    const { genesis } = await store.progress();
    if (genesis === null || genesis === genesisHash) return;
    throw new FlywheelError(
      'ERR_CHAIN_MISMATCH',
      `The flywheels of the database ${this.#address.shown} are on ${clusterText(genesis)}, and --cluster ${this.#place.cluster} is ${clusterText(genesisHash)}; ${ending}.`,
      { hint: 'A database holds the flywheels of one cluster: name another, or the cluster that it has.' },
    );
  }
}
