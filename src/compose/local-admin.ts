/**
 * Administration of the project of the settings; the engine opens at the first call that needs it. And `local init`: it writes the
 * configuration last, because every other command waits for it. The file `init.tmp` marks an unfinished set-up, which is repeated from
 * the start; it becomes the configuration.
 */
import { resolve } from 'node:path';
import { generateKeypair } from '../chain/transaction/sign.js';
import type { AuditQuery, CapChanges, FundInput, KeyTerms, LocalInitInput } from '../contract/admin.js';
import type { Engine } from '../engine/engine.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import type { Secret } from '../values/secret.js';
import type { Clock } from '../values/time.js';
import { formatTokenAmount } from '../values/token-amount.js';
import type { Ambient } from './context.js';
import { ownDataDirectory, setUpDataDirectory } from './data-lock.js';
import { createFileKeyring } from './keyring.js';
import {
  clearUnfinished,
  dataFiles,
  exists,
  finishLocalConfig,
  isOnCluster,
  type LocalConfig,
  PRIVATE_FILE_MODE,
  readDataConfig,
  readOwner,
  requireDataConfig,
  requireLocalConfig,
  wipeDataDirectory,
  writePrivate,
} from './local-config.js';
import { type OpenedEngine, openEngine, openLedgerEngine } from './open-engine.js';
import { whileOpen } from './opened.js';
import { openRpc } from './rpc.js';
import type { Settings } from './settings.js';
import { fetchSquads, readSquadsProgram } from './squads-program.js';

export type LocalAdmin = ReturnType<typeof createLocalAdmin>;

export function createLocalAdmin(ambient: Ambient, settings: Settings) {
  const { value: dataDir } = settings.dataDir;
  const { clock, cwd } = ambient;
  let opened: Promise<OpenedEngine> | undefined;
  const open = (findsGap = false): Promise<OpenedEngine> => {
    opened ??= openEngine(ambient, settings, { findsGap });
    return opened;
  };
  const engine = async () => (await open()).engine;
  const gaps = async () => (await open(true)).engine.gaps;
  const ownKey = async (): Promise<Secret | null> =>
    settings.apiKey.value ?? (await (await open()).project()).credential;
  const close = async (): Promise<void> => {
    const closing = opened;
    opened = undefined;
    await closing?.then((it) => it.close());
  };
  return {
    init: (input: LocalInitInput) => initLocal(dataDir, clock, input),
    status: async () => {
      const config = requireDataConfig(dataDir);
      const { tokenGeneration: _generation, owner: address, ...status } = await (await engine()).status();
      const keypair = isOnCluster(config) ? null : config.ownerKeypair;
      return { ...status, owner: { address, keypair } };
    },
    /** `cluster`: `null` on the embedded ledger; its `name` is `null` for a private one. */
    vault: async () => {
      const { engine, network } = await open();
      const { kind, ...cluster } = network;
      return { cluster: kind === 'ledger' ? null : cluster, ...(await engine.vault()) };
    },
    fund: async (input: FundInput) => {
      requireLocalConfig(dataDir);
      return (await engine()).fund(input);
    },
    /** Downloads the Squads program from the user's RPC node. @throws `ERR_USAGE` if no node is set */
    fetchSquads: () =>
      whileOpen((opened) =>
        fetchSquads(dataDir, () => {
          if (settings.rpcUrl.value.length > 0) return opened.keep(openRpc(ambient, settings)).chain;
          throw new FlywheelError('ERR_USAGE', 'No RPC node is set.', {
            hint: 'Add --rpc-url mainnet, or set FLYWHEEL_RPC_URL.',
          });
        }),
      ),
    reset: async () => {
      await close();
      requireWipeable(dataDir);
      await whileOpen(async (opened) => {
        opened.keep(await ownDataDirectory(dataFiles(dataDir).lock));
        wipeDataDirectory(dataDir);
      });
    },
    caps: async () => (await engine()).caps(),
    setCaps: async (changes: CapChanges) => (await engine()).setCaps(changes),
    createKey: async (terms: KeyTerms) => (await engine()).createKey(terms),
    listKeys: async () => (await engine()).listKeys(await ownKey()),
    /** @param afterMs - how long the key stays valid */
    revokeKey: async (id: string, afterMs: number) => (await engine()).revokeKey(id, afterMs, await ownKey()),
    /** Transactions that are on chain and missing from the store; `null` if none are. @throws `ERR_UNAVAILABLE` */
    gap: async () => {
      const found = await (await gaps()).find();
      return found === null ? null : gapReport(found);
    },
    /** Accepts the gap as lost. @throws `ERR_INPUT_INVALID` if it does not have exactly `transactions` transactions */
    acceptGap: async (transactions: number) => {
      await (await gaps()).accept(transactions);
    },
    audit: async (query: AuditQuery) => (await engine()).audit(query),
    /** Writes the owner's keypair file with mode 0600; never overwrites a file. */
    exportOwner: async (outFile: string) => {
      const { bytes, address } = readOwner(requireLocalConfig(dataDir).ownerKeypair);
      const keypair = resolve(cwd, outFile);
      const options = { mode: PRIVATE_FILE_MODE, exclusive: true };
      writeFileAtomic(keypair, keypairText(bytes), 'ERR_INPUT_INVALID', options);
      bytes.fill(0);
      return { address, keypair };
    },
    close,
  };
}

function gapReport({ gap, ...project }: NonNullable<Awaited<ReturnType<Engine['gaps']['find']>>>) {
  const text = (amount: bigint): string => formatTokenAmount(amount, project.decimals);
  const { burns, transactions, dateFound } = gap;
  return {
    ...{ project: project.name, symbol: project.symbol, burns, transactions, dateFound },
    ...{ burned: text(gap.burned), airdropped: text(gap.airdropped) },
    lost: gap.lost.map(({ signature, burned, airdropped, memo, dateLanded }) => ({
      ...{ txHash: signature, burned: text(burned), airdropped: text(airdropped), memo, date: dateLanded },
    })),
  };
}

/** Refuses a project on a cluster: deleting its keys loses the funds of operator and burn wallet. @throws `ERR_USAGE` */
function requireWipeable(dataDir: string): void {
  const { unfinished, registration } = dataFiles(dataDir);
  if (readDataConfig(dataDir) === undefined && exists(unfinished) && !exists(registration)) return;
  if (!isOnCluster(requireDataConfig(dataDir))) return;
  throw new FlywheelError(
    'ERR_USAGE',
    `The project in ${dataDir} is on a real cluster. Without its keys, the funds of operator and burn wallet would be lost. Nothing was deleted.`,
    {
      hint: 'Check that nothing is pending: `flywheel pending`. Move the funds of operator and burn wallet. Then delete the directory yourself.',
    },
  );
}

/** Sets up a data directory; waits for another process that does. @throws `ERR_LOCAL_ALREADY_EXISTS` if it has a project by then */
async function initLocal(dataDir: string, clock: Clock, input: LocalInitInput) {
  requireNone(dataDir);
  makePrivateDirectory(dataDir, 'ERR_STORE_UNAVAILABLE');
  return whileOpen(async (opened) => {
    opened.keep(await setUpDataDirectory(dataFiles(dataDir).lock));
    requireNone(dataDir);
    begin(dataDir);
    const { config, registration, apiKey } = await setUp(dataDir, clock, input);
    finishLocalConfig(dataDir, config);
    const { name: _name, symbol: _symbol, tokenGeneration: _generation, owner, ...shown } = registration;
    return { ...shown, owner: { address: owner, keypair: config.ownerKeypair }, apiKey };
  });
}

/** @throws `ERR_LOCAL_ALREADY_EXISTS` for a directory with a project, or with an unfinished registration on a cluster */
function requireNone(dataDir: string): void {
  const config = readDataConfig(dataDir);
  const elsewhere = { hint: 'Use another directory: --data-dir.' };
  if (config !== undefined)
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `${dataDir} already has a project. Nothing was changed.`,
      isOnCluster(config) ? elsewhere : {},
    );
  if (exists(dataFiles(dataDir).registration))
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `A registration on a cluster was started in ${dataDir}.`,
      elsewhere,
    );
}

/** Databases without the mark of an interrupted set-up belong to a project that lost its configuration. */
function begin(dataDir: string): void {
  clearUnfinished(dataDir);
  const { unfinished, store, ledger } = dataFiles(dataDir);
  const lost = [store, ledger].find(exists);
  if (lost !== undefined)
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `${lost} exists, but local.json is missing. Nothing was changed.`,
      { hint: 'Restore local.json from a backup, or use another directory: --data-dir.' },
    );
  writePrivate(unfinished, '');
}

async function setUp(dataDir: string, clock: Clock, input: LocalInitInput) {
  const files = dataFiles(dataDir);
  if (input.squadsProgram !== null) writePrivate(files.squadsProgram, readSquadsProgram(input.squadsProgram));
  // An existing owner key is kept: it may hold funds elsewhere.
  if (input.owner === null && !exists(files.owner)) writePrivate(files.owner, keypairText(generateKeypair()));
  const owner = input.owner?.address ?? readOwner(files.owner).address;
  const treasury = createFileKeyring(files.keys).create().address;
  const squadsProgram = input.squadsProgram !== null;
  const terms = { treasury, squadsProgram, genesis: null };
  return whileOpen(async (opened) => {
    const { engine, network } = opened.keep(await openLedgerEngine(dataDir, terms, { clock }));
    const { registration, apiKey } = await engine.register({ ...input, owner });
    writePrivate(files.apiKey, `${apiKey.key}\n`);
    const ownerKeypair = input.owner?.keypair ?? files.owner;
    const config: LocalConfig = { treasury, ownerKeypair, squadsProgram, genesis: network.genesisHash };
    return { config, registration, apiKey };
  });
}
