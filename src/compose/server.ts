/** `flywheel serve`: the engine of a data directory on HTTP. */

import type { Settings } from '../cli/config/settings.js';
import type { Ambient, RunningServer, ServeOptions } from '../cli/context.js';
import type { BatchFunds } from '../contract/admin.js';
import type { Service } from '../contract/service.js';
import { createRateLimiter } from '../http/rate-limiter.js';
import { rememberReads } from '../http/remembered-reads.js';
import { createHttpServer, type HttpServer } from '../http/server.js';
import { chosenFunds } from './batch-funds.js';
import { openEngine } from './engine.js';
import { homeFiles, requireHome } from './home.js';
import { openRateCounts } from './rate-counts.js';
import { openStoreVersion } from './store-version.js';

/** For how long running requests may go on after a stop was asked for. */
const SHUTDOWN_MS = 10_000;

/** What a server is started with; how much SOL batches may take holds for its run, instead of what `local init` was given. */
type StartOptions = ServeOptions & BatchFunds;

/** Settles what an earlier server left pending, then listens. @throws `ERR_LOCAL_NOT_FOUND` before `local init`. */
export async function startServerOverEngine(
  ambient: Ambient,
  settings: Settings,
  options: StartOptions,
): Promise<RunningServer> {
  const opened = new Opened();
  try {
    const server = await createServer(opened, ambient, settings, options);
    const url = await server.listen({ host: options.host, port: options.port });
    return {
      url,
      close: async () => {
        await server.closeGracefully(SHUTDOWN_MS);
        await opened.close();
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** What has been opened so far, to be closed again whatever happens next. */
class Opened {
  readonly #closers: (() => unknown)[] = [];

  keep<Thing extends { close(): unknown }>(thing: Thing): Thing {
    this.#closers.push(() => thing.close());
    return thing;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

async function createServer(
  opened: Opened,
  ambient: Ambient,
  settings: Settings,
  options: StartOptions,
): Promise<HttpServer> {
  const { clock } = ambient;
  const dataDir = settings.dataDir.value;
  const files = homeFiles(dataDir);
  const home = { ...requireHome(dataDir), ...chosenFunds(options) };
  const { engine } = opened.keep(await openEngine(dataDir, home, { clock }));
  const counts = opened.keep(await openRateCounts(files.rateCounts));
  const store = opened.keep(await openStoreVersion(files.store));
  await engine.reconcile();
  const writes = countWrites(engine);
  return createHttpServer(
    {
      ...rememberReads({
        service: writes.service,
        authenticate: (credential) => engine.authenticate(credential),
        version: () => store.version(),
      }),
      health: { ready: () => engine.ready() },
      metrics: { batchesByStatus: () => engine.countBatches(), queueDepth: writes.waiting },
      rateLimiter: createRateLimiter({ clock, counts }),
      log: { level: options.logLevel, stream: ambient.io.stderr },
    },
    {
      apiKeyHeader: settings.apiKeyHeader.value,
      version: ambient.version,
      limits: { maxBodyBytes: options.maxBodyBytes },
      ...(options.metricsToken === null ? {} : { metricsToken: options.metricsToken }),
    },
  );
}

/** The ledger has one writer: of the operations that write, all but one wait for their turn. */
function countWrites(engine: Service): { readonly service: Service; waiting(): number } {
  let running = 0;
  const counted = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
  return {
    service: {
      ...engine,
      burn: (input, call) => counted(() => engine.burn(input, call)),
      burnBatch: (input, call) => counted(() => engine.burnBatch(input, call)),
      initBatch: (input, call) => counted(() => engine.initBatch(input, call)),
      executeBatch: (input, call) => counted(() => engine.executeBatch(input, call)),
    },
    waiting: () => Math.max(0, running - 1),
  };
}
