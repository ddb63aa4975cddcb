/** Prometheus metrics; each server has its own registry. Labels have few values and never contain a key. */
import type { Reply } from '../contract/call.js';
import type { OperationId } from '../contract/operations.js';
import type { EngineState, Measured, ServedEngine } from '../contract/served-engine.js';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const STATE_MS = 5_000;

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

function burnsOf(operation: OperationId, value: unknown): Readonly<Record<string, number>> {
  if (operation === 'burn') return { success: 1 };
  if (operation !== 'burnBatch') return {};
  const { success, errors } = value as { readonly success?: unknown; readonly errors?: unknown };
  return { success: lengthOf(success), error: lengthOf(errors) };
}

export type Metrics = Awaited<ReturnType<typeof createMetrics>>;

export async function createMetrics(version: string) {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const options = (name: string, help: string, labelNames: string[]) => ({
    ...{ name: `flywheel_${name}`, help, labelNames, registers: [registry], buckets: SECONDS },
  });
  const counter = (...of: Parameters<typeof options>) => new Counter(options(...of));
  const gauge = (...of: Parameters<typeof options>) => new Gauge(options(...of));
  const histogram = (...of: Parameters<typeof options>) => new Histogram(options(...of));

  const requests = counter('http_requests_total', 'Finished requests.', ['operation', 'status']);
  const duration = histogram('http_request_duration_seconds', 'Time until the response was sent.', [
    'operation',
  ]);
  const running = gauge(
    'http_requests_running',
    'Running calls, including those whose client has disconnected.',
    [],
  );
  const connections = gauge('http_connections', 'Open connections.', []);
  const burns = counter('burns_total', 'Burns, without replays.', ['result']);
  const batches = gauge('batches', 'Batches by status.', ['status']);
  const unfinished = gauge('unfinished', 'Unfinished work of all servers.', ['kind']);
  const oldest = gauge('unfinished_oldest_seconds', 'Age of the oldest unfinished work.', []);
  const gaps = gauge('gaps', 'Projects with on-chain burns that the store does not know.', []);
  const lamports = gauge('wallet_lamports', 'Balances of wallets that pay fees.', ['project', 'wallet']);
  const transaction = histogram('store_transaction_seconds', 'Time of a transaction, including waits.', [
    'kind',
  ]);
  const chain = histogram('chain_request_seconds', 'Response time of the chain.', ['method']);
  gauge('build_info', 'Always 1; the version of this build.', ['version']).set({ version }, 1);
  for (const kind of ['read', 'write']) transaction.zero({ kind });

  /** `null` when reading the state failed: the gauges then have no value, and readiness reports the failure. */
  let state: Promise<EngineState | null> = Promise.resolve(null);
  let lookedMs = Number.NEGATIVE_INFINITY;
  const look = async (engine: Pick<ServedEngine, 'state'>): Promise<void> => {
    if (performance.now() - lookedMs > STATE_MS) {
      lookedMs = performance.now();
      state = engine.state().catch(() => null);
    }
    const now = await state;
    for (const one of [batches, unfinished, oldest, gaps, lamports]) one.reset();
    if (now === null) return;
    for (const [status, count] of Object.entries(now.batches)) batches.set({ status }, count);
    for (const [kind, count] of Object.entries(now.unfinished)) unfinished.set({ kind }, count);
    oldest.set(now.oldestSeconds);
    gaps.set(now.gaps);
    for (const { project, wallet, lamports: held } of now.wallets ?? [])
      lamports.set({ project, wallet }, Number(held));
  };
  return {
    measured(one: Measured): void {
      if (one.what === 'chain') chain.observe({ method: one.method }, one.seconds);
      else transaction.observe({ kind: one.kind }, one.seconds);
    },
    ended(operation: OperationId | 'none', status: number, seconds: number): void {
      requests.inc({ operation, status: String(status) });
      duration.observe({ operation }, seconds);
    },
    answered(operation: OperationId, { meta, value }: Reply<unknown>): void {
      if (meta.replayed) return;
      for (const [result, count] of Object.entries(burnsOf(operation, value)))
        if (count > 0) burns.inc({ result }, count);
    },
    contentType: registry.contentType,
    async text(engine: Pick<ServedEngine, 'state'>, now: { running: number; connections: number }) {
      running.set(now.running);
      connections.set(now.connections);
      await look(engine);
      return registry.metrics();
    },
  };
}
