/** Logs as text: exact for whatever a program logs, and short for what nearly every one says. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packLogs, unpackLogs } from '../../../../../src/chain/local/ledger/log-text.js';
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM, TOKEN_PROGRAM } from '../../../../../src/chain/programs.js';

const burnLogs = (units: number): readonly string[] => [
  `Program ${COMPUTE_BUDGET_PROGRAM} invoke [1]`,
  `Program ${COMPUTE_BUDGET_PROGRAM} success`,
  `Program ${TOKEN_PROGRAM} invoke [1]`,
  `Program ${TOKEN_PROGRAM} consumed 126 of ${units} compute units`,
  `Program ${TOKEN_PROGRAM} success`,
];

const line = fc.oneof(
  fc.constantFrom(...burnLogs(99_851), `Program ${MEMO_PROGRAM} success`, '', 'success"]', '","'),
  // Control characters and halves of surrogate pairs among them.
  fc.string({ unit: fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code)) }),
  fc.string({ unit: fc.nat({ max: 0x21 }).map((code) => String.fromCharCode(code)) }),
);

describe('packLogs', () => {
  it('keeps every log exactly', () => {
    fc.assert(
      fc.property(fc.array(line), (logs) => {
        expect(unpackLogs(packLogs(logs))).toEqual(logs);
      }),
    );
  });

  it('says in a few characters what every burn says', () => {
    expect(packLogs(burnLogs(99_851)).length).toBeLessThan(30);
  });

  it('gives text that holds no character with which a text ends', () => {
    expect(packLogs(['\0', ...burnLogs(1)])).not.toContain('\0');
  });

  it('reads no text with a sign that stands for nothing', () => {
    expect(() => unpackLogs('["\u001f"]')).toThrow(SyntaxError);
  });
});
