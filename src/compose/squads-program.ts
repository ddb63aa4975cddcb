/** The real Squads program, which replaces the built-in one once it was downloaded from a cluster. */
import { readFileSync } from 'node:fs';
import type { ChainReader } from '../chain/chain.js';
import { key, struct, tryDecode, u32 } from '../chain/codec.js';
import { SQUADS_PROGRAM, UPGRADEABLE_LOADER } from '../chain/programs.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { onFile } from '../files/read-file.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../values/bytes.js';
import { type Sha256, sha256 } from '../values/digest.js';
import { ownDataDirectory } from './data-lock.js';
import { dataFiles, requireLocalConfig, writeLocalConfig, writePrivate } from './local-config.js';
import { whileOpen } from './opened.js';

/** SHA-256 of the Squads v4 program as deployed on mainnet. */
export const SQUADS_PROGRAM_SHA256 =
  'dec8d3e0fae58c7c8f2416e5f67c25e673f047afd6dd2bba4a47e0b29a01d34c' as Sha256;
const SQUADS_PROGRAM_BYTES = 1_470_416;

/** @throws `ERR_CONFIG_INVALID` if the file is not the program that runs on mainnet */
export function readSquadsProgram(path: string): Uint8Array {
  const bytes = onFile('ERR_CONFIG_INVALID', `${path}: cannot be read`, () => readFileSync(path));
  const hash = sha256(bytes);
  if (hash === SQUADS_PROGRAM_SHA256) return bytes;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `${path}: not the Squads v4 program of mainnet. The SHA-256 is ${hash}, expected ${SQUADS_PROGRAM_SHA256}.`,
  );
}

/** Accounts of the loader: state, then address of the code (solana-loader-v3-interface, `UpgradeableLoaderState`). */
const programFields = struct({ state: u32, code: key });
const PROGRAM = 2;
const PROGRAM_DATA = 3;
/** State, slot of the last deployment, and upgrade authority. */
const PROGRAM_DATA_HEAD_BYTES = 45;

/** The deployed bytes of the Squads program. @returns `null` if the cluster does not have the program. */
async function readDeployedSquads(chain: ChainReader): Promise<ReadonlyBytes | null> {
  const [program] = await chain.getAccounts([SQUADS_PROGRAM]);
  const named = program?.owner === UPGRADEABLE_LOADER ? tryDecode(programFields, program.data) : undefined;
  if (named?.state !== PROGRAM) return null;
  const [code] = await chain.getAccounts([named.code]);
  const isCode = code?.owner === UPGRADEABLE_LOADER && tryDecode(u32, code.data) === PROGRAM_DATA;
  return isCode && code.data.length >= PROGRAM_DATA_HEAD_BYTES
    ? partOf(code.data, PROGRAM_DATA_HEAD_BYTES)
    : null;
}

/** Cuts the trailing zeros of a program account that was extended. */
function programFile(deployed: ReadonlyBytes): Buffer {
  const all = readBuffer(deployed);
  const file = all.subarray(0, SQUADS_PROGRAM_BYTES);
  return all.subarray(SQUADS_PROGRAM_BYTES).every((byte) => byte === 0) ? file : all;
}

const otherProgram = (hash: Sha256): FlywheelError =>
  new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    `The Squads program of this cluster is not the one of mainnet. The SHA-256 is ${hash}, expected ${SQUADS_PROGRAM_SHA256}.`,
    { hint: 'Download it from mainnet: --rpc-url mainnet' },
  );

/**
 * Does not download a program that is already there.
 * @param chain - opened only for a download
 * @throws `ERR_LOCAL_NOT_FOUND`, `ERR_CHAIN_MISMATCH`, `ERR_STORE_UNAVAILABLE` while another process uses the directory
 */
export async function fetchSquads(dataDir: string, chain: () => ChainReader) {
  const { squadsProgram: file, lock } = dataFiles(dataDir);
  const found = { program: SQUADS_PROGRAM, sha256: SQUADS_PROGRAM_SHA256 as string, file };
  if (requireLocalConfig(dataDir).squadsProgram) {
    readSquadsProgram(file);
    return { ...found, fetched: false };
  }
  const deployed = await readDeployedSquads(chain());
  if (deployed === null)
    throw new FlywheelError('ERR_CHAIN_MISMATCH', 'This cluster has no Squads program.', {
      hint: 'Download it from mainnet: --rpc-url mainnet',
    });
  const bytes = programFile(deployed);
  const hash = sha256(bytes);
  if (hash !== SQUADS_PROGRAM_SHA256) throw otherProgram(hash);
  // Open processes keep the program they loaded. The exclusive lock prevents two programs on one ledger.
  await whileOpen(async (opened) => {
    opened.keep(await ownDataDirectory(lock));
    writePrivate(file, bytes);
    writeLocalConfig(dataDir, { ...requireLocalConfig(dataDir), squadsProgram: true });
  });
  return { ...found, fetched: true };
}
