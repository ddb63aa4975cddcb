/** `flywheel serve`: the engine over HTTP, with a background loop that finishes work that any process left unfinished. */

import { setTimeout as delay } from 'node:timers/promises';
import type { EngineEvent } from '../engine/deps.js';
import type { Engine } from '../engine/engine.js';
import type { ReconcileTerms } from '../engine/reconcile.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { processName } from '../files/process-identity.js';
import { createHttpServer, type HttpServer } from '../http/app.js';
import { createLog, type LogLevel } from '../http/log.js';
import { createMetrics } from '../http/metrics.js';
import type { HttpServerDeps, HttpServerOptions } from '../http/options.js';
import { createMemoryCounts } from '../http/rate-limit.js';
import type { Ambient } from './context.js';
import { type EngineOptions, type OpenedEngine, openEngine, SHARED_LIMITS } from './open-engine.js';
import { type Opened, opening } from './opened.js';
import { databaseOf } from './place.js';
import type { Settings } from './settings.js';

export interface ServeOptions
  extends Required<Pick<HttpServerOptions, 'metricsToken' | 'rates' | 'keyRates' | 'bearer'>> {
  readonly host: string;
  readonly port: number;
  readonly logLevel: LogLevel;
  readonly shutdownGraceMs: number;
}

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

/** These events are logged at level debug, others (such as a takeover) at level info. */
const DETAILS: ReadonlySet<EngineEvent['event']> = new Set(['begun', 'signed', 'settled']);

/** Reconciles once, then listens. @throws `ERR_LOCAL_NOT_FOUND` before `local init` */
export const startServer = (
  ambient: Ambient,
  settings: Settings,
  { host, port, shutdownGraceMs, ...options }: ServeOptions,
): Promise<RunningServer> =>
  opening(async (opened) => {
    const { server } = opened.keep(await openServer(ambient, settings, options));
    const url = await server.listen({ host, port });
    return {
      url,
      close: async () => {
        await server.closeGracefully(shutdownGraceMs);
        await opened.close();
      },
    };
  });

export interface OpenServer {
  readonly server: HttpServer;
  close(): Promise<void>;
}

type OpenServerOptions = Omit<ServeOptions, 'host' | 'port' | 'shutdownGraceMs'> &
  Pick<EngineOptions, 'between'> & {
    /** Monotonic microseconds for in-process rate limits. @default the system's */
    readonly nowUs?: () => number;
  };

/** @throws as {@link startServer} */
export const openServer = (
  ambient: Ambient,
  settings: Settings,
  { logLevel, between, nowUs, ...served }: OpenServerOptions,
): Promise<OpenServer> =>
  opening(async (opened) => {
    const log = createLog({ level: logLevel, stream: ambient.io.stderr, server: processName() });
    const metrics = await createMetrics(ambient.version);
    const data = opened.keep(
      await openEngine(ambient, settings, {
        ...{ limits: SHARED_LIMITS, outlivesSignal: true, upgrades: true },
        onMeasured: metrics.measured,
        onEvent: ({ event, ...detail }) => log[DETAILS.has(event) ? 'debug' : 'info'](detail, event),
        ...(between === undefined ? {} : { between }),
      }),
    );
    const { engine } = data;
    await verifyAtStart(data, log);
    await requireKeys(engine, Object.keys(served.keyRates));
    opened.keep(
      await keepReconciling(engine, {
        // On a cluster, reconciling may take long; the server does not wait for it.
        inBackground: data.network.kind === 'cluster',
        onProblem: (what, error) => {
          const reason = isFlywheelError(error) ? `${error.code}: ${error.message}` : 'internal error';
          log.warn(`Not finished: ${what}. ${reason}`);
        },
      }),
    );
    const server = await createHttpServer(
      { engine, metrics, rateCounts: await rateCountsOf(opened, settings, nowUs), log },
      { ...served, version: ambient.version, apiKeyHeader: settings.apiKeyHeader.value },
    );
    return { server, close: () => opened.close() };
  });

/** Servers on one database share the counters. */
async function rateCountsOf(opened: Opened, settings: Settings, nowUs: OpenServerOptions['nowUs']) {
  const address = databaseOf(settings);
  if (address === null) return createMemoryCounts(nowUs);
  const { openPostgresRateCounts } = await import('../store/postgres/rate-counts.js');
  return opened.keep(openPostgresRateCounts({ url: address.reveal() }));
}

/** A server may start before its nodes answer: it reports not ready, and requests wait for the same check. */
async function verifyAtStart({ chain }: OpenedEngine, log: HttpServerDeps['log']): Promise<void> {
  try {
    await chain.latestBlockhash();
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_UNAVAILABLE')) throw error;
    log.warn(`${error.message} The server starts and is ready once a node answers.`);
  }
}

/** A rate for an unknown key is probably a typo. @throws `ERR_CONFIG_INVALID` */
async function requireKeys(engine: Engine, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    if (await engine.hasKey(id)) continue;
    throw new FlywheelError('ERR_CONFIG_INVALID', `--rate: no API key ${id}.`, {
      hint: 'List the keys: `flywheel keys list`',
    });
  }
}

/** Pause between the end of one run and the next. */
const INTERVAL_MS = 15_000;

interface ReconcilingOptions {
  readonly onProblem: NonNullable<ReconcileTerms['onProblem']>;
  /** Do not wait for the first run. @default false */
  readonly inBackground?: boolean;
  readonly intervalMs?: number;
}

/**
 * @returns `close` aborts waits, and resolves when no work runs; everything sent is stored.
 * @throws the first run's error, unless it runs in the background
 */
export async function keepReconciling(
  engine: Pick<Engine, 'reconcile'>,
  { onProblem, inBackground = false, intervalMs = INTERVAL_MS }: ReconcilingOptions,
): Promise<{ close(): Promise<void> }> {
  const stop = new AbortController();
  const { signal } = stop;
  const tell: typeof onProblem = (what, error) => {
    if (!signal.aborted) onProblem(what, error);
  };
  const look = () => engine.reconcile({ signal, onProblem: tell });
  const lookAgain = async (first: Promise<unknown>): Promise<void> => {
    for (let one = first; ; one = look()) {
      await one.catch((error: unknown) => tell('what is unfinished', error));
      await delay(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
    }
  };
  const first = look();
  if (!inBackground) await first;
  const running = lookAgain(first);
  return {
    close: async () => {
      stop.abort();
      await running;
    },
  };
}
