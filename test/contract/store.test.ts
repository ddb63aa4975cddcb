/** What every store does, whatever database it is over. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BatchStatus } from '../../src/contract/schemas/batch.js';
import type { BurnOutcome, BurnRecord } from '../../src/store/records.js';
import { BATCH_TRANSITIONS, type Store } from '../../src/store/store.js';
import { sha256 } from '../../src/values/digest.js';
import type { UtcDay } from '../../src/values/time.js';
import {
  aBatch,
  aBundle,
  aBurn,
  aFlywheel,
  anApiKey,
  aRequest,
  aToken,
  CREATED,
  DAY,
  LATER,
  type OpenStore,
  openTemporarySqliteStore,
  register,
  type StoreUnderTest,
} from '../support/store.js';

const STATUSES: readonly BatchStatus[] = ['AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED'];
const RESULT = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [] };
const INIT_RESULT = { ...RESULT, batchIndex: 7 };

const success = (sequence: number): BurnOutcome => ({
  sequence,
  status: 'SUCCESS',
  errorCode: null,
  errorMessage: null,
  dateSettled: LATER,
});

const settled = (sequence: number): BurnRecord => ({
  ...aBurn(sequence),
  status: 'SUCCESS',
  errorCode: null,
  errorMessage: null,
  dateSettled: LATER,
});

const pending = (sequence: number): BurnRecord => ({
  ...aBurn(sequence),
  status: 'PENDING',
  errorCode: null,
  errorMessage: null,
  dateSettled: null,
});

function storeContract(database: string, openStore: OpenStore): void {
  describe(`store on ${database}`, () => {
    let under: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      under = await openStore();
      store = under.store;
      await register(store);
    });
    afterEach(() => under.dispose());

    registrations(() => store);
    requests(() => store);
    burns(() => store);
    usage(() => store);
    batches(() => store);
    bundles(() => store);
    constraints(() => under);
    transactions(() => under);
  });
}

function registrations(store: () => Store): void {
  describe('tokens, flywheels and keys', () => {
    it('gives back exactly what was inserted', async () => {
      const read = await store().read(async (tx) => ({
        token: await tx.tokens.get('token-1'),
        tokens: await tx.tokens.list(),
        flywheel: await tx.flywheels.ofToken('token-1'),
        key: await tx.apiKeys.get('key-1'),
        byHash: await tx.apiKeys.byHash(sha256('key-1')),
        keys: await tx.apiKeys.ofToken('token-1'),
      }));
      expect(read).toStrictEqual({
        token: aToken(),
        tokens: [aToken()],
        flywheel: aFlywheel(),
        key: anApiKey(),
        byHash: anApiKey(),
        keys: [anApiKey()],
      });
    });

    it('knows nothing of what was not inserted', async () => {
      const read = await store().read(async (tx) => [
        await tx.tokens.get('token-2'),
        await tx.flywheels.ofToken('token-2'),
        await tx.apiKeys.get('key-2'),
        await tx.apiKeys.byHash(sha256('key-2')),
        await tx.apiKeys.ofToken('token-2'),
      ]);
      expect(read).toStrictEqual([undefined, undefined, undefined, undefined, []]);
    });

    it('keeps the time of the first revocation', async () => {
      const key = anApiKey({ id: 'key-2', hash: sha256('key-2'), proofTypes: ['WATCH_AD'] });
      await store().transaction(async (tx) => {
        await tx.apiKeys.insert(key);
        await tx.apiKeys.revoke('key-2', LATER);
        await tx.apiKeys.revoke('key-2', '2026-02-01T00:00:00.000Z');
      });
      expect(await store().read((tx) => tx.apiKeys.get('key-2'))).toStrictEqual({
        ...key,
        dateRevoked: LATER,
      });
      await expect(store().transaction((tx) => tx.apiKeys.revoke('key-3', LATER))).rejects.toMatchObject({
        code: 'ERR_INTERNAL',
      });
    });
  });
}

function requests(store: () => Store): void {
  describe('requests', () => {
    it('refuses a second request with the same key, operation and value, and takes any other', async () => {
      await expect(
        store().transaction((tx) => tx.requests.insert(aRequest({ id: 'request-2' }))),
      ).rejects.toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
      await store().transaction(async (tx) => {
        await tx.requests.insert(aRequest({ id: 'request-2', operation: 'burnBatch' }));
        await tx.requests.insert(aRequest({ id: 'request-3', value: 'idempotency-2' }));
      });
      const found = await store().read((tx) => tx.requests.find('key-1', 'burnBatch', 'idempotency-1'));
      expect(found).toStrictEqual(aRequest({ id: 'request-2', operation: 'burnBatch' }));
    });

    it('goes from running to done once, and is claimed only while it runs', async () => {
      await store().transaction(async (tx) => {
        await tx.requests.claim('request-1', 'instance-2', 5);
        await tx.requests.complete('request-1', '{"ok":true}');
      });
      expect(await store().read((tx) => tx.requests.get('request-1'))).toStrictEqual(
        aRequest({ status: 'done', instance: 'instance-2', leaseUntilMs: 5, reply: '{"ok":true}' }),
      );
      expect(await store().read((tx) => tx.requests.running())).toStrictEqual([]);
      for (const work of [
        (s: Store) => s.transaction((tx) => tx.requests.complete('request-1', '{}')),
        (s: Store) => s.transaction((tx) => tx.requests.claim('request-1', 'instance-3', 6)),
        (s: Store) => s.transaction((tx) => tx.requests.linkBatch('request-9', 'batch-1')),
      ]) {
        await expect(work(store())).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      }
    });

    it('lists the running ones, oldest first, and forgets a removed one', async () => {
      const older = aRequest({ id: 'request-0', value: 'older', dateCreated: '2026-01-01T00:00:00.000Z' });
      await store().transaction((tx) => tx.requests.insert(older));
      expect(await store().read((tx) => tx.requests.running())).toStrictEqual([older, aRequest()]);
      await store().transaction((tx) => tx.requests.remove('request-0'));
      expect(await store().read((tx) => tx.requests.running())).toStrictEqual([aRequest()]);
      await store().transaction((tx) => tx.requests.insert(older));
    });

    it('links a batch', async () => {
      await store().transaction(async (tx) => {
        await tx.requests.linkBatch('request-1', 'batch-1');
        await tx.batches.insert(aBatch());
      });
      expect(await store().read((tx) => tx.requests.get('request-1'))).toStrictEqual(
        aRequest({ batchId: 'batch-1' }),
      );
    });

    it('removes old answers, but no running request and none with pending burns', async () => {
      await store().transaction(async (tx) => {
        await tx.requests.insert(aRequest({ id: 'done', value: 'done', status: 'done', reply: '1' }));
        await tx.requests.insert(aRequest({ id: 'owing', value: 'owing', status: 'done', reply: '2' }));
        await tx.requests.insert(
          aRequest({ id: 'young', value: 'young', status: 'done', reply: '3', dateCreated: LATER }),
        );
        await tx.burns.insertMany([aBurn(1, { requestId: 'owing' })]);
        await tx.burns.insertMany([aBurn(2, { requestId: 'done' })]);
        await tx.burns.settleMany([success(2)]);
      });
      expect(await store().transaction((tx) => tx.requests.removeDoneBefore(LATER))).toBe(1);
      const left = await store().read(async (tx) => [
        await tx.requests.get('request-1'),
        await tx.requests.get('done'),
        await tx.requests.get('owing'),
        await tx.requests.get('young'),
      ]);
      expect(left.map((request) => request?.id)).toStrictEqual(['request-1', undefined, 'owing', 'young']);
      expect(await store().read((tx) => tx.burns.ofRequest('done'))).toHaveLength(1);
    });
  });
}

function burns(store: () => Store): void {
  describe('burns', () => {
    it('gives out rising numbers without gaps, also when a transaction is rolled back', async () => {
      const [first, second] = await store().transaction(async (tx) => [
        await tx.burns.reserveSequences(3),
        await tx.burns.reserveSequences(1),
      ]);
      await store()
        .transaction(async (tx) => {
          await tx.burns.reserveSequences(10);
          throw new RangeError('no');
        })
        .catch(() => undefined);
      expect([first, second, await store().transaction((tx) => tx.burns.reserveSequences(1))]).toStrictEqual([
        1, 4, 5,
      ]);
    });

    it.each([0, 1, 2, 3, 127, 128, 129, 1_000])('inserts and settles %i at once', async (count) => {
      const sequences = Array.from({ length: count }, (_, index) => index + 1);
      await store().transaction((tx) => tx.burns.insertMany(sequences.map((sequence) => aBurn(sequence))));
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual(
        sequences.map(pending),
      );
      await store().transaction((tx) => tx.burns.settleMany(sequences.map(success).reverse()));
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual(
        sequences.map(settled),
      );
    });

    it('settles each with its own outcome', async () => {
      const failed: BurnOutcome = {
        sequence: 2,
        status: 'FAILED',
        errorCode: 'ERR_BURN_TOKENOMICS_FAILED',
        errorMessage: "it's too poor; 'quoted' ✗",
        dateSettled: CREATED,
      };
      await store().transaction(async (tx) => {
        await tx.burns.insertMany([aBurn(1), aBurn(2), aBurn(3)]);
        await tx.burns.settleMany([failed, success(1)]);
      });
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        settled(1),
        { ...aBurn(2), ...failed },
        pending(3),
      ]);
    });

    it('refuses to settle a burn twice, and then changes nothing', async () => {
      await store().transaction(async (tx) => {
        await tx.burns.insertMany([aBurn(1), aBurn(2)]);
        await tx.burns.settleMany([success(1)]);
      });
      for (const outcomes of [
        [success(2), success(1)],
        [success(2), success(9)],
      ]) {
        await expect(store().transaction((tx) => tx.burns.settleMany(outcomes))).rejects.toMatchObject({
          code: 'ERR_INTERNAL',
        });
      }
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        settled(1),
        pending(2),
      ]);
    });

    it('reads a part of a request by index', async () => {
      await store().transaction((tx) => tx.burns.insertMany([aBurn(3), aBurn(1), aBurn(2)]));
      const parts = await store().read(async (tx) => [
        await tx.burns.ofRequest('request-1', 1),
        await tx.burns.ofRequest('request-1', 0, 1),
        await tx.burns.ofRequest('request-1', 1, 2),
      ]);
      expect(parts).toStrictEqual([[pending(2), pending(3)], [pending(1)], [pending(2)]]);
    });

    it('signs a pending burn anew, and no settled one', async () => {
      const signed = { signature: 'second', transaction: new Uint8Array([9]), lastValidBlockHeight: 300n };
      await store().transaction(async (tx) => {
        await tx.burns.insertMany([aBurn(1)]);
        await tx.burns.resign(1, signed);
      });
      expect(await store().read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([
        { ...pending(1), ...signed },
      ]);
      await store().transaction((tx) => tx.burns.settleMany([success(1)]));
      await expect(store().transaction((tx) => tx.burns.resign(1, signed))).rejects.toMatchObject({
        code: 'ERR_INTERNAL',
      });
    });

    it('finds the pending burns that nobody works on, oldest first', async () => {
      await store().transaction(async (tx) => {
        await tx.requests.insert(aRequest({ id: 'left', value: 'left', leaseUntilMs: 0 }));
        await tx.requests.insert(aRequest({ id: 'done', value: 'done', status: 'done', reply: '1' }));
        await tx.burns.insertMany([
          aBurn(5, { requestId: 'left' }),
          aBurn(2, { requestId: 'done' }),
          aBurn(3, { requestId: 'request-1' }),
          aBurn(4, { requestId: 'left' }),
          aBurn(1, { requestId: 'left' }),
        ]);
        await tx.burns.settleMany([success(1)]);
      });
      const { leaseUntilMs } = aRequest();
      const sequences = (records: readonly BurnRecord[]) => records.map(({ sequence }) => sequence);
      const found = await store().read(async (tx) => [
        sequences(await tx.burns.pending(10, leaseUntilMs - 1)),
        sequences(await tx.burns.pending(10, leaseUntilMs)),
        sequences(await tx.burns.pending(2, leaseUntilMs)),
      ]);
      expect(found).toStrictEqual([
        [2, 4, 5],
        [2, 3, 4, 5],
        [2, 3],
      ]);
    });
  });
}

function usage(store: () => Store): void {
  describe('usage', () => {
    const counter = { tokenId: 'token-1', day: DAY, kind: 'burn' } as const;

    it('reserves up to the cap and not one unit more', async () => {
      const answers = await store().transaction(async (tx) => [
        await tx.usage.used('token-1', DAY, 'burn'),
        await tx.usage.reserve({ ...counter, amount: 60n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 41n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 40n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 1n, cap: 100n }),
        await tx.usage.reserve({ ...counter, amount: 200n, cap: 150n }),
        await tx.usage.used('token-1', DAY, 'burn'),
      ]);
      expect(answers).toStrictEqual([0n, true, false, true, false, false, 100n]);
    });

    it('counts each day and kind on its own, without a cap to the largest u64', async () => {
      const max = 18_446_744_073_709_551_615n;
      const answers = await store().transaction(async (tx) => [
        await tx.usage.reserve({ ...counter, amount: max, cap: null }),
        await tx.usage.reserve({ ...counter, amount: 1n, cap: null }),
        await tx.usage.reserve({ ...counter, kind: 'airdrop', amount: 1n, cap: null }),
        await tx.usage.reserve({ ...counter, day: '2026-02-01' as UtcDay, amount: 2n, cap: 2n }),
        await tx.usage.used('token-1', DAY, 'burn'),
        await tx.usage.used('token-1', DAY, 'airdrop'),
        await tx.usage.used('token-1', '2026-02-01' as UtcDay, 'burn'),
      ]);
      expect(answers).toStrictEqual([true, false, true, true, max, 1n, 2n]);
    });

    it('gives back what was reserved and never more', async () => {
      await store().transaction(async (tx) => {
        await tx.usage.reserve({ ...counter, amount: 100n, cap: 100n });
        await tx.usage.release({ ...counter, amount: 30n });
        await tx.usage.release({ ...counter, kind: 'airdrop', amount: 0n });
      });
      expect(await store().read((tx) => tx.usage.used('token-1', DAY, 'burn'))).toBe(70n);
      await expect(
        store().transaction((tx) => tx.usage.release({ ...counter, amount: 71n })),
      ).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      expect(await store().read((tx) => tx.usage.used('token-1', DAY, 'burn'))).toBe(70n);
    });

    it('never passes the cap when many reserve at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () =>
          store().transaction((tx) => tx.usage.reserve({ ...counter, amount: 3n, cap: 31n })),
        ),
      );
      expect(answers.filter(Boolean)).toHaveLength(10);
      expect(await store().read((tx) => tx.usage.used('token-1', DAY, 'burn'))).toBe(30n);
    });
  });
}

function batches(store: () => Store): void {
  describe('batches', () => {
    it('keeps everything that is set on the way from init to execution', async () => {
      const cost = {
        feeLamports: 5_000n,
        rentPaidLamports: 18_446_744_073_709_551_615n,
        rentReclaimedLamports: 1n,
      };
      await store().transaction(async (tx) => {
        await tx.batches.insert(aBatch());
        expect(await tx.batches.get('batch-1')).toStrictEqual(aBatch());
        await tx.batches.setBatchIndex('batch-1', 7n, LATER);
        await tx.batches.setInitResult('batch-1', { ...INIT_RESULT, failedTxMsg: 'slow' }, LATER);
        await tx.batches.setApproval('batch-1', 'AQ==', 150n, LATER);
        await tx.batches.addCost('batch-1', cost);
        await tx.batches.addCost('batch-1', {
          feeLamports: 1n,
          rentPaidLamports: 0n,
          rentReclaimedLamports: 2n,
        });
        await tx.batches.transition('batch-1', 'FINALIZED', { initResult: INIT_RESULT }, LATER);
        await tx.batches.claim('batch-1', 'instance-1', 99);
      });
      const finalized = aBatch({
        status: 'FINALIZED',
        batchIndex: 7n,
        initResult: INIT_RESULT,
        approvalTx: 'AQ==',
        approvalLastValidBlockHeight: 150n,
        instance: 'instance-1',
        leaseUntilMs: 99,
        cost: { ...cost, feeLamports: 5_001n, rentReclaimedLamports: 3n },
        dateUpdated: LATER,
      });
      expect(await store().read((tx) => tx.batches.get('batch-1'))).toStrictEqual(finalized);
      await store().transaction(async (tx) => {
        await tx.batches.unclaim('batch-1');
        await tx.batches.transition('batch-1', 'EXECUTED', { executeResult: RESULT }, LATER);
      });
      expect(await store().read((tx) => tx.batches.get('batch-1'))).toStrictEqual({
        ...finalized,
        status: 'EXECUTED',
        executeResult: RESULT,
        instance: null,
        leaseUntilMs: 0,
      });
    });

    it('knows the newest batch that is not final, the open ones and how many there are', async () => {
      await store().transaction(async (tx) => {
        for (const id of ['b', 'a', 'c']) await tx.batches.insert(aBatch({ id }));
        await tx.batches.transition('c', 'FINALIZED', {}, LATER);
        await tx.batches.transition('c', 'FAILED', { executeResult: RESULT }, LATER);
      });
      const read = await store().read(async (tx) => ({
        current: (await tx.batches.current('token-1'))?.id,
        ofOther: await tx.batches.current('token-2'),
        open: (await tx.batches.open()).map(({ id }) => id),
        counts: await tx.batches.countByStatus(),
        unknown: await tx.batches.get('d'),
      }));
      expect(read).toStrictEqual({
        current: 'a',
        ofOther: undefined,
        open: ['b', 'a'],
        counts: { AVAILABLE_TO_QUEUE: 2, FINALIZED: 0, EXECUTED: 0, FAILED: 1 },
        unknown: undefined,
      });
    });

    it('refuses to change a batch that is not there', async () => {
      for (const work of [
        (s: Store) => s.transaction((tx) => tx.batches.claim('x', 'instance', 1)),
        (s: Store) => s.transaction((tx) => tx.batches.addCost('x', aBatch().cost)),
        (s: Store) => s.transaction((tx) => tx.batches.transition('x', 'FINALIZED', {}, LATER)),
      ]) {
        await expect(work(store())).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      }
    });
  });
}

function bundles(store: () => Store): void {
  describe('bundles', () => {
    it('lists the bundles of a batch by phase and ordinal, without expired ones', async () => {
      const inOrder = [
        aBundle('setup-0'),
        aBundle('setup-1', { ordinal: 1, firstTransaction: 4 }),
        aBundle('owner', { phase: 'OWNER_APPROVAL' }),
        aBundle('operator', { phase: 'OPERATOR_APPROVAL' }),
        aBundle('execute-0', { phase: 'EXECUTE' }),
        aBundle('execute-1', { phase: 'EXECUTE', ordinal: 1 }),
        aBundle('close', { phase: 'CLOSE' }),
      ];
      const expired = aBundle('expired', { phase: 'EXECUTE', ordinal: 1 });
      await store().transaction(async (tx) => {
        await tx.batches.insert(aBatch());
        await tx.bundles.insertMany([expired]);
        await tx.bundles.settle('expired', { status: 'EXPIRED' });
        await tx.bundles.insertMany([...inOrder].reverse());
        await tx.bundles.insertMany([]);
      });
      expect(await store().read((tx) => tx.bundles.ofBatch('batch-1'))).toStrictEqual(inOrder);
      expect(await store().read((tx) => tx.bundles.ofBatch('batch-2'))).toStrictEqual([]);
    });

    it('settles a pending bundle once', async () => {
      await store().transaction(async (tx) => {
        await tx.batches.insert(aBatch());
        await tx.bundles.insertMany([aBundle('one'), aBundle('two', { ordinal: 1 })]);
        await tx.bundles.settle('one', { status: 'LANDED' });
        await tx.bundles.settle('two', { status: 'FAILED', errorMessage: 'poor', failedTransaction: 1 });
      });
      await expect(
        store().transaction((tx) => tx.bundles.settle('one', { status: 'EXPIRED' })),
      ).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
      expect(await store().read((tx) => tx.bundles.ofBatch('batch-1'))).toStrictEqual([
        aBundle('one', { status: 'LANDED' }),
        aBundle('two', { ordinal: 1, status: 'FAILED', errorMessage: 'poor', failedTransaction: 1 }),
      ]);
    });
  });
}

function constraints(under: () => StoreUnderTest): void {
  describe('the database itself', () => {
    beforeEach(async () => {
      await under().store.transaction(async (tx) => {
        await tx.burns.insertMany([aBurn(1), aBurn(2), aBurn(3)]);
        await tx.burns.settleMany([success(2)]);
        await tx.usage.reserve({ tokenId: 'token-1', day: DAY, kind: 'burn', amount: 5n, cap: 10n });
        await tx.batches.insert(aBatch());
        await tx.bundles.insertMany([aBundle('one'), aBundle('two', { ordinal: 1 })]);
        await tx.bundles.settle('one', { status: 'LANDED' });
        await tx.apiKeys.insert(anApiKey({ id: 'key-2', hash: sha256('key-2') }));
        await tx.requests.insert(aRequest({ id: 'request-2', value: 'idempotency-2' }));
      });
    });

    const digits = (text: string) => text.padStart(20, '0');

    it.each([
      ['a used idempotency key', "update requests set value = 'idempotency-1' where id = 'request-2'"],
      ['a used API key hash', `update api_keys set hash = '${sha256('key-1')}' where id = 'key-2'`],
      ['a used burn signature', "update burns set signature = 'signature 1' where sequence = 3"],
      ['a second outcome', "update burns set status = 'FAILED', error_code = 'E' where sequence = 2"],
      [
        'an outcome taken back',
        "update burns set status = 'PENDING', date_settled = null where sequence = 2",
      ],
      ['an outcome without its time', "update burns set status = 'SUCCESS' where sequence = 1"],
      ['two burns at one index', 'update burns set position = 0 where sequence = 3'],
      ['a used bundle id', `update bundles set bundle_id = '${sha256('one')}' where id = 'two'`],
      [
        'a used signature in a bundle',
        "update bundle_transactions set signature = 'one/0' where signature = 'two/0'",
      ],
      ['a second live bundle of a step', "update bundles set ordinal = 0 where id = 'two'"],
      ['a landed bundle that changes', "update bundles set status = 'FAILED' where id = 'one'"],
      ['more used than the cap', `update daily_usage set used = '${digits('11')}'`],
      ['a cap below what is used', `update daily_usage set cap = '${digits('4')}'`],
      ['an amount of other width', "update daily_usage set used = '5'"],
      ['an amount that is no number', `update daily_usage set used = '${digits('5x')}'`],
      ['an amount above u64', "update daily_usage set used = '18446744073709551616', cap = null"],
      ['a burn of nothing', `update burns set amount = '${digits('0')}' where sequence = 1`],
      ['a status that does not exist', "update requests set status = 'asleep' where id = 'request-2'"],
      ['an answer that is missing', "update requests set status = 'done' where id = 'request-2'"],
      ['a token that does not exist', "update burns set token_id = 'token-9' where sequence = 1"],
      ['a request forgotten with pending burns', "delete from requests where id = 'request-1'"],
      [
        'a second flywheel of a token',
        "insert into flywheels select 'flywheel-2', token_id, 'Multisig2', 0, vault_address, vault_token_account, owner, operator, proof_types, null, null from flywheels",
      ],
    ])('refuses %s', (_, statement) => {
      expect(() => under().raw(statement)).toThrow(/constraint|settled already|is kept/);
    });

    it('takes what these statements change when the rule is kept', () => {
      under().raw("update requests set value = 'idempotency-3' where id = 'request-2'");
      under().raw("update burns set signature = 'signature 9' where sequence = 3");
      under().raw(`update daily_usage set used = '${digits('10')}'`);
      under().raw("update bundles set ordinal = 2 where id = 'two'");
      under().raw("delete from requests where id = 'request-2'");
      expect(under().raw('select used from daily_usage')).toStrictEqual([{ used: digits('10') }]);
    });

    it('refuses a batch that begins elsewhere', async () => {
      await expect(
        under().store.transaction((tx) => tx.batches.insert(aBatch({ id: 'late', status: 'FINALIZED' }))),
      ).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
    });

    const allowed = new Set(BATCH_TRANSITIONS.map(([from, to]) => `${from} → ${to}`));
    const pairs = STATUSES.flatMap((from) =>
      STATUSES.filter((to) => to !== from).map((to) => [from, to] as const),
    );
    it.each(pairs)('decides on %s → %s as the table of transitions does', async (from, to) => {
      const { store, raw } = under();
      if (from !== 'AVAILABLE_TO_QUEUE')
        raw("update batches set status = 'FINALIZED', execute_result = '{}' where id = 'batch-1'");
      if (from === 'EXECUTED' || from === 'FAILED') raw(`update batches set status = '${from}'`);
      const isAllowed = allowed.has(`${from} → ${to}`);
      const change = () => raw(`update batches set status = '${to}', execute_result = '{}'`);
      const transition = store.transaction((tx) =>
        tx.batches.transition('batch-1', to, { executeResult: RESULT }, LATER),
      );
      if (isAllowed) {
        await transition;
      } else {
        await expect(transition).rejects.toMatchObject({ code: 'ERR_INTERNAL' });
        expect(change).toThrow('no such transition of a batch');
      }
      expect(raw('select status from batches')).toStrictEqual([{ status: isAllowed ? to : from }]);
    });

    it('reports a record that breaks a rule without a word of SQL', async () => {
      const insert = under().store.transaction((tx) => tx.apiKeys.insert(anApiKey({ id: 'key-3' })));
      await expect(insert).rejects.toMatchObject({
        code: 'ERR_INTERNAL',
        message: 'The store refused a record that breaks one of its rules.',
      });
    });
  });
}

function transactions(under: () => StoreUnderTest): void {
  describe('transactions', () => {
    const request = (id: string) => aRequest({ id, value: id });

    it('rolls back everything when the work throws, and throws the same', async () => {
      const { store } = under();
      const reason = new RangeError('no');
      const work = store.transaction(async (tx) => {
        await tx.requests.insert(request('gone'));
        await tx.burns.insertMany([aBurn(1)]);
        throw reason;
      });
      await expect(work).rejects.toBe(reason);
      expect(await store.read((tx) => tx.requests.get('gone'))).toBeUndefined();
      expect(await store.read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([]);
    });

    it('runs one after the other, in the order of asking', async () => {
      const { store } = under();
      const events: string[] = [];
      const run = (name: string) =>
        store.transaction(async (tx) => {
          events.push(`${name} begins`);
          await tx.requests.insert(request(name));
          await new Promise(setImmediate);
          await tx.requests.get(name);
          events.push(`${name} ends`);
        });
      await Promise.all(['a', 'b', 'c'].map(run));
      expect(events).toStrictEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    });

    it('reads a consistent state while another writes, without waiting for it', async () => {
      const { store } = under();
      await store.transaction(async (tx) => {
        await tx.requests.insert(request('new'));
        expect(await store.read((other) => other.requests.get('new'))).toBeUndefined();
        expect(await tx.requests.get('new')).toBeDefined();
      });
      const seen = await store.read(async (tx) => {
        const before = await tx.requests.get('newer');
        await store.transaction((other) => other.requests.insert(request('newer')));
        return [before, await tx.requests.get('newer')];
      });
      expect(seen).toStrictEqual([undefined, undefined]);
      expect(await store.read((tx) => tx.requests.get('newer'))).toStrictEqual(request('newer'));
    });

    it('refuses to write in a read', async () => {
      const { store } = under();
      await expect(store.read((tx) => tx.requests.insert(request('x')))).rejects.toMatchObject({
        code: 'ERR_INTERNAL',
        message: 'A read of the store tried to write.',
      });
    });

    it('refuses use after the end, so that nothing slips into the next transaction', async () => {
      const { store } = under();
      const kept = await store.transaction(async (tx) => tx);
      await store.transaction(async () => {
        await expect(kept.requests.insert(request('late'))).rejects.toThrow('already committed');
      });
      expect(await store.read((tx) => tx.requests.get('late'))).toBeUndefined();
    });

    it('shares its data with another store: numbers, caps and keys are given out once', async () => {
      const { store, openAgain } = under();
      const other = await openAgain();
      const firsts = await Promise.all(
        [store, other, store, other, store, other].map((each) =>
          each.transaction(async (tx) => {
            const first = await tx.burns.reserveSequences(10);
            await new Promise(setImmediate);
            await tx.burns.insertMany([aBurn(first)]);
            return first;
          }),
        ),
      );
      expect(firsts.toSorted((a, b) => a - b)).toStrictEqual([1, 11, 21, 31, 41, 51]);
      const inserts = await Promise.allSettled(
        [store, other].map((each, index) =>
          each.transaction((tx) => tx.requests.insert(aRequest({ id: `twin-${index}`, value: 'twin' }))),
        ),
      );
      expect(inserts.map(({ status }) => status).toSorted()).toStrictEqual(['fulfilled', 'rejected']);
    });

    it('gives up when another store holds the lock too long, and works again afterwards', async () => {
      const { store, openAgain } = under();
      const hasty = await openAgain({ busyTimeoutMs: 50 });
      await store.transaction(async (tx) => {
        await tx.requests.insert(request('slow'));
        await expect(hasty.transaction((other) => other.requests.get('slow'))).rejects.toMatchObject({
          code: 'ERR_STORE_UNAVAILABLE',
          message: expect.stringMatching(/ is locked by another process; gave up after 0\.05 s\.$/),
        });
        expect(await hasty.read((other) => other.requests.get('slow'))).toBeUndefined();
      });
      expect(await hasty.transaction((tx) => tx.requests.get('slow'))).toStrictEqual(request('slow'));
    });

    it('gives up waiting for a transaction of its own that does not end', async () => {
      const { openAgain } = under();
      const hasty = await openAgain({ busyTimeoutMs: 50 });
      await hasty.transaction(async () => {
        await expect(hasty.transaction((tx) => tx.requests.running())).rejects.toMatchObject({
          code: 'ERR_STORE_UNAVAILABLE',
          message: expect.stringMatching(/ is locked by another transaction of this process; /),
        });
      });
      expect(await hasty.transaction((tx) => tx.requests.running())).toHaveLength(1);
    });

    it('waits for the running transaction when it is closed, and is of no use afterwards', async () => {
      const store = await under().openAgain();
      const running = store.transaction(async (tx) => {
        await new Promise(setImmediate);
        await tx.requests.insert(request('last'));
      });
      await store.close();
      await store.close();
      await running;
      for (const use of [store.transaction, store.read]) {
        await expect(use((tx) => tx.requests.running())).rejects.toMatchObject({
          code: 'ERR_STORE_UNAVAILABLE',
          message: expect.stringMatching(/ is closed\.$/),
        });
      }
      expect(await under().store.read((tx) => tx.requests.get('last'))).toStrictEqual(request('last'));
    });
  });
}

storeContract('SQLite', openTemporarySqliteStore);
