/** Versions of the tables: which one a store has, and how an older one is brought up to that of this build; forward only. */
import { type Kysely, sql } from 'kysely';
import type { FlywheelError } from '../errors/flywheel-error.js';
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

/** All applied migrations, each with its version and what its statements come to. */
export const APPLIED = `select * from ${VERSIONS} order by version`;

/** A row of {@link APPLIED}. */
export interface Applied {
  readonly version: number;
  /** SHA-256 of its statements. */
  readonly digest?: string;
}

/** Makes the error for a store that is not used. @param what - completes "The store FILE …" @param hint - @default to use another one */
export type Refuse = (what: string, hint?: string) => FlywheelError;

export const OTHER_BUILD = 'was written by another build of flywheel';

const digestOf = (statements: readonly string[]): string => sha256(statements.join(';\n'));

/** The version of a store, 0 for a new one; it may be newer. @throws where the tables of a version are not those that this build knows */
export function versionOf(database: Database, applied: readonly Applied[], refuse: Refuse): number {
  for (const { version, digest } of applied) {
    const migration = MIGRATIONS[Number(version) - 1];
    if (migration !== undefined && digest !== digestOf(migration.statements(database)))
      throw refuse(OTHER_BUILD);
  }
  return Number(applied.at(-1)?.version ?? 0);
}

/** @throws for a version that only a newer build knows */
export function requireKnown(version: number, refuse: Refuse): number {
  if (version <= STORE_VERSION) return version;
  throw refuse(
    `has schema version ${version}, but this version of flywheel supports up to ${STORE_VERSION}`,
    'Use the version of flywheel that wrote it, or a newer one.',
  );
}

/**
 * In a transaction that takes the write lock, so that of two processes that start at once the second finds the work done.
 * kysely's Migrator has no transaction and no lock on SQLite.
 * @throws as {@link versionOf} and {@link requireKnown}
 */
export async function migrate(trx: Kysely<Tables>, database: Database, refuse: Refuse): Promise<void> {
  const run = (statement: string) => sql.raw<Applied>(statement).execute(trx);
  await run(
    `create table if not exists ${VERSIONS} (version integer primary key, name text not null, digest text not null)`,
  );
  const from = requireKnown(versionOf(database, (await run(APPLIED)).rows, refuse), refuse);
  for (const [at, migration] of MIGRATIONS.entries()) {
    if (at < from) continue;
    const statements = migration.statements(database);
    for (const statement of statements) await run(statement);
    await run(
      `insert into ${VERSIONS} (version, name, digest) values (${at + 1}, '${migration.name}', '${digestOf(statements)}')`,
    );
  }
}
