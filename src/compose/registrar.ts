/** `flywheel register`: brings a project of a cluster into a data directory, resumable at every point. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQUADS_PROGRAM } from '../chain/programs.js';
import { withSecondDecoder } from '../chain/rpc/second-decoder.js';
import { multisigAddress } from '../chain/squads/layouts/addresses.js';
import { createKeypairSigner } from '../chain/transaction/signer.js';
import { typedSending } from '../cli/config/resolve-sending.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import type { Registration } from '../contract/admin.js';
import type {
  ClusterRegistration,
  GivenKey,
  Registrar,
  RegistrationInput,
  RegistrationPlan,
  RegistrationResult,
} from '../contract/registration.js';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { makePrivateDirectory } from '../files/write-file.js';
import { landRegistration } from '../registration/land.js';
import { type Planned, planRegistration } from '../registration/plan.js';
import { factsOf, type Places } from '../registration/read-state.js';
import { requireSame, storedRegistration, storeRegistration } from '../registration/records.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import { type Address, address } from '../values/address.js';
import { randomIds } from '../values/ids.js';
import { processActor } from './actor.js';
import { chosenFunds } from './batch-funds.js';
import { namesNodes, requireNamed, withClusterNodes } from './cluster-nodes.js';
import { ownDataDirectory } from './data-lock.js';
import { createFileKeyring } from './file-keyring.js';
import { keyringOf } from './keyring-settings.js';
import {
  dataFiles,
  exists,
  isOnCluster,
  readApiKey,
  readDataConfig,
  type StoredSigners,
  writeLocalConfig,
  writePrivate,
} from './local-config.js';
import { type OwnRpc, openOwnRpc } from './rpc.js';
import {
  begin,
  forgetUnfinished,
  keepUnfinished,
  readUnfinished,
  type UnfinishedRegistration,
} from './unfinished-registration.js';

/** What a registration works on. */
interface Workplace {
  readonly ambient: Ambient;
  readonly settings: Settings;
  /** As it was typed. */
  readonly cluster: string;
  readonly dataDir: string;
}

/** A plan with all that performing it takes. */
interface Ready extends Planned {
  readonly wanted: ClusterRegistration;
  readonly rpc: OwnRpc;
  readonly begun: UnfinishedRegistration;
  /** Keypairs that the data directory is to keep, by address. */
  readonly keys: ReadonlyMap<Address, Uint8Array>;
  /** What was in the data directory when it was planned. */
  readonly found: UnfinishedRegistration | null;
}

class DataDirectoryRegistrar implements Registrar {
  readonly #place: Workplace;
  #rpc: OwnRpc | undefined;
  #ready: Ready | undefined;

  constructor(place: Workplace) {
    this.#place = place;
  }

  async plan(input: RegistrationInput): Promise<RegistrationPlan> {
    const genesisHash = await this.#openRpc();
    const rpc = this.#rpc as OwnRpc;
    const keys = new Map<Address, Uint8Array>();
    const operator = addressOf(input.operator, keys);
    const given = input.burnWallet === null ? null : addressOf(input.burnWallet, keys);
    const wanted: ClusterRegistration = { ...input, operator, burnWallet: given };
    const found = readUnfinished(this.#files.registration);
    const finished = await this.#finished();
    const begun =
      finished === null
        ? begin({ ...wanted, genesisHash }, found, keys)
        : { wanted: {}, burnWallet: given ?? address(finished.burnWallet), createKey: null, sent: null };
    const places = placesOf(wanted, begun, finished);
    if (finished !== null) requireSame(finished, places);
    const chain = {
      reader: withSecondDecoder(rpc.chain),
      genesisHash,
      maxPriorityFeeLamports: rpc.chain.priorityFees?.maxLamports ?? 0n,
      rentOf: await rpc.chain.rent(),
    };
    const planned = await planRegistration(chain, wanted, places, begun.createKey !== null);
    const state = finished !== null ? 'finished' : begun === found ? 'unfinished' : 'new';
    const plan = { ...planned.plan, state } as const;
    this.#ready = { ...planned, plan, wanted, rpc, begun, keys, found };
    return plan;
  }

  async perform(): Promise<RegistrationResult> {
    const ready = this.#ready;
    invariant(ready !== undefined, 'What is performed has been planned.');
    requireFunds(ready.plan);
    makePrivateDirectory(this.#place.dataDir, 'ERR_CONFIG_INVALID');
    const lock = await ownDataDirectory(this.#files.lock);
    try {
      this.#requireUnchanged(ready);
      return await this.#register(ready);
    } finally {
      lock.release();
    }
  }

  async close(): Promise<void> {
    for (const keypair of this.#ready?.keys.values() ?? []) keypair.fill(0);
    await this.#rpc?.close();
  }

  get #files() {
    return dataFiles(this.#place.dataDir);
  }

  /** Opens the nodes, of whichever cluster they are, and from then on of that cluster only. @returns its genesis hash. */
  async #openRpc(): Promise<string> {
    const { ambient, cluster, settings } = this.#place;
    await this.#rpc?.close();
    const nodes = withClusterNodes(ambient, settings, cluster);
    const first = openOwnRpc(ambient, nodes);
    invariant(first !== null, 'A cluster has a node.');
    this.#rpc = first;
    const genesis = await first.facts.genesisHash();
    requireNamed(cluster, genesis);
    await first.close();
    this.#rpc = openOwnRpc(ambient, nodes, { genesis }) ?? first;
    return genesis;
  }

  /** The project that is registered here, or `null`. @throws `ERR_LOCAL_ALREADY_EXISTS` for one of the embedded ledger. */
  async #finished(): Promise<Registration | null> {
    const { dataDir } = this.#place;
    const config = readDataConfig(dataDir);
    if (config === undefined) return null;
    if (!isOnCluster(config))
      throw new FlywheelError(
        'ERR_LOCAL_ALREADY_EXISTS',
        `${dataDir} already holds a local flywheel; nothing was changed.`,
        { hint: 'Give another directory with --data-dir.' },
      );
    const store = await openSqliteStore({
      path: this.#files.store,
      create: false,
      clock: this.#place.ambient.clock,
    });
    try {
      return await storedRegistration({ store });
    } finally {
      await store.close();
    }
  }

  /** @throws `ERR_STORE_UNAVAILABLE` when another process has been at work here since it was planned. */
  #requireUnchanged({ found }: Ready): void {
    const now = readUnfinished(this.#files.registration);
    const text = (one: UnfinishedRegistration | null): string =>
      one === null ? '' : [one.burnWallet, one.createKey, one.sent?.transactions[0]?.signature].join(' ');
    if (text(now) === text(found)) return;
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `Another registration has been at work in ${this.#place.dataDir} meanwhile.`,
      { hint: 'Run the same command again.' },
    );
  }

  async #register(ready: Ready): Promise<RegistrationResult> {
    const { begun, places, rpc, wanted, plan } = ready;
    const files = this.#files;
    this.#keepKeys(ready.keys);
    const ownKeys = createFileKeyring(files.keys);
    const keyring = keyringOf(this.#place.ambient, this.#place.settings)(ownKeys);
    const sent = keepUnfinished(files.registration, begun);
    const reader = withSecondDecoder(rpc.chain);
    const { state, txHash } = await landRegistration({
      ...{ chain: rpc.chain, reader, places, sent, squadsTreasury: ready.squadsTreasury },
      operator: keyring.get(places.operator, 'operator'),
      createKey: begun.createKey === null ? null : ownKeys.get(begun.createKey),
    }).finally(() => keyring.close());
    const stored = await this.#store(ready, { wanted, plan, places, state });
    if (stored.apiKey !== null) writePrivate(files.apiKey, `${stored.apiKey.key}\n`);
    invariant(state.multisig !== null, 'What has landed is there.');
    this.#writeConfig(ready, factsOf(state.multisig, state.token));
    forgetUnfinished(files.registration);
    const createKey = begun.createKey ?? ready.found?.createKey ?? null;
    if (createKey !== null) rmSync(keyFile(files.keys, createKey), { force: true });
    return { cluster: plan.cluster, ...stored, txHash };
  }

  #keepKeys(keys: Ready['keys']): void {
    const { keys: directory } = this.#files;
    makePrivateDirectory(directory, 'ERR_CONFIG_INVALID');
    for (const [owner, keypair] of keys) {
      const file = keyFile(directory, owner);
      if (!exists(file)) writePrivate(file, keypairText(keypair));
    }
  }

  async #store(
    { plan }: Ready,
    what: Parameters<typeof storeRegistration>[1],
  ): ReturnType<typeof storeRegistration> {
    const { ambient, dataDir } = this.#place;
    const store = await openSqliteStore({ path: this.#files.store, create: true, clock: ambient.clock });
    try {
      await store.bind(plan.cluster.genesisHash);
      const deps = { store, ids: randomIds, actor: processActor() };
      return await storeRegistration(deps, what, readApiKey(dataDir) !== null);
    } finally {
      await store.close();
    }
  }

  #writeConfig({ plan, places, wanted }: Ready, facts: Readonly<Record<string, string>>): void {
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

/** The address of a key; one that is to be kept is added to the others. */
function addressOf(given: GivenKey, keys: Map<Address, Uint8Array>): Address {
  if (typeof given === 'string') return address(given);
  const own = createKeypairSigner(given).address;
  keys.set(own, given);
  return own;
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

const keyFile = (directory: string, owner: Address): string => join(directory, `${owner}.json`);

function placesOf(
  wanted: ClusterRegistration,
  { burnWallet, createKey }: UnfinishedRegistration,
  finished: Registration | null,
): Places {
  const made = createKey === null ? null : multisigAddress(createKey).address;
  const multisig = made ?? wanted.multisig ?? finished?.multisig;
  invariant(multisig !== undefined, 'A multisig is made, named or known.');
  return {
    mint: address(wanted.mint),
    owner: address(wanted.owner),
    operator: address(wanted.operator),
    burnWallet,
    multisig: address(multisig),
    vaultIndex: wanted.vaultIndex,
  };
}

/** @throws `ERR_INSUFFICIENT_FUNDS` naming the address to fund. */
function requireFunds({ operator, costs }: RegistrationPlan): void {
  if (costs.missingLamports === '0') return;
  throw new FlywheelError(
    'ERR_INSUFFICIENT_FUNDS',
    `The operator ${operator} lacks ${costs.missingLamports} lamports for the registration; nothing was sent.`,
    { hint: 'Send SOL to that address, then run the same command again.' },
  );
}

/** A registrar for the data directory of the settings; nothing is asked before the first plan. */
export const createRegistrar = (ambient: Ambient, settings: Settings, cluster: string): Registrar =>
  new DataDirectoryRegistrar({ ambient, settings, cluster, dataDir: settings.dataDir.value });
