/** What a cluster is asked for: providers count every call, and limit them. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { aBurn } from '../support/examples.js';
import { openOnCluster } from '../support/service.js';

it('a burn-batch of 1,000 takes at most two calls an element', async () => {
  const under = await openOnCluster();
  const { project } = under.test;
  const burns = Array.from({ length: 1_000 }, (_, index) => aBurn({ proof: { index } }));
  const before = under.calls.length;
  const { value } = await under.service.burnBatch(burns, project.call({ idempotencyKey: randomUUID() }));
  expect(value.errors).toEqual([]);
  const calls = under.calls.slice(before);
  expect(calls.filter((method) => method === 'sendTransaction').length).toBeGreaterThanOrEqual(1_000);
  expect(calls.length).toBeLessThanOrEqual(2_000);
  await under.dispose();
}, 120_000);
