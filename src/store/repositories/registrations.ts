/** Tokens, flywheels and keys: what a project is registered with; and who administered what. */
import { type Kysely, sql } from 'kysely';
import { invariant } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import { fromCell } from '../columns.js';
import type {
  ApiKeyRecord,
  AuditEntry,
  FlywheelPlace,
  FlywheelRecord,
  NewAuditEntry,
  RequestRecord,
  TokenRecord,
} from '../records.js';
import { describe, type Tables } from '../schema.js';
import { given, insertAll, rowOf, type StoreSession } from '../session.js';

export const tokenRepository = (session: StoreSession, { db } = session) => ({
  insert: (token: TokenRecord): Promise<void> => insertAll(session, 'tokens', [token]),

  get: (id: string): Promise<TokenRecord | undefined> =>
    db.selectFrom('tokens').selectAll().where('id', '=', id).executeTakeFirst(),

  byMint: (mintAddress: string): Promise<TokenRecord | undefined> =>
    db
      .selectFrom('tokens')
      .selectAll()
      .where('mintAddress', '=', mintAddress as Address)
      .executeTakeFirst(),

  list: (): Promise<readonly TokenRecord[]> =>
    db.selectFrom('tokens').selectAll().orderBy('dateCreated').orderBy('id').execute(),
});

export const flywheelRepository = (session: StoreSession) => {
  const { db } = session;
  const flywheels = db.selectFrom('flywheels').selectAll();
  const row = rowOf(session, 'flywheels');
  const change = (id: string, to: Partial<FlywheelRecord>): Promise<void> =>
    row.mustChange({ id }, to, `No project ${id}.`);
  return {
    insert: (flywheel: FlywheelRecord): Promise<void> => insertAll(session, 'flywheels', [flywheel]),

    ofToken: (tokenId: string): Promise<FlywheelRecord | undefined> =>
      flywheels.where('tokenId', '=', tokenId).executeTakeFirst(),

    byName: (name: string): Promise<FlywheelRecord | undefined> =>
      flywheels.where('name', '=', name).executeTakeFirst(),

    /** Of the multisig's vault. */
    ofVault: (multisig: string, vaultIndex: number): Promise<FlywheelRecord | undefined> =>
      flywheels
        .where('multisig', '=', multisig as Address)
        .where('vaultIndex', '=', vaultIndex)
        .executeTakeFirst(),

    /** The first ones by their names, those without one last. */
    list: (limit: number): Promise<readonly FlywheelRecord[]> =>
      flywheels
        .orderBy('name', (order) => order.asc().nullsLast())
        .orderBy('id')
        .limit(limit)
        .execute(),

    setPlace: (id: string, place: FlywheelPlace): Promise<void> => change(id, { place }),

    setCaps: (
      id: string,
      caps: Pick<FlywheelRecord, 'dailyBurnCap' | 'dailyAirdropCap' | 'dateCapsLowered'>,
    ): Promise<void> => change(id, caps),
  };
};

/** A key, whose it is, and what was asked with it before. */
export interface KeyWithProject {
  readonly key: ApiKeyRecord;
  readonly token: TokenRecord | undefined;
  readonly flywheel: FlywheelRecord | undefined;
  /** The request of its project that is known by an idempotency key. */
  readonly earlier: RequestRecord | undefined;
}

/** The columns of a key and of what hangs on it; their names occur in several of the tables. */
const PARTS = (['apiKeys', 'tokens', 'flywheels', 'requests'] as const).flatMap((table) =>
  Object.entries(describe(table).columns).map(([column, of]) => ({ table, column, of })),
);

/** One query for all that every call asks of its key. @param asked - the request to look for beside it */
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

/** What {@link keyQuery} has found, if there is such a key. */
export function keyOf(row: Readonly<Record<string, unknown>>): KeyWithProject | undefined {
  const found: Record<(typeof PARTS)[number]['table'], Record<string, unknown>> = {
    ...{ apiKeys: {}, tokens: {}, flywheels: {}, requests: {} },
  };
  for (const [at, { table, column, of }] of PARTS.entries())
    found[table][column] = fromCell(of, row[`c${at}`] ?? null);
  const orNone = (part: Record<string, unknown>) => (part['id'] === null ? undefined : part);
  const [key, token, flywheel, earlier] = Object.values(found).map(orNone);
  return key && ({ key, token, flywheel, earlier } as unknown as KeyWithProject);
}

export const apiKeyRepository = (session: StoreSession) => {
  const { db } = session;
  const keys = db.selectFrom('apiKeys').selectAll();
  const row = rowOf(session, 'apiKeys');
  const get = (id: string): Promise<ApiKeyRecord | undefined> => keys.where('id', '=', id).executeTakeFirst();
  return {
    insert: (key: ApiKeyRecord): Promise<void> => insertAll(session, 'apiKeys', [key]),

    byHash: (hash: Sha256): Promise<ApiKeyRecord | undefined> =>
      keys.where('hash', '=', hash).executeTakeFirst(),

    get,

    ofToken: (tokenId: string): Promise<readonly ApiKeyRecord[]> =>
      keys.where('tokenId', '=', tokenId).orderBy('dateCreated').orderBy('id').execute(),

    /** The key is valid until then, whatever it was before. */
    expire: (id: string, dateExpires: string): Promise<void> =>
      row.mustChange({ id }, { dateExpires }, `No API key ${id}.`),

    /** The first revocation stands. */
    async revoke(id: string, dateRevoked: string): Promise<void> {
      const isFirst = await row.changes({ id, dateRevoked: null }, { dateRevoked });
      invariant(isFirst || (await get(id)) !== undefined, `No API key ${id}.`);
    },
  };
};

/** Which administrative acts to list. */
export interface AuditFilter {
  /** Of one project; of all where it is missing. */
  readonly tokenId?: string;
  /** ISO times, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

export const auditRepository = (session: StoreSession, { db } = session) => ({
  append: (entry: NewAuditEntry): Promise<void> => insertAll(session, 'auditLog', [entry]),

  /** Newest first. */
  list: ({ tokenId, since, until, limit }: AuditFilter): Promise<readonly AuditEntry[]> =>
    db
      .selectFrom('auditLog')
      .selectAll()
      .where((eb) =>
        eb.and([
          ...given(tokenId, (id) => eb('tokenId', '=', id)),
          ...given(since, (date) => eb('dateCreated', '>=', date)),
          ...given(until, (date) => eb('dateCreated', '<', date)),
        ]),
      )
      .orderBy('ordinal', 'desc')
      .limit(limit)
      .execute(),
});
