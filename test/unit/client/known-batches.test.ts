/** A service's batch keeps its identity on chain in every answer. */
import { describe, expect, it } from 'vitest';
import { KnownBatches } from '../../../src/client/check-answer.js';
import type { Batch } from '../../../src/contract/schemas/batch.js';
import { EXAMPLES } from '../../support/wire-examples.js';

const example = EXAMPLES.getBatch.response as Batch;
const TOTALS = { pipelines: 1, burn: '1', airdrop: '0', recipients: 0 };
const batch = (changes: Partial<Batch> = {}): Batch => ({ ...example, status: 'FINALIZED', ...changes });

describe('what a client has been told of batches', () => {
  it('may not change its number or multisig once it is set up', () => {
    const known = new KnownBatches();
    known.remember(batch({ batchIndex: '5' }));
    expect(known.problem(batch({ batchIndex: '5', status: 'FAILED' }))).toBe(undefined);
    const moved = batch({ batchIndex: '6', id: example.id.toUpperCase() as Batch['id'] });
    const issued = { proposalApproveTx: '', batch: { ...moved, pipelines: [] } };
    for (const problem of [
      known.problem(moved),
      known.problem(moved),
      known.problem({ items: [{ ...moved, totals: TOTALS }], nextCursor: null }),
      known.problem(issued),
      known.problem({ ownerVoteNeeded: false, batch: moved }),
    ])
      expect(problem).toMatch(/^batch .* is number 6 of .*, but an earlier answer said number 5 of /);
    expect(known.problem(batch({ batchIndex: '5', multisig: 'other' }))).toContain('of other');
  });

  it('may change its number before', () => {
    const known = new KnownBatches();
    known.remember(batch({ batchIndex: '5', status: 'AVAILABLE_TO_QUEUE' }));
    expect(known.problem(batch({ batchIndex: '6' }))).toBe(undefined);
    expect(known.problem(null)).toBe(undefined);
  });
});
