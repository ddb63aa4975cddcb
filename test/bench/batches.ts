/**
 * Measures batches from init to executed, against building, signing and running the same transactions without store and ledger.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { build } from 'esbuild';
import { readMultisig } from '../../src/chain/squads/read-accounts.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../src/chain/transaction/sign.js';
import { dataFiles, requireLocalConfig } from '../../src/compose/local-config.js';
import type { Pipeline } from '../../src/contract/schemas/batch.js';
import { flywheelOf } from '../../src/engine/batches/batch-context.js';
import { planPipeline } from '../../src/engine/batches/plan-batch.js';
import { sha256 } from '../../src/values/digest.js';
import type { Uuid } from '../../src/values/ids.js';
import { systemClock } from '../../src/values/time.js';
import { bundleOf } from '../support/bundle.mjs';
import { openTestEngine, openWithFiles, signApproval, type TestEngine } from '../support/engine.js';
import { emptyDirectory } from '../support/spawn.js';
import { type BareBatch, openBareBatch } from './floor/bare-batch.js';
import { runNode } from './processes.js';
import { type BenchRatio, medianOf } from './ratio.js';
import { pipelinesOf, timed } from './work.js';

const PIPELINES = 100;
const PAIRS = 11;
const RUN_PIPELINES = 1_000;
const RUN_PAIRS = 5;

export async function benchBatch(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  return [
    {
      name: `batch of ${PIPELINES} pipelines, init to executed: rate : the bare limit`,
      ratio: await medianOf(PAIRS, measure, 1),
      target: 0.35,
      atLeast: true,
    },
    await benchRun(bin, env),
  ];
}

/** @returns the rate of the engine in terms of the bare rate. */
async function measure(): Promise<number> {
  const keypair = generateKeypair();
  const owner = createKeypairSigner(keypair);
  const opened = await openTestEngine({ owner: owner.address });
  try {
    const { engine, project } = opened;
    const sources = pipelinesOf(PIPELINES, owner.address, 'batch');
    // The engine has loaded its runtime to register the project.
    const planned = await planBare(opened, keypair, sources);
    // From init to executed: closing the accounts counts for the engine only.
    const bare = openBareBatch({ ...planned, rentCollector: null });
    const bareMs = await timed(bare);
    return bareMs / (await timed(() => runBatch({ engine, project }, owner, sources)));
  } finally {
    await opened.destroy();
  }
}

/** From init to executed. */
export async function runBatch(
  { engine, project }: Pick<TestEngine, 'engine' | 'project'>,
  owner: KeypairSigner,
  pipelines: Pipeline[],
): Promise<void> {
  const { value: init } = await engine.initBatch({ pipelines }, project.call());
  const asked = { batchId: init.batch.id as Uuid, signedTx: signApproval(owner, init) };
  const { value } = await engine.executeBatch(asked, project.call());
  if (value.result.totalSuccessful !== pipelines.length)
    throw new Error('The batch of the measurement failed.');
}

/** Whole processes; each pair has its own data directory. */
async function benchRun(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio> {
  const directory = emptyDirectory();
  const floor = bundleOf('test/bench/floor/bare-batch-main.ts');
  try {
    await build(floor);
    const measured = (pair: number) =>
      runBesideFloor(join(directory, String(pair)), { bin, env, floor: floor.outfile });
    const name = `batch run of ${RUN_PIPELINES} pipelines: wall time : the bare limit, a process too`;
    return { name, ratio: await medianOf(RUN_PAIRS, measured, 1), target: 2.4 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runBesideFloor(
  dataDir: string,
  { bin, env, floor }: { readonly bin: string; readonly env: NodeJS.ProcessEnv; readonly floor: string },
): Promise<number> {
  const own = { ...env, FLYWHEEL_DATA_DIR: dataDir, FLYWHEEL_KEYPAIR: dataFiles(dataDir).owner };
  await runNode([bin, 'local', 'init'], own);
  const keypair = keypairIn(dataFiles(dataDir).owner);
  const sources = pipelinesOf(RUN_PIPELINES, createKeypairSigner(keypair).address, 'run');
  const [file, bareFile] = [join(dataDir, 'pipelines.json'), join(dataDir, 'bare')];
  writeFileSync(file, JSON.stringify({ pipelines: sources }));
  const opened = await openWithFiles(dataDir, requireLocalConfig(dataDir), { clock: systemClock });
  try {
    writeFileSync(bareFile, serialize(await planBare({ ...opened, dataDir }, keypair, sources)));
  } finally {
    await opened.close();
  }
  const bare = await runNode([floor, bareFile], env);
  const run = await runNode([bin, 'batch', 'run', file, '--yes', '--json'], own);
  return run.ms / bare.ms;
}

/** The engine's own vault messages, and all accounts that their transactions read. */
async function planBare(
  { store, chain, dataDir }: Pick<TestEngine, 'store' | 'chain' | 'dataDir'>,
  ownerKeypair: Uint8Array,
  sources: readonly Pipeline[],
): Promise<BareBatch> {
  const [flywheel] = await store.read((tx) => tx.projects.list());
  if (flywheel === undefined) throw new Error('Nothing is registered.');
  const { multisig, operator, vault, vaultTokenAccount, owner } = flywheel;
  const onChain = flywheelOf(flywheel);
  const messages = sources.map(({ type, payload, actions }) => {
    const plan = planPipeline({ type, proofHash: sha256(payload), actions: actions as never }, onChain);
    if (typeof plan === 'string') throw new Error(plan);
    return plan.message;
  });
  const { value: settings } = await readMultisig(chain, multisig);
  if (settings?.rentCollector == null) throw new Error('Nobody collects the rent.');
  const wallets = [operator, owner, settings.rentCollector];
  const needed = [multisig, vault, vaultTokenAccount, ...wallets, flywheel.mintAddress];
  const accounts = await chain.getAccounts(needed);
  return {
    flywheel,
    batchIndex: settings.transactionIndex + 1n,
    blockhash: (await chain.latestBlockhash()).blockhash,
    rentCollector: settings.rentCollector,
    operator: keypairIn(join(dataFiles(dataDir).keys, `${operator}.json`)),
    owner: ownerKeypair,
    messages,
    accounts: needed.map((address, at) => [address, accounts[at] ?? null]),
  };
}

const keypairIn = (file: string): Uint8Array => Uint8Array.from(JSON.parse(readFileSync(file, 'utf8')));
