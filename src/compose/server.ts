/** `flywheel serve`: the engine of a data directory or a database on HTTP, and what it does unasked: it brings to its end what any process has left unfinished. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Measured } from '../contract/served-engine.js';
import type { Engine } from '../engine/engine.js';
import type { EngineEvent } from '../engine/events.js';
import type { ReconcileTerms } from '../engine/reconcile.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { createHttpServer, type HttpServer } from '../http/app.js';
import { createLog, type LogLevel } from '../http/log.js';
import type { HttpServerDeps, HttpServerOptions } from '../http/options.js';
import { createMemoryCounts } from '../http/rate-limit.js';
import { processName } from './actor.js';
import type { Ambient } from './context.js';
import { type EngineOptions, type OpenedEngine, openEngine, SHARED_LIMITS } from './open-engine.js';
import { type Opened, opening } from './opened.js';
import { databaseOf } from './place.js';
import type { Settings } from './settings.js';

/** Options of `serve` beyond the global ones. */
export interface ServeOptions
  extends Required<
    Pick<HttpServerOptions, 'metricsToken' | 'rates' | 'keyRates' | 'corsOrigins' | 'bearer'>
  > {
  readonly host: string;
  readonly port: number;
  readonly logLevel: LogLevel;
  readonly maxBodyBytes: number;
  /** For how long running requests may go on after a stop was asked for. */
  readonly shutdownGraceMs: number;
}

export interface RunningServer {
  readonly url: string;
  /** Stops accepting, finishes what runs, closes. */
  close(): Promise<void>;
}

/** What happens to every operation is for who looks closely; that another took one over is for everybody. */
const DETAILS: ReadonlySet<EngineEvent['event']> = new Set(['begun', 'signed', 'settled']);

/** Finishes what an earlier server left, then listens. @throws `ERR_LOCAL_NOT_FOUND` before `local init`. */
export const startServer = (
  ambient: Ambient,
  settings: Settings,
  options: ServeOptions,
): Promise<RunningServer> =>
  opening(async (opened) => {
    const server = await createServer(opened, ambient, settings, options);
    const url = await server.listen({ host: options.host, port: options.port });
    return {
      url,
      close: async () => {
        await server.closeGracefully(options.shutdownGraceMs);
        await opened.close();
      },
    };
  });

/** A server over its engine that does not listen yet. */
export interface OpenServer {
  readonly server: HttpServer;
  /** Closes what the server works on. */
  close(): Promise<void>;
}

/** What a server is given before it listens. */
export type OpenServerOptions = Omit<ServeOptions, 'host' | 'port' | 'shutdownGraceMs'> &
  Pick<EngineOptions, 'between'> & {
    /** Microseconds that never go back, for rate limits of this process. @default those of the system */
    readonly nowUs?: () => number;
  };

/** @throws as {@link startServer} */
export const openServer = (
  ambient: Ambient,
  settings: Settings,
  options: OpenServerOptions,
): Promise<OpenServer> =>
  opening(async (opened) => ({
    server: await createServer(opened, ambient, settings, options),
    close: () => opened.close(),
  }));

async function createServer(
  opened: Opened,
  ambient: Ambient,
  settings: Settings,
  options: OpenServerOptions,
): Promise<HttpServer> {
  const { logLevel, maxBodyBytes, between, nowUs, ...served } = options;
  const log = createLog({ level: logLevel, stream: ambient.io.stderr, server: processName() });
  /** Takes what was measured, once the server counts. */
  let observe: ((measured: Measured) => void) | undefined;
  const data = opened.keep(
    await openEngine(ambient, settings, {
      ...{ limits: SHARED_LIMITS, outlivesSignal: true, upgrades: true },
      onMeasured: (measured) => observe?.(measured),
      onEvent: ({ event, ...detail }) => log[DETAILS.has(event) ? 'debug' : 'info'](detail, event),
      ...(between === undefined ? {} : { between }),
    }),
  );
  const { engine } = data;
  await verifyAtStart(data, log);
  await requireKeys(engine, Object.keys(served.keyRates));
  opened.keep(
    await keepReconciling(engine, {
      // What a chain takes its time with is not waited for.
      inBackground: data.network.kind === 'cluster',
      onProblem: (what, error) => {
        const reason = isFlywheelError(error) ? `${error.code}: ${error.message}` : 'internal error';
        log.warn(`Not finished: ${what}. ${reason}`);
      },
    }),
  );
  return createHttpServer(
    {
      engine,
      onMeasured: (hear) => {
        observe = hear;
      },
      rateCounts: await rateCountsOf(opened, settings, nowUs),
      log,
    },
    {
      ...{ ...served, version: ambient.version, apiKeyHeader: settings.apiKeyHeader.value },
      limits: { maxBodyBytes },
    },
  );
}

/** All servers on one database count together. */
async function rateCountsOf(opened: Opened, settings: Settings, nowUs: OpenServerOptions['nowUs']) {
  const address = databaseOf(settings);
  if (address === null) return createMemoryCounts(nowUs);
  const { openPostgresRateCounts } = await import('../store/postgres/rate-counts.js');
  return opened.keep(await openPostgresRateCounts({ url: address.reveal() }));
}

/** A server may start before its nodes answer: it is then not ready, and what it is asked waits for the same check. */
async function verifyAtStart({ chain }: OpenedEngine, log: HttpServerDeps['log']): Promise<void> {
  try {
    await chain.latestBlockhash();
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_UNAVAILABLE')) throw error;
    log.warn(`${error.message} The server starts and is ready once a node answers.`);
  }
}

/** A rate for a key that is not there is most likely a slip. @throws `ERR_CONFIG_INVALID` */
async function requireKeys(engine: Engine, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    if (await engine.hasKey(id)) continue;
    throw new FlywheelError('ERR_CONFIG_INVALID', `--rate: no API key ${id}.`, {
      hint: 'List the keys: `flywheel keys list`',
    });
  }
}

/** Time between the end of one look and the next. */
const INTERVAL_MS = 15_000;

interface Reconciling {
  /** Stops what is waited for, and resolves when nothing is done any more; whatever was sent is stored. */
  close(): Promise<void>;
}

interface ReconcilingOptions {
  readonly onProblem: NonNullable<ReconcileTerms['onProblem']>;
  /** Where a chain takes its time nobody waits for the first look. @default false */
  readonly inBackground?: boolean;
  /** @default 15,000 */
  readonly intervalMs?: number;
}

/** @throws what goes wrong with the first look, unless that is taken in the background. */
export async function keepReconciling(
  engine: Pick<Engine, 'reconcile'>,
  { onProblem, inBackground = false, intervalMs = INTERVAL_MS }: ReconcilingOptions,
): Promise<Reconciling> {
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
