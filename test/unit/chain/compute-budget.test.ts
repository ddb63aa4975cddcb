import { ComputeBudgetProgram } from '@solana/web3.js';
import { expect, it } from 'vitest';
import {
  decodeComputeBudget,
  setComputeUnitLimit,
  setComputeUnitPrice,
} from '../../../src/chain/compute-budget.js';
import { MEMO_PROGRAM } from '../../../src/chain/programs.js';
import { fromWeb3 } from '../../support/oracle.js';

it('a compute budget is read back as it was written, and nothing else is one', () => {
  expect(decodeComputeBudget(setComputeUnitLimit(5))).toEqual({ kind: 'unitLimit', units: 5 });
  expect(decodeComputeBudget(setComputeUnitPrice(7n))).toEqual({ kind: 'unitPrice', microLamports: 7n });
  const heap = fromWeb3(ComputeBudgetProgram.requestHeapFrame({ bytes: 65_536 }));
  expect(decodeComputeBudget(heap)).toBeUndefined();
  expect(decodeComputeBudget({ ...setComputeUnitLimit(5), program: MEMO_PROGRAM })).toBeUndefined();
  const long = Uint8Array.from([...setComputeUnitLimit(5).data, 0]);
  expect(decodeComputeBudget({ ...setComputeUnitLimit(5), data: long })).toBeUndefined();
});
