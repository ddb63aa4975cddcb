/** Projects, their API keys, and the audit log. */
import { sql } from 'kysely';
import type { Sha256 } from '../../values/digest.js';
import { fromCell } from '../columns.js';
import { quoted } from '../ddl.js';
import type { ApiKeyRecord, ProjectRecord, RequestRecord } from '../records.js';
import { describe } from '../schema.js';
import { type StoreSession, tableOf, within } from '../session.js';

export const projectRepository = (session: StoreSession) => {
  const { list, ...projects } = tableOf(session, 'projects');
  return {
    ...projects,
    /** Ordered by name; projects without a name come last, the oldest first. */
    list: (limit?: number) =>
      list(
        {},
        sql`order by name nulls last, date_created, id ${limit === undefined ? sql`` : sql`limit ${limit}`}`,
      ),
  };
};

export interface KeyWithProject {
  readonly key: ApiKeyRecord;
  readonly project: ProjectRecord;
  /** The project's request with the given operation and idempotency key. */
  readonly earlier: RequestRecord | undefined;
}

/** Columns are selected by position (`c0`, `c1`, …): the tables share column names. */
const PARTS = (['apiKeys', 'projects', 'requests'] as const).flatMap((table) =>
  Object.entries(describe(table).columns).map(([column, of]) => ({ table, column, of })),
);
const SELECTED = sql.raw(
  PARTS.map(({ table, column }, at) => `${quoted(table)}.${quoted(column)} as c${at}`).join(', '),
);

/** Loads a key, its project and an earlier request in one query, because every API call needs them. @param asked - the request */
export const keyQuery = (
  hash: Sha256,
  { operation, value }: Partial<Pick<RequestRecord, 'operation' | 'value'>>,
) => sql<Readonly<Record<string, unknown>>>`select ${SELECTED} from api_keys
    join projects on projects.id = api_keys.token_id
    left join requests on requests.token_id = api_keys.token_id
      and requests.operation = ${operation ?? null} and requests.value = ${value ?? null}
  where api_keys.hash = ${hash}`;

/** Reads a row of {@link keyQuery}; `undefined` if there is no such key. */
export function keyOf(row: Readonly<Record<string, unknown>>): KeyWithProject | undefined {
  const found: Record<(typeof PARTS)[number]['table'], Record<string, unknown>> = {
    ...{ apiKeys: {}, projects: {}, requests: {} },
  };
  for (const [at, { table, column, of }] of PARTS.entries())
    found[table][column] = fromCell(of, row[`c${at}`] ?? null);
  const part = (name: keyof typeof found) => (found[name]['id'] === null ? undefined : found[name]);
  const others = { project: part('projects'), earlier: part('requests') };
  const key = part('apiKeys');
  return key && ({ key, ...others } as unknown as KeyWithProject);
}

export const apiKeyRepository = (session: StoreSession) => {
  const { list, ...keys } = tableOf(session, 'apiKeys');
  return { ...keys, ofToken: (tokenId: string) => list({ tokenId }, sql`order by date_created, id`) };
};

type AuditFilter = {
  readonly tokenId?: string;
  /** ISO times, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
};

export const auditRepository = (session: StoreSession) => {
  const { insert, list } = tableOf(session, 'auditLog');
  return {
    append: insert,

    /** Newest first. */
    list: ({ tokenId, limit, ...bounds }: AuditFilter) => {
      const dates = within('date_created', bounds).map((condition) => sql`and ${condition}`);
      return list({ tokenId }, sql`${sql.join(dates, sql` `)} order by ordinal desc limit ${limit}`);
    },
  };
};
