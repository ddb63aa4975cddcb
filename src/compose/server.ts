/** `flywheel serve`: the engine of a data directory on HTTP. */

import type { Chain } from '../chain/chain.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient, RunningServer, ServeOptions } from '../cli/context.js';
import { OPERATION_LIST, type OperationId, type RateLimit } from '../contract/operations.js';
import type { Engine } from '../engine/engine.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { FileName } from '../files/sqlite-errors.js';
import { createHttpServer, type HttpServer } from '../http/app.js';
import type { HttpServerOptions, Principal } from '../http/options.js';
import { createMemoryCounts, withRate } from '../http/rate-limit.js';
import type { Store } from '../store/store.js';
import type { Secret } from '../values/secret.js';
import { type DataEngineOptions, type OpenedDataEngine, openDataEngine } from './data-engine.js';
import { type DataPlace, requirePlace } from './data-place.js';
import { type DataWatch, watchData } from './data-watch.js';
import { openDatabaseRateCounts } from './database.js';
import { createDiskCheck } from './disk-check.js';
import { type OpenEngineOptions, SHARED_LIMITS } from './engine.js';
import { engineLog } from './engine-log.js';
import { keepReconciling, problemLine, type Reconciling } from './keep-reconciling.js';
import { openLateEngine } from './late-engine.js';
import { dataFiles, isOnCluster } from './local-config.js';
import { Meter } from './measure.js';
import { Opened } from './opened.js';

/** Settles what an earlier server left pending, then listens. @throws `ERR_LOCAL_NOT_FOUND` before `local init`. */
export async function startServerOverEngine(
  ambient: Ambient,
  settings: Settings,
  options: ServeOptions,
): Promise<RunningServer> {
  const { server, data, close } = await openServer(ambient, settings, options);
  try {
    const url = await server.listen({ host: options.host, port: options.port });
    return {
      url,
      failed: data.lost,
      close: async () => {
        await server.closeGracefully(options.shutdownGraceMs);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A server over its engine that does not listen yet. */
export interface OpenServer {
  readonly server: HttpServer;
  readonly data: DataWatch;
  /** Closes what the server works on. */
  close(): Promise<void>;
}

/** What a server is given before it listens. */
export type OpenServerOptions = Omit<ServeOptions, 'host' | 'port' | 'shutdownGraceMs'> &
  Pick<OpenEngineOptions, 'between'> & {
    /** Microseconds that never go back, for rate limits of this process. @default those of the system */
    readonly nowUs?: () => number;
  };

/** Settles what an earlier server left pending. @throws `ERR_LOCAL_NOT_FOUND` before `local init`. */
export async function openServer(
  ambient: Ambient,
  settings: Settings,
  options: OpenServerOptions,
): Promise<OpenServer> {
  const opened = new Opened();
  try {
    const created = await createServer(opened, ambient, settings, options);
    return { ...created, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function createServer(
  opened: Opened,
  ambient: Ambient,
  settings: Settings,
  options: OpenServerOptions,
): Promise<Omit<OpenServer, 'close'>> {
  const dataDir = settings.dataDir.value;
  const place = requirePlace(settings);
  const isShared = place.kind === 'database';
  const meter = new Meter();
  const late = opened.keep(
    await openLateEngine({
      mayWait: isShared,
      open: () => openDataEngine(ambient, settings, engineOptions(options, ambient, meter)),
      begin: (ready) => begin(ready, options, ambient),
      onProblem: (message) => warn(ambient, message),
    }),
  );
  const { engine } = late;
  const data = opened.keep(watchData(filesOf(dataDir, place)));
  const rateCounts =
    place.kind === 'database'
      ? opened.keep(await openDatabaseRateCounts(place.address))
      : createMemoryCounts(options.nowUs);
  const checkDisk = isShared
    ? async () => {}
    : createDiskCheck({ directory: dataDir, process: ambient.processes.self(), clock: ambient.clock });
  const server = await createHttpServer(
    {
      service: engine,
      authenticate: async (credential: Secret | null): Promise<Principal> => {
        data.check();
        const principal = await engine.authenticate(credential);
        return { ...principal, rates: options.keyRates[principal.keyId] ?? {} };
      },
      health: {
        ready: async () => {
          // Looks at the files, where the engine may still have in memory what it asks for.
          data.check();
          await Promise.all([engine.ready(), checkDisk()]);
        },
      },
      metrics: {
        batchesByStatus: () => engine.countBatches(),
        attach: (observe) => meter.attach(observe),
        state: () => engine.state(),
      },
      rateCounts,
      log: { level: options.logLevel, stream: ambient.io.stderr, server: () => late.instance },
    },
    httpOptions(ambient, settings, options),
  );
  return { server, data };
}

const httpOptions = (
  { version }: Ambient,
  { apiKeyHeader }: Settings,
  { maxBodyBytes, rates, corsOrigins, bearer, metricsToken }: OpenServerOptions,
): HttpServerOptions => ({
  ...{ version, corsOrigins, bearer },
  apiKeyHeader: apiKeyHeader.value,
  limits: { maxBodyBytes },
  rateLimits: namedRates(rates),
  ...(metricsToken === null ? {} : { metricsToken }),
});

/** How the engine of a server differs from that of a command. */
const engineOptions = (
  { between, logLevel }: Pick<OpenServerOptions, 'between' | 'logLevel'>,
  { io }: Ambient,
  meter: Meter,
): DataEngineOptions => ({
  ...{ limits: SHARED_LIMITS, outlivesSignal: true, database: { schema: 'update' } },
  meter,
  onEvent: engineLog({ level: logLevel, stream: io.stderr }),
  ...(between === undefined ? {} : { between }),
});

/** What a server does before it serves, and goes on doing. */
async function begin(
  { engine, chain, store, verify }: OpenedDataEngine,
  options: Pick<ServeOptions, 'keyRates' | 'logLevel'>,
  ambient: Ambient,
): Promise<Reconciling> {
  await verifyAtStart(verify, ambient);
  await requireKeys(store, Object.keys(options.keyRates));
  return finishWhatIsLeft(engine, chain, options, ambient);
}

function filesOf(dataDir: string, place: DataPlace): readonly FileName[] {
  if (place.kind === 'database') return [];
  const { store, ledger } = dataFiles(dataDir);
  const own = { path: store, noun: 'store' } as const;
  return isOnCluster(place.config) ? [own] : [own, { path: ledger, noun: 'ledger' }];
}

/** A server may start before its nodes answer: it is then not ready, and what it is asked waits for the same check. */
async function verifyAtStart(verify: () => Promise<void>, ambient: Ambient): Promise<void> {
  try {
    await verify();
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_UNAVAILABLE')) throw error;
    warn(ambient, `${error.message} The server starts, and is not ready until a node answers.`);
  }
}

const warn = ({ io }: Ambient, msg: string): void => {
  io.stderr.write(`${JSON.stringify({ level: 'warn', msg })}\n`);
};

/** What a chain takes its time with is not waited for. */
const finishWhatIsLeft = (
  engine: Engine,
  { pollMs }: Chain,
  { logLevel }: Pick<ServeOptions, 'logLevel'>,
  { io }: Ambient,
): Promise<Reconciling> =>
  keepReconciling(engine, {
    inBackground: pollMs !== null,
    onProblem: (what, error) => {
      if (LOGS_PROBLEMS.has(logLevel)) io.stderr.write(problemLine(what, error));
    },
  });

/** Levels of the log at which what stays unfinished is said. */
const LOGS_PROBLEMS: ReadonlySet<ServeOptions['logLevel']> = new Set(['warn', 'info', 'debug', 'trace']);

/** A rate for a key that is not there is most likely a slip. @throws `ERR_CONFIG_INVALID` */
async function requireKeys(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    if ((await store.read((tx) => tx.apiKeys.get(id))) !== undefined) continue;
    throw new FlywheelError('ERR_CONFIG_INVALID', `--rate: there is no API key ${id}.`, {
      hint: '`flywheel keys list` shows them.',
    });
  }
}

/** Rates under the names that the operations' limits have. */
const namedRates = (rates: ServeOptions['rates']): Partial<Record<OperationId, RateLimit>> =>
  Object.fromEntries(
    OPERATION_LIST.filter(({ id }) => rates[id] !== undefined).map(({ id, rateLimit }) => [
      id,
      withRate(rateLimit, rates[id]),
    ]),
  );
