/** `flywheel local init`: a data directory from nothing to a registered project, in one step that can be cut off and carried on. */
import { resolve } from 'node:path';
import type { Chain } from '../chain/chain.js';
import { generateKeypair } from '../chain/transaction/signer.js';
import type { LocalInitInput, LocalInitResult } from '../cli/context.js';
import type { ApiKeyCreated, Registration } from '../contract/admin.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { makePrivateDirectory } from '../files/write-file.js';
import { chosenFunds } from './batch-funds.js';
import { setUpDataDirectory } from './data-lock.js';
import { type OpenedEngine, readSquadsProgram } from './engine.js';
import { createFileKeyring } from './file-keyring.js';
import {
  dataFiles,
  exists,
  isOnCluster,
  isUnfinished,
  readBegunConfig,
  type UnfinishedConfig,
  writeLocalConfig,
  writePrivate,
} from './local-config.js';
import { readOwnerKeypair } from './owner-keypair.js';

interface Place {
  readonly dataDir: string;
  readonly cwd: string;
}

/** Opens the engine of what has been set up so far. */
type Open = (config: UnfinishedConfig) => Promise<Pick<OpenedEngine<Chain>, 'engine' | 'store'>>;

/**
 * Sets up a data directory, as the only one: what two make of keys and files at the same time does not belong together.
 * @throws `ERR_LOCAL_ALREADY_EXISTS` where that is done.
 */
export async function initLocal(place: Place, input: LocalInitInput, open: Open): Promise<LocalInitResult> {
  // Of what is wrong with the choices nothing is made.
  chosenFunds(input);
  requireUnfinished(place.dataDir);
  makeDataDirectory(place.dataDir);
  const lock = await setUpDataDirectory(dataFiles(place.dataDir).lock);
  try {
    return await setUp(place, input, open);
  } finally {
    lock.release();
  }
}

async function setUp(place: Place, input: LocalInitInput, open: Open): Promise<LocalInitResult> {
  const { dataDir } = place;
  const config = prepare(place, input);
  const { engine, store } = await open(config);
  const keypair = config.ownerKeypair;
  const owner = input.owner?.address ?? readOwnerKeypair(keypair).address;
  const registered = await registerOrFinish(dataDir, { ...input, owner }, engine);
  const { genesis } = await store.progress();
  // From here on nothing that is missing is made again.
  writeLocalConfig(dataDir, { ...config, genesis });
  return initResult(registered.registration, registered.apiKey, keypair);
}

/** Files that must be there before the engine opens; an interrupted set-up is carried on. */
function prepare({ dataDir, cwd }: Place, input: LocalInitInput): UnfinishedConfig {
  const files = dataFiles(dataDir);
  const funds = chosenFunds(input);
  const earlier = requireUnfinished(dataDir);
  if (input.squadsProgram !== null)
    writePrivate(files.squadsProgram, readSquadsProgram(resolve(cwd, input.squadsProgram)));
  if (input.owner === null && !exists(files.owner)) writePrivate(files.owner, keypairText(generateKeypair()));
  const config: UnfinishedConfig = {
    treasury: earlier?.treasury ?? createFileKeyring(files.keys).create().address,
    ownerKeypair: input.owner === null ? files.owner : resolve(cwd, input.owner.keypair),
    squadsProgram: input.squadsProgram !== null,
    genesis: null,
    ...funds,
  };
  // Once its engine is open, an interrupted set-up goes on with the choices that it began with.
  if (earlier === undefined) writeLocalConfig(dataDir, config);
  return earlier ?? config;
}

/**
 * @returns what a set-up that was interrupted has chosen, if there was one.
 * @throws `ERR_LOCAL_ALREADY_EXISTS` where one is finished; what is wrong with that is not mended here.
 */
function requireUnfinished(dataDir: string): UnfinishedConfig | undefined {
  const config = readBegunConfig(dataDir);
  if (config !== undefined && !isUnfinished(config)) {
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `${dataDir} already holds a flywheel; nothing was changed.`,
      isOnCluster(config) ? { hint: ELSEWHERE } : {},
    );
  }
  if (exists(dataFiles(dataDir).registration)) {
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `A registration on a cluster has begun in ${dataDir}.`,
      { hint: ELSEWHERE },
    );
  }
  return config;
}

/** What is on a cluster cannot be wiped. */
const ELSEWHERE = 'Give another directory with --data-dir.';

const notFound = (error: unknown): undefined => {
  if (isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) return undefined;
  throw error;
};

/** Registers; or, when that was done and the key was lost in a crash, makes another key. */
async function registerOrFinish(
  dataDir: string,
  input: Omit<LocalInitInput, 'owner'> & { readonly owner: string },
  engine: OpenedEngine<Chain>['engine'],
): Promise<{ registration: Registration; apiKey: ApiKeyCreated }> {
  const earlier = await engine.registration().catch(notFound);
  const registered =
    earlier === undefined
      ? await engine.register(input)
      : { registration: earlier, apiKey: await engine.createKey({ scopes: input.scopes, proofTypes: null }) };
  writePrivate(dataFiles(dataDir).apiKey, `${registered.apiKey.key}\n`);
  return registered;
}

function initResult(registration: Registration, apiKey: ApiKeyCreated, keypair: string): LocalInitResult {
  const { tokenId, mintAddress, decimals, tokenProgram, flywheelId, multisig, vaultIndex, vaultAddress } =
    registration;
  const { burnWallet, operator, proofTypes, dailyLimits } = registration;
  return {
    tokenId,
    mintAddress,
    decimals,
    tokenProgram,
    flywheelId,
    multisig,
    vaultIndex,
    vaultAddress,
    burnWallet,
    owner: { address: registration.owner, keypair },
    operator,
    apiKey,
    proofTypes,
    dailyLimits,
  };
}

function makeDataDirectory(dataDir: string): void {
  try {
    makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  } catch (cause) {
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', (cause as Error).message, { cause });
  }
}
