/** Administration of the project of the settings. The engine opens at the first call that needs it. */
import { resolve } from 'node:path';
import type { AuditQuery, CapChanges, FundInput, KeyTerms, LocalInitInput } from '../contract/admin.js';
import type { Engine } from '../engine/engine.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { writeFileAtomic } from '../files/write-file.js';
import type { Secret } from '../values/secret.js';
import { formatTokenAmount } from '../values/token-amount.js';
import type { Ambient } from './context.js';
import { ownDataDirectory } from './data-lock.js';
import {
  dataFiles,
  exists,
  isOnCluster,
  PRIVATE_FILE_MODE,
  readDataConfig,
  readOwner,
  requireDataConfig,
  requireLocalConfig,
  wipeDataDirectory,
} from './local-config.js';
import { initLocal } from './local-init.js';
import { type OpenedEngine, openEngine } from './open-engine.js';
import { whileOpen } from './opened.js';
import { openRpc } from './rpc.js';
import type { Settings } from './settings.js';
import { fetchSquads } from './squads-program.js';

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

function gapReport({ token, flywheel, gap }: NonNullable<Awaited<ReturnType<Engine['gaps']['find']>>>) {
  const text = (amount: bigint): string => formatTokenAmount(amount, token.decimals);
  const { burns, transactions, pendingBurns, dateFound } = gap;
  return {
    ...{ project: flywheel.name, symbol: token.symbol, burns, transactions, pendingBurns, dateFound },
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
