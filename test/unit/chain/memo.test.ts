import { ComputeBudgetProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import {
  decodeComputeBudget,
  setComputeUnitLimit,
  setComputeUnitPrice,
} from '../../../src/chain/compute-budget.js';
import { memo, proofMemoText } from '../../../src/chain/memo.js';
import { MEMO_PROGRAM } from '../../../src/chain/programs.js';
import { sha256 } from '../../../src/values/digest.js';
import { fromWeb3, namedAddress, plain } from '../../support/oracle.js';

describe('memo', () => {
  it('carries UTF-8 text and asks each signer to sign, without writing', () => {
    const signer = namedAddress('signer');
    expect(plain(memo('né🔥', [signer]))).toEqual({
      program: MEMO_PROGRAM,
      accounts: [{ address: signer, signer: true, writable: false }],
      data: Uint8Array.from([0x6e, 0xc3, 0xa9, 0xf0, 0x9f, 0x94, 0xa5]),
    });
    expect(memo('x', []).accounts).toEqual([]);
  });

  it('writes a proof as compact JSON, type first, with the type escaped', () => {
    expect(proofMemoText('PRODUCT_BUY', sha256(''))).toBe(
      '{"type":"PRODUCT_BUY","hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}',
    );
    expect(JSON.parse(proofMemoText('a"b', sha256('')))).toEqual({ type: 'a"b', hash: sha256('') });
  });
});

describe('compute budget', () => {
  it('sets limit and price as web3.js does', () => {
    expect(plain(setComputeUnitLimit(1_400_000))).toEqual(
      fromWeb3(ComputeBudgetProgram.setComputeUnitLimit({ units: 1_400_000 })),
    );
    expect(plain(setComputeUnitPrice(123_456_789_012n))).toEqual(
      fromWeb3(ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 123_456_789_012n })),
    );
  });

  it('reads back what it wrote and nothing else', () => {
    expect(decodeComputeBudget(setComputeUnitLimit(5))).toEqual({ kind: 'unitLimit', units: 5 });
    expect(decodeComputeBudget(setComputeUnitPrice(7n))).toEqual({ kind: 'unitPrice', microLamports: 7n });
    const heap = fromWeb3(ComputeBudgetProgram.requestHeapFrame({ bytes: 65_536 }));
    expect(decodeComputeBudget(heap)).toBeUndefined();
    expect(decodeComputeBudget({ ...setComputeUnitLimit(5), program: MEMO_PROGRAM })).toBeUndefined();
    const long = Uint8Array.from([...setComputeUnitLimit(5).data, 0]);
    expect(decodeComputeBudget({ ...setComputeUnitLimit(5), data: long })).toBeUndefined();
  });
});
