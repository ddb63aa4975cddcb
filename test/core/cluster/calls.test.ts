/** Limits the number of RPC calls, which providers count and limit. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { aBurnRequest } from '../../support/engine.js';
import { openOnCluster } from './on-cluster.js';

it('a burn-batch of 60 takes at most four calls an element', async () => {
  // By clock, because many transactions then share a block.
  const under = await openOnCluster({ pace: 'clock' });
  const { project } = under.test;
  const burns = Array.from({ length: 60 }, (_, index) => aBurnRequest(1, { proof: { index } }));
  const before = under.calls.length;
  const { value } = await under.service.burnBatch(burns, project.call({ idempotencyKey: randomUUID() }));
  expect(value.errors).toEqual([]);
  const calls = under.calls.slice(before);
  expect(calls.filter((method) => method === 'sendTransaction').length).toBeGreaterThanOrEqual(60);
  expect(calls.length).toBeLessThanOrEqual(240);
}, 60_000);
