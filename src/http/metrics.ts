/** What the server counts, in Prometheus' text form; each server has its own registry. Labels have few values, and no key. */
import type { Reply } from '../contract/call.js';
import type { OperationId } from '../contract/operations.js';
import type { MetricsSource, ServiceState } from './options.js';
import type { Requests } from './requests.js';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** For how long one look at the state answers all who ask. */
const STATE_MS = 5_000;

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/** How many burns an answer of the two burn operations reports. */
function burnsOf(operation: OperationId, value: unknown): Readonly<Record<string, number>> {
  if (operation === 'burn') return { success: 1 };
  if (operation !== 'burnBatch') return {};
  const { success, errors } = value as { readonly success?: unknown; readonly errors?: unknown };
  return { success: lengthOf(success), error: lengthOf(errors) };
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

/** Values by the values of a label, as in `{ FINALIZED: 3 }`. */
type ByLabel = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];
const byLabel = (label: string, values: Readonly<Record<string, number>>): ByLabel =>
  Object.entries(values).map(([name, value]) => [{ [label]: name }, value]);

export type Metrics = Awaited<ReturnType<typeof createMetrics>>;

export async function createMetrics(source: MetricsSource, requests: Requests, version: string) {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const common = (name: string, help: string, labelNames: string[]) => ({
    ...{ name: `flywheel_${name}`, help, labelNames },
    registers: [registry],
  });
  const histogram = (...[name, help, label]: [string, string, string]) =>
    new Histogram({ ...common(name, help, [label]), buckets: SECONDS });
  const gauge = (name: string, help: string, labels: string[], values: () => ByLabel | Promise<ByLabel>) =>
    new Gauge({
      ...common(name, help, labels),
      async collect() {
        const now = await values();
        this.reset();
        for (const [ofLabels, value] of now) this.set(ofLabels, value);
      },
    });
  const state = sharedState(source.state);
  const ofState = (name: string, help: string, labels: string[], values: (state: ServiceState) => ByLabel) =>
    gauge(name, help, labels, async () => {
      const now = await state();
      return now === null ? [] : values(now);
    });

  const ended = new Counter(
    common('http_requests_total', 'Requests that have ended.', ['operation', 'status']),
  );
  const duration = histogram(
    'http_request_duration_seconds',
    'Time until the end of the answer.',
    'operation',
  );
  const burns = new Counter(common('burns_total', 'Burns reported, replays left out.', ['result']));
  const transaction = histogram(
    'store_transaction_seconds',
    'Time of a transaction, waits included.',
    'kind',
  );
  const chain = histogram('chain_request_seconds', 'Time that the chain took to answer.', 'method');
  for (const kind of ['read', 'write']) transaction.zero({ kind });
  source.attach?.((measured) => {
    if (measured.what === 'chain') chain.observe({ method: measured.method }, measured.seconds);
    else transaction.observe({ kind: measured.kind }, measured.seconds);
  });
  gauge('build_info', 'Always 1; the version of this build.', ['version'], () =>
    byLabel('version', { [version]: 1 }),
  );
  gauge('http_requests_running', 'Calls of the service, also for clients that have gone.', [], () => [
    [{}, requests.running],
  ]);
  gauge('batches', 'Batches by status.', ['status'], async () =>
    byLabel('status', (await source.batchesByStatus?.()) ?? {}),
  );
  ofState('unfinished', 'Work that has not ended, of all servers.', ['kind'], (now) =>
    byLabel('kind', now.unfinished),
  );
  ofState('unfinished_oldest_seconds', 'Age of the oldest unfinished work.', [], (now) => [
    [{}, now.oldestSeconds],
  ]);
  ofState('gaps', 'Projects with burns on chain that the store has no record of.', [], (now) => [
    [{}, now.gaps],
  ]);
  ofState('wallet_lamports', 'Balances of wallets that pay fees.', ['project', 'wallet'], ({ wallets }) =>
    (wallets ?? []).map(({ project, wallet, lamports }) => [{ project, wallet }, Number(lamports)]),
  );
  return {
    /** Adds a gauge of the server itself. */
    watch: (name: string, help: string, value: () => number) => gauge(name, help, [], () => [[{}, value()]]),
    /** A request has ended; `operation` is `none` for all other paths. */
    ended(operation: OperationId | 'none', status: number, seconds: number): void {
      ended.inc({ operation, status: String(status) });
      duration.observe({ operation }, seconds);
    },
    /** The service has given a value. */
    answered(operation: OperationId, reply: Reply<unknown>): void {
      if (reply.meta.replayed) return;
      for (const [result, count] of Object.entries(burnsOf(operation, reply.value)))
        if (count > 0) burns.inc({ result }, count);
    },
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
