/** `flywheel register`: brings a project of a cluster into a data directory or a database, resumable at every point. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { withSecondDecoder } from '../chain/rpc/second-decoder.js';
import { multisigAddress } from '../chain/squads/addresses.js';
import { createKeypairSigner } from '../chain/transaction/signer.js';
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
import { landRegistration, type SentRegistration } from '../registration/land.js';
import { type Planned, planRegistration } from '../registration/plan.js';
import { factsOf, type Places } from '../registration/read-state.js';
import { requireSame } from '../registration/records.js';
import { type Address, address } from '../values/address.js';
import { requireNamed, withClusterNodes } from './cluster-nodes.js';
import { ownDataDirectory } from './data-lock.js';
import { databaseOf } from './data-place.js';
import { DatabaseTarget } from './database-target.js';
import { DirectoryTarget } from './directory-target.js';
import { createFileKeyring } from './file-keyring.js';
import { keyringOf } from './keyring-settings.js';
import { dataFiles, exists, writePrivate } from './local-config.js';
import { NOTHING_TO_HOLD, type RegistrationHold } from './registration-hold.js';
import type { RegistrationTarget, TargetPlace } from './registration-target.js';
import { type OwnRpc, openOwnRpc } from './rpc.js';
import {
  begin,
  forgetUnfinished,
  idFor,
  keepUnfinished,
  readUnfinished,
  type UnfinishedRegistration,
} from './unfinished-registration.js';

/** A plan with all that performing it takes. */
interface Ready extends Planned {
  readonly takeOver: string | null;
  readonly wanted: ClusterRegistration;
  readonly rpc: OwnRpc;
  readonly begun: UnfinishedRegistration;
  /** Keypairs that the data directory is to keep, by address. */
  readonly keys: ReadonlyMap<Address, Uint8Array>;
  /** What was in the data directory when it was planned. */
  readonly found: UnfinishedRegistration | null;
}

class DataDirectoryRegistrar implements Registrar {
  readonly #place: TargetPlace;
  readonly #target: RegistrationTarget;
  #rpc: OwnRpc | undefined;
  #ready: Ready | undefined;

  constructor(place: TargetPlace) {
    this.#place = place;
    this.#target = registrationTarget(place);
  }

  async plan(input: RegistrationInput, takeOver: string | null): Promise<RegistrationPlan> {
    const genesisHash = await this.#openRpc();
    const rpc = this.#rpc as OwnRpc;
    const keys = new Map<Address, Uint8Array>();
    const operator = addressOf(input.operator, keys);
    const given = input.burnWallet === null ? null : addressOf(input.burnWallet, keys);
    const wanted: ClusterRegistration = { ...input, operator, burnWallet: given };
    const found = readUnfinished(this.#target.unfinishedFile(input.mint));
    const stored = await this.#target.finished(input.mint, genesisHash);
    const finished = stored?.registration ?? null;
    const givenKeys = new Set(keys.keys());
    const begun =
      finished === null
        ? begin({ ...wanted, genesisHash }, found, keys)
        : {
            ...{ id: idFor(found), wanted: {}, burnWallet: given ?? address(finished.burnWallet) },
            ...{ createKey: null, sent: null },
          };
    const places = placesOf(wanted, begun, finished);
    if (stored !== null) requireSame(stored, places);
    const chain = {
      reader: withSecondDecoder(rpc.chain),
      genesisHash,
      maxPriorityFeeLamports: rpc.chain.priorityFees?.maxLamports ?? 0n,
      rentOf: await rpc.chain.rent(),
    };
    const planned = await planRegistration(chain, wanted, places, begun.createKey !== null);
    const state: RegistrationPlan['state'] =
      finished !== null ? 'finished' : begun === found ? 'unfinished' : 'new';
    const toBegin = { ...planned, id: begun.id, takeOver };
    const isNew = (key: Address | null): boolean => key !== null && keys.has(key) && !givenKeys.has(key);
    const isMade = { multisig: isNew(begun.createKey), burnWallet: isNew(begun.burnWallet) };
    const shown = withoutMade(planned.plan, isMade);
    const plan = { ...shown, ...(await this.#target.named(toBegin)), state };
    this.#ready = { ...planned, plan, takeOver, wanted, rpc, begun, keys, found };
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

  /** @throws `ERR_STORE_UNAVAILABLE` when another process has been at work here since it was planned. */
  #requireUnchanged({ found, wanted }: Ready): void {
    const now = readUnfinished(this.#target.unfinishedFile(wanted.mint));
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
    const { begun, wanted } = ready;
    const made = this.#keepKeys(ready.keys);
    const unfinished = this.#target.unfinishedFile(wanted.mint);
    const sent = keepUnfinished(unfinished, begun);
    const hold = await this.#hold(ready, [...made, unfinished]);
    try {
      const result = await this.#landAndStore(ready, sent, hold);
      forgetUnfinished(unfinished);
      const createKey = begun.createKey ?? ready.found?.createKey ?? null;
      if (createKey !== null) rmSync(keyFile(this.#files.keys, createKey), { force: true });
      return result;
    } catch (error) {
      // Where that fails it is told from which machine it goes on.
      if (sent.read() === null) await hold.release().catch(() => undefined);
      throw error;
    } finally {
      await hold.close();
    }
  }

  /** Has it to itself; a finished one makes nothing that another could make as well. @param made - goes where it is refused. */
  async #hold(ready: Ready, made: readonly string[]): Promise<RegistrationHold> {
    const { plan, begun, places, takeOver, found } = ready;
    if (plan.state === 'finished') return NOTHING_TO_HOLD;
    const hold = await this.#target.hold({ id: begun.id, takeOver, plan, places });
    if (!('refusal' in hold)) return hold;
    if (found === null) for (const file of made) rmSync(file, { force: true });
    throw hold.refusal;
  }

  async #landAndStore(
    ready: Ready,
    sent: SentRegistration,
    { check }: RegistrationHold,
  ): Promise<RegistrationResult> {
    const { begun, places, rpc, wanted, plan } = ready;
    const ownKeys = createFileKeyring(this.#files.keys);
    const keyring = keyringOf(this.#place.ambient, this.#place.settings)(ownKeys);
    const reader = withSecondDecoder(rpc.chain);
    const { state, txHash } = await landRegistration({
      ...{ chain: rpc.chain, reader, places, sent, check, squadsTreasury: ready.squadsTreasury },
      agreed: plan.facts,
      operator: keyring.get(places.operator, 'operator'),
      createKey: begun.createKey === null ? null : ownKeys.get(begun.createKey),
    }).finally(() => keyring.close());
    invariant(state.multisig !== null, 'What has landed is there.');
    const facts = factsOf(state.multisig, state.token);
    const stored = await this.#target.keep({ wanted, plan, places, state, facts }, ready.found !== null);
    return { cluster: plan.cluster, ...stored, txHash };
  }

  /** @returns the files that were not there. */
  #keepKeys(keys: Ready['keys']): readonly string[] {
    const { keys: directory } = this.#files;
    makePrivateDirectory(directory, 'ERR_CONFIG_INVALID');
    const made: string[] = [];
    for (const [owner, keypair] of keys) {
      const file = keyFile(directory, owner);
      if (exists(file)) continue;
      writePrivate(file, keypairText(keypair));
      made.push(file);
    }
    return made;
  }
}

/** The next run makes other keys: who sent tokens to an address of these would lose them if this run ends before it registers. */
const withoutMade = (
  plan: RegistrationPlan,
  isMade: Readonly<Record<'multisig' | 'burnWallet', boolean>>,
): RegistrationPlan => ({
  ...plan,
  ...(isMade.multisig ? { multisig: null, vault: null } : {}),
  ...(isMade.burnWallet ? { burnWallet: null } : {}),
  steps: plan.steps.map((step) =>
    isMade[step.what === 'burnTokenAccount' ? 'burnWallet' : 'multisig'] ? { ...step, address: null } : step,
  ),
});

/** The address of a key; one that is to be kept is added to the others. */
function addressOf(given: GivenKey, keys: Map<Address, Uint8Array>): Address {
  if (typeof given === 'string') return address(given);
  const own = createKeypairSigner(given).address;
  keys.set(own, given);
  return own;
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

/** The database that the settings name, else the data directory. @throws `ERR_CONFIG_INVALID` where both could be meant. */
function registrationTarget(place: TargetPlace): RegistrationTarget {
  const database = databaseOf(place.settings);
  return database === null ? new DirectoryTarget(place) : new DatabaseTarget(place, database);
}

/** A registrar for the data directory or the database of the settings; nothing is asked before the first plan. */
export const createRegistrar = (ambient: Ambient, settings: Settings, cluster: string): Registrar =>
  new DataDirectoryRegistrar({ ambient, settings, cluster, dataDir: settings.dataDir.value });
