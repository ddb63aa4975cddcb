/** Events of an engine cover stored facts only, so that an operation is traceable by its id. */
import { afterEach, describe, expect, it } from 'vitest';
import type { EngineEvent } from '../../../src/engine/deps.js';
import type { Store } from '../../../src/store/store.js';
import { randomIds } from '../../../src/values/ids.js';
import { replacing } from '../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

/** The store of a process that dies just before its first commit. */
const dyingStore = (store: Store): Store =>
  replacing(store, {
    transaction: (work, of) =>
      store.transaction(async (tx) => {
        await work(tx);
        throw new Error('killed');
      }, of),
  });

describe('what an engine says', () => {
  it('is nothing of an operation that was never committed, and each step of the one that was', async () => {
    test = await openTestEngine();
    const { deps, project } = test;
    const call = project.call({ idempotencyKey: randomIds.uuid() });
    const said: EngineEvent[] = [];
    const listening = { onEvent: (event: EngineEvent) => said.push(event) };
    const killed = engineBeside(test, { ...listening, store: dyingStore(deps.store) });
    await expect(killed.burn(aBurnRequest(1), call)).rejects.toThrow();
    expect(said).toEqual([]);
    const { value } = await engineBeside(test, listening).burn(aBurnRequest(1), call);
    expect(said).toMatchObject([
      { event: 'begun', operation: 'burn' },
      { event: 'signed', phase: 'BURN', signatures: [value.txHash] },
      { event: 'settled', phase: 'BURN', landed: [value.txHash], failed: [] },
    ]);
    expect(new Set(said.map(({ operationId }) => operationId)).size).toBe(1);
    expect((await test.engine.status()).burned).toBe('1');
  });
});
