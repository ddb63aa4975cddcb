/** Tokens, flywheels and API keys of projects; and the audit log. */
import { type Kysely, sql } from 'kysely';
import type { Sha256 } from '../../values/digest.js';
import { fromCell } from '../columns.js';
import type {
  ApiKeyRecord,
  AuditEntry,
  FlywheelRecord,
  NewAuditEntry,
  RequestRecord,
  TokenRecord,
} from '../records.js';
import { describe, type Tables } from '../schema.js';
import { type StoreSession, tableOf, within } from '../session.js';

export const tokenRepository = (session: StoreSession) => {
  const { list, ...tokens } = tableOf(session, 'tokens');
  return { ...tokens, list: () => list({}, sql`order by date_created, id`) };
};

export const flywheelRepository = (session: StoreSession) => {
  const { list, ...flywheels } = tableOf(session, 'flywheels');
  /** Ordered by name; projects without a name come last. */
  return {
    ...flywheels,
    list: (limit: number) => list({}, sql`order by name nulls last, id limit ${limit}`),
  };
};

export interface KeyWithProject {
  readonly key: ApiKeyRecord;
  readonly token: TokenRecord | undefined;
  readonly flywheel: FlywheelRecord | undefined;
  /** The project's request with the given operation and idempotency key. */
  readonly earlier: RequestRecord | undefined;
}

/** Columns are selected by position (`c0`, `c1`, …): the tables share column names. */
const PARTS = (['apiKeys', 'tokens', 'flywheels', 'requests'] as const).flatMap((table) =>
  Object.entries(describe(table).columns).map(([column, of]) => ({ table, column, of })),
);

/** Loads a key, its project and an earlier request in one query, because every API call needs them. @param asked - the request */
export const keyQuery = (
  db: Kysely<Tables>,
  hash: Sha256,
  { operation, value }: Partial<Pick<RequestRecord, 'operation' | 'value'>>,
) =>
  db
    .selectFrom('apiKeys')
    .leftJoin('tokens', 'tokens.id', 'apiKeys.tokenId')
    .leftJoin('flywheels', 'flywheels.tokenId', 'apiKeys.tokenId')
    .leftJoin('requests', (join) =>
      join
        .onRef('requests.tokenId', '=', 'apiKeys.tokenId')
        .on('requests.operation', '=', operation ?? null)
        .on('requests.value', '=', value ?? null),
    )
    .select(PARTS.map(({ table, column }, at) => sql.ref(`${table}.${column}`).as(`c${at}`)))
    .where('apiKeys.hash', '=', hash);

/** Reads a row of {@link keyQuery}; `undefined` if there is no such key. */
export function keyOf(row: Readonly<Record<string, unknown>>): KeyWithProject | undefined {
  const found: Record<(typeof PARTS)[number]['table'], Record<string, unknown>> = {
    ...{ apiKeys: {}, tokens: {}, flywheels: {}, requests: {} },
  };
  for (const [at, { table, column, of }] of PARTS.entries())
    found[table][column] = fromCell(of, row[`c${at}`] ?? null);
  const part = (name: keyof typeof found) => (found[name]['id'] === null ? undefined : found[name]);
  const others = { token: part('tokens'), flywheel: part('flywheels'), earlier: part('requests') };
  const key = part('apiKeys');
  return key && ({ key, ...others } as unknown as KeyWithProject);
}

export const apiKeyRepository = (session: StoreSession) => {
  const { list, ...keys } = tableOf(session, 'apiKeys');
  return { ...keys, ofToken: (tokenId: string) => list({ tokenId }, sql`order by date_created, id`) };
};

export interface AuditFilter {
  readonly tokenId?: string;
  /** ISO times, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

export const auditRepository = (session: StoreSession) => {
  const { insert, list } = tableOf(session, 'auditLog');
  return {
    append: (entry: NewAuditEntry): Promise<void> => insert(entry),

    /** Newest first. */
    list: ({ tokenId, limit, ...bounds }: AuditFilter): Promise<readonly AuditEntry[]> => {
      const dates = within('date_created', bounds).map((condition) => sql`and ${condition}`);
      return list({ tokenId }, sql`${sql.join(dates, sql` `)} order by ordinal desc limit ${limit}`);
    },
  };
};
