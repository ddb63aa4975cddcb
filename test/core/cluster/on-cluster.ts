import { onTestFinished } from 'vitest';
import type { Service } from '../../../src/contract/service.js';
import { createEngine } from '../../../src/engine/engine.js';
import { openTestEngine } from '../../support/engine.js';
import { type ClusterTerms, openCluster } from '../../test-cluster/open-cluster.js';

/** The engine on a test node over the ledger of its own directory, reached by RPC. @param atEnd - @default with the test */
export async function openOnCluster(
  terms: ClusterTerms = {},
  atEnd: (close: () => Promise<void>) => void = onTestFinished,
) {
  const test = await openTestEngine();
  const cluster = await openCluster(test, terms);
  const engine = createEngine({ ...test.deps, chain: cluster.chain });
  atEnd(async () => {
    await cluster.close();
    await test.destroy();
  });
  return { ...cluster, service: engine as Service, engine, test };
}
