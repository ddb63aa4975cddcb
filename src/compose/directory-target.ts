/** A registration that makes a data directory its project's own. */
import { SQUADS_PROGRAM } from '../chain/programs.js';
import { typedSending } from '../cli/config/resolve-sending.js';
import type { Settings } from '../cli/config/settings.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { type StoredProject, storedProject, storeRegistration } from '../registration/records.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import { chosenFunds } from './batch-funds.js';
import { namesNodes, withClusterNodes } from './cluster-nodes.js';
import {
  dataFiles,
  isOnCluster,
  readApiKey,
  readBegunConfig,
  type StoredSigners,
  writeLocalConfig,
  writePrivate,
} from './local-config.js';
import { NOTHING_TO_HOLD, type RegistrationHold } from './registration-hold.js';
import {
  depsOf,
  type Kept,
  type Landed,
  type RegistrationTarget,
  type TargetPlace,
  type ToBegin,
  withStore,
} from './registration-target.js';

/** The data directory of the settings. */
export class DirectoryTarget implements RegistrationTarget {
  readonly #place: TargetPlace;

  constructor(place: TargetPlace) {
    this.#place = place;
  }

  unfinishedFile(): string {
    return this.#files.registration;
  }

  /** @throws `ERR_LOCAL_ALREADY_EXISTS` for one of the embedded ledger. */
  async finished(): Promise<StoredProject | null> {
    const { dataDir } = this.#place;
    const config = readBegunConfig(dataDir);
    if (config === undefined) return null;
    if (!isOnCluster(config))
      throw new FlywheelError(
        'ERR_LOCAL_ALREADY_EXISTS',
        `${dataDir} already holds a local flywheel; nothing was changed.`,
        { hint: 'Give another directory with --data-dir.' },
      );
    return withStore(
      openSqliteStore({ path: this.#files.store, create: false, clock: this.#place.ambient.clock }),
      (store) => storedProject({ store }, 'any'),
    );
  }

  async named({ takeOver }: ToBegin): Promise<Record<never, never>> {
    if (takeOver === null) return {};
    throw new FlywheelError('ERR_USAGE', '--take-over is for a project of a database, and none is named.');
  }

  /** The lock of the directory is enough; what was set up before it was had is seen now. */
  async hold(): Promise<RegistrationHold | { readonly refusal: FlywheelError }> {
    const { dataDir } = this.#place;
    if (readBegunConfig(dataDir) === undefined) return NOTHING_TO_HOLD;
    const refusal = new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `Another flywheel has been set up in ${dataDir} meanwhile; this command has sent nothing.`,
      { hint: 'Run the same command again: it finds what is there.' },
    );
    return { refusal };
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
    const config = readBegunConfig(dataDir);
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
