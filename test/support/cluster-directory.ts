/** A data directory on a cluster: the store and keys of a test engine, and a node over its ledger in place of the ledger itself. */
import { cpSync, existsSync } from 'node:fs';
import { SQUADS_PROGRAM } from '../../src/chain/programs.js';
import { dataFiles, writeLocalConfig } from '../../src/compose/local-config.js';
import { registeredPins } from '../../src/compose/pinned.js';
import { flywheelOf } from '../../src/engine/batches/batch-context.js';
import { address } from '../../src/values/address.js';
import { temporaryDirectory } from './chain.js';
import type { TestEngine } from './engine.js';
import { rpcResult } from './rpc-call.js';

/**
 * Makes such a directory; the test engine must not write any more.
 * @param urls - nodes that are named in it, the first over the ledger of the engine.
 */
export async function clusterDirectory(
  test: TestEngine,
  urls: readonly [string, ...string[]],
): Promise<string> {
  const directory = temporaryDirectory();
  const [from, to] = [dataFiles(test.dataDir), dataFiles(directory)];
  for (const end of ['', '-wal', '-shm'])
    if (existsSync(from.store + end)) cpSync(from.store + end, to.store + end);
  cpSync(from.keys, to.keys, { recursive: true });
  const { token, flywheel } = await test.store.read(async (tx) => {
    const token = (await tx.tokens.list())[0];
    const flywheel = token && (await tx.flywheels.ofToken(token.id));
    if (token === undefined || flywheel === undefined) throw new TypeError('Nothing is registered.');
    return { token, flywheel };
  });
  writeLocalConfig(directory, {
    cluster: {
      genesisHash: await rpcResult<string>(urls[0], 'getGenesisHash'),
      mint: address(token.mintAddress),
      squadsProgram: SQUADS_PROGRAM,
      rpcUrls: urls,
      rpcQuorum: 1,
      facts: registeredPins(flywheelOf(token, flywheel)).facts ?? {},
    },
  });
  return directory;
}
