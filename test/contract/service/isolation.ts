/** Two projects of one service: with the key of one, nothing of the other is seen, used up, found again or changed. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import { EXAMPLES } from '../../../src/contract/examples.js';
import { OPERATION_LIST, pathParameters } from '../../../src/contract/operations.js';
import { callOperation } from '../../../src/contract/service.js';
import { failureOf, type ServiceUnderTest, signApproval } from '../../support/service.js';
import { aBurn, aPipeline } from './examples.js';

export function isolation(under: () => ServiceUnderTest): void {
  it('finds nothing of another project by an id, a proof or a signature, in any operation', async () => {
    const { service, register } = under();
    const [one, other] = [await register(), await register()];
    const mine: Call = { credential: one.key };
    const proof = { secret: randomUUID() };
    const burned = (await service.burn(aBurn({ proof }), mine)).value;
    const made = (
      await service.initBatch({ pipelines: [aPipeline()] }, { ...mine, idempotencyKey: randomUUID() })
    ).value;
    const theirs = (): Call => ({ credential: other.key, idempotencyKey: randomUUID() });
    const before = JSON.stringify((await service.getBatch({ batchId: made.batch.id }, mine)).value);

    const unseen = new Set<string>();
    for (const operation of OPERATION_LIST) {
      if (pathParameters(operation).length === 0 && operation.id !== 'executeBatch') continue;
      const { request } = EXAMPLES[operation.id];
      const input = { ...request, batchId: made.batch.id };
      const signed =
        operation.id === 'executeBatch'
          ? { ...input, signedTx: signApproval(made.proposalApproveTx, one.owner) }
          : input;
      const { idempotencyKey, ...plain } = theirs();
      const call = operation.idempotencyKey === 'uuid' ? { ...plain, idempotencyKey } : plain;
      const error = await failureOf(callOperation(service, operation.id, signed, call as Call));
      expect([operation.id, error.code]).toEqual([operation.id, 'ERR_BATCH_NOT_FOUND']);
      unseen.add(operation.id);
    }
    expect([...unseen].sort()).toEqual(
      ['batchPipelines', 'cancelBatch', 'executeBatch', 'getBatch', 'issueApproval'].sort(),
    );

    const credential = theirs().credential;
    expect((await service.currentBatch({ credential })).value).toBeNull();
    expect((await service.listBatches({}, { credential })).value.items).toEqual([]);
    expect((await service.listBurns({ txHash: burned.txHash }, { credential })).value.items).toEqual([]);
    expect((await service.listBurns({ proofHash: burned.hash }, { credential })).value.items).toEqual([]);
    expect(JSON.stringify((await service.report({}, { credential })).value)).not.toContain(burned.txHash);
    expect(JSON.stringify((await service.getBatch({ batchId: made.batch.id }, mine)).value)).toBe(before);
    await service.cancelBatch({ batchId: made.batch.id }, mine);
  });

  it('tells by no cursor how much another project does, and takes none of its cursors', async () => {
    const { service, register } = under();
    const [one, other] = [await register(), await register()];
    for (const { key: credential } of [one, one, other, other]) {
      await service.burn(aBurn({ proof: { order: randomUUID() } }), { credential });
      const call = { credential, idempotencyKey: randomUUID() };
      const { batch } = (await service.initBatch({ pipelines: [aPipeline()] }, call)).value;
      await service.cancelBatch({ batchId: batch.id }, { credential });
    }
    const mine = { credential: one.key };
    for (const list of ['listBurns', 'listBatches'] as const) {
      const all = (await service[list]({}, mine)).value;
      expect([all.items.length, all.nextCursor]).toEqual([2, null]);
      const first = (await service[list]({ limit: 1 }, mine)).value;
      const cursor = first.nextCursor ?? '';
      expect(Buffer.from(cursor, 'base64url').toString('latin1')).toMatch(/^[0-9a-f-]{36}( 0)?$/);
      const second = (await service[list]({ limit: 1, cursor }, mine)).value;
      expect([[...first.items, ...second.items], second.nextCursor]).toEqual([all.items, null]);
      for (const [bad, as] of [
        [cursor, { credential: other.key }],
        ['MTU', mine],
      ] as const)
        expect((await failureOf(service[list]({ cursor: bad }, as))).code).toBe('ERR_INVALID_REQUEST');
    }
  });

  it('finds nothing by a text that can be nowhere, and says so', async () => {
    const { service, register } = under();
    const call = { credential: (await register()).key };
    for (const text of ['\0', 'a\0b']) {
      for (const name of ['type', 'txHash', 'proofHash'])
        expect((await failureOf(service.listBurns({ [name]: text }, call))).code).toBe('ERR_INVALID_REQUEST');
      expect((await failureOf(service.listBatches({ txHash: text }, call))).code).toBe('ERR_INVALID_REQUEST');
      for (const operation of ['getBatch', 'batchPipelines', 'issueApproval', 'cancelBatch'] as const) {
        const asked = callOperation(service, operation, { batchId: text }, call);
        expect((await failureOf(asked)).code).toBe('ERR_BATCH_NOT_FOUND');
      }
    }
  });

  it('takes an idempotency key and a proof of another project for what they are here: new', async () => {
    const { service, register } = under();
    const [one, other] = [await register(), await register()];
    const [idempotencyKey, request] = [randomUUID(), aBurn()];
    const first = await service.burn(request, { credential: one.key, idempotencyKey });
    const second = await service.burn(request, { credential: other.key, idempotencyKey });
    expect(second.meta.replayed).toBe(false);
    expect(second.value.txHash).not.toBe(first.value.txHash);
    const again = await service.burn(request, { credential: one.key, idempotencyKey });
    expect([again.meta.replayed, again.value]).toEqual([true, first.value]);
  });

  it('leaves the caps of one project to it', async () => {
    const { service, register } = under();
    const [one, other] = [await register({ dailyBurn: '2' }), await register({ dailyBurn: '2' })];
    await service.burn(aBurn({ burnAmount: 2 }), { credential: one.key });
    const refused = await failureOf(service.burn(aBurn(), { credential: one.key }));
    expect(refused.code).toBe('ERR_DAILY_LIMIT_EXCEEDED');
    await service.burn(aBurn({ burnAmount: 2 }), { credential: other.key });
  });
}
