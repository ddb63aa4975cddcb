/**
 * `flywheel register`: brings a project of a cluster into a data directory or a database. Its steps (keys, what was begun, chain,
 * store, configuration) each look first at what is there, so that whatever cuts it off, the same command goes on.
 */
import { dirname } from 'node:path';
import { clusterName, isMoniker, nodeAddress, requireQuorum } from '../../chain/node-address.js';
import { withSecondDecoder } from '../../chain/rpc/second-decoder.js';
import { multisigAddress } from '../../chain/squads/addresses.js';
import { createKeypairSigner } from '../../chain/transaction/sign.js';
import type {
  ClusterRegistration,
  GivenKey,
  Registrar,
  RegistrationInput,
  RegistrationPlan,
  RegistrationResult,
} from '../../contract/registration.js';
import type { FoundRegistration } from '../../engine/admin/find-registration.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import { type Address, address } from '../../values/address.js';
import type { Ambient } from '../context.js';
import { createFileKeyring, openKeyring } from '../keyring.js';
import {
  apiKeyFile,
  type ClusterConfig,
  dataFiles,
  isOnCluster,
  readDataConfig,
  readSecret,
  writeLocalConfig,
  writePrivate,
} from '../local-config.js';
import { whileOpen } from '../opened.js';
import { isOwn, type OwnRpc, openOwnRpc } from '../rpc.js';
import type { Setting, Settings } from '../settings.js';
import { landRegistration } from './land.js';
import { type Planned, planRegistration } from './plan.js';
import { requireFree, requireSame, storeRegistration } from './records.js';
import { factsOf, type Places } from './state.js';
import { RegistrationTarget } from './target.js';
import {
  begin,
  forgetUnfinished,
  readUnfinished,
  type UnfinishedRegistration,
  writeUnfinished,
} from './unfinished.js';

/** A plan with all that performing it takes. */
interface Ready extends Planned {
  readonly wanted: ClusterRegistration;
  readonly rpc: OwnRpc;
  readonly name: string | null;
  readonly begun: UnfinishedRegistration;
  /** Keypairs that the data directory is to keep, by address. */
  readonly keys: ReadonlyMap<Address, Uint8Array>;
  /** What was in the data directory when it was planned. */
  readonly found: UnfinishedRegistration | null;
}

/** A registrar for the data directory or the database of the settings; nothing is asked before the first plan. */
export function createRegistrar(ambient: Ambient, settings: Settings, cluster: string): Registrar {
  const target = new RegistrationTarget(settings, cluster);
  let rpc: OwnRpc | undefined;
  let ready: Ready | undefined;
  /** The nodes, of whichever cluster they are, and from then on of that cluster only. */
  const openCluster = async (): Promise<{ rpc: OwnRpc; genesisHash: string }> => {
    await rpc?.close();
    const nodes = withClusterNodes(settings, cluster);
    rpc = openOwnRpc(ambient, nodes) ?? undefined;
    const genesisHash = await rpc?.reader.genesisHash();
    invariant(rpc !== undefined && genesisHash !== undefined, 'A cluster has a node.');
    requireNamed(cluster, genesisHash);
    await rpc.close();
    rpc = openOwnRpc(ambient, nodes, { genesis: genesisHash }) ?? rpc;
    return { rpc, genesisHash };
  };
  return {
    plan: async (input) => {
      ready = await planned(target, input, await openCluster());
      return ready.plan;
    },
    perform: async () => {
      const agreed = ready;
      invariant(agreed !== undefined, 'What is performed has been planned.');
      requireFunds(agreed.plan);
      return whileOpen(async (opened) => {
        await target.lock(opened);
        await requireUnchanged(target, agreed);
        return register(ambient, settings, cluster, target, agreed);
      });
    },
    close: async () => {
      for (const keypair of ready?.keys.values() ?? []) keypair.fill(0);
      await rpc?.close();
    },
  };
}

/** Looks at everything, and says what performing it will do. */
async function planned(
  target: RegistrationTarget,
  input: RegistrationInput,
  { rpc, genesisHash }: { readonly rpc: OwnRpc; readonly genesisHash: string },
): Promise<Ready> {
  const { chain } = rpc;
  const keys = new Map<Address, Uint8Array>();
  const operator = addressOf(input.operator, keys);
  const given = input.burnWallet === null ? null : addressOf(input.burnWallet, keys);
  const givenKeys = new Set(keys.keys());
  const wanted: ClusterRegistration = { ...input, operator, burnWallet: given };
  const mint = address(input.mint);
  const found = readUnfinished(target.unfinishedFile(mint));
  const stored = await target.find(mint, genesisHash);
  const begun: UnfinishedRegistration =
    stored === undefined
      ? begin({ ...wanted, genesisHash }, found, keys)
      : { wanted: {}, burnWallet: given ?? stored.token.burnWallet, createKey: null, sent: null };
  const places = placesOf(wanted, begun, stored);
  if (stored !== undefined) requireSame(stored, places);
  const onChain = {
    ...{ reader: withSecondDecoder(chain), genesisHash, rentOf: await chain.rent() },
    maxPriorityFeeLamports: chain.fees.maxLamports,
  };
  const { plan, ...rest } = await planRegistration(onChain, wanted, places, begun.createKey !== null);
  const name = target.nameOf(plan.symbol, stored);
  if (stored === undefined) await target.find(mint, genesisHash, (tx) => requireFree(tx, places, name));
  const isNew = (key: Address | null): boolean => key !== null && keys.has(key) && !givenKeys.has(key);
  const shown: RegistrationPlan = {
    ...withoutMade(plan, { multisig: isNew(begun.createKey), burnWallet: isNew(begun.burnWallet) }),
    ...(name === null ? {} : { project: name }),
    state: stored !== undefined ? 'finished' : begun === found ? 'unfinished' : 'new',
  };
  return { ...rest, plan: shown, wanted, rpc, name, begun, keys, found };
}

/** What another process has done since it was planned is seen now. @throws `ERR_STORE_UNAVAILABLE` where it has. */
async function requireUnchanged(
  target: RegistrationTarget,
  { found, plan, places, name }: Ready,
): Promise<void> {
  const { mint } = places;
  const isFinished = plan.state === 'finished';
  const now = readUnfinished(target.unfinishedFile(mint));
  const stored = await target.find(mint, plan.cluster.genesisHash);
  if (JSON.stringify(now) !== JSON.stringify(found) || (stored !== undefined) !== isFinished)
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      'Another registration ran here in the meantime. This command sent nothing.',
      { hint: 'Run the same command again.' },
    );
  if (!isFinished) await target.find(mint, plan.cluster.genesisHash, (tx) => requireFree(tx, places, name));
}

async function register(
  ambient: Ambient,
  settings: Settings,
  cluster: string,
  target: RegistrationTarget,
  { plan, wanted, places, name, begun, keys, found, rpc, squadsTreasury }: Ready,
): Promise<RegistrationResult> {
  const { value: dataDir } = settings.dataDir;
  const files = createFileKeyring(dataFiles(dataDir).keys);
  const unfinished = target.unfinishedFile(places.mint);
  for (const [owner, keypair] of keys) files.keep(owner, keypair);
  writeUnfinished(unfinished, begun);
  const keyring = openKeyring(ambient, settings);
  const { state, txHash } = await landRegistration({
    ...{ chain: rpc.chain, reader: withSecondDecoder(rpc.chain), places, squadsTreasury },
    ...{ agreed: plan.facts, sent: begun.sent },
    operator: keyring.get(places.operator, 'operator'),
    createKey: begun.createKey === null ? null : files.get(begun.createKey),
    keep: (sent) => writeUnfinished(unfinished, { ...begun, sent }),
    sleep: (ms) => ambient.sleep(ms),
  }).finally(() => keyring.close());
  invariant(state.multisig !== null, 'What has landed is there.');
  const facts = factsOf(state.multisig, state.token);
  const keyFile = apiKeyFile(dataDir, name);
  const stored = await target.write(plan, async (tx) => {
    const known = await target.findIn(tx, places.mint);
    // The key of a run that was cut off may be lost; that of another machine is not.
    const keyIsKept =
      readSecret(keyFile) !== null || (target.isDatabase && known !== undefined && found === null);
    return storeRegistration(tx, { wanted, plan, places, state, facts, name }, known, keyIsKept);
  });
  if (stored.apiKey !== null) {
    if (name !== null) makePrivateDirectory(dirname(keyFile), 'ERR_CONFIG_INVALID');
    writePrivate(keyFile, `${stored.apiKey.key}\n`);
  }
  if (!target.isDatabase) writeLocalConfig(dataDir, configOf(settings, cluster, plan));
  forgetUnfinished(unfinished);
  const createKey = begun.createKey ?? found?.createKey ?? null;
  if (createKey !== null) files.forget(createKey);
  const project = name === null ? {} : { project: name };
  return { cluster: plan.cluster, ...stored, ...project, txHash };
}

/** What the data directory keeps of the settings: what was typed now, else what it had before. */
function configOf(settings: Settings, cluster: string, plan: RegistrationPlan): ClusterConfig {
  const config = readDataConfig(settings.dataDir.value);
  const before = config !== undefined && isOnCluster(config) ? config : undefined;
  const { rpcUrl, rpcQuorum, maxPriorityFee, commitment } = withClusterNodes(settings, cluster);
  const namesNodes = !isMoniker(cluster) || isOwn(settings.rpcUrl);
  const nodes = { rpcUrls: rpcUrl.value.map(({ given }) => given), rpcQuorum: rpcQuorum.value };
  const typed = <Value>({ value, source }: Setting<Value>, stored: Value | undefined): Value | undefined =>
    source === 'flag' ? value : stored;
  const command = (role: 'operator' | 'burnWallet'): string | undefined => {
    const { value, source } = settings.signers[role];
    return source === 'flag' && value !== null && 'command' in value ? value.command : before?.signers[role];
  };
  return {
    cluster: {
      genesisHash: plan.cluster.genesisHash,
      ...(before === undefined || namesNodes ? nodes : before.cluster),
      maxPriorityFee: typed(maxPriorityFee, before?.cluster.maxPriorityFee),
      commitment: typed(commitment, before?.cluster.commitment),
    },
    signers: { operator: command('operator'), burnWallet: command('burnWallet') },
  };
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
  const { address: own } = createKeypairSigner(given);
  keys.set(own, given);
  return own;
}

function placesOf(
  wanted: ClusterRegistration,
  { burnWallet, createKey }: UnfinishedRegistration,
  stored: FoundRegistration | undefined,
): Places {
  const made = createKey === null ? null : multisigAddress(createKey).address;
  const multisig = made ?? wanted.multisig ?? stored?.flywheel.multisig;
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
    `Insufficient funds: the operator ${operator} needs ${costs.missingLamports} more lamports for the registration. Nothing was sent.`,
    { hint: 'Send SOL to the operator, then run the same command again.' },
  );
}

/** Names of clusters as people type them. */
const NAMES: Readonly<Record<string, string>> = { mainnet: 'mainnet-beta' };

/** The settings with the nodes of the cluster: those that were named, else its public one. @throws `ERR_CONFIG_INVALID` */
function withClusterNodes(settings: Settings, cluster: string): Settings {
  if (settings.rpcProblem !== null) throw settings.rpcProblem;
  const { rpcUrl, rpcQuorum } = settings;
  const own = nodeAddress(cluster, '--cluster');
  const others = rpcUrl.source === 'flag' ? rpcUrl.value : [];
  const nodes = !isOwn(rpcUrl) ? [own] : isMoniker(cluster) ? rpcUrl.value : [own, ...others];
  const chosen: Settings = {
    ...settings,
    rpcUrl: { value: nodes, source: isOwn(rpcUrl) ? rpcUrl.source : 'flag' },
    rpcQuorum: isOwn(rpcQuorum) ? rpcQuorum : { value: 1, source: 'default' },
  };
  requireQuorum(chosen.rpcUrl.value, chosen.rpcQuorum);
  return chosen;
}

/** @throws `ERR_CHAIN_MISMATCH` when the nodes are not of the cluster that was named. */
function requireNamed(cluster: string, genesisHash: string): void {
  const isPublic = isMoniker(cluster) && cluster !== 'localhost';
  const expected = NAMES[cluster] ?? cluster;
  const name = clusterName(genesisHash);
  if (!isPublic || name === expected) return;
  throw new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    `--cluster ${cluster}: the RPC nodes belong to ${name ?? 'another cluster'} (genesis ${genesisHash}), expected ${expected}.`,
    { hint: 'Name nodes of that cluster with --rpc-url, or leave out --rpc-url to use its public node.' },
  );
}
