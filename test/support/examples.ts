/** Valid requests, with parts that a test can replace. */
import type { Pipeline } from '../../src/contract/schemas/batch.js';
import type { BurnRequest } from '../../src/contract/schemas/burn.js';

let count = 0;

export function aBurn(more: Partial<BurnRequest> = {}): BurnRequest {
  count += 1;
  return {
    type: 'PRODUCT_BUY',
    proof: { orderId: `A-${count}` },
    burnAmount: 1,
    persistOnchain: false,
    ...more,
  };
}

export function aPipeline(more: Partial<Pipeline> = {}): Pipeline {
  count += 1;
  return {
    type: 'PRODUCT_BUY',
    payload: JSON.stringify({ orderId: `P-${count}` }),
    actions: [{ action: 'BURN', amount: 1 }],
    ...more,
  };
}
