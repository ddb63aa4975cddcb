/** Brings a store to the newest version, forward only, in one transaction. */
import { type Kysely, sql } from 'kysely';
import { sha256 } from '../values/digest.js';
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

/** All applied migrations, each with its version and what its statements come to. */
export const APPLIED = `select * from ${VERSIONS} order by version`;

/** A row of {@link APPLIED}. */
export interface Applied {
  readonly version: number;
  /** SHA-256 of its statements; builds from before the first release changed them without another version, or wrote none. */
  readonly digest?: string;
}

const digestOf = (statements: readonly string[]): string => sha256(statements.join(';\n'));

/** The version of a store, 0 for a new one; `null` where the tables of a version are not those that this build knows. */
export function versionOf(database: Database, applied: readonly Applied[]): number | null {
  const isKnown = applied.every(({ version, digest }) => {
    const migration = MIGRATIONS[Number(version) - 1];
    return migration === undefined || digest === digestOf(migration.statements(database));
  });
  return isKnown ? Number(applied.at(-1)?.version ?? 0) : null;
}

/**
 * In a transaction that takes the write lock, so that of two processes that start at once the second finds the work done.
 * kysely's Migrator has no transaction and no lock on SQLite.
 * @param check - the version that was found. @throws for one that this build does not know.
 */
export async function migrate(
  trx: Kysely<Tables>,
  database: Database,
  check: (applied: readonly Applied[]) => number,
): Promise<void> {
  const run = (statement: string) => sql.raw<Applied>(statement).execute(trx);
  await run(
    `create table if not exists ${VERSIONS} (version integer primary key, name text not null, digest text not null)`,
  );
  const from = check((await run(APPLIED)).rows);
  for (const [at, migration] of MIGRATIONS.entries()) {
    if (at < from) continue;
    const statements = migration.statements(database);
    for (const statement of statements) await run(statement);
    await run(
      `insert into ${VERSIONS} (version, name, digest) values (${at + 1}, '${migration.name}', '${digestOf(statements)}')`,
    );
  }
}
