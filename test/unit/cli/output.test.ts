/** Colour, tables and safe text. */
import { describe, expect, it } from 'vitest';
import { colorLevel } from '../../../src/cli/output/color.js';
import { safeJson, safeText } from '../../../src/cli/output/safe-text.js';
import { tableLines } from '../../../src/cli/output/table.js';
import { resumeCommand, shellLine } from '../../../src/cli/resume-command.js';

describe('colorLevel', () => {
  it.each([
    [{}, false, 0],
    [{ TERM: 'xterm' }, true, 1],
    [{ TERM: 'xterm-256color' }, true, 2],
    [{ COLORTERM: 'truecolor' }, true, 3],
    [{ TERM: 'dumb' }, true, 0],
    [{ NO_COLOR: '1', FORCE_COLOR: '3' }, true, 0],
    [{ NO_COLOR: '', TERM: 'xterm' }, true, 1],
    [{ FORCE_COLOR: '1' }, false, 1],
    [{ FORCE_COLOR: '0', TERM: 'xterm' }, true, 0],
    [{ CLICOLOR_FORCE: '1' }, false, 1],
    [{ CLICOLOR_FORCE: '0' }, false, 0],
  ] as const)('is for %j and a terminal %s: %i', (env, isTTY, level) => {
    expect(colorLevel(env, isTTY, false)).toBe(level);
  });

  it('is none with --no-color whatever else is set', () => {
    expect(colorLevel({ FORCE_COLOR: '3' }, true, true)).toBe(0);
  });
});

describe('tableLines', () => {
  const columns = [
    { title: 'index', align: 'right' },
    { title: 'reason', wraps: true },
  ] as const;
  it('wraps the one column that may be wrapped', () => {
    expect(tableLines(columns, [['7', 'one two three four five six seven']], 30)).toEqual([
      'index  reason',
      '    7  one two three four five',
      '       six seven',
    ]);
  });

  it('turns into records rather than shorten anything', () => {
    const address = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T';
    const lines = tableLines([{ title: 'address' }, { title: 'balance' }], [[address, '12']], 40);
    expect(lines).toEqual([`address  ${address}`, 'balance  12']);
  });
});

describe('safeText', () => {
  it('removes what a terminal would obey and keeps the rest', () => {
    expect(safeText('a\u001b[31mb\u0000\u009b\u202ec\td\né')).toBe('a[31mbc\td\né');
    expect(JSON.parse(safeJson({ text: '\u009b\u2028' }))).toEqual({ text: '\u009b\u2028' });
    expect(safeJson('\u009b')).toBe('"\\u009b"');
  });
});

describe('resumeCommand', () => {
  it('can be pasted into a shell', () => {
    expect(shellLine(['a', "it's", '$x', '--k=v'])).toBe("a 'it'\\''s' '$x' --k=v");
    expect(resumeCommand(['burn', '--idempotency-key', 'k'], 'k')).toBe('flywheel burn --idempotency-key k');
  });
});
