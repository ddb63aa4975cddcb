/** Who may do what (service specification, section 5). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import { EXAMPLES } from '../../../src/contract/examples.js';
import { OPERATION_LIST, pathParameters } from '../../../src/contract/operations.js';
import { callOperation, type Service } from '../../../src/contract/service.js';
import type { Uuid } from '../../../src/values/ids.js';
import { Secret } from '../../../src/values/secret.js';
import { failureOf, type ServiceUnderTest, signApproval } from '../../support/service.js';
import { aBurn, aPipeline } from './examples.js';

const someBatch = randomUUID() as Uuid;

/** With an input that is of the right shape. */
const everyOperation = (
  service: Service,
  credential: Call['credential'],
): readonly (() => Promise<unknown>)[] =>
  OPERATION_LIST.map((operation) => () => {
    const { request } = EXAMPLES[operation.id];
    const inPath = Object.fromEntries(pathParameters(operation).map((name) => [name, someBatch]));
    const input = Array.isArray(request) ? request : { ...request, ...inPath };
    const key = operation.idempotencyKey === 'uuid' ? { idempotencyKey: randomUUID() } : {};
    return callOperation(service, operation.id, input, { credential, ...key });
  });

export function access(under: () => ServiceUnderTest): void {
  it('refuses a missing, unknown or revoked key alike, in every operation', async () => {
    const { service, test } = under();
    const extra = await test.engine.createKey({ scopes: ['burn', 'airdrop'], proofTypes: null });
    await test.engine.revokeKey(extra.id);
    const messages = new Set<string>();
    for (const credential of [null, new Secret('fwk_unknown'), new Secret(extra.key)]) {
      for (const operation of everyOperation(service, credential)) {
        const error = await failureOf(operation());
        expect([error.code, error.exitCode]).toEqual(['ERR_UNAUTHORIZED', 4]);
        messages.add(error.message);
      }
    }
    expect(messages.size).toBe(1);
  });

  it('refuses a revoked key from then on', async () => {
    const { service, test } = under();
    const created = await test.engine.createKey({ scopes: ['burn'], proofTypes: null });
    const call = { credential: new Secret(created.key) };
    await service.currentBatch(call);
    await test.engine.revokeKey(created.id);
    expect((await failureOf(service.currentBatch(call))).code).toBe('ERR_UNAUTHORIZED');
  });

  it('names the scope that a key lacks', async () => {
    const { service, test } = under();
    const key = async (scope: 'burn' | 'airdrop'): Promise<Call> => {
      const created = await test.engine.createKey({ scopes: [scope], proofTypes: null });
      return { credential: new Secret(created.key) };
    };
    const airdrop = await key('airdrop');
    for (const call of [
      () => service.burn(aBurn(), airdrop),
      () => service.burnBatch([aBurn()], { ...airdrop, idempotencyKey: randomUUID() }),
    ]) {
      const error = await failureOf(call());
      expect([error.code, error.exitCode]).toEqual(['ERR_KEY_SCOPES_UNAUTHORIZED', 4]);
      expect(error.message).toContain('burn');
    }
    expect((await service.currentBatch(airdrop)).value).toBeNull();
    const burnOnly = await key('burn');
    const refused = await failureOf(
      service.initBatch(
        {
          pipelines: [
            aPipeline(),
            aPipeline({ actions: [{ action: 'AIRDROP', toAddress: test.project.owner.address, amount: 1 }] }),
          ],
        },
        burnOnly,
      ),
    );
    expect(refused.code).toBe('ERR_KEY_SCOPES_UNAUTHORIZED');
    expect(refused.message).toMatch(/pipelines\[1\]\.actions\[0\].*airdrop/);
    expect((await service.currentBatch(burnOnly)).value).toBeNull();
  });

  it('says which key it is, what it may do and for which token', async () => {
    const { service, test } = under();
    const created = await test.engine.createKey({ scopes: ['airdrop'], proofTypes: ['WATCH_AD'] });
    const { tokenId, symbol, mintAddress, decimals } = await test.engine.registration();
    expect((await service.describeKey({ credential: new Secret(created.key) })).value).toEqual({
      ...{ id: created.id, scopes: ['airdrop'], proofTypes: ['WATCH_AD'] },
      ...{ tokenId, symbol, mintAddress, decimals },
    });
  });

  it('permits a key only its own proof types', async () => {
    const { service, test } = under();
    const created = await test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const call = { credential: new Secret(created.key) };
    expect((await failureOf(service.burn(aBurn(), call))).code).toBe('ERR_INVALID_PROOF');
    expect((await service.burn(aBurn({ type: 'WATCH_AD' }), call)).value.type).toBe('WATCH_AD');
    const init = service.initBatch({ pipelines: [aPipeline()] }, call);
    expect((await failureOf(init)).code).toBe('ERR_INVALID_PROOF');
  });

  it("does not find another project's batch, and says the same as for no batch", async () => {
    const { service, register } = under();
    const [mine, other] = [await register(), await register()];
    const { value } = await service.initBatch({ pipelines: [aPipeline()] }, other.call());
    const batchId = value.batch.id;
    const signedTx = signApproval(value.proposalApproveTx, other.owner);
    for (const ask of [
      (id: typeof batchId) => service.getBatch({ batchId: id }, mine.call()),
      (id: typeof batchId) => service.executeBatch({ batchId: id, signedTx }, mine.call()),
    ]) {
      const first = await failureOf(ask(batchId));
      const second = await failureOf(ask(someBatch));
      expect([first.code, first.status, first.exitCode]).toEqual(['ERR_BATCH_NOT_FOUND', 404, 5]);
      expect(first.message.replaceAll(batchId, 'ID')).toBe(second.message.replaceAll(someBatch, 'ID'));
    }
    expect((await service.currentBatch(mine.call())).value).toBeNull();
  });
}
