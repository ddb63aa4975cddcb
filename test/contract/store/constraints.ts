/** Store contract: invalid rows that the database refuses from any writer. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import type { StoreTransaction } from '../../../src/store/store.js';
import { sha256 } from '../../../src/values/digest.js';
import type { StoreUnderTest } from '../../support/store.js';
import {
  aBatch,
  aBundle,
  aBurn,
  anApiKey,
  anotherProject,
  aRequest,
  DAY,
  LATER,
  RESULT,
  success,
} from './records.js';

type Attempt = string | ((tx: StoreTransaction) => Promise<unknown>);

const refused = (): Error => new FlywheelError('ERR_INTERNAL', 'It was not as expected.');

const REFUSALS = {
  condition: /pending|settle|cannot become|may still land|working on|as expected/,
  'foreign key': /constraint/,
  trigger: /audit_log stays/,
};

/** @param isWhole - `false`: one attempt at each rule between rows and states. */
export function constraints(under: () => StoreUnderTest, isWhole: boolean): void {
  describe('the database itself', () => {
    beforeEach(async () => {
      await under().store.transaction(async (tx) => {
        await tx.burns.insertMany(aRequest(), [aBurn(1), aBurn(2), aBurn(3)]);
        await tx.burns.settleMany([success(2)]);
        await tx.usage.addLanded({ tokenId: 'token-1', day: DAY, kind: 'burn' }, 5n);
        await tx.batches.insert(aRequest(), aBatch(), []);
        await tx.bundles.insertMany([aBundle('one'), aBundle('two', { first: 2 })]);
        await tx.bundles.settle([aBundle('one', { status: 'LANDED' })]);
        await tx.apiKeys.insert(anApiKey({ id: 'key-2', hash: sha256('key-2') }));
        await tx.requests.insert(aRequest({ id: 'request-2', value: 'idempotency-2' }));
        await tx.projects.insert(anotherProject());
        await tx.apiKeys.insert(anApiKey({ id: 'key-other', tokenId: 'token-2', hash: sha256('key-other') }));
        await tx.audit.append({
          ...{ tokenId: 'token-1', actor: 'me@here pid 1', action: 'keys.create', subject: 'key-2' },
          ...{ detail: {}, dateCreated: LATER },
        });
      });
    });

    /** Rules across rows, and the constraint that enforces each. */
    const rules: readonly [string, 'condition' | 'foreign key' | 'trigger', Attempt][] = [
      ['a burn has one outcome', 'condition', (tx) => tx.burns.settleMany([success(2)])],
      [
        'a burn has no other outcome either',
        'condition',
        (tx) => tx.burns.settleMany([{ ...success(2), status: 'FAILED', errorCode: 'E' }]),
      ],
      [
        'a burn is not signed anew after its outcome',
        'condition',
        (tx) => tx.burns.resign(2, 'signature 2', { ...aBurn(2), signature: 'anew' }),
      ],
      [
        'a final burn is not pending again',
        'condition',
        async (tx) => {
          if (!(await tx.burns.reopen({ sequence: 2, signature: 'signature 2' }))) throw refused();
        },
      ],
      [
        'a batch moves as its transitions say',
        'condition',
        (tx) => tx.batches.transition('batch-1', 'EXECUTED', { executeResult: RESULT }, LATER),
      ],
      [
        'a bundle has one outcome',
        'condition',
        (tx) => tx.bundles.settle([aBundle('one', { status: 'FAILED' })]),
      ],
      ['a request with pending burns is kept', 'condition', (tx) => tx.requests.remove('request-1')],
      ['a request has a key of its project', 'foreign key', "update requests set key_id = 'key-other'"],
      ['a burn has a key of its project', 'foreign key', "update burns set key_id = 'key-other'"],
      ['a batch has a key of its project', 'foreign key', "update batches set key_id = 'key-other'"],
      [
        'a batch has a flywheel of its project',
        'foreign key',
        "update batches set token_id = 'token-2', key_id = 'key-other'",
      ],
      ['an audit entry is not changed', 'trigger', "update audit_log set actor = 'somebody else'"],
      ['an audit entry is not removed', 'trigger', 'delete from audit_log'],
    ];
    it.each(rules)('%s, by a %s', async (_, keeper, attempt) => {
      const { store, raw } = under();
      const state = async () => {
        const found: unknown[] = [];
        for (const table of ['burns', 'batch_transactions', 'batches', 'requests', 'audit_log'])
          found.push(await raw(`select * from ${table} order by 1`));
        return found;
      };
      const before = await state();
      const tried = typeof attempt === 'string' ? raw(attempt) : store.transaction(attempt);
      await expect(tried).rejects.toThrow(REFUSALS[keeper]);
      expect(await state()).toEqual(before);
    });

    it('a burn and a batch begin as pending and of the project of their request, by the insert', async () => {
      await under().store.transaction(async (tx) => {
        const foreign = { tokenId: 'token-2', requestId: 'request-9', status: 'FINAL' };
        await tx.burns.insertMany(aRequest(), [{ ...aBurn(4), ...foreign }]);
        await tx.batches.insert(
          aRequest(),
          {
            ...aBatch({ id: 'batch-2', batchIndex: 2n }),
            ...{ ...foreign, status: 'EXECUTED' },
          },
          [],
        );
      });
      const begun = { token_id: 'token-1', request_id: 'request-1' };
      expect(await under().raw('select token_id, request_id, status from burns where sequence = 4')).toEqual([
        { ...begun, status: 'PENDING' },
      ]);
      expect(
        await under().raw("select token_id, request_id, status from batches where id = 'batch-2'"),
      ).toEqual([{ ...begun, status: 'AVAILABLE_TO_QUEUE' }]);
    });

    if (!isWhole) return;

    const audited = (ordinal: number, action: string, detail: string): string =>
      `insert into audit_log values (${ordinal}, 'token-1', 'me', '${action}', null, '${detail}', '2026')`;
    const digits = (text: string) => text.padStart(20, '0');

    it.each([
      ['a used idempotency key', "update requests set value = 'idempotency-1' where id = 'request-2'"],
      ['an audit entry of an unknown act', audited(9, 'keys.borrow', '{}')],
      ['an audit entry whose detail is no JSON', audited(9, 'copy', '{')],
      ['a second token of a mint', "update projects set mint_address = 'Mint2' where id = 'token-1'"],
      ['a used API key hash', `update api_keys set hash = '${sha256('key-1')}' where id = 'key-2'`],
      ['a used burn signature', "update burns set signature = 'signature 1' where sequence = 3"],
      ['an outcome without its time', "update burns set status = 'CONFIRMED' where sequence = 1"],
      ['two burns at one index', 'update burns set "index" = 0 where sequence = 3'],
      [
        'a used signature of a batch',
        "update batch_transactions set signature = 'one/0' where signature = 'two/0'",
      ],
      [
        'a second live transaction of a step',
        "update batch_transactions set first = 0 where signature = 'two/0'",
      ],
      ['an amount of other width', "update daily_usage set landed = '5'"],
      ['an amount that is no number', `update daily_usage set landed = '${digits('5x')}'`],
      ['an amount above u64', "update daily_usage set landed = '18446744073709551616'"],
      ['a batch cancelled that is not over', "update batches set date_cancelled = '2026'"],
      ['a burn of nothing', `update burns set amount = '${digits('0')}' where sequence = 1`],
      ['a status that does not exist', "update requests set status = 'asleep' where id = 'request-2'"],
      ['an answer that is missing', "update requests set status = 'done' where id = 'request-2'"],
      ['a token that does not exist', "update burns set token_id = 'token-9' where sequence = 1"],
      ['a key of no project', "update api_keys set token_id = 'token-9' where id = 'key-2'"],
      ['a project taken from its keys', "delete from projects where id = 'token-2'"],
      ['a second project of a vault', "update projects set multisig = 'Multisig2' where id = 'token-1'"],
      ['a pending burn without its bytes', 'update burns set "transaction" = null where sequence = 1'],
      ['bytes of a burn that is final', `update burns set "transaction" = 'x' where sequence = 2`],
    ])('refuses %s', async (_, statement) => {
      await expect(under().raw(statement)).rejects.toThrow(
        /constraint|audit_log stays|invalid input syntax for type json/,
      );
    });

    it('reports a record that breaks a rule without a word of SQL', async () => {
      const insert = under().store.transaction((tx) => tx.apiKeys.insert(anApiKey({ id: 'key-3' })));
      await expect(insert).rejects.toMatchObject({
        code: 'ERR_INTERNAL',
        message: 'The store refused a record that violates a constraint.',
      });
    });
  });
}
