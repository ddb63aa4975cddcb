import type { Service } from '../../../src/contract/service.js';
import { createEngine } from '../../../src/engine/engine.js';
import { openTestEngine } from '../../support/engine.js';
import { type ClusterTerms, openCluster } from '../../support/open-cluster.js';

/** The engine on a test node over the ledger of its own directory, reached by RPC. */
export async function openOnCluster(terms: ClusterTerms = {}) {
  const test = await openTestEngine();
  const cluster = await openCluster(test, terms);
  const engine = createEngine({ ...test.deps, chain: cluster.chain });
  return {
    ...cluster,
    ...{ service: engine as Service, engine, test },
    async dispose(): Promise<void> {
      await cluster.close();
      await test.destroy();
    },
  };
}
