/** What the server counts, in Prometheus' text form; each server has its own registry. */
import type { Registry } from 'prom-client';
import type { Reply } from '../contract/call.js';
import type { OperationId } from '../contract/operations.js';
import type { MetricsSource } from './options.js';
import { addBuildInfo, addStateGauges, addTimings } from './state-metrics.js';

export interface Metrics {
  /** A request has ended, whatever came of it; `operation` is `none` for all other paths. */
  ended(request: {
    readonly operation: OperationId | 'none';
    readonly status: number;
    readonly seconds: number;
    /** Was the answer given, or had the client gone? */
    readonly isAnswered: boolean;
  }): void;
  rateLimited(operation: OperationId): void;
  /** The service has given a value. */
  answered(operation: OperationId, reply: Reply<unknown>): void;
  /** The service was called, or has come to an end. */
  running(delta: 1 | -1): void;
  contentType: string;
  text(): Promise<string>;
}

/** What is asked of the server when somebody reads the metrics. */
export interface ServerState {
  connections(): number;
  /** Of large bodies. */
  heldBytes(): number;
}

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const lengthOf = (value: unknown, field: string): number => {
  const list: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;
  return Array.isArray(list) ? list.length : 0;
};

/** How many burns a reply of a burn operation reports; none for the other operations. */
function burnsOf(
  operation: OperationId,
  value: unknown,
): { readonly success: number; readonly error: number } {
  if (operation === 'burn') return { success: 1, error: 0 };
  if (operation !== 'burnBatch') return { success: 0, error: 0 };
  return { success: lengthOf(value, 'success'), error: lengthOf(value, 'errors') };
}

/** Keeps what was made for each combination; there are few. */
function makeOnce<Arguments extends readonly (string | number)[], Made>(
  make: (...parts: Arguments) => Made,
): (...parts: Arguments) => Made {
  const made = new Map<string, Made>();
  return (...parts) => {
    const key = parts.join(' ');
    const known = made.get(key);
    if (known !== undefined) return known;
    const fresh = make(...parts);
    made.set(key, fresh);
    return fresh;
  };
}

type Prometheus = typeof import('prom-client');

/** What is counted as it happens. */
function createCounters({ Counter, Gauge, Histogram }: Prometheus, registers: Registry[]) {
  return {
    requests: new Counter({
      name: 'flywheel_http_requests_total',
      help: 'Requests that have ended, by operation and by the status of their answer.',
      labelNames: ['operation', 'status'] as const,
      registers,
    }),
    duration: new Histogram({
      name: 'flywheel_http_request_duration_seconds',
      help: 'Time from the request line to the end of the answer.',
      labelNames: ['operation'] as const,
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    }),
    hangUps: new Counter({
      name: 'flywheel_http_hang_ups_total',
      help: 'Requests whose client had gone before its answer was out.',
      labelNames: ['operation'] as const,
      registers,
    }),
    limited: new Counter({
      name: 'flywheel_rate_limited_total',
      help: 'Requests refused by the rate limit.',
      labelNames: ['operation'] as const,
      registers,
    }),
    replays: new Counter({
      name: 'flywheel_idempotent_replays_total',
      help: 'Answers that were those of an earlier request.',
      labelNames: ['operation'] as const,
      registers,
    }),
    burns: new Counter({
      name: 'flywheel_burns_total',
      help: 'Burns reported by the two burn operations, replays left out.',
      labelNames: ['result'] as const,
      registers,
    }),
    running: new Gauge({
      name: 'flywheel_http_requests_running',
      help: 'Calls of the service that are being worked on, also for clients that have gone.',
      registers,
    }),
  };
}

/** What is asked of the service and the server when somebody reads the metrics. */
function addSourceGauges(
  { Gauge }: Prometheus,
  registers: Registry[],
  source: MetricsSource & ServerState,
): void {
  new Gauge({
    name: 'flywheel_http_connections',
    help: 'Connections that are open.',
    registers,
    collect() {
      this.set(source.connections());
    },
  });
  new Gauge({
    name: 'flywheel_http_held_bytes',
    help: 'Bytes of large request bodies that are held in memory.',
    registers,
    collect() {
      this.set(source.heldBytes());
    },
  });
  new Gauge({
    name: 'flywheel_batches',
    help: 'Batches by status.',
    labelNames: ['status'] as const,
    registers,
    async collect() {
      for (const [status, count] of Object.entries((await source.batchesByStatus?.()) ?? {})) {
        this.set({ status }, count);
      }
    },
  });
  new Gauge({
    name: 'flywheel_queue_depth',
    help: 'Pieces of chain work that wait for their turn.',
    registers,
    collect() {
      this.set(source.queueDepth?.() ?? 0);
    },
  });
}

/** Counters and gauges of one server. */
export async function createMetrics(source: MetricsSource & ServerState, version: string): Promise<Metrics> {
  const prometheus = await import('prom-client');
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  const { requests, duration, hangUps, limited, replays, burns, running } = createCounters(prometheus, [
    registry,
  ]);
  addSourceGauges(prometheus, [registry], source);
  addStateGauges(prometheus, [registry], source);
  addBuildInfo(prometheus, [registry], version);
  source.attach?.(addTimings(prometheus, [registry]));
  // Bound once for each combination of labels, since binding costs more than counting.
  const requestsOf = makeOnce((operation: string, status: number) =>
    requests.labels(operation, String(status)),
  );
  const durationOf = makeOnce((operation: string) => duration.labels(operation));
  return {
    ended({ operation, status, seconds, isAnswered }) {
      requestsOf(operation, status).inc();
      if (!isAnswered) hangUps.inc({ operation });
      durationOf(operation).observe(seconds);
    },
    rateLimited: (operation) => limited.inc({ operation }),
    answered(operation, reply) {
      if (reply.meta.replayed) {
        replays.inc({ operation });
        return;
      }
      const { success, error } = burnsOf(operation, reply.value);
      if (success > 0) burns.inc({ result: 'success' }, success);
      if (error > 0) burns.inc({ result: 'error' }, error);
    },
    running: (delta) => running.inc(delta),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
