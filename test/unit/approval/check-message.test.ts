/** The last comparison before a batch is approved: any instruction that is not the pipeline's own is found, and named. */
import { describe, expect, it } from 'vitest';
import { pipelineContent, type SourcePipeline } from '../../../src/actions/pipelines.js';
import { messageProblem } from '../../../src/approval/check-message.js';
import { memo } from '../../../src/chain/memo.js';
import { vaultInnerMessage } from '../../../src/chain/squads/instructions/vault-message.js';
import type { Instruction } from '../../../src/chain/transaction/instruction.js';
import { flywheel, goodInstructions, pipelines, vaultToken } from '../../support/batch-on-chain.js';

/** The proof, an airdrop (1 and 2), a memo (3) and another airdrop (4 and 5). */
type Good = readonly Instruction[];

/** What is wrong with the pipeline when its instructions are changed. */
function problemOf(change: (good: Good) => Good): string | undefined {
  const content = pipelineContent(pipelines[1] as SourcePipeline, flywheel.decimals);
  const message = vaultInnerMessage(flywheel.vault, change(goodInstructions()[1] as Good));
  return messageProblem(message, content, vaultToken);
}

const at = (place: number, change: (one: Instruction) => Instruction) => (good: Good) =>
  good.map((one, index) => (index === place ? change(one) : one));

const data = (change: (bytes: Instruction['data']) => Uint8Array) => (one: Instruction) => ({
  ...one,
  data: change(one.data),
});

/** The two transfers, with this part of one in the other. */
const exchanged = (part: 'data' | 'accounts') => (good: Good) => {
  const [first, second] = [good[2], good[5]] as [Instruction, Instruction];
  return [
    ...good.slice(0, 2),
    { ...first, [part]: second[part] },
    ...good.slice(3, 5),
    { ...second, [part]: first[part] },
  ];
};

describe('messageProblem', () => {
  it('has nothing against the message of the pipeline', () => {
    expect(problemOf((good) => good)).toBeUndefined();
  });

  it.each([
    [
      1,
      'the proof has one byte more',
      at(
        0,
        data((bytes) => Uint8Array.of(...bytes, 0x20)),
      ),
    ],
    [3, 'the amounts are exchanged', exchanged('data')],
    [3, 'the recipients are exchanged', exchanged('accounts')],
    [
      4,
      'a memo has other letters',
      at(
        3,
        data((bytes) => Uint8Array.from(bytes, () => 0x61)),
      ),
    ],
    [4, 'a memo has no signer', at(3, (one) => memo(Buffer.from(one.data).toString(), []))],
    [
      6,
      'the last amount is another',
      at(
        5,
        data(([first = 0, , ...rest]) => Uint8Array.of(first, 9, ...rest)),
      ),
    ],
  ] as const)('names instruction %i when %s', (number, _name, change) => {
    expect(problemOf(change)).toBe(`instruction ${number} is not as a pipeline has it`);
  });
});
