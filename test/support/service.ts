/** An engine on a cluster, and the errors of its calls. */
import type { Service } from '../../src/contract/service.js';
import { createEngine } from '../../src/engine/engine.js';
import { type FlywheelError, isFlywheelError } from '../../src/errors/flywheel-error.js';
import { openTestEngine } from './engine.js';
import { type ClusterTerms, openCluster } from './open-cluster.js';

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

export async function failureOf(promise: Promise<unknown>): Promise<FlywheelError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome && isFlywheelError(outcome.error)) return outcome.error;
  throw new TypeError(`Expected a FlywheelError, got ${JSON.stringify(outcome)}`, { cause: outcome });
}
