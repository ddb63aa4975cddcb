/** A data directory on a cluster: the store and keys of a test engine, with a node over its ledger. */
import { cpSync, existsSync } from 'node:fs';
import { dataFiles, writeLocalConfig } from '../../src/compose/local-config.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import { rpcResult } from '../support/rpc-call.js';
import { emptyDirectory } from '../support/spawn.js';
import { closeTestNodes, startTestNode, type TestNodeOptions } from './node.js';

/**
 * The test engine must not write any more. @param url - of a node over the engine's ledger.
 */
async function clusterDirectory(test: TestEngine, url: string): Promise<string> {
  const directory = emptyDirectory();
  const [from, to] = [dataFiles(test.dataDir), dataFiles(directory)];
  for (const end of ['', '-wal', '-shm'])
    if (existsSync(from.store + end)) cpSync(from.store + end, to.store + end);
  cpSync(from.keys, to.keys, { recursive: true });
  writeLocalConfig(directory, {
    cluster: {
      genesisHash: await rpcResult<string>(url, 'getGenesisHash'),
      ...{ rpcUrls: [url], rpcQuorum: 1 },
    },
    signers: {},
  });
  return directory;
}

/** A project on a cluster of its own, whose slots pass by themselves. */
export async function projectOnCluster(slots: Partial<TestNodeOptions> = {}) {
  const test = await openTestEngine();
  const node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, pace: 'clock' },
    ...{ slotMs: 20, confirmedAfter: 1, finalizedAfter: 4, ...slots },
  });
  const dataDir = await clusterDirectory(test, node.url);
  const close = async (): Promise<void> => {
    await closeTestNodes();
    await test.destroy();
  };
  return { test, node, dataDir, close };
}
