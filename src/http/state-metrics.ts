/** What is measured of store and chain, and how the service stands, in Prometheus' form. Labels have few values, and no key. */
import type { Registry } from 'prom-client';
import type { Measured, MetricsSource, ServiceState } from './options.js';

type Prometheus = typeof import('prom-client');

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** For how long one look at the state answers all who ask. */
const STATE_MS = 5_000;

/** Times of what the service waits for. @returns what takes them. */
export function addTimings({ Histogram }: Prometheus, registers: Registry[]): (measured: Measured) => void {
  const histogram = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Histogram({ name, help, labelNames, buckets: SECONDS, registers });
  const wait = histogram(
    'flywheel_store_wait_seconds',
    'Time until a transaction had its connection and its lock.',
    ['kind'],
  );
  const transaction = histogram(
    'flywheel_store_transaction_seconds',
    'Time from the begin of a transaction to the end of its commit.',
    ['kind'],
  );
  const commit = histogram('flywheel_store_commit_seconds', 'Time that a commit took.', []);
  const chain = histogram('flywheel_chain_request_seconds', 'Time that the chain took to answer.', [
    'method',
  ]);
  // Known from the start, so that a rate of the first is one.
  for (const kind of ['read', 'write']) for (const one of [wait, transaction]) one.zero({ kind });
  return (measured) => {
    const { seconds } = measured;
    if (measured.what === 'commit') commit.observe(seconds);
    else if (measured.what === 'wait') wait.observe({ kind: measured.kind }, seconds);
    else if (measured.what === 'transaction') transaction.observe({ kind: measured.kind }, seconds);
    else chain.observe({ method: measured.method }, seconds);
  };
}

/** One look for all gauges of a scrape; `null` where it failed, which other means tell. */
function sharedState(look: NonNullable<MetricsSource['state']>): () => Promise<ServiceState | null> {
  let last: Promise<ServiceState | null> | undefined;
  let atMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (last === undefined || performance.now() - atMs > STATE_MS) {
      atMs = performance.now();
      last = look().catch(() => null);
    }
    return last;
  };
}

/** How the service stands when somebody reads the metrics; what is not known then has no value. */
export function addStateGauges(
  { Gauge }: Prometheus,
  registers: Registry[],
  { state: look, transactions }: MetricsSource,
): void {
  if (transactions !== undefined)
    new Gauge({
      name: 'flywheel_store_transactions',
      help: 'Transactions of the store that wait for a connection or a lock, and those that have theirs.',
      labelNames: ['state'] as const,
      registers,
      collect() {
        const { waiting, open } = transactions();
        this.set({ state: 'waiting' }, waiting);
        this.set({ state: 'open' }, open);
      },
    });
  if (look === undefined) return;
  const shared = sharedState(look);
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    values: (state: ServiceState) => readonly (readonly [Partial<Record<Label, string>>, number])[],
  ): void => {
    new Gauge({
      ...{ name, help, labelNames, registers },
      async collect() {
        const now = await shared();
        this.reset();
        if (now === null) return;
        for (const [labels, value] of values(now)) this.set(labels as Record<Label, string>, value);
      },
    });
  };
  gauge('flywheel_leases', 'Pieces of work that this server holds.', [], ({ leases }) => [[{}, leases]]);
  gauge(
    'flywheel_unfinished',
    'Work that has not come to its end, of all servers.',
    ['kind'],
    ({ unfinished }) => Object.entries(unfinished).map(([kind, count]) => [{ kind }, count] as const),
  );
  gauge(
    'flywheel_unfinished_oldest_seconds',
    'How long ago the oldest unfinished work was begun.',
    [],
    ({ oldestSeconds }) => [[{}, oldestSeconds]],
  );
  gauge('flywheel_gaps', 'Projects with burns on chain that the store has no record of.', [], ({ gaps }) => [
    [{}, gaps],
  ]);
  gauge(
    'flywheel_wallet_lamports',
    'What the wallets that pay fees hold, of the first hundred projects.',
    ['project', 'wallet'],
    ({ wallets }) =>
      (wallets ?? []).map(
        ({ project, wallet, lamports }) => [{ project, wallet }, Number(lamports)] as const,
      ),
  );
}

/** Which build this is. */
export function addBuildInfo({ Gauge }: Prometheus, registers: Registry[], version: string): void {
  new Gauge({
    name: 'flywheel_build_info',
    help: 'Always 1; the version of this build.',
    labelNames: ['version'] as const,
    registers,
  }).set({ version }, 1);
}
