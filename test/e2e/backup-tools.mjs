// Replaces the programs that docs/backups.md uses, on machines that lack them or have those of an older PostgreSQL.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import Database from 'libsql';
import pg from 'pg';

const [tool, ...words] = process.argv.slice(2);
const option = (name) => words.find((word) => word.startsWith(`--${name}=`))?.split('=')[1];

function sqlite3() {
  const [file, ...sql] = words.filter((word) => word !== '-bail');
  const database = new Database(file, { timeout: 5_000 });
  for (const line of sql.length === 0 ? readFileSync(0, 'utf8').trim().split('\n') : sql)
    if (line.startsWith('.system ')) {
      const { status } = spawnSync('sh', ['-c', line.slice('.system '.length)], { stdio: 'inherit' });
      if (status !== 0) throw new TypeError(`${line}: ${status}`);
    } else if (line.startsWith('.restore ')) restore(database, line.slice('.restore '.length));
    else if (!line.startsWith('.')) database.exec(line);
  database.close();
}

/** As the real one: the file stays, its content is replaced in one transaction, and its schema version rises. */
function restore(database, from) {
  const schema = database
    .prepare("select type, name, sql from sqlite_master where type in ('table', 'trigger')")
    .all();
  const of = (type) => schema.filter((one) => one.type === type && one.name !== 'sqlite_sequence');
  database.exec(`pragma foreign_keys = 0; attach '${from}' as old; begin immediate`);
  for (const { name } of of('trigger')) database.exec(`drop trigger "${name}"`);
  for (const { name } of of('table'))
    database.exec(`delete from "${name}"; insert into "${name}" select * from old."${name}"`);
  for (const { sql } of of('trigger')) database.exec(sql);
  database.exec('create table raised (x); drop table raised; commit');
}

async function connected(database, work) {
  const client = new pg.Client(database === undefined ? {} : { database });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const pgDump = () =>
  connected(undefined, async (client) => {
    await client.query('begin isolation level repeatable read read only');
    const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'");
    const tables = {};
    for (const { tablename } of rows) {
      const found = await client.query(`select json_agg(${tablename})::text as rows from ${tablename}`);
      tables[tablename] = found.rows[0].rows ?? '[]';
    }
    const sequences = await client.query('select sequencename, last_value from pg_sequences');
    writeFileSync(option('file'), JSON.stringify({ tables, sequences: sequences.rows }));
  });

/** The schema comes from the program, the rows from the dump. Triggers and foreign keys are off, as in a real restore. */
function pgRestore() {
  const name = option('dbname');
  const { tables, sequences } = JSON.parse(readFileSync(words.at(-1), 'utf8'));
  const { PGUSER, PGHOST, PGPORT } = process.env;
  const url = `postgres://${PGUSER}@${PGHOST}:${PGPORT}/${name}`;
  const env = { ...process.env, FLYWHEEL_DATABASE_URL: url };
  const { status } = spawnSync('flywheel', ['db', 'migrate'], { env, stdio: 'inherit' });
  if (status !== 0) throw new TypeError(`flywheel db migrate: ${status}`);
  return connected(name, async (client) => {
    await client.query("set session_replication_role = 'replica'");
    for (const [table, rows] of Object.entries(tables)) {
      await client.query(`delete from ${table}`);
      await client.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
        rows,
      ]);
    }
    for (const { sequencename, last_value } of sequences)
      if (last_value !== null) await client.query('select setval($1, $2)', [sequencename, last_value]);
  });
}

const createdb = () => connected(undefined, (client) => client.query(`create database ${words[0]}`));

await { sqlite3, createdb, pg_dump: pgDump, pg_restore: pgRestore }[tool]();
