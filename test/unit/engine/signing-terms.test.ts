/** Signing terms: no extra instructions without fees, limit and price with them. */
import { describe, expect, it } from 'vitest';
import type { Chain, PriorityFees } from '../../../src/chain/chain.js';
import { budgetIn, memo, setComputeUnitLimit } from '../../../src/chain/small-programs.js';
import { proposalApprove } from '../../../src/chain/squads/builders.js';
import type { Instruction } from '../../../src/chain/transaction/message.js';
import { maxFeeLamports, signingTerms, withBudget } from '../../../src/engine/signing-terms.js';
import { namedAddress } from '../../support/oracle.js';

const payer = namedAddress('payer');
const recent = { blockhash: namedAddress('blockhash'), lastValidBlockHeight: 7n };
const approve = proposalApprove({
  ...{ multisig: namedAddress('multisig'), member: payer, batchIndex: 1n },
});
const foreign: Instruction = { program: namedAddress('program'), accounts: [], data: new Uint8Array() };

const chainWith = (fees?: Partial<PriorityFees>): Chain => {
  const priorityFees = {
    maxLamports: 50_000n,
    priceOf: async () => 1_000n,
    computeUnitsOf: async () => null,
    ...fees,
  };
  const chain = { latestBlockhash: async () => recent, fees: fees === undefined ? null : priorityFees };
  return chain as Partial<Chain> as Chain;
};

const budgetOf = (instructions: readonly Instruction[]) =>
  instructions.map(budgetIn).filter((asked) => Object.keys(asked).length > 0);

describe('where nothing is paid beyond the signatures', () => {
  it('a transaction stays what it is', async () => {
    const terms = await signingTerms(chainWith(), { payer, instructions: [approve] });
    const instructions = [approve];
    expect(terms).toEqual(recent);
    expect(withBudget(instructions, terms)).toBe(instructions);
    expect(maxFeeLamports(chainWith())).toBe(5_000n);
    expect(maxFeeLamports(chainWith({ maxLamports: 777n }))).toBe(5_777n);
  });
});

describe('on a cluster', () => {
  it('asks what those pay who write the same accounts, and pays it', async () => {
    const asked: string[][] = [];
    const priceOf = async (written: readonly string[]) => {
      asked.push([...written]);
      return 2_500n;
    };
    const terms = await signingTerms(chainWith({ priceOf }), { payer, instructions: [approve] });
    const written = approve.accounts.filter(({ writable }) => writable).map(({ address }) => address);
    expect(asked).toEqual([[payer, ...written]]);
    expect(budgetOf(withBudget([approve], terms))).toEqual([
      { computeUnits: 30_000 },
      { microLamports: 2_500n },
    ]);
    expect(withBudget([approve], terms).at(-1)).toBe(approve);
  });

  it('allows what a trial has shown and something above', async () => {
    const instructions = [approve];
    const terms = await signingTerms(chainWith({ computeUnitsOf: async () => 10_001 }), {
      payer,
      instructions,
    });
    expect(terms.units).toBe(22_002);
  });

  it.each([
    ['what its kind takes at most', [approve], 30_000],
    ['that of each instruction', [memo('name', []), approve], 45_000],
    ['that of the cluster for what is not known', [foreign, foreign], 400_000],
    ['no more than there is', new Array(9).fill(foreign), 1_400_000],
    ['what it says itself', [setComputeUnitLimit(321_000), foreign], 321_000],
  ])('allows without a trial %s', async (_what, instructions: readonly Instruction[], units) => {
    const terms = await signingTerms(chainWith({}), { payer, instructions });
    expect(budgetOf(withBudget(instructions, terms))[0]).toEqual({ computeUnits: units });
  });

  it('sets no price where none is asked, or none allowed', async () => {
    for (const fees of [{ priceOf: async () => 0n }, { maxLamports: 0n }]) {
      const terms = await signingTerms(chainWith(fees), { payer, instructions: [approve] });
      expect(budgetOf(withBudget([approve], terms))).toEqual([{ computeUnits: expect.any(Number) }]);
    }
  });
});
