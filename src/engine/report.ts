/** Sums of burns and airdrops per period, exact for any amount (contract, section 1.7). */
import { chargesTransferFee, decodeMint } from '../chain/tokens/accounts.js';
import { type BatchCost, costLamports, isCancelled } from '../contract/call.js';
import { MAX_REPORT_ROWS, type ReportPeriod } from '../contract/limits.js';
import { type Report, type ReportRow, reportQuerySchema } from '../contract/schemas/report.js';
import { invalidRequest, parseInput } from '../contract/validate.js';
import type { BatchHead, ProjectRecord } from '../store/records.js';
import type { BurnSumsQuery } from '../store/repositories/burns.js';
import type { Listed } from '../store/repositories/pages.js';
import type { Row } from '../store/schema.js';
import { createPause } from '../values/event-loop.js';
import { isoWeek, type UtcDay, utcDay } from '../values/time.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { countVotes, isFinal } from './batches/batch-context.js';
import type { EngineDeps } from './deps.js';
import { done, operation } from './operation.js';

const BURNS_AT_ONCE = 4_000;
const BATCHES_AT_ONCE = 100;

export const report = operation('report', {
  parse: (input) => parseInput(reportQuerySchema, input),
  perform: async ({ deps, principal, input: query }) => {
    const { project } = principal;
    const { since, until } = query;
    await countVotes(deps, { tokenId: project.id });
    const table = createTable(query.period ?? 'day', query.byType === 'true');
    const types = principal.key.proofTypes;
    const scope = { tokenId: project.id, since, until, types: types ?? undefined };
    await addBurns(deps, scope, table);
    await addBatches(deps, scope, table);
    const [account] = await deps.chain.getAccounts([project.mintAddress]);
    const mint = decodeMint(account ?? null);
    const open = await deps.store.read((tx) => tx.burns.open(project.id));
    return done({
      ...{ symbol: project.symbol, mintAddress: project.mintAddress, decimals: project.decimals },
      supply: formatTokenAmount(mint?.supply ?? 0n, project.decimals),
      chargesTransferFee: chargesTransferFee(mint),
      since: since ?? null,
      until: until ?? null,
      pendingBurns: open.filter(({ status }) => status === 'PENDING').length,
      ...table.result(project),
    });
  },
});

type Scope = Pick<BurnSumsQuery, 'tokenId' | 'since' | 'until' | 'types'>;

const AMOUNTS = [
  ...(['burned', 'airdropped', 'burns', 'failedBurns', 'pipelines', 'failedPipelines'] as const),
  ...(['burnWalletLamports', 'operatorLamports', 'vaultLamports'] as const),
];
type Amounts = Record<(typeof AMOUNTS)[number], bigint>;

const nothing = (): Amounts => Object.fromEntries(AMOUNTS.map((name) => [name, 0n])) as Amounts;

function add(to: Amounts, more: Partial<Amounts>): void {
  for (const name of AMOUNTS) to[name] += more[name] ?? 0n;
}

const PERIODS: { readonly [Period in ReportPeriod]: (day: UtcDay) => string | null } = {
  day: (day) => day,
  week: isoWeek,
  month: (day) => day.slice(0, 7),
  all: () => null,
};

type Table = ReturnType<typeof createTable>;

function createTable(period: ReportPeriod, byType: boolean) {
  const rows = new Map<string, Pick<ReportRow, 'period' | 'type'> & { readonly amounts: Amounts }>();
  const total = nothing();
  return {
    add(day: UtcDay, type: string | null, amounts: Partial<Amounts>): void {
      add(total, amounts);
      const of = { period: PERIODS[period](day), type: byType ? type : null };
      const key = JSON.stringify([of.period, of.type]);
      const row = rows.get(key) ?? { ...of, amounts: nothing() };
      rows.set(key, row);
      if (rows.size > MAX_REPORT_ROWS)
        throw invalidRequest([
          `the report would have more than ${MAX_REPORT_ROWS} rows; choose a shorter time or longer periods`,
        ]);
      add(row.amounts, amounts);
    },
    result(project: ProjectRecord): Pick<Report, 'rows' | 'total'> {
      const sorted = [...rows].sort(([left], [right]) => (left < right ? -1 : 1));
      return {
        rows: sorted.map(([, { amounts, ...of }]) => ({ ...of, ...sumsOf(amounts, project) })),
        total: sumsOf(total, project),
      };
    },
  };
}

const sumsOf = (amounts: Amounts, { decimals }: ProjectRecord): Report['total'] => ({
  burned: formatTokenAmount(amounts.burned, decimals),
  airdropped: formatTokenAmount(amounts.airdropped, decimals),
  burns: Number(amounts.burns),
  failedBurns: Number(amounts.failedBurns),
  pipelines: Number(amounts.pipelines),
  failedPipelines: Number(amounts.failedPipelines),
  burnWalletLamports: amounts.burnWalletLamports.toString(),
  operatorLamports: amounts.operatorLamports.toString(),
  vaultLamports: amounts.vaultLamports.toString(),
  costLamports: (amounts.burnWalletLamports + costLamports(amounts)).toString(),
});

async function addBurns({ store }: EngineDeps, scope: Scope, table: Table): Promise<void> {
  const [newest] = (await store.read((tx) => tx.burns.list({ tokenId: scope.tokenId, limit: 1 }))).items;
  const pause = createPause();
  for (let from = 1; from <= (newest?.sequence ?? 0); from += BURNS_AT_ONCE) {
    const sums = await store.read((tx) => tx.burns.sums({ ...scope, from, to: from + BURNS_AT_ONCE }));
    for (const { day, type, isLanded, count, amount, feeLamports: burnWalletLamports } of sums)
      table.add(day, type, {
        ...(isLanded ? { burned: amount, burns: BigInt(count) } : { failedBurns: BigInt(count) }),
        burnWalletLamports,
      });
    await pause();
  }
}

const isWithin = ({ since, until }: Scope, time: string): boolean =>
  (since === undefined || time >= since) && (until === undefined || time < until);

/** A batch counts on the day of its end; until then its cost counts on the day of its latest change. */
async function addBatches({ store }: EngineDeps, scope: Scope, table: Table): Promise<void> {
  const pause = createPause();
  for (let before: number | undefined; ; ) {
    const page: Listed<BatchHead> = await store.read((tx) =>
      tx.batches.list({ tokenId: scope.tokenId, limit: BATCHES_AT_ONCE, before }),
    );
    for (const listed of page.items) {
      if (!isWithin(scope, listed.dateUpdated)) continue;
      const [amounts, cost] = await store.read(async (tx) => [
        isFinal(listed) ? await tx.pipelines.amounts(listed.id) : [],
        await tx.batches.cost(listed.id),
      ]);
      addBatch({ ...listed, cost }, amounts, scope.types, table);
      await pause();
    }
    before = page.next ?? undefined;
    if (before === undefined) return;
    await pause();
  }
}

function addBatch(
  batch: BatchHead & { readonly cost: BatchCost },
  pipelines: readonly Pick<Row<'pipelines'>, 'type' | 'burn' | 'airdrop' | 'dateLanded'>[],
  types: readonly string[] | undefined,
  table: Table,
): void {
  const day = utcDay(Date.parse(batch.dateUpdated));
  for (const { type, burn, airdrop, dateLanded } of pipelines) {
    if (types?.includes(type) === false) continue;
    if (dateLanded === null) table.add(day, type, isCancelled(batch) ? {} : { failedPipelines: 1n });
    else table.add(day, type, { burned: burn, airdropped: airdrop, pipelines: 1n });
  }
  // The cost is of all types of the batch, so a key that is limited to some does not get it.
  if (types === undefined) table.add(day, null, batch.cost);
}
