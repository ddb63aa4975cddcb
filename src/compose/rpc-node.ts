/** `flywheel local rpc`: an RPC node of a test cluster on a data directory's ledger. */

import { type LedgerOptions, openLedger } from '../chain/local/ledger/ledger.js';
import { Runtime } from '../chain/local/runtime/runtime.js';
import { setComputeUnitLimit, transfer } from '../chain/small-programs.js';
import { compileLegacyMessage, encodeTransaction } from '../chain/transaction/wire.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { Cluster, type ClusterParts } from '../rpc-node/cluster.js';
import { type ListenAddress, startRpcNode } from '../rpc-node/rpc-node.js';
import type { Address } from '../values/address.js';
import type { Ambient } from './context.js';
import { shareDataDirectory } from './data-lock.js';
import { createFileKeyring } from './keyring.js';
import { dataFiles, requireLocalConfig } from './local-config.js';
import { opening } from './opened.js';
import type { RunningServer } from './server.js';
import type { Settings } from './settings.js';
import { readSquadsProgram } from './squads-program.js';

type RunningRpc = RunningServer & {
  readonly webSocketUrl: string;
};

const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);

/** Consecutive airdrops get different compute limits: equal transfers with one blockhash would be the same transaction. */
const FIRST_LIMIT = 1_000;
const LIMITS = 100_000;

function airdropsOf(keys: string, treasury: Address): ClusterParts['airdrop'] {
  const keyring = createFileKeyring(keys);
  let given = 0;
  return (to, lamports, blockhash) => {
    given = (given + 1) % LIMITS;
    const instructions = [
      setComputeUnitLimit(FIRST_LIMIT + given),
      transfer({ from: treasury, to, lamports }),
    ];
    const message = compileLegacyMessage({ payer: treasury, instructions, blockhash });
    return encodeTransaction([keyring.get(treasury).signNow(message)], message);
  };
}

/** Opens ledger and runtime, with a shared lock on the data directory. @throws `ERR_LOCAL_NOT_FOUND` until `local init` is done */
export async function openClusterParts(
  dataDir: string,
  pace: Pick<LedgerOptions, 'clock' | 'slotMs'>,
): Promise<ClusterParts> {
  const { genesis, treasury, squadsProgram } = requireLocalConfig(dataDir);
  const files = dataFiles(dataDir);
  return opening(async (opened) => {
    opened.keep(await shareDataDirectory(files.lock));
    const ledger = opened.keep(
      await openLedger({ path: files.ledger, ...pace, ...{ create: false, genesis: { accounts: [] } } }),
    );
    if (genesis !== ledger.genesis)
      throw new FlywheelError(
        'ERR_STORE_UNAVAILABLE',
        'ledger.db belongs to another project than this data directory.',
      );
    const program = squadsProgram ? { squadsProgram: readSquadsProgram(files.squadsProgram) } : {};
    const airdrop = airdropsOf(files.keys, treasury);
    return { ledger, runtime: new Runtime(program), airdrop, close: () => void opened.close() };
  });
}

/** @throws as {@link openClusterParts}, and `ERR_CONFIG_INVALID` if it cannot listen */
export async function startRpcOverLedger(
  { clock, io }: Ambient,
  settings: Settings,
  address: ListenAddress,
): Promise<RunningRpc> {
  const onFailure = (error: unknown): void => void io.stderr.write(`${messageOf(error)}\n`);
  return opening(async (opened) => {
    const parts = await openClusterParts(settings.dataDir.value, { clock });
    return startRpcNode(opened.keep(new Cluster(parts)), onFailure, address);
  });
}
