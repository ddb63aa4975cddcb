/** The list of migrations, forward only, and how a store is brought to the newest. */
import { type Kysely, sql } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Tables } from '../tables.js';
import { INITIAL_VERSION, initialSchema } from './0001-initial.js';
import { landingsSchema } from './0002-landings.js';
import { historySchema } from './0003-history.js';
import { projectsSchema } from './0004-projects.js';
import { burnBytesSchema } from './0005-burn-bytes.js';
import { endedBatchesSchema } from './0006-ended-batches.js';
import type { Migration, SchemaDialect } from './migration.js';

/** In the order in which they are applied; an entry is never changed once it was released. */
export const MIGRATIONS: readonly Migration[] = [
  initialSchema,
  landingsSchema,
  historySchema,
  projectsSchema,
  burnBytesSchema,
  endedBatchesSchema,
];

/** The version of the store that this build writes. */
export const STORE_VERSION = INITIAL_VERSION - 1 + MIGRATIONS.length;

async function readStoreVersion(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('store_migrations')
    .select(({ fn }) => fn.max('version').as('version'))
    .executeTakeFirst();
  return Number(row?.version ?? 0);
}

/** @throws `ERR_STORE_UNAVAILABLE` when a newer build has written the store, or one from before the first release. */
export function refuseOtherStore(version: number, place: string): void {
  if (version > 0 && version < INITIAL_VERSION) {
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `The store ${place} was written by a build of flywheel from before its first release.`,
      { hint: 'Give another --data-dir, or wipe this one: `flywheel local reset --yes`.' },
    );
  }
  if (version <= STORE_VERSION) return;
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `The store ${place} has version ${version}; this build of flywheel knows versions up to ${STORE_VERSION}.`,
    { hint: 'Use the version of flywheel that wrote it, or a newer one.' },
  );
}

/**
 * Brings the store to {@link STORE_VERSION} in one transaction that takes the write lock, so that of two processes that start
 * at once the second finds the work done.
 * @throws `ERR_STORE_UNAVAILABLE` as {@link refuseOtherStore}.
 */
export async function migrate(db: Kysely<Tables>, dialect: SchemaDialect, place: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql
      .raw(
        `create table if not exists store_migrations (version ${dialect.integer} primary key, name ${dialect.text} not null)`,
      )
      .execute(trx);
    const version = await readStoreVersion(trx);
    refuseOtherStore(version, place);
    for (const migration of MIGRATIONS) {
      if (migration.version <= version) continue;
      const statements = [...migration.statements(dialect), ...dialect.triggers(migration.version)];
      for (const statement of statements) await sql.raw(statement).execute(trx);
      await trx
        .insertInto('store_migrations')
        .values({ version: migration.version, name: migration.name })
        .execute();
    }
  });
}
