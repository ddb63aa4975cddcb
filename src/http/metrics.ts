/** What the server counts, in Prometheus' text form; each server has its own registry. Labels have few values, and no key. */
import type { Reply } from '../contract/call.js';
import type { OperationId } from '../contract/operations.js';
import type { Measured, MetricsSource, ServiceState } from './options.js';

export interface Metrics {
  /** A request has ended; `operation` is `none` for all other paths. */
  ended(operation: OperationId | 'none', status: number, seconds: number): void;
  /** The service has given a value. */
  answered(operation: OperationId, reply: Reply<unknown>): void;
  readonly contentType: string;
  text(): Promise<string>;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** For how long one look at the state answers all who ask. */
const STATE_MS = 5_000;

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/** How many burns an answer of the two burn operations reports. */
function burnsOf(operation: OperationId, value: unknown): readonly [success: number, error: number] {
  if (operation === 'burn') return [1, 0];
  if (operation !== 'burnBatch') return [0, 0];
  const { success, errors } = value as { readonly success?: unknown; readonly errors?: unknown };
  return [lengthOf(success), lengthOf(errors)];
}

/** One look for all gauges of a scrape; `null` where it failed, which readiness tells. */
function sharedState(look: MetricsSource['state']): () => Promise<ServiceState | null> {
  let last: Promise<ServiceState | null> = Promise.resolve(null);
  let atMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (look !== undefined && performance.now() - atMs > STATE_MS) {
      atMs = performance.now();
      last = look().catch(() => null);
    }
    return last;
  };
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** @param server - numbers of the server itself, asked for when somebody reads the metrics */
export async function createMetrics(
  source: MetricsSource,
  server: { running(): number; connections(): number },
  version: string,
): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = await import('prom-client');
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: readonly string[]) =>
    new Histogram({ name, help, labelNames, buckets: SECONDS, registers });
  const gauge = (
    name: string,
    help: string,
    labelNames: readonly string[],
    samples: () => readonly Sample[] | Promise<readonly Sample[]>,
  ) =>
    new Gauge({
      ...{ name, help, labelNames, registers },
      async collect() {
        const found = await samples();
        this.reset();
        for (const [labels, value] of found) this.set(labels, value);
      },
    });
  const requests = counter(
    'flywheel_http_requests_total',
    'Requests that have ended, by operation and by the status of their answer.',
    ['operation', 'status'],
  );
  const duration = histogram(
    'flywheel_http_request_duration_seconds',
    'Time from the request line to the end of the answer.',
    ['operation'],
  );
  const burns = counter(
    'flywheel_burns_total',
    'Burns reported by the two burn operations, replays left out.',
    ['result'],
  );
  const transaction = histogram(
    'flywheel_store_transaction_seconds',
    'Time of a transaction of the store, waiting for its connection and its lock included.',
    ['kind'],
  );
  const chain = histogram('flywheel_chain_request_seconds', 'Time that the chain took to answer.', [
    'method',
  ]);
  for (const kind of ['read', 'write']) transaction.zero({ kind });
  source.attach?.((measured: Measured) => {
    if (measured.what === 'chain') chain.observe({ method: measured.method }, measured.seconds);
    else transaction.observe({ kind: measured.kind }, measured.seconds);
  });
  const state = sharedState(source.state);
  const ofState = (name: string, help: string, labels: string[], of: (state: ServiceState) => Sample[]) =>
    gauge(name, help, labels, async () => {
      const now = await state();
      return now === null ? [] : of(now);
    });
  gauge(
    'flywheel_http_requests_running',
    'Calls of the service, also for clients that have gone.',
    [],
    () => [[{}, server.running()]],
  );
  gauge('flywheel_http_connections', 'Connections that are open.', [], () => [[{}, server.connections()]]);
  gauge('flywheel_batches', 'Batches by status.', ['status'], async () =>
    Object.entries((await source.batchesByStatus?.()) ?? {}).map(([status, count]) => [{ status }, count]),
  );
  ofState('flywheel_unfinished', 'Work that has not ended, of all servers.', ['kind'], ({ unfinished }) =>
    Object.entries(unfinished).map(([kind, count]) => [{ kind }, count]),
  );
  ofState('flywheel_unfinished_oldest_seconds', 'Age of the oldest unfinished work.', [], (now) => [
    [{}, now.oldestSeconds],
  ]);
  ofState('flywheel_gaps', 'Projects with burns on chain that the store has no record of.', [], (now) => [
    [{}, now.gaps],
  ]);
  ofState(
    'flywheel_wallet_lamports',
    'Balances of the wallets that pay fees, of the first hundred projects.',
    ['project', 'wallet'],
    ({ wallets }) =>
      (wallets ?? []).map(({ project, wallet, lamports }) => [{ project, wallet }, Number(lamports)]),
  );
  gauge('flywheel_build_info', 'Always 1; the version of this build.', ['version'], () => [[{ version }, 1]]);
  return {
    ended(operation, status, seconds) {
      requests.inc({ operation, status: String(status) });
      duration.observe({ operation }, seconds);
    },
    answered(operation, reply) {
      if (reply.meta.replayed) return;
      const [success, error] = burnsOf(operation, reply.value);
      if (success > 0) burns.inc({ result: 'success' }, success);
      if (error > 0) burns.inc({ result: 'error' }, error);
    },
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
