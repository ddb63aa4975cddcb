/** TLS to a database: each libpq mode against a server with and without a certificate. */
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import { openPostgresRateCounts } from '../../../src/store/postgres/rate-counts.js';
import {
  ISSUED_CERTIFICATE,
  TEST_AUTHORITY,
  TEST_CERTIFICATE,
  TEST_PRIVATE_KEY,
} from '../../support/http-tls.js';
import {
  NOBODY,
  type OwnDatabase,
  openDatabase,
  type PostgresServer,
  startPostgres,
} from '../../support/postgres.js';
import { emptyDirectory } from '../../support/spawn.js';

/** The certificate is for 127.0.0.1, not for localhost. */
let withTls: PostgresServer;
let without: OwnDatabase;
let admin: pg.Client;
/** Certificate authorities: the one that signed it, and another. */
let own: string;
let other: string;

/** Settings of a server with this certificate; its user may be nobody, as PostgreSQL refuses to run as root. */
function tlsSettings(directory: string, files: Readonly<Record<'crt' | 'key', string>>): readonly string[] {
  chmodSync(directory, 0o755);
  const keep = (name: 'crt' | 'key'): string => {
    const path = join(directory, `server.${name}`);
    writeFileSync(path, files[name], { mode: 0o600 });
    if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
    return path;
  };
  return ['ssl=on', `ssl_cert_file=${keep('crt')}`, `ssl_key_file=${keep('key')}`];
}

beforeAll(async () => {
  const authorities = emptyDirectory();
  [own, other] = [join(authorities, 'own.pem'), join(authorities, 'other.pem')];
  writeFileSync(own, TEST_AUTHORITY);
  writeFileSync(other, TEST_CERTIFICATE);
  const files = { crt: ISSUED_CERTIFICATE, key: TEST_PRIVATE_KEY };
  withTls = await startPostgres(...tlsSettings(emptyDirectory(), files));
  without = await openDatabase();
  admin = new pg.Client({ connectionString: withTls.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await withTls.stop();
  await without.stop();
});

const address = (server: { readonly url: string }, options: string, host = '127.0.0.1'): string => {
  const url = new URL(server.url);
  url.hostname = host;
  url.password = 'hunter2';
  url.search = options;
  return url.href;
};

/** TLS versions of all connections to the server with a certificate. */
async function protocols(): Promise<readonly unknown[]> {
  const { rows } = await admin.query(
    `select distinct coalesce(version, 'none') as version from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name like 'flywheel%'`,
  );
  return rows.map((row) => row.version);
}

/** Opens a store and rate counts at this address. @returns the TLS versions in use. */
async function protocolsBy(url: string): Promise<readonly unknown[]> {
  const store = await openPostgresStore({ url });
  const counts = openPostgresRateCounts({ url });
  try {
    await store.progress();
    await store.transaction(({ lineages }) => lineages.bind('genesis'));
    await counts.take({ key: 'a', intervalUs: 1, periodUs: 1 });
    return await protocols();
  } finally {
    await counts.close();
    await store.close();
  }
}

async function refusalOf(url: string): Promise<Error> {
  const error = await openPostgresStore({ url }).then(
    () => expect.fail('It was not refused.'),
    (thrown: unknown) => thrown as Error & { hint?: string },
  );
  expect(`${error.message} ${error.hint}`).not.toContain('hunter2');
  expect(error).toMatchObject({ code: 'ERR_CONFIG_INVALID' });
  return error;
}

describe('a server with a certificate', () => {
  it.each([
    ['', 'none'],
    ['sslmode=disable', 'none'],
    ['sslmode=prefer', 'TLSv1.3'],
    ['sslmode=require', 'TLSv1.3'],
  ])('is reached with "%s" by %s, whoever it is', async (options, protocol) => {
    expect(await protocolsBy(address(withTls, options))).toEqual([protocol]);
  });

  it('is reached with verify-full by the authority and the name of its certificate only', async () => {
    const full = (file: string, host?: string) =>
      address(withTls, `sslmode=verify-full&sslrootcert=${file}`, host);
    expect(await protocolsBy(full(own))).toEqual(['TLSv1.3']);
    for (const url of [
      full(other),
      full(own, 'localhost'),
      full('system'),
      address(withTls, 'sslmode=verify-full'),
    ])
      expect((await refusalOf(url)).message).toContain('certificate that is not trusted');
  });

  it('is not reached with files that hold no certificate, or no key', async () => {
    const none = join(emptyDirectory(), 'none.pem');
    writeFileSync(none, 'no certificate\n');
    const by = (options: string) => address(withTls, `sslmode=require&${options}`);
    expect((await refusalOf(by(`sslrootcert=${none}`))).message).toContain('not trusted');
    for (const options of [`sslcert=${none}&sslkey=${none}`, `sslkey=${none}`])
      expect((await refusalOf(by(options))).message).toContain('has wrong content');
  });

  it('is reached with verify-ca, and with require and an authority, by any name', async () => {
    for (const mode of ['verify-ca', 'require']) {
      const by = (file: string) => address(withTls, `sslmode=${mode}&sslrootcert=${file}`, 'localhost');
      expect(await protocolsBy(by(own))).toEqual(['TLSv1.3']);
      expect((await refusalOf(by(other))).message).toContain('certificate that is not trusted');
    }
  });
});

describe('a server without one', () => {
  it('is refused where TLS is asked for', async () => {
    for (const mode of ['prefer', 'require', 'verify-full&sslrootcert=system'])
      expect((await refusalOf(address(without, `sslmode=${mode}`))).message).toContain('does not offer TLS');
  });
});

describe('a slip', () => {
  it.each([
    ['sslmode=requre', 'sslmode'],
    ['sslmode=REQUIRE', 'sslmode'],
    ['sslmode=', 'sslmode'],
    ['sslmode=allow', 'sslmode'],
    ['ssl_mode=require', 'unknown TLS option'],
    ['sslrootcrt=/tmp/a', 'unknown TLS option'],
    ['sslmode=verify-ca', 'needs sslrootcert'],
    ['sslmode=verify-full&sslrootcert=/nowhere/hunter2.pem', 'sslrootcert'],
    ['sslmode=require&sslkey=/nowhere/hunter2.pem', 'sslkey'],
  ])('as in %s is refused before anything is sent', async (options, part) => {
    const nobody = `postgres://flywheel:hunter2@127.0.0.1:1/books?${options}`;
    expect((await refusalOf(nobody)).message).toContain(part);
  });
});
