/** Brings a store to the newest version, forward only, in one transaction. */
import { type Kysely, sql } from 'kysely';
import { type Database, schemaOf, VERSIONS } from './ddl.js';
import type { Tables } from './schema.js';

interface Migration {
  readonly name: string;
  readonly statements: (database: Database) => readonly string[];
}

/** In the order in which they are applied; an entry is never changed once it was released. */
export const MIGRATIONS: readonly Migration[] = [{ name: 'initial', statements: schemaOf }];

/** The version of the store that this build writes. */
export const STORE_VERSION = MIGRATIONS.length;

/** What is said of a store that no released build has written. */
export const EARLIER_BUILD = 'was written by a build of flywheel from before its first release';

/** The table of versions that builds from before the first release had. */
export const EARLIER_VERSIONS = 'store_migrations';

/**
 * In a transaction that takes the write lock, so that of two processes that start at once the second finds the work done.
 * kysely's Migrator has no transaction and no lock on SQLite.
 * @param refuse - throws for a version that this build does not know.
 */
export async function migrate(
  trx: Kysely<Tables>,
  database: Database,
  refuse: (version: number) => void,
): Promise<void> {
  const run = (statement: string) => sql.raw<{ readonly version: number }>(statement).execute(trx);
  await run(`create table if not exists ${VERSIONS} (version integer primary key, name text not null)`);
  const { rows } = await run(`select coalesce(max(version), 0) as version from ${VERSIONS}`);
  const from = Number(rows[0]?.version);
  refuse(from);
  for (const [at, { name, statements }] of MIGRATIONS.entries()) {
    if (at < from) continue;
    for (const statement of statements(database)) await run(statement);
    await run(`insert into ${VERSIONS} values (${at + 1}, '${name}')`);
  }
}
