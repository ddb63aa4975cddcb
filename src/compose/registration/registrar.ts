/**
 * `flywheel register`: registers a project of a cluster in a data directory or a database. Each step (keys, registration file, chain,
 * store, configuration) first checks what exists, so that the same command resumes an interrupted run.
 */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { driftOf } from '../../approval/pins.js';
import { isMoniker } from '../../chain/node-address.js';
import { multisigAddress } from '../../chain/squads/addresses.js';
import { multisigCreateV2 } from '../../chain/squads/builders.js';
import { createAssociatedTokenAccountIdempotent } from '../../chain/tokens/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { createKeypairSigner, generateKeypair, type Signer, sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type {
  ApiKeyCreated,
  ClusterRegistration,
  GivenKey,
  RegistrationInput,
} from '../../contract/admin.js';
import {
  insertFirstKey,
  insertProject,
  projectRecord,
  type Registration,
  registeredMultisig,
  registrationView,
} from '../../engine/admin/project.js';
import { type Failed, findFates, refused } from '../../engine/settle.js';
import { signingTerms, withBudget } from '../../engine/signing-terms.js';
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import { apiKeyFile } from '../../files/directories.js';
import { processActor } from '../../files/process-identity.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import type { ProjectRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { type Address, address } from '../../values/address.js';
import { randomIds } from '../../values/ids.js';
import type { Ambient } from '../context.js';
import { createFileKeyring, openKeyring } from '../keyring.js';
import {
  addressField,
  type ClusterConfig,
  dataFiles,
  isOnCluster,
  readDataConfig,
  readSecret,
  readVersioned,
  versioned,
  writeLocalConfig,
  writePrivate,
} from '../local-config.js';
import { whileOpen } from '../opened.js';
import { isOwn, type OwnRpc, openNamedCluster, withClusterNodes } from '../rpc.js';
import type { Setting, Settings } from '../settings.js';
import {
  checkCaps,
  factsOf,
  isWhole,
  type Places,
  planRegistration,
  readState,
  type StateOnChain,
} from './plan.js';
import { createTarget, type RegistrationTarget, requireFree, requireSame } from './target.js';

type Ready = Awaited<ReturnType<typeof planned>>;

/** Before anything is stored or sent. `unfinished` resumes a registration; `finished` checks it again. */
export type RegistrationPlan = Ready['plan'];
export type RegistrationResult = Awaited<ReturnType<typeof register>>;

export interface RegistrationTerms {
  readonly input: RegistrationInput;
  agree(plan: RegistrationPlan): Promise<boolean>;
}

/**
 * Registers a project; the same call resumes an interrupted registration.
 * @param agree - receives the plan; if it returns `false`, nothing is written or sent, and the result is the plan
 * @throws `ERR_LOCAL_ALREADY_EXISTS` if the directory has or started another project, or the database has one with the same mint, vault
 *  or name; `ERR_INSUFFICIENT_FUNDS`, `ERR_INVALID_REQUEST`, `ERR_UNAVAILABLE`; `ERR_STORE_UNAVAILABLE` while another process
 *  registers, before anything is paid
 */
export const registerProject = (
  ambient: Ambient,
  settings: Settings,
  cluster: string,
  { input, agree }: RegistrationTerms,
): Promise<RegistrationPlan | RegistrationResult> =>
  whileOpen(async (opened) => {
    const rpc = opened.keep(await openNamedCluster(ambient, settings, cluster));
    const target = createTarget(settings, cluster, await rpc.chain.genesisHash());
    const keys = new Map<Address, Uint8Array>();
    opened.keep({
      close: () => {
        for (const keypair of keys.values()) keypair.fill(0);
      },
    });
    const ready = await planned(target, input, rpc, keys);
    if (!(await agree(ready.plan))) return ready.plan;
    requireFunds(ready.plan);
    await target.lock(opened);
    await requireUnchanged(target, ready);
    return register(ambient, settings, cluster, target, ready);
  });

/** Reads everything and makes the plan. @param keys - receives the keypairs that the data directory will store */
async function planned(
  target: RegistrationTarget,
  input: RegistrationInput,
  rpc: OwnRpc,
  keys: Map<Address, Uint8Array>,
) {
  const { chain, reader } = rpc;
  const { genesisHash } = target;
  const operator = addressOf(input.operator, keys);
  const given = input.burnWallet === null ? null : addressOf(input.burnWallet, keys);
  const givenKeys = new Set(keys.keys());
  const wanted: ClusterRegistration = { ...input, operator, burnWallet: given };
  const mint = address(input.mint);
  const found = readBegun(target.unfinishedFile(mint));
  const stored = (await target.look((tx) => target.findIn(tx, mint))) ?? undefined;
  const begun: Unfinished =
    stored === undefined
      ? begin({ ...wanted, genesisHash }, found, keys)
      : { wanted: {}, burnWallet: given ?? stored.burnWallet, createKey: null, sent: null };
  const places = placesOf(wanted, begun, stored);
  if (stored !== undefined) requireSame(stored, places);
  const onChain = {
    ...{ reader, genesisHash, rentOf: await chain.rent() },
    maxPriorityFeeLamports: chain.fees.maxLamports,
  };
  const { plan, squadsTreasury } = await planRegistration(onChain, wanted, places, begun.createKey !== null);
  const name = target.nameOf(plan.symbol, stored);
  if (stored === undefined) await target.look((tx) => requireFree(tx, places, name));
  const isNew = (key: Address | null): boolean => key !== null && keys.has(key) && !givenKeys.has(key);
  const state = stored !== undefined ? 'finished' : begun === found ? 'unfinished' : 'new';
  const shown = {
    ...withoutMade(plan, { multisig: isNew(begun.createKey), burnWallet: isNew(begun.burnWallet) }),
    ...(name === null ? {} : { project: name }),
    state,
  } as const;
  return { plan: shown, places, squadsTreasury, wanted, chain, reader, name, begun, found, keys };
}

/** Repeats the checks under the lock. @throws `ERR_STORE_UNAVAILABLE` if another process registered since the plan was made */
async function requireUnchanged(target: RegistrationTarget, ready: Ready): Promise<void> {
  const { found, plan, places, name } = ready;
  const now = readBegun(target.unfinishedFile(places.mint));
  const stored = await target.look((tx) => target.checkIn(tx, places, name));
  const isFinished = stored != null;
  if (JSON.stringify(now) === JSON.stringify(found) && isFinished === (plan.state === 'finished')) return;
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    'Another registration just ran here. This command sent nothing.',
    { hint: 'Run the same command again.' },
  );
}

async function register(
  ambient: Ambient,
  settings: Settings,
  cluster: string,
  target: RegistrationTarget,
  ready: Ready,
) {
  const { plan, places, name, begun, keys, found } = ready;
  const { value: dataDir } = settings.dataDir;
  const files = createFileKeyring(dataFiles(dataDir).keys);
  const unfinished = target.unfinishedFile(places.mint);
  for (const [owner, keypair] of keys) files.keep(owner, keypair);
  writeBegun(unfinished, begun);
  const { state, txHash } = await whileOpen((opened) =>
    landRegistration({
      ready,
      operator: openKeyring(opened, ambient, settings).get(places.operator, 'operator'),
      createKey: begun.createKey === null ? null : files.get(begun.createKey),
      keep: (sent) => writeBegun(unfinished, { ...begun, sent }),
      sleep: (ms) => ambient.sleep(ms),
    }),
  );
  const keyFile = apiKeyFile(dataDir, name);
  const stored = await target.write(async (tx) => {
    const known = await target.checkIn(tx, places, name);
    // An interrupted run may have lost its key; a key of another machine is in use there.
    const keyIsKept =
      readSecret(keyFile) !== null || (target.isDatabase && known !== undefined && found === null);
    return storeRegistration(tx, ready, state, known, keyIsKept);
  });
  if (stored.apiKey !== null) {
    if (name !== null) makePrivateDirectory(dirname(keyFile), 'ERR_CONFIG_INVALID');
    writePrivate(keyFile, `${stored.apiKey.key}\n`);
  }
  if (!target.isDatabase) writeLocalConfig(dataDir, configOf(settings, cluster, plan));
  forgetBegun(unfinished);
  const createKey = begun.createKey ?? found?.createKey ?? null;
  if (createKey !== null) files.forget(createKey);
  const project = name === null ? {} : { project: name };
  return { cluster: plan.cluster, ...stored, ...project, txHash };
}

/**
 * Stores what is missing: the project and its first API key, in one transaction.
 * @param known - the existing registration
 * @param keyIsKept - a usable first key exists
 */
async function storeRegistration(
  tx: StoreTransaction,
  { places, wanted, plan, name }: Ready,
  state: StateOnChain,
  known: ProjectRecord | undefined,
  keyIsKept: boolean,
): Promise<{ readonly registration: Registration; readonly apiKey: ApiKeyCreated | null }> {
  const deps = { ids: randomIds, actor: processActor() };
  const terms = {
    facts: factsOf(places, state),
    minOperatorSol: wanted.minOperatorSol ?? known?.minOperatorSol ?? null,
    maxBatchRent: wanted.maxBatchRent ?? known?.maxBatchRent ?? null,
  };
  if (known !== undefined) {
    await tx.projects.change({ id: known.id }, terms);
    const apiKey = keyIsKept ? null : await insertFirstKey(deps, tx, known.id, wanted.scopes);
    return { registration: registrationView(known), apiKey };
  }
  const { decimals, supply } = state.token.mint;
  const { mint, ...members } = places;
  const source = {
    ...members,
    ...{ name, tokenName: plan.name, symbol: plan.symbol, mintAddress: mint, decimals, supply },
    tokenProgram: plan.tokenProgram,
    ...{ generation: wanted.tokenGeneration, proofTypes: wanted.proofTypes },
    ...{ ...checkCaps(wanted, decimals), ...terms },
  };
  return insertProject(deps, tx, projectRecord(deps, source, tx.nowMs), wanted.scopes);
}

type Sent = NonNullable<Unfinished['sent']>;

interface Landing {
  readonly ready: Ready;
  readonly operator: Signer;
  /** Its address determines the multisig's; `null` if the multisig exists. */
  readonly createKey: Signer | null;
  /** Stores a signed transaction before it is sent; `null` clears it. */
  keep(sent: Sent | null): void;
  sleep(ms: number): Promise<void>;
}

const POLL_MS = 500;

/**
 * Creates on chain, exactly once, what the registration lacks: resolves the last sent transaction, reads the state, and ends when
 * the finalized state is complete.
 * @returns the complete state, and the transaction that created it; `null` if everything existed
 * @throws `ERR_INVALID_REQUEST` if the chain refuses; `ERR_NOT_VERIFIED` if the state differs from the agreed plan;
 *  `ERR_OUTCOME_UNKNOWN` if no node answers after it was sent: the same call resumes
 */
async function landRegistration(
  landing: Landing,
): Promise<{ readonly state: StateOnChain; readonly txHash: string | null }> {
  const { reader, places, begun } = landing.ready;
  let { sent } = begun;
  let isNew = false;
  for (;;) {
    if (sent !== null && !(await isFinal(landing, sent, isNew).catch(unknownOutcome))) sent = null;
    const state = await readState(reader, places);
    requireAsAgreed(landing.ready, state);
    if (isWhole(state)) return { state, txHash: sent?.signature ?? null };
    sent = await signed(landing, state);
    isNew = true;
    landing.keep(sent);
  }
}

function unknownOutcome(cause: unknown): never {
  if (!isFlywheelError(cause, 'ERR_UNAVAILABLE')) throw cause;
  throw new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The registration was sent, and its outcome is unknown: ${cause.message}`,
    { cause, hint: 'Run the same command again. It resumes, and nothing is paid twice.' },
  );
}

/** Prefix of the facts of the vault's token account, which the plan lacks if the account did not exist. */
const VAULT_ACCOUNT = 'vaultAccount.';

/** @throws `ERR_NOT_VERIFIED`, naming each changed fact */
function requireAsAgreed({ plan: { facts: agreed }, places }: Ready, state: StateOnChain): void {
  const wasOpen = Object.keys(agreed).some((fact) => fact.startsWith(VAULT_ACCOUNT));
  const drift = driftOf(agreed, factsOf(places, state)).filter(
    ({ fact }) => wasOpen || !fact.startsWith(VAULT_ACCOUNT),
  );
  if (drift.length === 0) return;
  const changes = drift.map(({ fact, before, now }) => `${fact} was ${before} and is ${now}`);
  throw new FlywheelError(
    'ERR_NOT_VERIFIED',
    `The plan has changed since it was shown: ${changes.join('; ')}.`,
    { hint: 'Run the same command again and check the new plan.' },
  );
}

/**
 * Resends the same bytes until they are finalized or proven expired.
 * @param isNew - the bytes were certainly never sent before; only then does a refusal prove that they did not land
 * @returns `false` if they are proven never to land
 */
async function isFinal(landing: Landing, sent: Sent, isNew: boolean): Promise<boolean> {
  const { chain } = landing.ready;
  const bytes = Buffer.from(sent.wire, 'base64');
  const units = [
    {
      transactions: [{ signature: sent.signature, bytes }],
      lastValidBlockHeight: BigInt(sent.lastValidBlockHeight),
    },
  ];
  if (isNew) {
    const [rejection] = await chain.submit([bytes], [true]);
    if (rejection != null) throw refusal(landing, refused(rejection));
  }
  for (;;) {
    const [fate] = await findFates(chain, units);
    invariant(fate !== undefined, 'What is asked for is answered.');
    if (fate.kind === 'expired') return false;
    if (fate.kind === 'failed') throw refusal(landing, fate);
    if (fate.kind === 'landed' && fate.isFinal) return true;
    if (fate.kind === 'open') await chain.submit([bytes]);
    await landing.sleep(chain.pollMs ?? POLL_MS);
  }
}

/** Clears the stored transaction: the chain refused it, so a new one may be signed. */
function refusal({ keep }: Landing, { reason, records }: Failed): FlywheelError {
  keep(null);
  const paid = records.length === 0 ? '' : '; the transaction fee was paid';
  return new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The registration failed on chain: ${reason}. Nothing was created${paid}.`,
    { hint: 'Fix the cause, then run the same command again.', exit: EXIT.failedOnChain },
  );
}

async function signed(landing: Landing, state: StateOnChain): Promise<Sent> {
  const { ready, operator, createKey } = landing;
  const instructions = missingInstructions(landing, state);
  const payer = operator.address;
  const terms = await signingTerms(ready.chain, { payer, instructions });
  const { blockhash, lastValidBlockHeight, units } = terms;
  const budgeted = withBudget(instructions, terms, units);
  const message = compileLegacyMessage({ payer, instructions: budgeted, blockhash });
  const signers = state.multisig === null && createKey !== null ? [operator, createKey] : [operator];
  const [{ signature, bytes }] = await sign([message], signers);
  return {
    signature,
    wire: Buffer.from(bytes).toString('base64'),
    lastValidBlockHeight: lastValidBlockHeight.toString(),
  };
}

/** One transaction, so that everything lands or nothing does. */
function missingInstructions(landing: Landing, state: StateOnChain): readonly Instruction[] {
  const { operator, createKey } = landing;
  const { places, squadsTreasury } = landing.ready;
  const { mint, tokenProgram, vault } = state.token.flywheel;
  const instructions: Instruction[] = [];
  if (state.multisig === null) {
    invariant(createKey !== null && squadsTreasury !== null, 'A multisig is made with a key of its own.');
    const { configAuthority: _none, ...rules } = registeredMultisig(places);
    const creation = { createKey: createKey.address, creator: operator.address, treasury: squadsTreasury };
    instructions.push(multisigCreateV2({ ...creation, ...rules, configAuthority: null }));
  }
  const open = (owner: Address): void => {
    instructions.push(
      createAssociatedTokenAccountIdempotent({ payer: operator.address, owner, mint, tokenProgram }),
    );
  };
  if (state.token.vaultAccount === null) open(vault);
  // Idempotent: harmless if another transaction creates the account first.
  if (state.burnTokenAccount.account === null || instructions.length === 0) open(places.burnWallet);
  return instructions;
}

/** The file that records an unfinished registration: its input, its new keys, and the last signed transaction. */
const FILE = z.object({
  /** The command's settings as JSON text; a registration is resumed only with equal ones. */
  wanted: z.record(z.string(), z.string()),
  burnWallet: addressField,
  /** Its address determines the multisig's; `null` if the multisig exists. */
  createKey: addressField.nullable(),
  /** The last signed transaction, stored before it is sent. */
  sent: z.object({ signature: z.string(), wire: z.base64(), lastValidBlockHeight: z.string() }).nullable(),
});

type Unfinished = Readonly<z.infer<typeof FILE>>;

/** @returns `null` without an unfinished registration. @throws `ERR_STORE_UNAVAILABLE` for an unreadable file */
const readBegun = (path: string): Unfinished | null => readVersioned(path, FILE) ?? null;

const writeBegun = (path: string, begun: Unfinished): void => writePrivate(path, versioned(begun));

const forgetBegun = (path: string): void => rmSync(path, { force: true });

const textsOf = (wanted: object): Unfinished['wanted'] =>
  Object.fromEntries(
    Object.entries(wanted)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : JSON.stringify(value)]),
  );

/**
 * Resumes an unfinished registration with the same settings, or replaces one that has sent nothing.
 * @param keys - receives the generated keypairs
 * @throws `ERR_LOCAL_ALREADY_EXISTS` if a different registration has sent something
 */
function begin(
  wanted: ClusterRegistration & { readonly genesisHash: string },
  found: Unfinished | null,
  keys: Map<Address, Uint8Array>,
): Unfinished {
  const texts = textsOf(wanted);
  const names = Object.keys({ ...found?.wanted, ...texts }).sort();
  const differs = names.filter((name) => found?.wanted[name] !== texts[name]);
  if (found !== null && differs.length === 0) return found;
  if (found?.sent != null)
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `An unfinished registration differs from this command in ${differs.join(', ')}. Its transactions may have landed.`,
      { hint: 'Run the original `flywheel register` command to finish it.' },
    );
  const make = (): Address => {
    const keypair = generateKeypair();
    const made = createKeypairSigner(keypair).address;
    keys.set(made, keypair);
    return made;
  };
  // The earlier burn wallet is reused: it may have received funds.
  const earlier = found?.wanted['burnWallet'] === 'null' ? found.burnWallet : undefined;
  return {
    wanted: texts,
    burnWallet: wanted.burnWallet === null ? (earlier ?? make()) : address(wanted.burnWallet),
    createKey: wanted.multisig === null ? make() : null,
    sent: null,
  };
}

/** Values from flags, else the directory's earlier values. */
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

/** Hides addresses of new keys until they are stored: if the run ends first, tokens sent to them would be lost. */
const withoutMade = (
  plan: Awaited<ReturnType<typeof planRegistration>>['plan'],
  isMade: Readonly<Record<'multisig' | 'burnWallet', boolean>>,
) => ({
  ...plan,
  ...(isMade.multisig ? { multisig: null, vault: null } : {}),
  ...(isMade.burnWallet ? { burnWallet: null } : {}),
  steps: plan.steps.map((step) =>
    isMade[step.what === 'burnTokenAccount' ? 'burnWallet' : 'multisig'] ? { ...step, address: null } : step,
  ),
});

function addressOf(given: GivenKey, keys: Map<Address, Uint8Array>): Address {
  if (typeof given === 'string') return address(given);
  const { address: own } = createKeypairSigner(given);
  keys.set(own, given);
  return own;
}

function placesOf(
  wanted: ClusterRegistration,
  { burnWallet, createKey }: Unfinished,
  stored: ProjectRecord | undefined,
): Places {
  const made = createKey === null ? null : multisigAddress(createKey).address;
  const multisig = made ?? wanted.multisig ?? stored?.multisig;
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

/** @throws `ERR_INSUFFICIENT_FUNDS`, naming the address to fund */
function requireFunds({ operator, costs }: RegistrationPlan): void {
  if (costs.missingLamports === '0') return;
  throw new FlywheelError(
    'ERR_INSUFFICIENT_FUNDS',
    `Insufficient funds: the operator ${operator} needs ${costs.missingLamports} more lamports for the registration. Nothing was sent.`,
    { hint: 'Send SOL to the operator, then run the same command again.' },
  );
}
