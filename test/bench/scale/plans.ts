/** How PostgreSQL runs what the service asks of it, with the values that it was asked with: the plans that it writes into its log. */
import type pg from 'pg';

/** Settings that a server has to be started with. */
export const PLAN_SETTINGS: readonly string[] = [
  'shared_preload_libraries=pg_stat_statements,auto_explain',
  'logging_collector=on',
  // All of it in one file.
  'log_rotation_size=0',
  'log_destination=jsonlog',
  'auto_explain.log_format=json',
  'auto_explain.log_nested_statements=on',
];

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

interface Logged {
  readonly 'Query Text': string;
  readonly Plan: PlanNode;
}

/** Tables with a row for each project are read whole where all projects are asked for; those that grow with use never are. */
const SMALL_ROWS = 5_000;
/** Rows that a statement may look at for nothing. */
const FEW_ROWS = 20_000;

const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** From now on plans are written down. */
export async function writePlans(client: pg.Client, isOn: boolean): Promise<void> {
  await client.query(`alter system set auto_explain.log_min_duration = ${isOn ? 0 : -1}`);
  await client.query(`alter system set auto_explain.log_analyze = ${isOn ? 'on' : 'off'}`);
  await client.query('select pg_reload_conf()');
}

/** Statements that read a large table from end to end, or very much of it for nothing, each with the reason. */
export async function wastefulPlans(client: pg.Client): Promise<readonly string[]> {
  const { rows: sizes } = await client.query<{ name: string; rows: number }>(
    "select relname as name, reltuples::float8 as rows from pg_class where relkind = 'r'",
  );
  const large = new Set(sizes.filter((one) => one.rows > SMALL_ROWS).map(({ name }) => name));
  const { rows } = await client.query<{ log: string }>(
    "select pg_read_file(pg_current_logfile('jsonlog')) as log",
  );
  const found = new Set<string>();
  for (const line of rows[0]?.log.split('\n') ?? []) {
    const logged = planIn(line);
    // What the measurement itself asks is not the service's.
    if (logged === undefined || /pg_\w+|generate_series/.test(logged['Query Text'])) continue;
    for (const node of nodesOf(logged.Plan)) {
      const reason = wasteOf(node, large);
      if (reason !== undefined) found.add(`${reason}: ${logged['Query Text']}`);
    }
  }
  return [...found];
}

function wasteOf(node: PlanNode, large: ReadonlySet<string>): string | undefined {
  const table = node['Relation Name'] ?? '';
  if (node['Node Type'] === 'Seq Scan' && large.has(table)) return `sequential scan of ${table}`;
  const forNothing = node['Rows Removed by Filter'] ?? 0;
  return forNothing > FEW_ROWS ? `${forNothing} rows of ${table} for nothing` : undefined;
}

function planIn(line: string): Logged | undefined {
  if (!line.includes(' plan:')) return undefined;
  const { message } = JSON.parse(line) as { message: string };
  const start = message.indexOf('{');
  return start < 0 ? undefined : (JSON.parse(message.slice(start)) as Logged);
}
