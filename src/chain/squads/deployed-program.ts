/** The Squads program as it is deployed on a cluster: the bytes of the file that was put there. */
import { addressFromBytes } from '../../values/address.js';
import { partOf, type ReadonlyBytes, viewOf } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import type { ChainReader } from '../chain.js';
import { SQUADS_PROGRAM, UPGRADEABLE_LOADER } from '../programs.js';

// States of the loader's accounts, as a u32 before their fields (solana-loader-v3-interface, `UpgradeableLoaderState`).
const PROGRAM = 2;
const PROGRAM_DATA = 3;
/** State, and the address of the account that holds the code. */
const PROGRAM_BYTES = 36;
/** State, slot of the last deployment, and who may deploy the next. */
const PROGRAM_DATA_HEAD_BYTES = 45;

function stateOf(account: AccountState | null | undefined, state: number, leastBytes: number) {
  if (account?.owner !== UPGRADEABLE_LOADER || account.data.length < leastBytes) return undefined;
  return viewOf(account.data).getUint32(0, true) === state ? account.data : undefined;
}

/** @returns `null` where the cluster has no such program. */
export async function readDeployedSquads(chain: ChainReader): Promise<ReadonlyBytes | null> {
  const [program] = await chain.getAccounts([SQUADS_PROGRAM]);
  const named = stateOf(program, PROGRAM, PROGRAM_BYTES);
  if (named === undefined) return null;
  const [code] = await chain.getAccounts([addressFromBytes(partOf(named, 4, PROGRAM_BYTES))]);
  const data = stateOf(code, PROGRAM_DATA, PROGRAM_DATA_HEAD_BYTES);
  return data === undefined ? null : partOf(data, PROGRAM_DATA_HEAD_BYTES, data.length);
}
