import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SourceAction } from '../../../../src/actions/registry.js';
import { TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import { budgetIn } from '../../../../src/chain/small-programs.js';
import {
  associatedTokenAddress,
  multisigAddress,
  vaultAddress,
} from '../../../../src/chain/squads/addresses.js';
import type { Instruction } from '../../../../src/chain/transaction/message.js';
import { compileLegacyMessage, unsigned } from '../../../../src/chain/transaction/wire.js';
import {
  executeTransactions,
  planPipeline,
  setupTransactions,
  shared,
} from '../../../../src/engine/batches/plan-batch.js';
import { withBudget } from '../../../../src/engine/signing-terms.js';
import { sha256 } from '../../../../src/values/digest.js';
import { namedAddress } from '../../../support/oracle.js';

const multisig = multisigAddress(namedAddress('create key')).address;
const vault = vaultAddress(multisig, 0).address;
const mint = namedAddress('mint');
const flywheel = {
  multisig,
  vaultIndex: 0,
  vault,
  vaultTokenAccount: associatedTokenAddress(vault, mint, TOKEN_PROGRAM),
  owner: namedAddress('owner'),
  operator: namedAddress('operator'),
  mint,
  decimals: 6,
  tokenProgram: TOKEN_PROGRAM,
};
const hash = sha256('proof');

class TooLarge extends Error {}

const plan = (...pipelines: (readonly SourceAction[])[]) =>
  pipelines.map((actions, n) => {
    const planned = planPipeline({ type: `TYPE_${n}`, proofHash: hash, actions }, flywheel);
    if (typeof planned === 'string') throw new TooLarge(planned);
    return planned;
  });
const burn = (amount = 1): SourceAction => ({ action: 'BURN', amount });
const airdrop = (to: string, amount = 1): SourceAction => ({
  action: 'AIRDROP',
  toAddress: namedAddress(to),
  amount,
});
const text = (length: number): SourceAction => ({ action: 'MEMO', message: 'm'.repeat(length) });
const times = <Value>(count: number, make: (n: number) => Value): Value[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** Bytes of the wire transaction, for a batch with a high index and a high transaction number. */
const sizeOf = (instructions: readonly Instruction[]): number =>
  unsigned(compileLegacyMessage({ payer: flywheel.operator, instructions, blockhash: mint })).length;
const place = { flywheel, batchIndex: 123_456_789_012n };

/** A chain with compute unit limit and price. */
const onCluster = {
  blockhash: mint,
  lastValidBlockHeight: 0n,
  priority: { microLamports: 5_000n, maxLamports: 1_000_000n },
};

/** The sizes and the number of actions that fit, as the error reports them. */
function refusal(...pipelines: (readonly SourceAction[])[]): string {
  try {
    plan(...pipelines);
  } catch (error) {
    if (error instanceof TooLarge) return error.message;
    throw error;
  }
  return 'fits';
}
/** The greatest count that `fits`; every smaller one fits too. */
function greatest(fits: (count: number) => boolean): number {
  let [low, high] = [0, 900];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
const fitting = (message: string): number => Number(/the first ([0-9]+) of its/.exec(message)?.[1]);

describe('planPipeline', () => {
  it('sets a limit of compute units when more than four accounts may be opened', () => {
    const pipelines = plan(
      times(4, (n) => airdrop(`r${n}`)),
      times(5, (n) => airdrop(`r${n}`)),
      times(20, () => burn()),
    );
    const messages = pipelines.map(({ message }) => message);
    const limits = [...executeTransactions(place, messages)].map(
      ([first]) => (first && budgetIn(first).computeUnits) ?? null,
    );
    expect(limits).toEqual([null, expect.any(Number), null]);
    // Five of them cost up to 20,000 + 5 × (29,000 + 20,000) + 4,000 units.
    expect(limits[1]).toBeGreaterThan(269_000);
    expect(limits[1]).toBeLessThanOrEqual(1_400_000);
  });
  it('refuses a memo of a megabyte and 10,000 actions at once, and says so', () => {
    expect(refusal([text(1_000_000)])).toContain('has more than 1000');
    expect(refusal(times(10_000, (n) => airdrop(`r${n}`)))).toMatch(
      /with only its first 64 actions, .* of its 10000 actions would fit/,
    );
  });

  it('stays within the memory of the multisig program, which ends before the bytes do', () => {
    expect(plan(times(24, () => burn()))).toHaveLength(1);
    const message = refusal(times(25, () => burn()));
    expect(message).toContain('memory');
    expect(fitting(message)).toBe(24);
    expect(fitting(refusal(times(30, () => text(1))))).toBe(24);
  });

  it('says first that it would run too many instructions', () => {
    const airdrops = (count: number) => times(count, () => airdrop('r'));
    // With the proof and the three instructions of the execution, limit and price among them: 64 and 65.
    expect(refusal(airdrops(10))).toContain('memory');
    expect(refusal([...airdrops(10), burn()])).toContain(
      'its transaction runs up to 65 instructions; the limit is 64',
    );
  });
});

const anAction: fc.Arbitrary<SourceAction> = fc.oneof(
  fc.integer({ min: 1, max: 1_000_000 }).map(burn),
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1 })).map(([to, n]) => airdrop(`r${to}`, n)),
  fc
    .string({ minLength: 1, maxLength: 120, unit: 'grapheme' })
    .map((message): SourceAction => ({ action: 'MEMO', message })),
);

describe('planPipeline, for any pipelines', () => {
  it('compiles to transactions within 1232 bytes, or refuses and says truly how many actions fit', () => {
    fc.assert(
      fc.property(fc.array(anAction, { minLength: 1, maxLength: 30 }), (actions) => {
        const message = refusal(actions);
        const fits = message === 'fits' ? actions.length : fitting(message);
        if (fits > 0) {
          const messages = plan(actions.slice(0, fits)).map((one) => one.message);
          const transactions = [
            ...setupTransactions(place, messages),
            ...executeTransactions(place, messages),
          ];
          expect(transactions).toHaveLength(4);
          for (const instructions of transactions) {
            expect(sizeOf(instructions)).toBeLessThanOrEqual(1_232);
            expect(sizeOf(withBudget(instructions, onCluster))).toBeLessThanOrEqual(1_232);
          }
        }
        if (fits < actions.length) expect(refusal(actions.slice(0, fits + 1))).not.toBe('fits');
      }),
      { numRuns: 150 },
    );
  });

  it('agrees with the compiled size to the byte', () => {
    // One byte of memo is one byte of the transaction once lengths take two bytes.
    const most = greatest((length) => refusal([text(length)]) === 'fits');
    const size = (length: number): number => {
      const [only] = plan([text(length)]);
      const [, add = []] = setupTransactions(place, [only?.message ?? new Uint8Array()]);
      return sizeOf(withBudget(add, onCluster));
    };
    expect(size(most)).toBe(1_232);
    expect(refusal([text(most + 1)])).toContain('has 1233 bytes');
  });
});

describe('shared', () => {
  const setUp = (count: number) => {
    const [message = new Uint8Array()] = plan([burn()]).map((one) => one.message);
    return [...setupTransactions(place, new Array<Uint8Array>(count).fill(message))].slice(1);
  };

  it('puts small neighbours together, in their order, and what does not fit alone', () => {
    const alone = setUp(20);
    const together = [...shared(flywheel, alone)];
    expect(together.flat()).toEqual(alone.flat());
    expect(together.length).toBeLessThan(alone.length);
    const most = Math.max(...together.map((instructions) => instructions.length));
    expect(most).toBeGreaterThan(1);
    for (const instructions of together)
      expect(sizeOf(withBudget(instructions, onCluster))).toBeLessThanOrEqual(1_232);
    const [large] = plan([text(600)]).map((one) => one.message);
    const adds = [...setupTransactions(place, [large as Uint8Array, large as Uint8Array])].slice(1, 3);
    expect([...shared(flywheel, adds)]).toEqual(adds);
  });

  it('shares the same list in the same way, whichever index the batch has', () => {
    const shape = (batchIndex: bigint) => {
      const [message = new Uint8Array()] = plan([burn()]).map((one) => one.message);
      const [, ...rest] = setupTransactions(
        { ...place, batchIndex },
        new Array<Uint8Array>(20).fill(message),
      );
      return [...shared(flywheel, rest)].map((instructions) => instructions.length);
    };
    expect(shape(1n)).toEqual(shape(0xffff_ffff_ffffn));
  });
});
