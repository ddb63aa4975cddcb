/**
 * Measures batches from init to executed, against building, signing and running the same transactions without store and ledger.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { readMultisig } from '../../src/chain/squads/read-accounts.js';
import { createKeypairSigner, generateKeypair } from '../../src/chain/transaction/sign.js';
import { dataFiles, requireLocalConfig } from '../../src/compose/local-config.js';
import type { Pipeline } from '../../src/contract/schemas/batch.js';
import { flywheelOf } from '../../src/engine/batches/batch-context.js';
import { planPipeline } from '../../src/engine/batches/plan-batch.js';
import type { Address } from '../../src/values/address.js';
import { sha256 } from '../../src/values/digest.js';
import type { Uuid } from '../../src/values/ids.js';
import { systemClock } from '../../src/values/time.js';
import { openTestEngine, openWithFiles, signApproval, type TestEngine } from '../support/engine.js';
import { type BareBatch, openBareBatch } from './floor/bare-batch.js';
import { runNode } from './processes.js';
import { type BenchRatio, median } from './ratio.js';

const PIPELINES = 100;
const PAIRS = 11;
const RUN_PIPELINES = 1_000;
const RUN_PAIRS = 5;

/** A burn and an airdrop to an owner of a token account; `name` makes the proofs distinct. */
const pipelines = (count: number, owner: string, name: string): Pipeline[] =>
  Array.from({ length: count }, (_, index) => ({
    type: 'WATCH_AD',
    payload: JSON.stringify({ index, name }),
    actions: [
      { action: 'BURN' as const, amount: 2 },
      { action: 'AIRDROP' as const, toAddress: owner as Address, amount: 0.5 },
    ],
  }));

export async function benchBatch(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const ratios: number[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const { engineMs, bareMs } = await measure();
    // The first pair warms up the compiler.
    if (pair > 0) ratios.push(bareMs / engineMs);
  }
  return [
    {
      name: `batch of ${PIPELINES} pipelines, init to executed: rate : the bare limit`,
      ratio: median(ratios),
      target: 0.45,
      atLeast: true,
    },
    await benchRun(bin, env),
  ];
}

async function measure(): Promise<{ engineMs: number; bareMs: number }> {
  const keypair = generateKeypair();
  const owner = createKeypairSigner(keypair);
  const opened = await openTestEngine({ owner: owner.address });
  try {
    const { engine, project } = opened;
    const sources = pipelines(PIPELINES, owner.address, 'batch');
    // The engine has loaded its runtime to register the project.
    const planned = await planBare(opened, keypair, sources);
    // From init to executed: closing the accounts counts for the engine only.
    const bare = openBareBatch({ ...planned, rentCollector: null });
    const bareStart = performance.now();
    bare();
    const start = performance.now();
    const init = await engine.initBatch({ pipelines: sources }, project.call());
    const signedTx = signApproval(owner, init.value);
    const { value } = await engine.executeBatch(
      { batchId: init.value.batch.id as Uuid, signedTx },
      project.call(),
    );
    if (value.result.totalSuccessful !== PIPELINES) throw new Error('The batch of the measurement failed.');
    return { engineMs: performance.now() - start, bareMs: start - bareStart };
  } finally {
    await opened.destroy();
  }
}

/** Whole processes; each pair has its own data directory. */
async function benchRun(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio> {
  const directory = mkdtempSync(join(tmpdir(), 'flywheel-bench-run-'));
  try {
    const floor = await buildFloor();
    const ratios: number[] = [];
    for (let pair = 0; pair <= RUN_PAIRS; pair += 1) {
      const ratio = await runBesideFloor(join(directory, String(pair)), { bin, env, floor });
      // The first pair fills the file cache.
      if (pair > 0) ratios.push(ratio);
      rmSync(join(directory, String(pair)), { recursive: true });
    }
    const name = `batch run of ${RUN_PIPELINES} pipelines: wall time : the bare limit, a process too`;
    return { name, ratio: median(ratios), target: 2.2 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function buildFloor(): Promise<string> {
  // Below node_modules, so that external packages resolve from there.
  const outfile = resolve('node_modules/.cache/flywheel/bare-batch.mjs');
  await build({
    entryPoints: ['test/bench/floor/bare-batch-main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['litesvm-*'],
    logLevel: 'warning',
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
  return outfile;
}

async function runBesideFloor(
  dataDir: string,
  { bin, env, floor }: { readonly bin: string; readonly env: NodeJS.ProcessEnv; readonly floor: string },
): Promise<number> {
  const own = { ...env, FLYWHEEL_DATA_DIR: dataDir, FLYWHEEL_KEYPAIR: dataFiles(dataDir).owner };
  await runNode([bin, 'local', 'init'], own);
  const keypair = Uint8Array.from(JSON.parse(readFileSync(dataFiles(dataDir).owner, 'utf8')));
  const sources = pipelines(RUN_PIPELINES, createKeypairSigner(keypair).address, 'run');
  const [file, bareFile] = [join(dataDir, 'pipelines.json'), join(dataDir, 'bare.json')];
  writeFileSync(file, JSON.stringify({ pipelines: sources }));
  const opened = await openWithFiles(dataDir, requireLocalConfig(dataDir), { clock: systemClock });
  try {
    writeFileSync(bareFile, JSON.stringify(await planBare({ ...opened, dataDir }, keypair, sources)));
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
  const { token, flywheel } = await store.read(async (tx) => {
    const [token] = await tx.tokens.list();
    const flywheel = token && (await tx.flywheels.find({ tokenId: token.id }));
    if (token === undefined || flywheel === undefined) throw new Error('Nothing is registered.');
    return { token, flywheel };
  });
  const { multisig, operator, vault, vaultTokenAccount, owner } = flywheel;
  const onChain = flywheelOf(token, flywheel);
  const messages = sources.map(({ type, payload, actions }) => {
    const plan = planPipeline({ type, proofHash: sha256(payload), actions: actions as never }, onChain);
    if (typeof plan === 'string') throw new Error(plan);
    return Buffer.from(plan.message).toString('base64');
  });
  const { value: settings } = await readMultisig(chain, multisig);
  if (settings?.rentCollector == null) throw new Error('Nobody collects the rent.');
  const needed = [
    multisig,
    vault,
    vaultTokenAccount,
    operator,
    owner,
    settings.rentCollector,
    token.mintAddress,
  ];
  const accounts = await chain.getAccounts(needed);
  return {
    flywheel,
    batchIndex: String(settings.transactionIndex + 1n),
    blockhash: (await chain.latestBlockhash()).blockhash,
    rentCollector: settings.rentCollector,
    operator: Buffer.from(keypairOf(dataDir, operator)).toString('base64'),
    owner: Buffer.from(ownerKeypair).toString('base64'),
    messages,
    accounts: accounts.flatMap((account, at) =>
      account === null
        ? []
        : [
            {
              address: needed[at] as Address,
              lamports: String(account.lamports),
              owner: account.owner,
              data: Buffer.from(account.data as Uint8Array).toString('base64'),
            },
          ],
    ),
  };
}

const keypairOf = (dataDir: string, address: Address): Uint8Array =>
  Uint8Array.from(JSON.parse(readFileSync(join(dataFiles(dataDir).keys, `${address}.json`), 'utf8')));
