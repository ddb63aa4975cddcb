/** What the log names of an answer: signatures and the batch, and of many only the first. */
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../src/http/outcome.js';

describe('outcomeOf', () => {
  it.each([
    [{ txHash: 'a', proof: { secret: 1 } }, { signatures: ['a'] }],
    [
      { success: [{ txHash: 'a' }, { txHash: 'b' }], errors: [{ message: 'no' }] },
      { signatures: ['a', 'b'] },
    ],
    [{ batch: { id: 'b-1' }, proposalApproveTx: 'AQID' }, { batchId: 'b-1' }],
    [
      { batchId: 'b-1', result: { successfulExecutions: [{ txHashes: ['a', 7] }, { txHashes: ['b'] }] } },
      { batchId: 'b-1', signatures: ['a', 'b'] },
    ],
    [null, {}],
  ])('of %j is %j', (value, outcome) => {
    expect(outcomeOf(value)).toEqual(outcome);
  });

  it('says how many there are where not all are named', () => {
    const success = Array.from({ length: 20 }, (_, index) => ({ txHash: `s${index}` }));
    expect(outcomeOf({ success })).toMatchObject({ transactions: 20, signatures: expect.any(Array) });
    expect(outcomeOf({ success }).signatures).toHaveLength(8);
  });
});
