/** The queries of every burn and of recovery use an index among many rows of other projects. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { MovedFilter } from '../../../src/store/repositories/pipelines.js';
import { sha256 } from '../../../src/values/digest.js';
import { aBatch, aBurn, aRequest, register } from '../../contract/store/records.js';
import { type DatabaseUnderTest, openDatabaseStore } from '../../support/postgres.js';

const BATCHES = 200;
const PIPELINES = 50;

let database: DatabaseUnderTest;
let admin: pg.Client;
beforeAll(async () => {
  database = await openDatabaseStore();
  await register(database.store);
  await database.store.transaction(async (tx) => {
    await tx.batches.insert(aRequest(), aBatch({ id: 'one' }), [[], []]);
    await tx.burns.insertMany(aRequest(), [aBurn(1)]);
  });
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  /** Copies the existing row once for each number, with some columns changed. */
  const many = async (table: string, numbers: string, changed: Record<string, string>): Promise<void> => {
    const { rows } = await admin.query<{ name: string }>(
      'select column_name as name from information_schema.columns where table_schema = current_schema() and table_name = $1',
      [table],
    );
    const names = rows.map(({ name }) => name).filter((name) => name !== 'ordinal');
    const list = names.map((name) => `"${name}"`).join(', ');
    const values = names.map((name) => changed[name] ?? `"${name}"`).join(', ');
    await admin.query(
      `insert into ${table} (${list}) select ${values} from (select * from ${table} limit 1) as one, ${numbers}`,
    );
  };
  const batches = `generate_series(1, ${BATCHES}) as b (n)`;
  const pipelines = `${batches}, generate_series(0, ${PIPELINES - 1}) as p (n)`;
  const hash = 'md5(b.n::text || p.n) || md5(p.n::text || b.n)';
  await many('batches', batches, { id: "'batch-' || b.n" });
  await many('pipelines', pipelines, {
    ...{ batch_id: "'batch-' || b.n", position: 'p.n', proof_hash: hash },
    ...{ signature: "b.n || '-' || p.n", date_landed: "'2026-01-' || 10 + b.n % 20" },
  });
  await admin.query(
    `insert into pipeline_actions select batch_id, position, 0, 'AIRDROP', lpad('1', 20, '0'), 'wallet-' || signature from pipelines where signature is not null`,
  );
  await many('burns', pipelines, {
    ...{
      sequence: `10 + b.n * ${PIPELINES} + p.n`,
      request_id: "'r' || b.n",
      index: 'p.n',
      proof_hash: hash,
    },
    ...{ status: "'FINAL'", transaction: 'null', signature: "'burn ' || b.n || '-' || p.n" },
    ...{ date_settled: "'2026-01-' || 10 + b.n % 20" },
  });
  await many('requests', pipelines, {
    ...{ id: "'request-' || b.n || '-' || p.n", value: "'value-' || b.n || '-' || p.n" },
  });
  await admin.query('analyze');
});
afterAll(async () => {
  await admin.end();
  await database.dispose();
});

/** The query plan of the statement with these words, out of those that `ask` runs. */
async function planOf(words: string, ask: () => Promise<unknown>): Promise<string> {
  const asked = vi.spyOn(pg.Client.prototype, 'query');
  await ask();
  const statements = asked.mock.calls as unknown as [string, unknown[]][];
  const [statement, parameters] = statements.find(([text]) => text.includes(words)) ?? [];
  asked.mockRestore();
  const { rows } = await admin.query<Record<string, string>>(`explain ${statement}`, parameters);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

it.each<[string, Partial<MovedFilter>, readonly string[]]>([
  ['everything', {}, ['pipelines_landed', 'burns_landed']],
  ['a time', { since: '2026-01-12', until: '2026-01-13' }, ['pipelines_landed', 'burns_landed']],
  ['a recipient', { recipient: 'wallet-7-7' }, ['pipeline_actions_to']],
  ['a signature', { signature: '7-7' }, ['pipelines_signature', 'burns_signature_key']],
  ['a batch', { batchId: 'batch-7' }, ['pipelines_pkey|pipeline_actions_of_kind|pipeline_actions_pkey']],
])('finds what has moved by %s', async (_, filter, indexes) => {
  let found: readonly unknown[] = [];
  const plan = await planOf('as moved', async () => {
    found = await database.store.read((tx) =>
      tx.pipelines.moved({ tokenId: 'token-1', limit: 10, ...filter }),
    );
  });
  expect(found).not.toHaveLength(0);
  expect(plan).not.toContain('Seq Scan');
  for (const index of indexes) expect(plan).toMatch(new RegExp(` (?:on|using) (?:${index})\\b`));
});

it('accepts burns, and finds a request beside a key, whatever was stored before', async () => {
  const reserving = await planOf('burn_numbers', () => database.store.reserve('token-1', 1));
  const finding = await planOf('as begun', () =>
    database.store.findKey(sha256('key-1'), { operation: 'burn', value: 'value-7' }),
  );
  expect([reserving, finding].join('\n')).not.toMatch(/Seq Scan on (?:burns|requests)/);
  expect(reserving).toContain('burns_open');
  expect(finding).toContain('requests_token_id_operation_value_key');
});
