/** A data directory on a cluster: the store and keys of a test engine, with a node over its ledger. */
import { cpSync, existsSync } from 'node:fs';
import { dataFiles, writeLocalConfig } from '../../src/compose/local-config.js';
import type { TestEngine } from '../support/engine.js';
import { rpcResult } from '../support/rpc-call.js';
import { emptyDirectory } from '../support/spawn.js';

/**
 * The test engine must not write any more. @param urls - nodes that the directory names; the first serves the engine's ledger.
 */
export async function clusterDirectory(
  test: TestEngine,
  urls: readonly [string, ...string[]],
): Promise<string> {
  const directory = emptyDirectory();
  const [from, to] = [dataFiles(test.dataDir), dataFiles(directory)];
  for (const end of ['', '-wal', '-shm'])
    if (existsSync(from.store + end)) cpSync(from.store + end, to.store + end);
  cpSync(from.keys, to.keys, { recursive: true });
  writeLocalConfig(directory, {
    cluster: {
      genesisHash: await rpcResult<string>(urls[0], 'getGenesisHash'),
      ...{ rpcUrls: urls, rpcQuorum: 1 },
    },
    signers: {},
  });
  return directory;
}
