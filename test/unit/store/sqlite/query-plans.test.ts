/** Every statement of the store uses an index, so that no statement slows down with stored rows. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, it, vi } from 'vitest';
import { openSqliteStore } from '../../../../src/store/sqlite/open.js';
import type { StoreTransaction } from '../../../../src/store/store.js';
import { sha256 } from '../../../../src/values/digest.js';
import {
  aBatch,
  aBundle,
  aBurn,
  aCost,
  aRequest,
  aVote,
  DAY,
  LATER,
  register,
  success,
} from '../../../contract/store/records.js';
import { emptyDirectory } from '../../../support/spawn.js';

/** Query steps that read more than they return, each with its reason. */
const ALLOWED = [
  'SCAN projects', // A handful of rows.
  /^SCAN (progress|burn_numbers)$/, // One row.
  'SCAN sqlite_master',
  'SCAN schema_versions', // A row for each migration.
  /^SCAN (at|days)$/, // Rows of one day.
  /^SCAN (amounts|used)$/, // The counted amounts of one day.
  /^SCAN (burned|acted|moved)$/, // No more than the requested rows.
  'SCAN settled', // The outcomes passed in.
  /^SCAN (CONSTANT ROW|\d+ CONSTANT ROWS)$/,
  /^SCAN (burns|issued_votes) USING INDEX \1_open$/, // Open rows only.
  'SCAN batches USING COVERING INDEX batches_status', // Counts all batches.
  'SCAN batches USING INDEX batches_not_closed', // The batches to close are among these.
];

async function callEverything(tx: StoreTransaction): Promise<void> {
  const usage = { tokenId: 'token-1', day: DAY, kind: 'burn' } as const;
  const signed = { signature: 's', transaction: new Uint8Array(1), lastValidBlockHeight: 1n };
  const calls: readonly (() => Promise<unknown>)[] = [
    () => tx.projects.find({ id: 'token-1' }),
    () => tx.projects.list(),
    () => tx.apiKeys.find({ hash: sha256('key-1') }),
    () => tx.apiKeys.find({ id: 'key-1' }),
    () => tx.apiKeys.ofToken('token-1'),
    () => tx.apiKeys.change({ id: 'key-1' }, { dateRevoked: LATER }),
    () => tx.requests.insert(aRequest({ id: 'plan', value: 'plan' })),
    () => tx.requests.find({ tokenId: 'key-1', operation: 'burn', value: 'plan' }),
    () => tx.requests.find({ id: 'plan' }),
    () => tx.requests.take('plan', { holder: 'me', leaseUntilMs: 1 }),
    () => tx.unfinished.isExecution('batch-1'),
    () => tx.requests.renew('plan', 'me', 1),
    () => tx.batches.renew('batch-1', 'me', 1),
    () => tx.burns.room('token-1', DAY),
    () => tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2), aBurn(3)]),
    () => tx.burns.resign(3, aBurn(3).signature, signed),
    () => tx.burns.ofRequest('request-1', 0, 2),
    () => tx.burns.settleMany([success(1, 'CONFIRMED'), success(2)]),
    () => tx.burns.open(),
    () => tx.burns.open('token-1'),
    () => tx.burns.reopen(aBurn(1)),
    () => tx.burns.finalize(['one', 'two']),
    () => tx.batches.find({ requestId: 'request-1' }),
    () => tx.unfinished.all(),
    () => tx.usage.addLanded(usage, 1n),
    () => tx.usage.addLanded(usage, 1n),
    () => tx.usage.used(usage, 'batch-1'),
    () => tx.usage.latestDay('token-1'),
    () => tx.batches.insert(aRequest(), aBatch(), []),
    () => tx.batches.addVote(aVote('vote-1')),
    () => tx.batches.votes('batch-1'),
    () => tx.batches.list({ tokenId: 'token-1', limit: 10, before: 9, since: LATER, until: LATER }),
    () => tx.batches.list({ tokenId: 'token-1', limit: 10, txHash: 'signature', holds: { action: 'BURN' } }),
    () => tx.batches.rentLamports('token-1'),
    () => tx.batches.change('batch-1', { dateClosed: LATER }),
    () => tx.signatures.known(['signature']),
    () => tx.requests.noteDay(DAY),
    () => tx.requests.complete('plan', '{}'),
    () => tx.requests.removeDone(30, 1_000),
    () => tx.batches.list({ tokenId: 'token-1', limit: 10, holds: { type: 'TYPE', toAddress: 'wallet' } }),
    () => tx.batches.list({ tokenId: 'token-1', limit: 10, holds: { proofHashes: [sha256('a')] } }),
    () => tx.batches.list({ tokenId: 'token-1', limit: 10, idempotencyKey: 'key' }),
    () => tx.pipelines.list({ batchId: 'batch-1', from: 0, limit: 10, action: 'BURN', txHash: 'signature' }),
    () => tx.pipelines.moved({ tokenId: 'token-1', limit: 10, since: LATER, until: LATER }),
    () => tx.pipelines.moved({ tokenId: 'token-1', limit: 10, proofHashes: [sha256('a')] }),
    () => tx.pipelines.moved({ tokenId: 'token-1', limit: 10, recipient: 'wallet' }),
    () => tx.pipelines.moved({ tokenId: 'token-1', limit: 10, signature: 'signature' }),
    () => tx.pipelines.moved({ tokenId: 'token-1', limit: 10, batchId: 'batch-1' }),
    () => tx.burns.list({ tokenId: 'token-1', limit: 10, idempotencyKey: 'key' }),
    () => tx.burns.list({ tokenId: 'token-1', limit: 10, proofHashes: [sha256('a'), sha256('b')] }),
    () => tx.batches.get('batch-1'),
    () => tx.batches.current('token-1'),
    () => tx.batches.countByStatus(),
    () => tx.batches.change('batch-1', { batchIndex: 1n }),
    () => tx.batches.addCosts('batch-1', [aCost('paid')]),
    () => tx.batches.cost('batch-1'),
    () => tx.batches.openVotes('token-1'),
    () => tx.batches.endVotes(['vote']),
    () => tx.batches.transition('batch-1', 'FINALIZED', {}, LATER),
    () => tx.batches.release('batch-1', 'me'),
    () => tx.bundles.insertMany([aBundle('one')]),
    () => tx.bundles.ofBatch('batch-1'),
    () => tx.bundles.settle([aBundle('one', { status: 'LANDED' })]),
    () => tx.requests.remove('plan'),
  ];
  for (const call of calls) await call();
}

it('reads no table from end to end', async () => {
  const directory = emptyDirectory();
  const path = join(directory, 'store.db');
  const created = await openSqliteStore({ path });
  await register(created);
  await created.close();

  const prepare = vi.spyOn(Database.prototype, 'prepare');
  const store = await openSqliteStore({ path });
  await store.transaction(callEverything);
  await store.findKey(sha256('key-1'), { operation: 'burn', value: 'value' });
  const statements = new Set(prepare.mock.calls.map(([statement]) => statement));
  prepare.mockRestore();
  const database = new Database(path);

  const plans = [...statements]
    .filter((sql) => /^\s*(select|insert|update|delete|with)/.test(sql))
    .flatMap((sql) => {
      const parameters = Array.from(sql.matchAll(/\?/g), () => null);
      const steps = database.prepare(`explain query plan ${sql}`).all(parameters) as { detail: string }[];
      return steps.map(({ detail }) => ({ sql, detail }));
    });
  const scans = plans
    .filter(({ detail }) => detail.startsWith('SCAN'))
    .filter(({ detail }) => !ALLOWED.some((allowed) => detail.match(allowed)?.[0] === detail));
  expect(statements.size).toBeGreaterThan(35);
  expect(scans).toStrictEqual([]);
  const ofOpenBurns = plans.filter(
    ({ sql, detail }) => sql.includes("status in ('PENDING', 'CONFIRMED')") && detail.includes(' burns '),
  );
  expect(ofOpenBurns.filter(({ detail }) => detail.includes('burns_of_token'))).toStrictEqual([]);
  expect(ofOpenBurns.filter(({ detail }) => detail.includes('burns_open')).length).toBeGreaterThan(5);
  const moved = plans.filter(({ sql }) => sql.includes('as moved')).map(({ detail }) => detail);
  for (const index of [
    'pipeline_actions_to (recipient=?)',
    'pipelines_signature (signature=?)',
    'pipelines_of_proof (<expr>=?)',
  ])
    expect(moved).toContainEqual(expect.stringContaining(`USING INDEX ${index}`));
  await store.close();
  rmSync(directory, { recursive: true });
});
