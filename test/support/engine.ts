/** Opens an engine with a registered project in a temporary directory. */

import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { PublicKey, VersionedTransaction } from '@solana/web3.js';
import type { Chain } from '../../src/chain/chain.js';
import type { LocalChain } from '../../src/chain/local/local-chain.js';
import { tokenProgramAddress } from '../../src/chain/programs.js';
import { transfer } from '../../src/chain/small-programs.js';
import { associatedTokenAddress } from '../../src/chain/squads/addresses.js';
import { decodeMint, decodeTokenAccount } from '../../src/chain/tokens/accounts.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../src/chain/transaction/sign.js';
import { createFileKeyring } from '../../src/compose/keyring.js';
import { dataFiles, type LocalConfig, writeLocalConfig } from '../../src/compose/local-config.js';
import { type EngineFiles, type LedgerEngine, openLedgerEngine } from '../../src/compose/open-engine.js';
import type { RegisterInput } from '../../src/contract/admin.js';
import type { Call } from '../../src/contract/call.js';
import type { InitBatchResult, Pipeline } from '../../src/contract/schemas/batch.js';
import type { BurnRequest } from '../../src/contract/schemas/burn.js';
import { DEFAULT_LIMITS, type EngineLimits, type EngineParts } from '../../src/engine/deps.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { LEASE_MS, Leases } from '../../src/engine/lease.js';
import type { Store, StoreTransaction } from '../../src/store/store.js';
import type { Address } from '../../src/values/address.js';
import { randomIds } from '../../src/values/ids.js';
import { Secret } from '../../src/values/secret.js';
import { type Clock, systemClock, utcDay } from '../../src/values/time.js';
import { LedgerTables } from '../simulation/audit/tables.js';
import { HandClock, signed } from './chain.js';
import { RunningClock } from './clock.js';
import { replacing } from './doubles.js';
import { emptyDirectory, REAL_SQUADS } from './spawn.js';

export type TestProject = Awaited<ReturnType<typeof registerProject>>;

/** Parts of a second engine on the same store and chain; a test may replace some by doubles. */
export interface TestDeps extends EngineParts {
  readonly keyring: ReturnType<typeof createFileKeyring>;
}

export type TestEngine = Awaited<ReturnType<typeof openTestEngine>>;

export const REGISTER_DEFAULTS: Omit<RegisterInput, 'owner'> = {
  name: 'Flywheel Test',
  symbol: 'FLY',
  decimals: 6,
  supply: '1000000000',
  tokenProgram: 'token',
  tokenGeneration: 'v1',
  vaultTokens: '1000000',
  vaultSol: '10',
  burnWalletTokens: '1000000',
  burnWalletSol: '10',
  proofTypes: ['PRODUCT_BUY', 'WATCH_AD'],
  scopes: ['burn', 'airdrop'],
  dailyBurn: null,
  dailyAirdrop: null,
};

type Home = Omit<Awaited<ReturnType<typeof setUp>>, 'opened'>;

type Settings = Parameters<typeof openLedgerEngine>[2];

export async function openWithFiles(
  dataDir: string,
  config: Parameters<typeof openLedgerEngine>[1],
  settings: Settings,
): Promise<Omit<LedgerEngine, 'chain'> & EngineFiles> {
  let used: EngineFiles | undefined;
  const between = (files: EngineFiles): EngineFiles => {
    used = settings.between?.(files) ?? files;
    return used;
  };
  const opened = await openLedgerEngine(dataDir, config, { ...settings, between });
  if (used === undefined) throw new Error('The engine works on no files.');
  return { ...opened, ...used };
}

async function setUp(input: Partial<RegisterInput>, settings: Settings) {
  const dataDir = emptyDirectory();
  const treasury = createFileKeyring(dataFiles(dataDir).keys).create().address;
  if (REAL_SQUADS !== undefined) copyFileSync(REAL_SQUADS, dataFiles(dataDir).squadsProgram);
  const unregistered = {
    treasury,
    ownerKeypair: '',
    squadsProgram: REAL_SQUADS !== undefined,
    genesis: null,
  };
  const opened = await openWithFiles(dataDir, unregistered, settings);
  const project = await registerProject(opened, input);
  const config: LocalConfig = { ...unregistered, genesis: opened.network.genesisHash };
  writeLocalConfig(dataDir, config);
  return { dataDir, config, project, opened };
}

/** Data directories by registration: copying one takes a fifth of the time of registering. */
const homes = new Map<string, Promise<Home>>();

async function copyOfHome(input: Partial<RegisterInput>, clock: Clock): Promise<Home> {
  const since = clock instanceof HandClock ? clock.timeMs : 'now';
  const key = JSON.stringify([input, since]);
  const made =
    homes.get(key) ??
    setUp(input, { clock: since === 'now' ? systemClock : new HandClock(since) }).then(
      async ({ opened, ...home }) => {
        await opened.close();
        return home;
      },
    );
  homes.set(key, made);
  const home = await made;
  const dataDir = emptyDirectory();
  cpSync(home.dataDir, dataDir, { recursive: true });
  return { ...home, dataDir };
}

/** @param options - its `store` replaces the one in the directory; the caller closes it. */
export async function openTestEngine(
  input: Partial<RegisterInput> = {},
  options: { readonly clock?: Clock; readonly limits?: Partial<EngineLimits>; readonly store?: Store } = {},
) {
  const { store, clock = new RunningClock(), limits } = options;
  const settings: Settings = {
    clock,
    ...(limits ? { limits } : {}),
    between: (files: EngineFiles): EngineFiles => ({ ...files, ...(store && { store }) }),
  };
  const isPlain = store === undefined && (options.clock === undefined || clock instanceof HandClock);
  const made = isPlain
    ? { ...(await copyOfHome(input, clock)), opened: undefined }
    : await setUp(input, settings);
  const { dataDir, config, project } = made;
  const opened = made.opened ?? (await openWithFiles(dataDir, config, settings));
  const deps: TestDeps = {
    store: opened.store,
    chain: opened.chain,
    keyring: createFileKeyring(dataFiles(dataDir).keys),
    treasury: config.treasury,
    clock,
    ids: randomIds,
    leases: new Leases('test'),
    actor: 'test',
    limits: { ...DEFAULT_LIMITS, ...limits },
  };
  return {
    ...opened,
    dataDir,
    project,
    deps,
    register: (more: Partial<RegisterInput> = {}) => registerProject(opened, more),
    /** Advances the clock until the leases of a dead engine have expired. */
    passLease: () => {
      if (clock instanceof RunningClock) clock.pass(LEASE_MS + 1);
      else if (clock instanceof HandClock) clock.timeMs += LEASE_MS + 1;
      else throw new Error('The clock of the test cannot be moved.');
    },
    /** A second engine on the same directory, as another process opens it. */
    reopen: () => openWithFiles(dataDir, config, settings),
    destroy: async () => {
      await opened.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function registerProject({ engine }: Pick<LedgerEngine, 'engine'>, input: Partial<RegisterInput>) {
  const owner = createKeypairSigner(generateKeypair());
  const { registration, apiKey } = await engine.register({
    ...REGISTER_DEFAULTS,
    owner: owner.address,
    ...input,
  });
  const key = new Secret(apiKey.key);
  const call = (more: Partial<Call> = {}): Call => ({ credential: key, ...more });
  return { registration, owner, key, call };
}

export function storeBy(store: Store, clock: Clock): Store {
  const timed =
    <Result>(work: (tx: StoreTransaction) => Promise<Result>) =>
    (tx: StoreTransaction) =>
      work(replacing(tx, { nowMs: clock.nowMs() }));
  return replacing(store, {
    latestMs: () => clock.nowMs(),
    transaction: (work, of) => store.transaction(timed(work), of),
    read: (work) => store.read(timed(work)),
    reserve: async (tokenId, count) => ({
      ...(await store.reserve(tokenId, count)),
      ...(await store.read((tx) => tx.burns.room(tokenId, utcDay(clock.nowMs())))),
    }),
  });
}

/**
 * An engine on the same store and chain unless `parts` replaces them. With its own clock it acts as another process, with its own
 * store.
 */
export function engineBeside({ deps }: TestEngine, parts: Partial<EngineParts> = {}): Engine {
  const { store = deps.store, clock } = parts;
  const own = { store: clock === undefined ? store : storeBy(store, clock) };
  return createEngine({ ...deps, leases: new Leases('beside'), ...parts, ...own });
}

export const aBurnRequest = (burnAmount: number, more: Partial<BurnRequest> = {}): BurnRequest => ({
  type: 'PRODUCT_BUY',
  proof: { order: burnAmount },
  burnAmount,
  persistOnchain: false,
  ...more,
});

export const aPipeline = (actions: Pipeline['actions'], more: Partial<Pipeline> = {}): Pipeline => ({
  type: 'PRODUCT_BUY',
  payload: '{"order":1}',
  actions,
  ...more,
});

export const burnAction = (amount: number) => ({ action: 'BURN' as const, amount });

export const signApproval = (owner: KeypairSigner, { proposalApproveTx }: InitBatchResult): string =>
  signVote(owner, proposalApproveTx);

/** Adds a signature to a vote, as a wallet does. */
export function signVote(owner: KeypairSigner, vote: string): string {
  const transaction = VersionedTransaction.deserialize(Buffer.from(vote, 'base64'));
  const signature = owner.signNow(transaction.message.serialize());
  transaction.addSignature(new PublicKey(owner.address), signature);
  return Buffer.from(transaction.serialize()).toString('base64');
}

export async function supplyOf(
  { test }: { readonly test: TestEngine },
  { registration }: TestProject,
): Promise<bigint> {
  const [account] = await test.chain.getAccounts([registration.mintAddress as Address]);
  return decodeMint(account ?? null)?.supply ?? 0n;
}

/** Base units of the project's mint in a wallet; 0 without a token account. */
export async function tokensOf(chain: Chain, { registration }: TestProject, wallet: string): Promise<bigint> {
  const program = tokenProgramAddress(registration.tokenProgram);
  const mint = registration.mintAddress as Address;
  const [account] = await chain.getAccounts([associatedTokenAddress(wallet as Address, mint, program)]);
  return decodeTokenAccount(account ?? null)?.amount ?? 0n;
}

export async function lamportsOf(chain: Chain, wallet: string): Promise<bigint> {
  const [account] = await chain.getAccounts([wallet as Address]);
  return account?.lamports ?? 0n;
}

/** Advances the blocks for every process at once, whatever its clock says, and begins the next. */
export async function passBlocks({ dataDir }: Pick<TestEngine, 'dataDir'>, blocks: number): Promise<void> {
  const ledger = new LedgerTables(dataFiles(dataDir).ledger, false);
  ledger.passSlots(blocks + 1);
  ledger.close();
}

export async function landedCount(chain: LocalChain): Promise<number> {
  await chain.getAccounts([]);
  return Number.parseInt(chain.ledger.knownMark, 10);
}

/** Sends one transaction that `payer` signs and pays for. @returns the reason why it did not land or failed, else `null` */
export async function tryLand(
  { chain }: Pick<TestEngine, 'chain'>,
  payer: KeypairSigner,
  instructions: readonly Instruction[],
): Promise<object | null> {
  const { bytes, signature } = await signed(chain, [payer], instructions);
  const [rejection] = await chain.submit([bytes]);
  const [record] = await chain.lookUp([signature]);
  return rejection ?? (record == null ? { error: 'It is not there.' } : record.error);
}

/** Like {@link tryLand}. @throws if the transaction did not succeed. */
export async function land(...[test, payer, instructions]: Parameters<typeof tryLand>): Promise<void> {
  const problem = await tryLand(test, payer, instructions);
  if (problem !== null) throw new TypeError(`It did not land: ${JSON.stringify(problem)}`);
}

const FEE_LAMPORTS = 5_000n;

/** Takes all but `leave` lamports out of a wallet whose key the service has. */
export async function drain({ chain, deps }: TestEngine, wallet: string, leave: bigint): Promise<void> {
  const signer = deps.keyring.get(wallet as Address);
  const lamports = (await lamportsOf(chain, wallet)) - leave - FEE_LAMPORTS;
  const payment = transfer({ from: signer.address, to: deps.treasury as Address, lamports });
  await land({ chain }, signer, [payment]);
}
