/** `flywheel local rpc`: a node of a test cluster on the ledger of a data directory. */
import { setComputeUnitLimit } from '../chain/compute-budget.js';
import { type LedgerBankOptions, openLedgerBank } from '../chain/local/ledger-bank.js';
import { transfer } from '../chain/system.js';
import { compileLegacyMessage, signTransaction } from '../chain/transaction/compile.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { NodeLedger } from '../rpc-node/node-ledger.js';
import { type NodeAddress, type RpcNode, type RpcNodeOptions, startRpcNode } from '../rpc-node/rpc-node.js';
import type { Address } from '../values/address.js';
import type { Ambient } from './context.js';
import { shareDataDirectory } from './data-lock.js';
import { createFileKeyring } from './file-keyring.js';
import { dataFiles, type LocalConfig, requireLocalConfig } from './local-config.js';
import { readSquadsProgram } from './open-engine.js';
import type { RunningServer } from './server.js';
import type { Settings } from './settings.js';

/** A node that listens. */
export interface RunningRpc extends RunningServer {
  readonly webSocketUrl: string;
}

/** Starts the node of `flywheel local rpc`. @throws as {@link startLocalRpc} */
export const startRpcOverLedger = (
  { clock, io }: Ambient,
  settings: Settings,
  address: NodeAddress,
): Promise<RunningRpc> =>
  startLocalRpc(
    settings.dataDir.value,
    { clock, onFailure: (error) => io.stderr.write(`${messageOf(error)}\n`) },
    address,
  );

const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);

/** What is chosen for a node; the rest comes with the data directory. */
type LocalRpcOptions = Omit<RpcNodeOptions, 'ledger' | 'airdrop'> & NodePace;

type NodePace = Pick<LedgerBankOptions, 'clock' | 'slotMs'>;

/** A compute limit that no two airdrops in a row share: the same transfer under the same blockhash would be the same transaction. */
const FIRST_LIMIT = 1_000;
const LIMITS = 100_000;

/** Airdrops from the treasury, which is read when the first is asked for. */
function airdropsOf(keys: string, treasury: Address): RpcNodeOptions['airdrop'] {
  const keyring = createFileKeyring(keys);
  let given = 0;
  return (to, lamports, blockhash) => {
    given = (given + 1) % LIMITS;
    const instructions = [
      setComputeUnitLimit(FIRST_LIMIT + given),
      transfer({ from: treasury, to, lamports }),
    ];
    const message = compileLegacyMessage({ payer: treasury, instructions, blockhash });
    return signTransaction(message, [keyring.get(treasury)]).bytes;
  };
}

/** The ledger, held by the lock of the data directory against being wiped. */
async function openNodeLedger(dataDir: string, config: LocalConfig, pace: NodePace): Promise<NodeLedger> {
  const files = dataFiles(dataDir);
  const lock = await shareDataDirectory(files.lock);
  try {
    const bank = await openLedgerBank({
      path: files.ledger,
      ...pace,
      ...(config.squadsProgram ? { squadsProgram: readSquadsProgram(files.squadsProgram) } : {}),
    });
    if (config.genesis !== bank.genesisHash) {
      bank.close();
      throw new FlywheelError(
        'ERR_STORE_UNAVAILABLE',
        'ledger.db is of another flywheel than the one that this data directory was set up with.',
      );
    }
    const close = bank.close.bind(bank);
    bank.close = () => {
      close();
      lock.close();
    };
    return bank;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Starts a node. @throws `ERR_LOCAL_NOT_FOUND` until `local init` is done, `ERR_CONFIG_INVALID` when it cannot listen. */
export async function startLocalRpc(
  dataDir: string,
  { onFailure, ...pace }: LocalRpcOptions,
  address: NodeAddress,
  start = startRpcNode,
): Promise<RpcNode> {
  const config = requireLocalConfig(dataDir);
  const ledger = await openNodeLedger(dataDir, config, pace);
  const airdrop = airdropsOf(dataFiles(dataDir).keys, config.treasury);
  try {
    return await start({ onFailure, ledger, airdrop }, address);
  } catch (error) {
    ledger.close();
    throw error;
  }
}
