/** Memos in the logs of a transaction: only those of the Memo program count, and only whole ones. */
import { describe, expect, it } from 'vitest';
import { loggedMemos } from '../../../src/cli/proof/landed-memo.js';

const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const OTHER = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const TEXT = '{"type":"T","hash":"ab"}';

const inside = (program: string, lines: readonly string[]): string[] => [
  `Program ${program} invoke [2]`,
  ...lines.map((line) => `Program log: ${line}`),
  `Program ${program} consumed 500 of 200000 compute units`,
  `Program ${program} success`,
];

describe('loggedMemos', () => {
  it('reads the text from the line after the length, or quoted on the same', () => {
    expect(loggedMemos(inside(MEMO, ['Signed by:', OTHER, 'Memo (len 24)', TEXT]))).toEqual([TEXT]);
    expect(loggedMemos(inside(MEMO, [`Memo (len 24): ${JSON.stringify(TEXT)}`]))).toEqual([TEXT]);
    expect(loggedMemos(inside(MEMO, ['Memo (len 4): "\\u{e9}\\\'x"']))).toEqual(["é'x"]);
  });

  it('takes nothing from another program that logs the same words', () => {
    expect(loggedMemos(inside(OTHER, ['Memo (len 24)', TEXT]))).toEqual([]);
    const after = [
      ...inside(MEMO, ['Memo (len 2)', 'hi']),
      'Program log: Memo (len 24)',
      `Program log: ${TEXT}`,
    ];
    expect(loggedMemos([`Program ${OTHER} invoke [1]`, ...after])).toEqual(['hi']);
  });

  it('takes no memo that is cut short', () => {
    expect(loggedMemos(inside(MEMO, ['Memo (len 24)', TEXT.slice(0, 20)]))).toEqual([]);
    expect(
      loggedMemos([
        'Program MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr invoke [1]',
        'Program log: Memo (len 24)',
      ]),
    ).toEqual([]);
  });
});
