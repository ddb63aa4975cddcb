/** `flywheel serve`: the engine of a data directory on HTTP. */

import type { Settings } from '../cli/config/settings.js';
import type { Ambient, RunningServer, ServeOptions } from '../cli/context.js';
import { createRateLimiter } from '../http/rate-limiter.js';
import { rememberReads } from '../http/remembered-reads.js';
import { createHttpServer } from '../http/server.js';
import { openEngine } from './engine.js';
import { homeFiles, requireHome } from './home.js';
import { openRateCounts } from './rate-counts.js';
import { openStoreVersion } from './store-version.js';

/** For how long running requests may go on after a stop was asked for. */
const SHUTDOWN_MS = 10_000;

/** Settles what an earlier server left pending, then listens. @throws `ERR_LOCAL_NOT_FOUND` before `local init`. */
export async function startServerOverEngine(
  ambient: Ambient,
  settings: Settings,
  options: ServeOptions,
): Promise<RunningServer> {
  const dataDir = settings.dataDir.value;
  const { engine, close } = await openEngine(dataDir, requireHome(dataDir), { clock: ambient.clock });
  const counts = await openRateCounts(homeFiles(dataDir).rateCounts);
  const store = await openStoreVersion(homeFiles(dataDir).store);
  await engine.reconcile();
  const server = await createHttpServer(
    {
      ...rememberReads({
        service: engine,
        authenticate: (credential) => engine.authenticate(credential),
        version: () => store.version(),
      }),
      health: { ready: () => engine.ready() },
      metrics: { batchesByStatus: () => engine.countBatches() },
      rateLimiter: createRateLimiter({ clock: ambient.clock, counts }),
      log: { level: options.logLevel, stream: ambient.io.stderr },
    },
    {
      apiKeyHeader: settings.apiKeyHeader.value,
      version: ambient.version,
      limits: { maxBodyBytes: options.maxBodyBytes },
      ...(options.metricsToken === null ? {} : { metricsToken: options.metricsToken }),
    },
  );
  const stop = async (): Promise<void> => {
    await server.closeGracefully(SHUTDOWN_MS);
    await close();
    counts.close();
    store.close();
  };
  try {
    const url = await server.listen({ host: options.host, port: options.port });
    return { url, close: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
